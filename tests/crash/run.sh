#!/usr/bin/env bash
# Crash test: tests/crash/run.sh [ROUNDS] [further options of crash.mjs]
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-20}
[ $# -gt 0 ] && shift
[ -d tests/sdk/js/node_modules ] || (cd tests/sdk/js && npm ci --silent --no-audit --no-fund)
exec "$(tests/sdk/node.sh)" tests/crash/crash.mjs --rounds "$rounds" --server "${ORRERY_BIN:-build/orrery}" "$@"
