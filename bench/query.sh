#!/usr/bin/env bash
# Measures queries on Orrery and on PostgreSQL with JSONB in one run and writes docs/benchmarks-query.md.
#   bench/query.sh [--items 1000000] [--seconds 5] [--connections 8] [--cache-mb 2048] [--only PART] [--out FILE]
# Everything runs on loopback from a temporary folder; only processes started here are ended.
# Both systems run side by side with the same memory and take turns line by line: while one answers,
# the other is idle. One million items take about ten minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."

items=1000000
seconds=5
connections=8
cache_mb=2048 # for Orrery's caches and PostgreSQL's shared buffers alike
only=""
out=docs/benchmarks-query.md
while [ $# -gt 0 ]; do
    case "$1" in
        --items) items=$2; shift 2 ;;
        --seconds) seconds=$2; shift 2 ;;
        --connections) connections=$2; shift 2 ;;
        --cache-mb) cache_mb=$2; shift 2 ;;
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

# Waits until a process has been idle for two seconds: merging what was loaded is no part of a query.
cpu_ticks() { awk '{sub(/.*\) /,""); print $12 + $13}' "/proc/$1/stat"; }
wait_idle() {
    local before after quiet=0
    for _ in $(seq 300); do
        before=$(cpu_ticks "$1"); sleep 1; after=$(cpu_ticks "$1")
        if [ $((after - before)) -le 3 ]; then quiet=$((quiet + 1)); else quiet=0; fi
        [ "$quiet" -ge 2 ] && return
    done
}

started=$SECONDS
pg_bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
chmod a+rx "$work"
mkdir "$work/postgres"
[ "$(id -u)" -eq 0 ] && chown postgres "$work/postgres"
pg_data=$work/postgres
pg_port=$(free_port)
as_postgres "$pg_bin/initdb -D $pg_data -A trust -U postgres" >/dev/null
as_postgres "$pg_bin/pg_ctl -D $pg_data -w -l $pg_data/log -o '-p $pg_port -k $pg_data -c listen_addresses=127.0.0.1 -c max_connections=100 -c shared_buffers=${cache_mb}MB -c work_mem=64MB -c maintenance_work_mem=512MB -c max_wal_size=8GB' start" >/dev/null
pg=(--conninfo "host=127.0.0.1 port=$pg_port user=postgres dbname=postgres" --pid "$(head -1 "$pg_data/postmaster.pid")")

"$build/orrery" serve --data "$work/orrery" --port 0 --cache-mb "$cache_mb" --unthrottled >"$work/orrery.log" 2>&1 &
orrery_pid=$!
for _ in $(seq 100); do grep -q "ready at" "$work/orrery.log" && break; sleep 0.05; done
port=$(sed -n 's|.*ready at http://[^:]*:\([0-9]*\)/.*|\1|p' "$work/orrery.log" | head -1)
orrery=(--port "$port" --key "$key" --pid "$orrery_pid")

echo "== loading $items items into both =="
"$load" "${orrery[@]}" "${common[@]}" load &
loading=$!
"$load" "${pg[@]}" "${common[@]}" load
wait "$loading"
wait_idle "$orrery_pid"
echo "loaded and merged after $((SECONDS - started)) s"

# Which library the server's time goes to, where the tool for it exists.
sampler=""
if command -v perf >/dev/null && perf record -o "$work/perf.probe" -p "$orrery_pid" -- sleep 0.1 >/dev/null 2>&1; then
    perf record -F 199 -o "$work/perf.data" -p "$orrery_pid" >/dev/null 2>&1 &
    sampler=$!
fi
# PostgreSQL has just read and written every page while it made its indexes; what Orrery merged is not in its cache yet.
for system in pg orrery; do
    declare -n to=$system
    "$load" "${to[@]}" "${common[@]}" --seconds 1 --line "every item, no index serves" run >/dev/null
done

# Line by line in turns: whatever else the machine does falls on both.
"$load" lines | grep -F -- "$only" | while read -r line; do
    "$load" "${pg[@]}" "${common[@]}" --line "$line" run | tee -a "$results"
    "$load" "${orrery[@]}" "${common[@]}" --line "$line" run | tee -a "$results"
done
if [ -n "$sampler" ]; then
    kill -INT "$sampler"
    wait "$sampler" || true
    share=$(perf report -i "$work/perf.data" --stdio --sort dso 2>/dev/null | awk '$2 ~ /rocksdb/ {gsub("%","",$1); print $1; exit}')
    echo "{\"rocksdb_share\":${share:-null}}" | tee -a "$results"
fi
kill "$orrery_pid"
wait "$orrery_pid" || true
orrery_pid=""
as_postgres "$pg_bin/pg_ctl -D $pg_data -m fast stop" >/dev/null
pg_data=""
echo "measured after $((SECONDS - started)) s"

python3 bench/query_report.py "$results" "$items" "$seconds" "$connections" "$cache_mb" >"$out"
grep '^|' "$out"
echo "written: $out"
