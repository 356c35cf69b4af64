#!/usr/bin/env bash
# Measures the change feed, bulk, scripts and splits, and writes docs/benchmarks-events.md.
#   bench/events.sh [--items 200000] [--bulk 100000] [--out FILE]
set -euo pipefail
cd "$(dirname "$0")/.."
command="bench/events.sh $*"
items=200000
bulk=100000
out=docs/benchmarks-events.md
while [ $# -gt 0 ]; do
    case "$1" in
        --items) items=$2; shift 2 ;;
        --bulk) bulk=$2; shift 2 ;;
        --out) out=$2; shift 2 ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
done
. bench/common.sh
build_programs orrery orrery_load script_bench admission_bench
results=$work/results.jsonl
bench/feed.sh --items "$items" --bulk "$bulk" | grep '^{' | tee "$results"
bench/split.sh --items "$items" | grep '^{' | tee -a "$results"
bench/split.sh --items "$items" --load none | grep '^{' | tee -a "$results"
for program in script_bench admission_bench; do
    "$build/bench/$program" --benchmark_format=json --benchmark_repetitions=9 --benchmark_min_time=0.1 2>/dev/null |
        python3 -c 'import json, sys
for one in json.load(sys.stdin)["benchmarks"]:
    if one.get("aggregate_name") == "median":
        print(json.dumps({"workload": one["run_name"], "ns": round(one["cpu_time"])}))' | tee -a "$results"
done
python3 bench/events_report.py "$results" "$items" "$command" >"$out"
echo "written: $out"
