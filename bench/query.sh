#!/usr/bin/env bash
# Measures queries on Orrery and on PostgreSQL with JSONB in one run and writes docs/benchmarks-query.md.
#   bench/query.sh [--items 1000000] [--seconds 2] [--turns 3] [--connections 8] [--cache-mb 2048] [--only PART] [--out FILE]
# Everything runs on loopback from a temporary folder; only processes started here are ended.
# Both systems run side by side with the same memory and take turns, several for each line: while one answers,
# the other is idle. One million items take about ten minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."

items=1000000
seconds=2
turns=3
warm_seconds=15
connections=8
cache_mb=2048 # for Orrery's caches and PostgreSQL's shared buffers alike
only=""
out=docs/benchmarks-query.md
while [ $# -gt 0 ]; do
    case "$1" in
        --items) items=$2; shift 2 ;;
        --seconds) seconds=$2; shift 2 ;;
        --turns) turns=$2; shift 2 ;;
        --connections) connections=$2; shift 2 ;;
        --cache-mb) cache_mb=$2; shift 2 ;;
        --only) only=$2; shift 2 ;;
        --out) out=$2; shift 2 ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
done

. bench/common.sh
build_programs orrery query_load query_bench

results=$work/results.jsonl
: >"$results"
load=$build/bench/query_load
common=(--items "$items" --seconds "$seconds" --connections "$connections" --only "$only")

started=$SECONDS
start_postgres -c work_mem=64MB -c maintenance_work_mem=512MB -c max_wal_size=8GB
pg=(--conninfo "host=127.0.0.1 port=$pg_port user=postgres dbname=postgres" --pid "$(head -1 "$pg_data/postmaster.pid")")
start_orrery --data "$work/orrery" --unthrottled
orrery=(--port "$orrery_port" --key "$key" --pid "$orrery_pid")

echo "== loading $items items into both =="
"$load" "${orrery[@]}" "${common[@]}" load &
loading=$!
"$load" "${pg[@]}" "${common[@]}" load
wait "$loading"
settle "$orrery_pid"
echo "loaded and merged after $((SECONDS - started)) s"

# PostgreSQL has just read and written every page while it made its indexes; what Orrery merged is not in its cache yet. What is
# measured is a server that has been running for a while: both read every item several times first.
for system in pg orrery; do
    declare -n to=$system
    "$load" "${to[@]}" "${common[@]}" --seconds 1 --line "every item, no index serves" run >/dev/null
    "$load" "${to[@]}" "${common[@]}" --seconds "$warm_seconds" --line "equality, 10,000 rows" run >/dev/null
done

# An HTTP server that has nothing to do, asked by the same client: no query over HTTP can be answered more often.
start_nginx dbs/bench/colls/queries/docs 1300 "add_header x-ms-item-count 1 always;"
limit() {
    "$load" --port "$nginx_port" --key "$key" --pid "$nginx_pid" "${common[@]}" --line "equality, 1 row" run |
        sed -n '1s/"system":"orrery"/"system":"nginx"/p' | tee -a "$results"
}
limit

# In short turns: whatever else the machine does falls on both.
"$load" lines | grep -F -- "$only" | while read -r line; do
    for scope in container key; do
        for _ in $(seq "$turns"); do
            "$load" "${pg[@]}" "${common[@]}" --line "$line" --scope "$scope" run | tee -a "$results"
            "$load" "${orrery[@]}" "${common[@]}" --line "$line" --scope "$scope" run | tee -a "$results"
        done
    done
done
limit
kill "$nginx_pid"
# Which library the server's time goes to, where the tool for it exists: in a pass of its own, since being sampled takes a
# quarter to a third of what the server does for short queries.
if command -v perf >/dev/null && perf record -o "$work/perf.probe" -p "$orrery_pid" -- sleep 0.1 >/dev/null 2>&1; then
    perf record -F 199 -o "$work/perf.data" -p "$orrery_pid" >/dev/null 2>&1 &
    sampler=$!
    "$load" "${orrery[@]}" "${common[@]}" --seconds 1 run >/dev/null
    kill -INT "$sampler"
    wait "$sampler" || true
    share=$(perf report -i "$work/perf.data" --stdio --sort dso 2>/dev/null | awk '$2 ~ /rocksdb/ {gsub("%","",$1); print $1; exit}')
    echo "{\"rocksdb_share\":${share:-null}}" | tee -a "$results"
fi
# The first page of an ordered query, over a hundredth of the items in a server of its own.
big_pid=$orrery_pid
ordered="range, ordered, 20 rows"
small=("${common[@]}" --items $((items / 100)))
start_orrery --data "$work/small" --unthrottled
"$load" --port "$orrery_port" --key "$key" "${small[@]}" load
settle "$orrery_pid"
for _ in $(seq "$turns"); do
    "$load" "${orrery[@]}" "${common[@]}" --line "$ordered" --scope container run |
        sed 's/"system":"orrery"/"system":"all items"/' | tee -a "$results"
    "$load" --port "$orrery_port" --key "$key" --pid "$orrery_pid" "${small[@]}" --line "$ordered" --scope container run |
        sed 's/"system":"orrery"/"system":"few items"/' | tee -a "$results"
done
stop_orrery
orrery_pid=$big_pid
stop_orrery
stop_postgres
# Parsing, binding and taking the filter apart, without a server.
"$build/bench/query_bench" --benchmark_format=json 2>/dev/null |
    python3 -c 'import json,sys
for b in json.load(sys.stdin)["benchmarks"]: print(json.dumps({"compile": b["name"], "us": b["cpu_time"] / 1000}))' | tee -a "$results"
echo "measured after $((SECONDS - started)) s"

python3 bench/query_report.py "$results" "$items" "$seconds" "$turns" "$connections" "$cache_mb" >"$out"
grep '^|' "$out"
echo "written: $out"
