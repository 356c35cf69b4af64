#!/usr/bin/env bash
# Drives the command line (serve, check, shell, import, export, bench, top, completion) against a real server; what is interactive through a
# pseudo-terminal.
#
#   tests/cli/run.sh [PATTERN]
#
# ORRERY_BIN: the program (default build/orrery).
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
export ORRERY_BIN=${ORRERY_BIN:-$root/build/orrery}
[[ -x $ORRERY_BIN ]] || { echo "cli: no program at $ORRERY_BIN (build it, or set ORRERY_BIN)"; exit 2; }
cd "$here"
exec python3 -B run_tests.py "$@"
