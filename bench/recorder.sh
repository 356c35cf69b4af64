#!/usr/bin/env bash
# What recording costs (metrics and the Design Lab): the server's CPU time for a fixed number of requests, with recording and
# without it, in turns. CPU time, not time: other work on the machine moves it little. Prints the medians.
#
#   bench/recorder.sh [ROUNDS] [OPERATIONS]       default 9 rounds of 60,000 operations
#   bench/recorder.sh --count [OPERATIONS]        counts instructions outside the kernel instead (valgrind), default 4,000 operations
#   bench/recorder.sh --throughput [PAIRS]        compares requests a second under full load, default 300 pairs of short turns
#
# ORRERY_BIN: measure this program instead of a build of its own. WORKLOADS: default "read query mix50"; with --count "read create query", with --throughput "read".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ "${1:-}" = --count ]; then
    source bench/recorder_count.sh
    exit
fi
if [ "${1:-}" = --throughput ]; then
    source bench/recorder_throughput.sh
    exit
fi
rounds=${1:-9}
operations=${2:-60000}
read -ra workloads <<<"${WORKLOADS:-read query mix50}"
source bench/common.sh
if [ -n "${ORRERY_BIN:-}" ]; then build=$(dirname "$ORRERY_BIN"); else build_programs orrery; fi

run() { # PORT WORKLOAD OPERATIONS: errors would make the figures worthless
    "$build/orrery" bench "$2" --endpoint "http://127.0.0.1:$1" --container "bench/$2" --operations "$3" --seconds 600 --parallel 16 \
        --items 5000 --keep --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["errors"] == 0'
}

# Both servers are there all the time and rest in turns, so that neither has the younger heap.
start_orrery --memory --unthrottled
on_pid=$orrery_pid on_port=$orrery_port
start_orrery --memory --unthrottled --no-recording
off_pid=$orrery_pid off_port=$orrery_port
for workload in "${workloads[@]}"; do
    for port in $on_port $off_port; do run "$port" "$workload" "$((operations / 4))"; done
    for round in $(seq "$rounds"); do
        order="on off"
        if ((round % 2)); then order="off on"; fi
        for mode in $order; do
            pid=${mode}_pid port=${mode}_port
            before=$(ticks "${!pid}")
            run "${!port}" "$workload" "$operations"
            # The recorder takes records a tenth of a second later.
            sleep 0.3
            echo "$workload $mode $(($(ticks "${!pid}") - before))" >>"$work/ticks"
        done
    done
done
python3 - "$work/ticks" "$operations" "$(getconf CLK_TCK)" <<'P'
import statistics, sys
rows = [line.split() for line in open(sys.argv[1])]
operations, tick = int(sys.argv[2]), 1e6 / int(sys.argv[3])
for workload in dict.fromkeys(r[0] for r in rows):
    by = {m: [int(r[2]) * tick / operations for r in rows if r[0] == workload and r[1] == m] for m in ("on", "off")}
    on, off = (statistics.median(by[m]) for m in ("on", "off"))
    pairs = sorted(a / b - 1 for a, b in zip(by["on"], by["off"]))
    print(f"{workload}: {on:.2f} us of CPU per request with recording, {off:.2f} without: {(on / off - 1) * 100:+.1f} % "
          f"(rounds {pairs[0] * 100:+.1f} to {pairs[-1] * 100:+.1f} %, median of rounds {statistics.median(pairs) * 100:+.1f} %)")
P
