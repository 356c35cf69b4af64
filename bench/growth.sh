#!/usr/bin/env bash
# What an operation and a start cost as a container grows.
#   bench/growth.sh [--steps "10000 100000 1000000 5000000"] [--seconds 4] [--minutes 12] [--out FILE | --results FILE]
# Fills one container step by step (with relaxed durability and many connections: loading is not what is measured), then
# measures with the defaults: reads of a hot set, uniform reads, durable creates, the start after a clean stop and after
# kill -9. A step that would not fit into --minutes is cut to what does; it is the last one then.
# --out: writes a page (default docs/benchmarks-growth.md). --results: appends the lines for bench/run.sh instead.
set -euo pipefail
cd "$(dirname "$0")/.."

command="bench/growth.sh $*"
steps="10000 100000 1000000 5000000"
hot=2000
seconds=4
minutes=12
cache_mb=512
out=docs/benchmarks-growth.md
results=""
while [ $# -gt 0 ]; do
    case "$1" in
        --steps) steps=$2; shift 2 ;;
        --seconds) seconds=$2; shift 2 ;;
        --minutes) minutes=$2; shift 2 ;;
        --out) out=$2; shift 2 ;;
        --results) results=$2; out=""; shift 2 ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
done

. bench/common.sh
build_programs orrery orrery_load

began=$SECONDS
folder=$work/data
: "${results:=$work/results.jsonl}"
export ORRERY_UNTHROTTLED=true # the load is meant to be more than any offer allows
folder_mb() { du -sm "$folder" | cut -f1; }
note() { echo "$1" | tee -a "$results"; }

start() { start_orrery --data "$folder" "$@"; }
load() { orrery_load --seconds "$seconds" "$@"; }
measure() { # STEP
    start
    note "{\"system\":\"orrery-flat\",\"workload\":\"start\",\"items\":$1,\"folder_mb\":$(folder_mb),\"ms\":$ready_ms}"
    load --items "$((hot < $1 ? hot : $1))" run read >/dev/null # the caches are cold
    load --system orrery-flat-hot --items "$((hot < $1 ? hot : $1))" run read |
        sed "s/\"items\":[0-9]*/\"items\":$1/" | tee -a "$results"
    load --system orrery-flat --items "$1" run read | tee -a "$results"
    # Keys far behind those that a later step loads.
    created=$((created + 100000000))
    load --system orrery-flat --items "$1" --first "$created" run create | tee -a "$results"
    stop_orrery KILL
    start
    note "{\"system\":\"orrery-flat\",\"workload\":\"start-after-kill\",\"items\":$1,\"folder_mb\":$(folder_mb),\"ms\":$ready_ms}"
    stop_orrery
}

loaded=0
created=3000000000
rate=8000 # items a second, a guess until the first long step has been loaded
for step in $steps; do
    fits=$(((minutes * 60 - (SECONDS - began) - 45) * rate))
    last=0
    if [ $((step - loaded)) -gt $fits ]; then
        step=$((loaded + fits / 100000 * 100000))
        last=1
        if [ $step -lt $((loaded * 2)) ]; then
            echo "no time for a further step" >&2
            break
        fi
        echo "cut to $step items" >&2
    fi
    echo "== $step items =="
    from=$SECONDS
    start --durability relaxed
    load setup
    load --connections 256 --first "$loaded" load $((step - loaded))
    settle "$orrery_pid"
    stop_orrery
    took=$((SECONDS - from))
    if [ $((step - loaded)) -ge 90000 ]; then rate=$(((step - loaded) / (took + 1))); fi
    echo "loaded $((step - loaded)) items in $took s, $(folder_mb) MB"
    loaded=$step
    measure "$step"
    if [ $last -eq 1 ]; then break; fi
done

if [ -n "$out" ]; then
    python3 bench/report.py "$results" --growth --hot "$hot" --seconds "$seconds" --cache-mb $cache_mb \
        --command "$command" >"$out"
    echo "written: $out"
fi
