#!/usr/bin/env bash
# Builds every fuzz target and runs each for a while, starting from its corpus.
# Usage: tests/fuzz/run.sh [SECONDS]      (seconds per target, default 20)
#   FUZZ_BUILD_DIR   build folder, default build-fuzz; one that is configured already is taken as it is (build-asan)
#   FUZZ_ONLY        names of targets to run, default all (example: FUZZ_ONLY="route_fuzz json_fuzz")
#   FUZZ_OPTIMIZE    compiler's optimisation, default -O1; -O0 builds twice as fast, for short runs
#   JOBS             compile jobs and targets that run at a time, default one per core
# An input that crashes a target is kept in FUZZ_BUILD_DIR/findings; run the target with that path to
# see the crash again. Closes with one line "fuzz: N passed, M failed", one per target.
set -u
seconds=${1:-20}
case "$seconds" in
    '' | *[!0-9]* | 0) echo "usage: tests/fuzz/run.sh [SECONDS]" >&2; exit 2 ;;
esac
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${FUZZ_BUILD_DIR:-$root/build-fuzz}
findings=$build/findings
targets=()
for source in "$root"/tests/fuzz/*_fuzz.cc; do
    name=$(basename "$source" .cc)
    if [ -z "${FUZZ_ONLY:-}" ] || [[ " $FUZZ_ONLY " == *" $name "* ]]; then targets+=("$name"); fi
done
if [ ${#targets[@]} -eq 0 ]; then
    echo "no such fuzz target: ${FUZZ_ONLY:-}" >&2
    exit 2
fi

# Unit tests stay out of this build, and only the modules that the targets include are compiled.
if [ ! -f "$build/CMakeCache.txt" ]; then
    cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Sanitized \
        -DCMAKE_CXX_FLAGS_SANITIZED="${FUZZ_OPTIMIZE:--O1} -g1" -DCMAKE_CXX_COMPILER=clang++ -DORRERY_PRECOMPILE=ON \
        -DORRERY_FUZZ=ON -DORRERY_TESTS=OFF -DORRERY_SANITIZE=fuzzer-no-link,address,undefined >"$build.log" 2>&1 \
        || { cat "$build.log"; rm -f "$build.log"; echo "fuzz: 0 passed, ${#targets[@]} failed"; exit 1; }
    mv "$build.log" "$build/configure.log"
fi
# One target that does not compile must not hide the others.
jobs=${JOBS:-$(nproc)}
ninja -C "$build" -k 0 -j "$jobs" "${targets[@]}"

mkdir -p "$findings"
# Runs one target; its verdict goes to <build>/<name>.verdict: "passed" or "failed", and a line for people.
run_target() {
    local name=$1 program=$build/tests/fuzz/$1 log=$build/$1.log verdict=$build/$1.verdict
    if [ ! -x "$program" ]; then
        printf 'failed\n  %-20s does not build\n' "$name" >"$verdict"
        return
    fi
    # New inputs go to the copy: the corpus in the tree changes only on purpose.
    local work corpus=$root/tests/fuzz/corpus/${name%_fuzz} dictionary=$root/tests/fuzz/${name%_fuzz}.dict options=()
    work=$(mktemp -d)
    [ -d "$corpus" ] && cp "$corpus"/* "$work"/
    [ -f "$dictionary" ] && options+=("-dict=$dictionary")
    if "$program" "$work" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$findings/$name-" "${options[@]}" >"$log" 2>&1; then
        printf 'passed\n  %-20s %9s runs\n' "$name" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" >"$verdict"
    else
        local input
        input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
        { echo failed; tail -n 60 "$log"; printf '  %-20s FAILED, input: %s\n' "$name" "${input:-none, see $log}"; } >"$verdict"
    fi
    rm -rf "$work"
}
export -f run_target
export root build findings seconds
rm -f "$build"/*.verdict
printf '%s\0' "${targets[@]}" | xargs -0 -P "$jobs" -I{} bash -c 'run_target "$@"' _ {}

passed=0
failed=0
for name in "${targets[@]}"; do
    tail -n +2 "$build/$name.verdict"
    if [ "$(head -1 "$build/$name.verdict")" = passed ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "fuzz: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
