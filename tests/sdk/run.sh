#!/usr/bin/env bash
# End-to-end suites with the unmodified official SDKs, and the raw-wire suite.
#
#   tests/sdk/run.sh [js|python|java|go|wire ...] [--tls | --tls-only] [--endpoint URL] [--only REGEX]
#
# Without --endpoint a fresh server (ORRERY_BIN, default build/orrery) is started with --memory on a free port and ended
# afterwards; it does not throttle. The behaviours about throughput get one of their own that does
# (ORRERY_THROTTLED_ENDPOINT; they are skipped with --endpoint unless that is set). --tls runs the behaviours named in TLS_SUBSET once more over https, trusting only the server's own
# certificate authority; --tls-only leaves the plain run out. --only limits every suite to tests whose name matches, e.g. --only 'B1[1-6]'.
# Logs and downloads stay in build/sdk (ORRERY_SDK_CACHE).
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${ORRERY_SDK_CACHE:-$root/build/sdk}
server=${ORRERY_BIN:-$root/build/orrery}
export ORRERY_BIN=$server # for tests that restart a server of their own
TLS_SUBSET='(B01|B02|B04|B06|B17|B19|B25|B34|B39|B42|B53|W01|W02|W10|W25|W31|W80|W81|W83|W84|W85|W87|W96)'

suites=() http=1 tls=0 endpoint="" only=""
while (($#)); do
  case $1 in
    js | python | java | go | wire) suites+=("$1") ;;
    --tls) tls=1 ;;
    --tls-only) tls=1 http=0 ;;
    --endpoint) endpoint=${2:?--endpoint needs a URL}; endpoint=${endpoint%/}; shift ;;
    --only) only=${2:?--only needs an expression}; shift ;;
    -h | --help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "sdk: unknown argument '$1' (js, python, java, go, wire, --tls, --tls-only, --endpoint URL, --only REGEX)" >&2; exit 2 ;;
  esac
  shift
done
((${#suites[@]})) || suites=(js python java go wire)

mkdir -p "$cache/logs"
passed=0 failed=0 skipped=0 server_pid="" throttled_pid=""

say() { printf '%s\n' "$*"; }

fail_suite() {
  failed=$((failed + 1))
  say "sdk: $1: $2"
}

stop_server() {
  stop_one "$throttled_pid" throttled
  stop_one "$server_pid" server
  server_pid="" throttled_pid=""
}

stop_one() { # pid, name of the log
  [[ -n $1 ]] || return 0
  local pid=$1 log=$cache/logs/$2.log code
  if ! kill -TERM "$pid" 2>/dev/null; then
    wait "$pid"
    fail_suite server "died during the run (exit code $?); its log: $log"
    tail -n 20 "$log"
    return
  fi
  for _ in $(seq 600); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
  if kill -KILL "$pid" 2>/dev/null; then fail_suite server "did not stop within thirty seconds"; fi
  wait "$pid" 2>/dev/null
  code=$?
  ((code == 0 || code == 137)) || fail_suite server "ended with exit code $code; its log: $log"
}
trap 'stop_server' EXIT
trap 'exit 130' INT TERM

start_servers() {
  [[ -x $server ]] || { say "sdk: no server at $server (build it, or set ORRERY_BIN)"; exit 2; }
  local arguments=(--unthrottled)
  # A read-only key of our own, where the server can be given one.
  local flag
  flag=$("$server" serve --help 2>&1 | grep -oE -- '--(readonly|read-only)-key' | head -n 1)
  if [[ -n $flag ]]; then
    export ORRERY_READONLY_KEY=$(head -c 64 /dev/urandom | base64 -w 0)
    arguments+=("$flag" "$ORRERY_READONLY_KEY")
  fi
  start_one server "${arguments[@]}"
  endpoint=$started server_pid=$started_pid
  start_one throttled
  throttled_pid=$started_pid
  export ORRERY_THROTTLED_ENDPOINT=$started
}

start_one() { # name of the log, arguments; sets started, started_pid
  local log=$cache/logs/$1.log port=""
  shift
  "$server" serve --memory --port 0 "$@" >"$log" 2>&1 &
  started_pid=$!
  for _ in $(seq 1200); do
    port=$(grep -oE 'https?://[^ "/]+:[0-9]+' "$log" 2>/dev/null | head -n 1 | grep -oE '[0-9]+$')
    if [[ -n $port ]] && curl -fsS -m 2 -o /dev/null "http://127.0.0.1:$port/ready" 2>/dev/null; then
      started=http://127.0.0.1:$port
      return
    fi
    kill -0 "$started_pid" 2>/dev/null || break
    sleep 0.05
  done
  say "sdk: the server did not become ready; its log:"
  cat "$log"
  exit 2
}

need() { command -v "$1" >/dev/null || { fail_suite "$2" "'$1' is not installed"; return 1; }; }

# --- what each suite needs, downloaded once -------------------------------------------------------------------------

prepare_js() {
  need npm js || return 1
  node=$("$here/node.sh" 2>"$cache/logs/js-setup.log") || { fail_suite js "no Node.js: $cache/logs/js-setup.log"; return 1; }
  if ! cmp -s "$here/js/package-lock.json" "$here/js/node_modules/.orrery-lock"; then
    npm ci --prefix "$here/js" --no-audit --no-fund --silent >"$cache/logs/js-setup.log" 2>&1 || { fail_suite js "npm ci failed: $cache/logs/js-setup.log"; return 1; }
    cp "$here/js/package-lock.json" "$here/js/node_modules/.orrery-lock"
  fi
}

prepare_venv() { # suite
  need python3 "$1" || return 1
  if ! cmp -s "$here/python/requirements.txt" "$cache/venv/.orrery-requirements"; then
    { python3 -m venv "$cache/venv" && "$cache/venv/bin/pip" install -q --disable-pip-version-check -r "$here/python/requirements.txt"; } \
      >"$cache/logs/python-setup.log" 2>&1 || { fail_suite "$1" "pip failed: $cache/logs/python-setup.log"; return 1; }
    cp "$here/python/requirements.txt" "$cache/venv/.orrery-requirements"
  fi
}

# --- running and counting -------------------------------------------------------------------------------------------

number() { grep -oE "$2" "$1" 2>/dev/null | tail -n 1 | grep -oE '[0-9]+' | head -n 1; }

run_js() { # log filter
  prepare_js || return 1
  local pattern=()
  [[ -n $2 ]] && pattern=(--test-name-pattern "/$2/")
  (cd "$here/js" && "$node" --test --test-reporter=tap "${pattern[@]}" ./*.test.js) >"$1" 2>&1
  # Node also counts files and groups as tests; a behaviour is a line with its number.
  f=$(grep -cE '^ +not ok [0-9]+ - B[0-9]' "$1")
  s=$(grep -cE '^ +ok [0-9]+ - B[0-9].*# SKIP' "$1")
  p=$(($(grep -cE '^ +ok [0-9]+ - B[0-9]' "$1") - s))
  if ((f == 0)) && (($(number "$1" '^# fail [0-9]+' || echo 1))); then f=1; fi # a file that did not load
  return 0
}

failures_js() { grep -E '^ +not ok [0-9]+ - B' "$1" | sed -E 's/^ +not ok [0-9]+ - /  /'; }

run_pytest() { # folder log filter
  prepare_venv "$(basename "$1")" || return 1
  (cd "$1" && ORRERY_ONLY=$3 PYTHONDONTWRITEBYTECODE=1 "$cache/venv/bin/pytest" -q -n 4 --tb=short) >"$2" 2>&1
  local last
  last=$(tail -n 1 "$2")
  p=$(grep -oE '[0-9]+ passed' <<<"$last" | grep -oE '[0-9]+')
  f=$(grep -oE '[0-9]+ (failed|errors?)' <<<"$last" | awk '{n += $1} END {print n + 0}')
  s=$(grep -oE '[0-9]+ skipped' <<<"$last" | grep -oE '[0-9]+')
  return 0
}

run_python() { run_pytest "$here/python" "$1" "$2"; }
run_wire() { run_pytest "$here/wire" "$1" "$2"; }
failures_python() { grep -E '^(FAILED|ERROR) ' "$1" | sed -E 's/^[A-Z]+ /  /' | cut -c1-160; }
failures_wire() { failures_python "$1"; }

run_java() {
  need mvn java && need java java || return 1
  rm -rf "$here/java/target/surefire-reports"
  (cd "$here/java" && ORRERY_ONLY=$2 mvn -q -B -ntp test) >"$1" 2>&1
  read -r p f s < <(python3 - "$here/java/target/surefire-reports" <<'PY'
import glob, sys, xml.etree.ElementTree as tree
passed = failed = skipped = 0
for path in glob.glob(sys.argv[1] + "/TEST-*.xml"):
    for case in tree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None: failed += 1
        elif case.find("skipped") is not None: skipped += 1
        else: passed += 1
print(passed, failed, skipped)
PY
  )
  return 0
}

failures_java() { grep -E '^\[ERROR\]   [A-Za-z]+Test\.' "$1" | sed -E 's/^\[ERROR\] +/  /' | cut -c1-200; }

run_go() {
  local go
  go=$("$here/go.sh" 2>"$cache/logs/go-setup.log") || { fail_suite go "no Go: $cache/logs/go-setup.log"; return 1; }
  local pattern=()
  [[ -n $2 ]] && pattern=(-run "^Test_$2")
  (cd "$here/go" && "$go" test -count=1 -v -timeout 300s "${pattern[@]}" ./...) >"$1" 2>&1
  p=$(grep -cE '^--- PASS' "$1") f=$(grep -cE '^--- FAIL' "$1") s=$(grep -cE '^--- SKIP' "$1")
  return 0
}

failures_go() { grep -E '^--- FAIL' "$1" | sed 's/^--- FAIL: /  /'; }

run_suite() { # suite scheme filter
  local suite=$1 scheme=$2 filter=$3 log=$cache/logs/$1-$2.log p="" f="" s="" began=$SECONDS
  "run_$suite" "$log" "$filter" || return 0
  p=${p:-0} f=${f:-0} s=${s:-0}
  if ((p + f == 0)); then
    f=1
    say "sdk: $suite ($scheme): nothing ran; the log ends with:"
    tail -n 15 "$log"
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  local note=""
  ((s)) && note=", $s skipped"
  say "sdk: $suite ($scheme): $p passed, $f failed$note, $((SECONDS - began)) s"
  if ((f)); then
    "failures_$suite" "$log"
    say "  details: $log"
  fi
}

run_all() { # scheme filter
  local suite
  for suite in "${suites[@]}"; do run_suite "$suite" "$1" "$2"; done
}

[[ -n $endpoint ]] || start_servers
plain=$endpoint
trust() {
  curl -fsSk -m 10 -o "$cache/ca.pem" "$plain/_explorer/emulator.pem" || { fail_suite tls "no certificate at $plain/_explorer/emulator.pem"; return 1; }
  export ORRERY_CA=$cache/ca.pem NODE_EXTRA_CA_CERTS=$cache/ca.pem
}

if [[ $plain == https://* ]]; then
  [[ ${ORRERY_INSECURE:-} == 1 ]] || trust
  ORRERY_ENDPOINT=$plain
  export ORRERY_ENDPOINT
  run_all https "$only"
else
  export ORRERY_ENDPOINT=$plain
  ((http)) && run_all http "$only"
  if ((tls)) && trust; then
    ORRERY_ENDPOINT=https://localhost:${plain##*:}
    run_all https "${only:-$TLS_SUBSET}"
  fi
fi

stop_server
((skipped)) && say "sdk: $skipped skipped"
say "sdk: $passed passed, $failed failed"
((failed == 0))
