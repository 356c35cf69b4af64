#!/usr/bin/env bash
# Runs every unit test program of a build folder and counts. Usage: tools/run_unit_tests.sh BUILD_DIR [LABEL]
set -u
build=$1
label=${2:-unit}
passed=0
failed=0
for program in "$build"/src/*/*_test "$build"/src/heads/*/*_test; do
    [ -x "$program" ] || continue
    name=$(basename "$program")
    log=$(mktemp)
    if ! "$program" --gtest_brief=1 >"$log" 2>&1; then cat "$log"; broken=1; else broken=0; fi
    ok=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\?\.$/\1/p' "$log" | tail -1)
    bad=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) tests\?, listed below:$/\1/p' "$log" | tail -1)
    # A program that dies without a verdict counts as one failure.
    if [ "$broken" -eq 1 ] && [ -z "${bad:-}" ]; then bad=1; echo "$name ended without a verdict"; fi
    printf '  %-18s %5d passed %3d failed\n' "$name" "${ok:-0}" "${bad:-0}"
    passed=$((passed + ${ok:-0}))
    failed=$((failed + ${bad:-0}))
    rm -f "$log"
done
echo "$label: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
