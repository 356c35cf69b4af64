#!/usr/bin/env bash
# Measures queries on Orrery and on PostgreSQL with JSONB in one run and writes docs/benchmarks-query.md.
#   bench/query.sh [--items 1000000] [--seconds 5] [--connections 8] [--only PART-OF-A-NAME] [--out FILE]
# Everything runs on loopback from a temporary folder; only processes started here are ended.
# The two systems take turns: while one runs its queries, the other is idle.
set -euo pipefail
cd "$(dirname "$0")/.."

items=1000000
seconds=5
connections=8
only=""
out=docs/benchmarks-query.md
while [ $# -gt 0 ]; do
    case "$1" in
        --items) items=$2; shift 2 ;;
        --seconds) seconds=$2; shift 2 ;;
        --connections) connections=$2; shift 2 ;;
        --only) only=$2; shift 2 ;;
        --out) out=$2; shift 2 ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
done

build=${BENCH_BUILD_DIR:-build-bench}
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DORRERY_BENCH=ON -DORRERY_TESTS=OFF >/dev/null
ninja -C "$build" orrery query_load

work=$(mktemp -d)
results=$work/results.jsonl
: >"$results"
orrery_pid=""
pg_data=""
as_postgres() { if [ "$(id -u)" -eq 0 ]; then runuser -u postgres -- bash -c "$1"; else bash -c "$1"; fi; }
cleanup() {
    [ -n "$orrery_pid" ] && kill "$orrery_pid" 2>/dev/null || true
    [ -n "$pg_data" ] && as_postgres "$pg_bin/pg_ctl -D $pg_data -m fast stop" >/dev/null 2>&1 || true
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
free_port() { python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])'; }
key="C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
load=$build/bench/query_load
common=(--items "$items" --seconds "$seconds" --connections "$connections" --only "$only")

echo "== PostgreSQL, $items items =="
pg_bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
chmod a+rx "$work"
mkdir "$work/postgres"
[ "$(id -u)" -eq 0 ] && chown postgres "$work/postgres"
pg_data=$work/postgres
pg_port=$(free_port)
as_postgres "$pg_bin/initdb -D $pg_data -A trust -U postgres" >/dev/null
as_postgres "$pg_bin/pg_ctl -D $pg_data -w -l $pg_data/log -o '-p $pg_port -k $pg_data -c listen_addresses=127.0.0.1 -c max_connections=100 -c shared_buffers=1GB -c work_mem=64MB -c maintenance_work_mem=512MB -c max_wal_size=4GB' start" >/dev/null
pg=(--conninfo "host=127.0.0.1 port=$pg_port user=postgres dbname=postgres" --pid "$(head -1 "$pg_data/postmaster.pid")")
"$load" "${pg[@]}" "${common[@]}" load
"$load" "${pg[@]}" "${common[@]}" run | tee -a "$results"
as_postgres "$pg_bin/pg_ctl -D $pg_data -m fast stop" >/dev/null
rm -rf "$pg_data"
pg_data=""

echo "== Orrery, $items items =="
"$build/orrery" serve --data "$work/orrery" --port 0 >"$work/orrery.log" 2>&1 &
orrery_pid=$!
for _ in $(seq 100); do grep -q "ready at" "$work/orrery.log" && break; sleep 0.05; done
port=$(sed -n 's|.*ready at http://[^:]*:\([0-9]*\)/.*|\1|p' "$work/orrery.log" | head -1)
orrery=(--port "$port" --key "$key" --pid "$orrery_pid")
"$load" "${orrery[@]}" "${common[@]}" load
# Which library the server's time goes to, where the tool for it exists.
sampler=""
if command -v perf >/dev/null && perf record -o "$work/perf.probe" -p "$orrery_pid" -- sleep 0.1 >/dev/null 2>&1; then
    perf record -F 199 -o "$work/perf.data" -p "$orrery_pid" >/dev/null 2>&1 &
    sampler=$!
fi
"$load" "${orrery[@]}" "${common[@]}" run | tee -a "$results"
if [ -n "$sampler" ]; then
    kill -INT "$sampler"
    wait "$sampler" || true
    share=$(perf report -i "$work/perf.data" --stdio --sort dso 2>/dev/null | awk '$2 ~ /rocksdb/ {gsub("%","",$1); print $1; exit}')
    echo "{\"rocksdb_share\":${share:-null}}" | tee -a "$results"
fi
kill "$orrery_pid"
wait "$orrery_pid" || true
orrery_pid=""

python3 bench/query_report.py "$results" "$items" "$seconds" "$connections" >"$out"
echo "written: $out"
