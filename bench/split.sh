#!/usr/bin/env bash
# How fast a physical partition is split beside a running load, and how long writers wait.
#   bench/split.sh [--items 200000] [--load mix50|none] [--server FILE] [--loader FILE]
# Prints one line of JSON: what was copied (items' text, and all keys and values with index and log), the time, the
# pause of writers, and the load's own report.
set -euo pipefail
cd "$(dirname "$0")/.."
items=200000
load_kind=mix50
server=build-bench/orrery
loader=build-bench/bench/orrery_load
while [ $# -gt 0 ]; do
    case "$1" in
        --items) items=$2; shift 2 ;;
        --load) load_kind=$2; shift 2 ;;
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

"$server" serve --data "$work/data" --port 0 --cache-mb 512 --no-auto-split --unthrottled >"$work/log" 2>&1 &
server_pid=$!
pids+=("$server_pid")
until grep -q "ready at" "$work/log"; do kill -0 "$server_pid"; sleep 0.05; done
port=$(sed -n 's|.*ready at http://[^:]*:\([0-9]*\)/.*|\1|p' "$work/log" | head -1)
run() { "$loader" --port "$port" --key "$key" --pid "$server_pid" "$@"; }
run setup >/dev/null
run load "$items" >/dev/null
if [ "$load_kind" != none ]; then
    run --items "$items" --connections 8 --seconds 600 run "$load_kind" >"$work/load" 2>/dev/null &
    pids+=("$!")
    sleep 1
fi
python3 - "$port" "$key" <<'PY'
import base64, hashlib, hmac, json, sys, time, urllib.parse, urllib.request
from email.utils import formatdate

port, key = sys.argv[1:]


def own(method, path, body=None):
    date = formatdate(usegmt=True)
    text = f"{method.lower()}\n_orrery\n{path}\n{date.lower()}\n\n"
    signature = base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/_orrery/{path}", method=method, data=None if body is None else json.dumps(body).encode(),
        headers={"authorization": urllib.parse.quote(f"type=master&ver=1.0&sig={signature}", safe=""), "x-ms-date": date,
                 "x-ms-version": "2018-12-31"})
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


database, container = "bench", "items"
path = f"containers/{database}/{container}"
before = own("GET", f"{path}/partitions")["ranges"]
whole = max(before, key=lambda one: one["bytes"])
began = time.time()
job = own("POST", f"{path}/split", {"rangeId": whole["id"], "at": "bytes"})["job"]
while job["phase"] not in ("done", "failed"):
    time.sleep(0.02)
    job = next(one for one in own("GET", f"{path}/partitions")["jobs"] if one["id"] == job["id"])
seconds = time.time() - began
print(json.dumps({
    "workload": "split", "phase": job["phase"], "items": whole["items"], "item_mb": round(whole["bytes"] / 1e6, 1),
    "copied_mb": round(job["bytesCopied"] / 1e6, 1), "seconds": round(seconds, 2), "copy_seconds": round(job["copyMs"] / 1000, 2),
    "copied_mb_per_second": round(job["bytesCopied"] / 1e6 / seconds, 1), "item_mb_per_second": round(whole["bytes"] / 1e6 / seconds, 1),
    "pause_ms": round(job["pauseMs"], 1), **({"error": job["error"]} if "error" in job else {})}))
PY
