#!/usr/bin/env bash
# Drives the Data Explorer in a real browser (Debian's Chromium, headless) against a real server.
#
#   tests/explorer/run.sh [NAME_PATTERN]
#
# ORRERY_BIN: the server (default build/orrery). Screenshots go to build/explorer-shots.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
server=${ORRERY_BIN:-$root/build/orrery}
work=$root/build/explorer-tests
mkdir -p "$work"
cd "$here"

[[ -x $server ]] || { echo "explorer: no server at $server (build it, or set ORRERY_BIN)"; exit 2; }
command -v "${CHROMIUM:-chromium}" >/dev/null || { echo "explorer: chromium is not installed (tools/install_deps.sh explorer)"; exit 2; }
if ! cmp -s package-lock.json node_modules/.orrery-lock; then
  npm ci --no-audit --no-fund --silent >"$work/npm.log" 2>&1 || { echo "explorer: npm ci failed: $work/npm.log"; exit 2; }
  cp package-lock.json node_modules/.orrery-lock
fi

passed=0
failed=0
# Types and the parts without a page. NAME_PATTERN means: only that browser test.
if [[ -z ${1:-} ]]; then
  if ! cmp -s "$root/explorer/package-lock.json" "$root/explorer/node_modules/.orrery-lock"; then
    npm ci --prefix "$root/explorer" --no-audit --no-fund --silent >"$work/npm.log" 2>&1 || { echo "explorer: npm ci failed: $work/npm.log"; exit 2; }
    cp "$root/explorer/package-lock.json" "$root/explorer/node_modules/.orrery-lock"
  fi
  if (cd "$root/explorer" && npm run --silent check) >"$work/types.log" 2>&1; then passed=1; else failed=1; cat "$work/types.log"; fi
  (cd "$root/explorer" && npm run --silent test) >"$work/unit.tap" 2>&1
  passed=$((passed + $(grep -cE '^ok [0-9]+ - ' "$work/unit.tap")))
  failed=$((failed + $(grep -cE '^not ok [0-9]+ - ' "$work/unit.tap")))
  grep -E '^not ok ' "$work/unit.tap"
fi

"$server" serve --memory --port 0 >"$work/server.log" 2>&1 &
pid=$!
trap 'kill -TERM $pid 2>/dev/null; wait $pid 2>/dev/null' EXIT
port=""
for _ in $(seq 200); do
  port=$(grep -oE 'http://[^ "/]+:[0-9]+' "$work/server.log" 2>/dev/null | head -n 1 | grep -oE '[0-9]+$')
  [[ -n $port ]] && curl -fsS -m 2 -o /dev/null "http://127.0.0.1:$port/ready" 2>/dev/null && break
  kill -0 "$pid" 2>/dev/null || break
  sleep 0.05
done
[[ -n $port ]] || { echo "explorer: the server did not start"; cat "$work/server.log"; exit 2; }

export ORRERY_ENDPOINT=http://127.0.0.1:$port ORRERY_SHOTS=$root/build/explorer-shots ORRERY_BIN=$server
pattern=()
[[ -n ${1:-} ]] && pattern=(--test-name-pattern "$1")
timeout -k 5 900 node --test --test-concurrency=1 --test-reporter=tap "${pattern[@]}" ./*.test.js >"$work/log.tap" 2>&1 </dev/null
ran=$(grep -cE '^(not )?ok [0-9]+ - ' "$work/log.tap")
passed=$((passed + $(grep -E '^ok [0-9]+ - ' "$work/log.tap" | grep -cv '# SKIP')))
grep -E '^ok .*# SKIP' "$work/log.tap" | sed 's/^ok [0-9]* - /explorer: left out: /'
failed=$((failed + $(grep -cE '^not ok [0-9]+ - ' "$work/log.tap")))
grep -E '^ *not ok ' "$work/log.tap"
if ((failed)); then
  grep -E "^ +(error|message|stack):|^ +[a-z].*" "$work/log.tap" | head -n 120
  echo "explorer: details: $work/log.tap, screenshots: $ORRERY_SHOTS"
fi
((ran)) || { tail -n 30 "$work/log.tap"; failed=$((failed + 1)); }
echo "explorer: $passed passed, $failed failed"
((failed == 0))
