#!/usr/bin/env bash
# Runs the unit test programs of a build folder and counts. Each is run in parts (GoogleTest's shards), as many parts at a
# time as there are cores, so that one long program does not keep the others waiting at the end.
# Usage: tools/run_unit_tests.sh BUILD_DIR [LABEL [PROGRAM...]]
#   JOBS    parts that run at a time, default one per core
#   SHARDS  parts of each program, default 2
# Without programs, all that the folder has.
set -u
build=$1
label=${2:-unit}
shift $(($# < 2 ? $# : 2))
shards=${SHARDS:-2}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

programs=()
if [ $# -gt 0 ]; then
    for name in "$@"; do
        program=$(find "$build/src" -name "$name" -type f -perm -u+x)
        if [ -z "$program" ]; then
            echo "$name is not there"
            echo "$label: 0 passed, 1 failed"
            exit 1
        fi
        programs+=("$program")
    done
else
    while IFS= read -r program; do programs+=("$program"); done < <(find "$build/src" -name '*_test' -type f -perm -u+x | sort)
fi

# Runs one part of a program; keeps its output and what became of it.
run_part() {
    local program=${1%%:*} part=${1##*:} name began=$SECONDS
    name=$(basename "$program")
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$part "$program" --gtest_brief=1 >"$logs/$name.$part.log" 2>&1
    echo "$? $((SECONDS - began))" >"$logs/$name.$part.code"
}
export -f run_part
export logs shards
for program in "${programs[@]}"; do
    for ((part = 0; part < shards; ++part)); do printf '%s:%d\0' "$program" "$part"; done
done | xargs -0 -P "${JOBS:-$(nproc)}" -I{} bash -c 'run_part "$@"' _ {}

passed=0
failed=0
for program in "${programs[@]}"; do
    name=$(basename "$program")
    program_ok=0 program_bad=0 program_seconds=0
    for ((part = 0; part < shards; ++part)); do
        log=$logs/$name.$part.log
        read -r code seconds <"$logs/$name.$part.code"
        if [ "$code" -ne 0 ]; then cat "$log"; fi
        ok=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\?\.$/\1/p' "$log" | tail -1)
        bad=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) tests\?, listed below:$/\1/p' "$log" | tail -1)
        # A program that dies without a verdict counts as one failure.
        if [ "$code" -ne 0 ] && [ -z "${bad:-}" ]; then bad=1; echo "$name ended with code $code without a verdict"; fi
        program_ok=$((program_ok + ${ok:-0}))
        program_bad=$((program_bad + ${bad:-0}))
        program_seconds=$((program_seconds + seconds))
    done
    printf '  %-18s %5d passed %3d failed %4d s\n' "$name" "$program_ok" "$program_bad" "$program_seconds"
    passed=$((passed + program_ok))
    failed=$((failed + program_bad))
done
echo "$label: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
