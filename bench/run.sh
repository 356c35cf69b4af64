#!/usr/bin/env bash
# Measures Orrery beside its peers in one run and writes docs/benchmarks.md.
#   bench/run.sh [--items 200000] [--seconds 5] [--quick] [--flatness | --steps "N N …"] [--out FILE]
# Closes with bench/growth.sh: what operations and starts cost in a container of 600 thousand items, a folder above 1 GB;
# with --flatness at 10 thousand, 100 thousand, 1 million and 5 million items, which takes 12 minutes; with --steps at other
# numbers. Everything runs on loopback from a temporary folder (TMPDIR); only processes started here are ended.
set -euo pipefail
cd "$(dirname "$0")/.."

command="bench/run.sh $*"
items=200000
hot=2000
seconds=5
cache_mb=512 # for Orrery's caches, RocksDB's block cache and PostgreSQL's shared buffers alike
steps="600000"
out=docs/benchmarks.md
while [ $# -gt 0 ]; do
    case "$1" in
        --items) items=$2; shift 2 ;;
        --seconds) seconds=$2; shift 2 ;;
        --quick) items=20000; seconds=2; steps=""; shift ;;
        --flatness) steps="10000 100000 1000000 5000000"; shift ;;
        --steps) steps=$2; shift 2 ;;
        --out) out=$2; shift 2 ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
done

. bench/common.sh
build_programs orrery orrery_load postgres_load rocksdb_load

chmod a+rx "$work"
results=$work/results.jsonl
: >"$results"
load=$build/bench/orrery_load

note() { echo "$1" | tee -a "$results"; }
throttling=(--unthrottled) # the load is meant to be more than any offer allows
orrery() { orrery_load --seconds "$seconds" "$@"; }
orrery_run() { orrery "$@" | tee -a "$results"; }
# Starts on a folder once more, after a clean stop and after a kill.
measure_starts() { # FOLDER
    stop_orrery
    start_orrery --data "$1" "${throttling[@]}"
    note "{\"system\":\"orrery\",\"workload\":\"start\",\"folder_mb\":$(du -sm "$1" | cut -f1),\"ms\":$ready_ms}"
    orrery --first 2000000000 load 2000
    stop_orrery KILL
    start_orrery --data "$1" "${throttling[@]}"
    note "{\"system\":\"orrery\",\"workload\":\"start-after-kill\",\"folder_mb\":$(du -sm "$1" | cut -f1),\"ms\":$ready_ms}"
}

echo "== Orrery, $items items =="
start_orrery --data "$work/orrery" "${throttling[@]}"
orrery setup
orrery load "$items"
settle "$orrery_pid"
orrery_run --system orrery-hot --items $hot run read
orrery_run --items "$items" run read
orrery_run --items "$items" --connections 8 run feed
orrery_run --items "$items" --first "$items" run create
orrery_run --items "$items" run upsert
orrery_run --items "$items" --zipfian true run mix95
orrery_run --items "$items" --zipfian true run mix50
measure_starts "$work/orrery"
stop_orrery
rm -rf "$work/orrery"

start_orrery --memory "${throttling[@]}"
sleep 2
before=$(ticks "$orrery_pid"); sleep 5; after=$(ticks "$orrery_pid")
note "{\"system\":\"orrery\",\"workload\":\"idle\",\"rss_mb\":$(($(awk '/VmRSS/{print $2}' "/proc/$orrery_pid/status") / 1024)),\"cpu_percent\":$(python3 -c "print(round(($after-$before)/5,2))")}"
began=$(now_ms)
orrery containers 1000
note "{\"system\":\"orrery\",\"workload\":\"containers\",\"count\":1000,\"ms\":$(($(now_ms) - began))}"
stop_orrery

echo "== Budgets enforced and not, in turns =="
cat >"$work/metering.json" <<'JSON'
{"databases":[{"id":"bench","containers":[{"id":"items","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
 "autoscaleMaxThroughput":1000000}]}]}
JSON
# Both servers are there all the time and work in short turns, first this one, then that one: what else the machine does
# changes from second to second and falls on both. In memory: a disk's syncs would hide what a budget costs.
declare -A metering_pid metering_port
for system in orrery-unmetered orrery-metered; do
    throttling=()
    [ $system = orrery-metered ] || throttling=(--unthrottled)
    start_orrery --memory --init "$work/metering.json" "${throttling[@]}"
    metering_pid[$system]=$orrery_pid metering_port[$system]=$orrery_port
    orrery load $hot
    settle "$orrery_pid"
done
for turn in $(seq 12); do
    order="orrery-unmetered orrery-metered"
    if ((turn % 2)); then order="orrery-metered orrery-unmetered"; fi
    for workload in read create; do
        for system in $order; do
            orrery_pid=${metering_pid[$system]} orrery_port=${metering_port[$system]}
            orrery_run --seconds 1 --system "$system" --items $hot --first $((turn * 10000000)) run $workload
        done
    done
done
for system in orrery-unmetered orrery-metered; do
    orrery_pid=${metering_pid[$system]}
    stop_orrery
done
throttling=(--unthrottled)

echo "== nginx, a 1 KB file =="
start_nginx file 1024
$load --system nginx --port "$nginx_port" --path file --seconds "$seconds" --pid "$nginx_pid" run read | tee -a "$results"
kill "$nginx_pid"

echo "== raw RocksDB =="
$build/bench/rocksdb_load "$work/rocksdb" --items "$items" --seconds "$seconds" --cache-mb $cache_mb | tee -a "$results"
rm -rf "$work/rocksdb"

echo "== PostgreSQL =="
start_postgres
pg_pid=$(head -1 "$pg_data/postmaster.pid")
pg_info="host=127.0.0.1 port=$pg_port user=postgres dbname=postgres"
pg() { $build/bench/postgres_load --conninfo "$pg_info" --pid "$pg_pid" --seconds "$seconds" "$@"; }
pg_run() { pg "$@" | tee -a "$results"; }
pg setup
pg load "$items"
"$pg_bin/psql" -q "$pg_info" -c "VACUUM ANALYZE items" -c "CHECKPOINT"
settle "$pg_pid"
pg_run --items "$items" run read
pg_run --items "$items" --connections 8 run feed
pg_run --items "$items" --first "$items" run create
pg_run --items "$items" run upsert
pg_run --items "$items" --zipfian true run mix95
pg_run --items "$items" --zipfian true run mix50
stop_postgres
rm -rf "$work/postgres"

echo "== npm's @vercel/cosmosdb-server =="
mkdir "$work/npm"
if (cd "$work/npm" && npm init -y >/dev/null && npm install --silent --no-audit --no-fund @vercel/cosmosdb-server >/dev/null 2>&1); then
    measure_npm() { # NAME OPTIONS
        local npm_port npm_pid
        npm_port=$(free_port)
        (cd "$work/npm" && exec node -e "require('@vercel/cosmosdb-server/lib/index.js').createHttpServer($2).listen($npm_port, '127.0.0.1')") >"$work/npm/log" 2>&1 &
        npm_pid=$!
        pids+=("$npm_pid")
        await_port "$npm_port"
        npm_load() { $load --system "$name" --port "$npm_port" --key "$key" --pid "$npm_pid" --seconds "$seconds" --connections 16 "$@"; }
        local name=$1
        if npm_load setup && npm_load load 2000; then
            npm_load --items 2000 run read | tee -a "$results" || true
            npm_load --items 2000 --first 2000 run create | tee -a "$results" || true
        else
            echo "the npm server did not take the set-up:" >&2
            tail -5 "$work/npm/log" >&2 || true
        fi
        kill "$npm_pid" 2>/dev/null || true
    }
    measure_npm npm-server "" # as it comes: closes the connection after each answer
    measure_npm npm-keepalive "{keepAlive: true}"
else
    echo "the npm server could not be installed; its lines are left out" >&2
fi

if [ -n "$steps" ]; then
    echo "== Orrery as it grows: $steps items =="
    bench/growth.sh --steps "$steps" --seconds "$seconds" --results "$results"
fi

python3 bench/report.py "$results" --items "$items" --hot "$hot" --seconds "$seconds" --cache-mb $cache_mb \
    --command "$command" >"$out"
echo "written: $out"
