#!/usr/bin/env bash
# How fast the change feed is read from memory and what that costs the server, how soon it shows a write under full
# write load, what bulk through the JavaScript SDK costs,
# and what a stored procedure saves against single requests.
#   bench/feed.sh [--items 200000] [--bulk 100000] [--seconds 20]
# Prints a line of JSON for each. Goals: 300 MB or 150,000 changes for one core's second; lag below 50 ms.
set -euo pipefail
cd "$(dirname "$0")/.."
items=200000
bulk=100000
seconds=20
while [ $# -gt 0 ]; do
    case "$1" in
        --items) items=$2; shift 2 ;;
        --bulk) bulk=$2; shift 2 ;;
        --seconds) seconds=$2; shift 2 ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
done
cache_mb=1024
. bench/common.sh
build_programs orrery orrery_load

start_orrery --data "$work/data" --unthrottled --no-auto-split
orrery_load setup >/dev/null
orrery_load load "$items" >/dev/null
settle "$orrery_pid"
python3 bench/feed/reader.py speed "$orrery_port" "$key" "$orrery_pid"
orrery_load --items "$items" --connections 64 --seconds "$((seconds + 5))" run create >"$work/load" 2>/dev/null &
load_pid=$!
pids+=("$load_pid")
sleep 2
python3 bench/feed/reader.py lag "$orrery_port" "$key" "$orrery_pid" "$seconds"
wait "$load_pid" || true
if [ "$bulk" -gt 0 ]; then
    settle "$orrery_pid"
    python3 bench/feed/reader.py bulk "$orrery_port" "$key" "$orrery_pid"
    node=$(tests/sdk/node.sh)
    [ -d tests/sdk/js/node_modules ] || (cd tests/sdk/js && npm ci --no-audit --no-fund --silent)
    "$node" bench/feed/bulk.mjs "$orrery_port" "$key" "$orrery_pid" "$bulk"
    "$node" bench/feed/procedure.mjs "$orrery_port" "$key" "$orrery_pid" 30
fi
