#!/usr/bin/env bash
# Two builds of the server side by side, in turns, on the same work: what a change of structure may not cost.
#   bench/compare.sh OLD NEW [--items 200000] [--queries 200000] [--seconds 2] [--turns 5] [--only PART]
#   bench/compare.sh OLD NEW --count [OPERATIONS]      instructions per request by callgrind, outside the kernel
# OLD and NEW are programs. Each line gives the median of the ratios new/old of requests per second and of processor time per request
# (above 1: the new one is better in both columns), and closes with their geometric means. Only processes started here are ended.
set -euo pipefail
old=$(realpath "$1") new=$(realpath "$2")
shift 2
cd "$(dirname "$0")/.."
items=200000 queries=200000 seconds=2 turns=5 only="" count=""
while [ $# -gt 0 ]; do
    case "$1" in
        --items) items=$2; shift 2 ;;
        --queries) queries=$2; shift 2 ;;
        --seconds) seconds=$2; shift 2 ;;
        --turns) turns=$2; shift 2 ;;
        --only) only=$2; shift 2 ;;
        --count) count=${2:-2000}; shift $(($# > 1 ? 2 : 1)) ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
done
. bench/common.sh

# Sets port and pid of a server that is ready; the program and its options follow.
start() { # LOG COMMAND…
    local log=$1
    shift
    "$@" --unthrottled --port 0 --cache-mb "$cache_mb" >"$log" 2>&1 &
    pid=$!
    pids+=("$pid")
    until grep -q "ready at" "$log"; do
        kill -0 "$pid" 2>/dev/null || { cat "$log" >&2; exit 1; }
        sleep 0.05
    done
    port=$(sed -n 's|.*ready at http://[^:]*:\([0-9]*\)/.*|\1|p' "$log" | head -1)
}

if [ -n "$count" ]; then
    for workload in read create query; do
        for side in old new; do
            start "$work/$side-$workload.log" valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file="$work/$side-$workload.out" \
                "${!side}" serve --memory
            ask() { # OPERATIONS
                "$old" bench "$workload" --endpoint "http://127.0.0.1:$port" --container "bench/$workload" --operations "$1" --seconds 600 \
                    --parallel 1 --items 500 --keep --json >/dev/null
            }
            ask "$((count / 4))"
            callgrind_control -i on "$pid" >/dev/null 2>&1
            ask "$count"
            callgrind_control -i off "$pid" >/dev/null 2>&1
            kill -TERM "$pid"
            wait "$pid" 2>/dev/null || true
        done
        python3 - "$workload" "$count" "$work" <<'P'
import sys
workload, operations, work = sys.argv[1], int(sys.argv[2]), sys.argv[3]
of = {side: next(int(line.split()[-1]) for line in open(f"{work}/{side}-{workload}.log") if "Collected" in line) / operations for side in ("old", "new")}
print(f"{workload}: {of['old']:,.0f} instructions per request before, {of['new']:,.0f} now: {(of['new'] / of['old'] - 1) * 100:+.2f} %")
P
    done
    exit
fi

build_programs orrery_load query_load
results=$work/results.jsonl
: >"$results"
declare -A ports server
for side in old new; do
    start "$work/$side.log" "${!side}" serve --data "$work/$side"
    ports[$side]=$port server[$side]=$pid
    load=("$build/bench/orrery_load" --port "$port" --key "$key" --pid "$pid")
    "${load[@]}" setup
    "${load[@]}" load "$items"
    "$build/bench/query_load" --port "$port" --key "$key" --pid "$pid" --items "$queries" load
    settle "$pid"
done

# One line in turns; whoever begins changes. The command takes the side's port and process; @first stands for keys that no turn had before.
first=$items
in_turns() { # NAME COMMAND…
    local name=$1 program=$2 turn side order
    shift 2
    for turn in $(seq "$turns"); do
        first=$((first + 1000000))
        order="old new"
        [ $((turn % 2)) -eq 1 ] || order="new old"
        for side in $order; do
            "$program" --port "${ports[$side]}" --key "$key" --pid "${server[$side]}" --seconds "$seconds" "${@//@first/$first}" |
                sed "s|^{|{\"side\":\"$side\",\"compared\":\"$name\",|" >>"$results"
        done
    done
    python3 bench/compare_report.py "$results" "$name"
}
for workload in read feed create upsert mix95 mix50; do
    [[ $workload == *"$only"* ]] || continue
    in_turns "$workload" "$build/bench/orrery_load" --items "$items" --first @first run "$workload"
done
"$build/bench/query_load" lines | { grep -F -- "$only" || true; } | while read -r line; do
    for scope in container key; do
        in_turns "$line, $scope" "$build/bench/query_load" --items "$queries" --line "$line" --scope "$scope" run
    done
done
python3 bench/compare_report.py "$results"
