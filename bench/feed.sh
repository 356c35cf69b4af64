#!/usr/bin/env bash
# How fast the change feed is read from memory and what that costs the server, how soon it shows a write under full
# write load, what bulk through the JavaScript SDK costs,
# and what a stored procedure saves against single requests.
#   bench/feed.sh [--items 200000] [--bulk 100000] [--seconds 20] [--server FILE] [--loader FILE]
# Prints a line of JSON for each. Goals: 300 MB or 150,000 changes for one core's second; lag below 50 ms.
set -euo pipefail
cd "$(dirname "$0")/.."
items=200000
bulk=100000
seconds=20
server=build-bench/orrery
loader=build-bench/bench/orrery_load
while [ $# -gt 0 ]; do
    case "$1" in
        --items) items=$2; shift 2 ;;
        --bulk) bulk=$2; shift 2 ;;
        --seconds) seconds=$2; shift 2 ;;
        --server) server=$2; shift 2 ;;
        --loader) loader=$2; shift 2 ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
done
if [ ! -x "$server" ] || [ ! -x "$loader" ]; then
    cmake -S . -B build-bench -G Ninja -DCMAKE_BUILD_TYPE=Release -DORRERY_BENCH=ON -DORRERY_TESTS=OFF >/dev/null
    ninja -C build-bench orrery orrery_load
fi
work=$(mktemp -d)
key="C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
pids=()
cleanup() {
    for pid in "${pids[@]:-}"; do [ -n "$pid" ] && kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

"$server" serve --data "$work/data" --port 0 --cache-mb 1024 --unthrottled --no-auto-split >"$work/log" 2>&1 &
server_pid=$!
pids+=("$server_pid")
until grep -q "ready at" "$work/log"; do kill -0 "$server_pid"; sleep 0.05; done
port=$(sed -n 's|.*ready at http://[^:]*:\([0-9]*\)/.*|\1|p' "$work/log" | head -1)
run() { "$loader" --port "$port" --key "$key" --pid "$server_pid" "$@"; }
run setup >/dev/null
run load "$items" >/dev/null
python3 bench/feed/reader.py speed "$port" "$key" "$server_pid"
run --items "$items" --connections 64 --seconds "$((seconds + 5))" run create >"$work/load" 2>/dev/null &
load_pid=$!
pids+=("$load_pid")
sleep 2
python3 bench/feed/reader.py lag "$port" "$key" "$server_pid" "$seconds"
wait "$load_pid" || true
if [ "$bulk" -gt 0 ]; then
    node=$(tests/sdk/node.sh)
    [ -d tests/sdk/js/node_modules ] || (cd tests/sdk/js && npm ci --no-audit --no-fund --silent)
    "$node" bench/feed/bulk.mjs "$port" "$key" "$server_pid" "$bulk"
    "$node" bench/feed/procedure.mjs "$port" "$key" "$server_pid" 30
fi
