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

build=build-bench
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DORRERY_BENCH=ON -DORRERY_TESTS=OFF >/dev/null
ninja -C $build orrery orrery_load

began=$SECONDS
work=$(mktemp -d)
folder=$work/data
: "${results:=$work/results.jsonl}"
server=""
cleanup() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap cleanup EXIT

key="C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
export ORRERY_UNTHROTTLED=true # the load is meant to be more than any offer allows
now_ms() { echo $(($(date +%s%N) / 1000000)); }
folder_mb() { du -sm "$folder" | cut -f1; }
note() { echo "$1" | tee -a "$results"; }

start() { # further options of the server; sets server, port, ready_ms
    local log=$work/server.log from
    : >"$log"
    from=$(now_ms)
    $build/orrery serve --data "$folder" --port 0 --cache-mb $cache_mb "$@" >"$log" 2>&1 &
    server=$!
    until grep -q "ready at" "$log"; do
        kill -0 "$server" 2>/dev/null || { cat "$log" >&2; exit 1; }
        sleep 0.005
    done
    ready_ms=$(($(now_ms) - from))
    port=$(sed -n 's|.*ready at http://[^:]*:\([0-9]*\)/.*|\1|p' "$log" | head -1)
}
stop() { # SIGNAL
    kill -"$1" "$server"
    wait "$server" 2>/dev/null || true
    server=""
}
load() { $build/bench/orrery_load --port "$port" --key "$key" --pid "$server" --seconds "$seconds" "$@"; }
cpu_ticks() { sed 's/^.*) //' "/proc/$server/stat" | awk '{ print $12 + $13 }'; }
# Waits until the server rests, a minute and a half at most: loading leaves compactions behind.
settle() {
    local quiet=0 before
    for _ in $(seq 180); do
        before=$(cpu_ticks); sleep 0.5
        if [ $(($(cpu_ticks) - before)) -le 2 ]; then quiet=$((quiet + 1)); else quiet=0; fi
        if [ $quiet -ge 3 ]; then return; fi
    done
}
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
    stop KILL
    start
    note "{\"system\":\"orrery-flat\",\"workload\":\"start-after-kill\",\"items\":$1,\"folder_mb\":$(folder_mb),\"ms\":$ready_ms}"
    stop TERM
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
    settle
    stop TERM
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
