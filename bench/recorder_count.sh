# bench/recorder.sh --count: instructions outside the kernel that recording takes of a request, to write its record and to
# count it; by callgrind, from calls of what is there for recording alone. Unlike CPU time, and unlike the difference of two runs, they
# hardly scatter. Samples are shown by themselves: a thread takes about twenty a second however many requests there are, and
# under valgrind a second has a fiftieth of them.
operations=${2:-4000}
read -ra workloads <<<"${WORKLOADS:-read create query}"
source bench/common.sh
if [ -n "${ORRERY_BIN:-}" ]; then build=$(dirname "$ORRERY_BIN"); else build_programs orrery; fi

run() { # WORKLOAD OPERATIONS
    "$build/orrery" bench "$1" --endpoint "http://127.0.0.1:$port" --container "bench/$1" --operations "$2" --seconds 600 --parallel 4 \
        --items 2000 --keep --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["errors"] == 0'
}

for workload in "${workloads[@]}"; do
    log=$work/$workload.log
    : >"$log"
    port=$(free_port)
    valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file="$work/$workload.out" \
        "$build/orrery" serve --memory --unthrottled --port "$port" --cache-mb "$cache_mb" >"$log" 2>&1 &
    pid=$!
    pids+=("$pid")
    until grep -q "ready at" "$log"; do
        kill -0 "$pid" || { cat "$log" >&2; exit 1; }
        sleep 0.2
    done
    run "$workload" "$((operations / 4))"
    sleep 1
    callgrind_control -i on "$pid" >/dev/null 2>&1
    run "$workload" "$operations"
    # The recorder takes records a tenth of a second later.
    sleep 1
    callgrind_control -i off "$pid" >/dev/null 2>&1
    kill -TERM "$pid"
    wait "$pid" 2>/dev/null || true
    python3 - "$workload" "$operations" "$work/$workload" <<'P'
import re, sys

workload, operations, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
total = next(int(line.split()[-1]) for line in open(path + ".log") if "Collected" in line)
# Calls and instructions, by the function that is called.
wanted = ("Statement::finish(", "Recorder::drain(", "Recorder::apply(", "Recorder::observe_sample(", "Insight::apply_sample(")
calls, cost = dict.fromkeys(wanted, 0), dict.fromkeys(wanted, 0)
names, callee, times = {}, "", None
for line in open(path + ".out"):
    if line.startswith(("fn=", "cfn=")):
        found = re.match(r"c?fn=\((\d+)\)(?: (.*))?", line.rstrip())
        name = names.setdefault(found[1], found[2] or "")
        if line.startswith("cfn="):
            callee = name
    elif line.startswith("calls="):
        times = int(line[6:].split()[0])
    elif times is not None:
        for part in wanted:
            if part in callee:
                calls[part] += times
                cost[part] += int(line.split()[1])
        times = None
# Threads count their own records where a request ends, and what is left of them later.
ends, later, counts, queued, sampled = (cost[part] for part in wanted)
samples = max(1, calls["Insight::apply_sample("])
counted = counts / operations
asked = (ends + later - queued - sampled) / operations - counted
rest = (total - ends - later) / operations
print(f"{workload}: {rest:,.0f} instructions per request, and {asked + counted:,.0f} for recording ({asked:,.0f} to write it down, "
      f"{counted:,.0f} to count it): +{(asked + counted) / rest * 100:.2f} %; {samples} samples, {(queued + sampled) / samples:,.0f} each")
P
done
