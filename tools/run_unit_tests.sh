#!/usr/bin/env bash
# Runs every unit test program of a build folder, as many at a time as there are cores, and counts.
# Usage: tools/run_unit_tests.sh BUILD_DIR [LABEL]      (JOBS: programs at a time)
set -u
build=$1
label=${2:-unit}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Runs one program; keeps its output and what became of it.
run_one() {
    local program=$1 logs=$2 name began=$SECONDS
    name=$(basename "$program")
    "$program" --gtest_brief=1 >"$logs/$name.log" 2>&1
    echo "$? $((SECONDS - began))" >"$logs/$name.code"
}
export -f run_one
find "$build/src" -name '*_test' -type f -perm -u+x -print0 | sort -z |
    xargs -0 -P "${JOBS:-$(nproc)}" -I{} bash -c 'run_one "$@"' _ {} "$logs"

passed=0
failed=0
for code_file in "$logs"/*.code; do
    [ -e "$code_file" ] || continue
    name=$(basename "$code_file" .code)
    log=$logs/$name.log
    read -r code seconds <"$code_file"
    if [ "$code" -ne 0 ]; then cat "$log"; fi
    ok=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\?\.$/\1/p' "$log" | tail -1)
    bad=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) tests\?, listed below:$/\1/p' "$log" | tail -1)
    # A program that dies without a verdict counts as one failure.
    if [ "$code" -ne 0 ] && [ -z "${bad:-}" ]; then bad=1; echo "$name ended with code $code without a verdict"; fi
    printf '  %-18s %5d passed %3d failed %4d s\n' "$name" "${ok:-0}" "${bad:-0}" "$seconds"
    passed=$((passed + ${ok:-0}))
    failed=$((failed + ${bad:-0}))
done
echo "$label: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
