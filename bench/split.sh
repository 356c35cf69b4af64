#!/usr/bin/env bash
# How fast a physical partition is split beside a running load, and how long writers wait.
#   bench/split.sh [--items 200000] [--load mix50|none]
# Prints one line of JSON: what was copied (items' text, and all keys and values with index and log), the time, the
# pause of writers, and the load's own report.
set -euo pipefail
cd "$(dirname "$0")/.."
items=200000
load_kind=mix50
while [ $# -gt 0 ]; do
    case "$1" in
        --items) items=$2; shift 2 ;;
        --load) load_kind=$2; shift 2 ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
done
. bench/common.sh
build_programs orrery orrery_load

start_orrery --data "$work/data" --no-auto-split --unthrottled
orrery_load setup >/dev/null
orrery_load load "$items" >/dev/null
settle "$orrery_pid"
if [ "$load_kind" != none ]; then
    orrery_load --items "$items" --connections 8 --seconds 600 run "$load_kind" >"$work/load" 2>/dev/null &
    pids+=("$!")
    sleep 1
fi
python3 - "$orrery_port" "$key" <<'PY'
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
