# Sourced by recorder.sh: requests a second that two servers answer in turns of TURN seconds (0.3), one records and one does not. The load
# generator keeps 64 connections busy, so the servers have no time to spare. Workloads are those of orrery_load.
pairs=${2:-300}
read -ra workloads <<<"${WORKLOADS:-read}"
source bench/common.sh
build_programs orrery orrery_load
declare -A server_pid server_port
for mode in on off; do
    recording=()
    [ $mode = on ] || recording=(--no-recording)
    start_orrery --memory --unthrottled "${recording[@]}"
    server_pid[$mode]=$orrery_pid server_port[$mode]=$orrery_port
    orrery_load setup
    orrery_load load 2000 >/dev/null
done
for workload in "${workloads[@]}"; do
    for pair in $(seq "$pairs"); do
        order="on off"
        if ((pair % 2)); then order="off on"; fi
        for mode in $order; do
            orrery_pid=${server_pid[$mode]} orrery_port=${server_port[$mode]}
            echo "$workload $mode $(orrery_load --seconds "${TURN:-0.3}" --items 2000 --first $((pair * 10000000)) run "$workload")" >>"$work/turns"
        done
    done
done
python3 - "$work/turns" <<'P'
import json, random, statistics, sys
turns = {}
for line in open(sys.argv[1]):
    workload, mode, result = line.split(" ", 2)
    turns.setdefault(workload, {"on": [], "off": []})[mode].append(json.loads(result))
for workload, by in turns.items():
    assert not any(row["errors"] for rows in by.values() for row in rows)
    def told(member):
        ratios = [a[member] / b[member] for a, b in zip(by["on"], by["off"])]
        medians = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(2000))
        return (f"{statistics.median(ratios):.3f} × (95 %: {medians[50]:.3f} to {medians[-51]:.3f}), "
                f"over all {sum(a[member] for a in by['on']) / sum(b[member] for b in by['off']):.3f} ×")
    print(f"{workload}, {len(by['on'])} pairs: requests a second with recording {told('per_second')}; CPU per request {told('server_cpu_us')}")
P
