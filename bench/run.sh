#!/usr/bin/env bash
# Measures Orrery beside its peers in one run and writes docs/benchmarks.md.
#   bench/run.sh [--items 200000] [--seconds 5] [--quick] [--flatness | --steps "N N …"] [--out FILE]
# Closes with bench/growth.sh: what operations and starts cost in a container of 600 thousand items, a folder above 1 GB;
# with --flatness at 10 thousand, 100 thousand, 1 million and 5 million items, which takes 12 minutes; with --steps at other
# numbers. Everything runs on loopback from a temporary folder (TMPDIR); only processes started here are ended.
set -euo pipefail
cd "$(dirname "$0")/.."

command="bench/run.sh $*"
items=200000
hot=2000
seconds=5
cache_mb=512 # for Orrery's caches, RocksDB's block cache and PostgreSQL's shared buffers alike
steps="600000"
out=docs/benchmarks.md
while [ $# -gt 0 ]; do
    case "$1" in
        --items) items=$2; shift 2 ;;
        --seconds) seconds=$2; shift 2 ;;
        --quick) items=20000; seconds=2; steps=""; shift ;;
        --flatness) steps="10000 100000 1000000 5000000"; shift ;;
        --steps) steps=$2; shift 2 ;;
        --out) out=$2; shift 2 ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
done

build=build-bench
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DORRERY_BENCH=ON -DORRERY_TESTS=OFF >/dev/null
ninja -C $build orrery orrery_load postgres_load rocksdb_load

work=$(mktemp -d)
chmod a+rx "$work"
results=$work/results.jsonl
: >"$results"
pids=()
key="C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
load=$build/bench/orrery_load

cleanup() {
    for pid in "${pids[@]:-}"; do [ -n "$pid" ] && kill "$pid" 2>/dev/null || true; done
    [ -n "${pg_data:-}" ] && as_postgres "$pg_bin/pg_ctl -D $pg_data -m fast stop" >/dev/null 2>&1 || true
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

free_port() { python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])'; }
await_port() { # PORT, twenty seconds at most
    for _ in $(seq 200); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return; fi
        sleep 0.1
    done
}
note() { echo "$1" | tee -a "$results"; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }

# CPU ticks of a process and its children.
ticks() {
    local pid stats=""
    for pid in "$1" $(pgrep -P "$1" || true); do stats+="$(cat "/proc/$pid/stat" 2>/dev/null || true)"$'\n'; done
    awk 'NF { sub(/^.*\) /, ""); sum += $12 + $13 } END { print sum + 0 }' <<<"$stats"
}
# Waits until a server rests, a minute at most: loading leaves compactions behind.
settle() {
    local quiet=0 before after
    for _ in $(seq 120); do
        before=$(ticks "$1"); sleep 0.5; after=$(ticks "$1")
        if [ $((after - before)) -le 2 ]; then quiet=$((quiet + 1)); else quiet=0; fi
        if [ $quiet -ge 2 ]; then return; fi
    done
}

throttling=(--unthrottled) # the load is meant to be more than any offer allows
start_orrery() { # --data FOLDER or --memory; sets orrery_pid, orrery_port, ready_ms
    local log=$work/orrery.log began
    : >"$log"
    began=$(now_ms)
    $build/orrery serve "$@" --port 0 "${throttling[@]}" --cache-mb $cache_mb >"$log" 2>&1 &
    orrery_pid=$!
    pids+=("$orrery_pid")
    until grep -q "ready at" "$log"; do
        kill -0 "$orrery_pid" || { cat "$log" >&2; exit 1; }
        sleep 0.01
    done
    ready_ms=$(($(now_ms) - began))
    orrery_port=$(sed -n 's|.*ready at http://[^:]*:\([0-9]*\)/.*|\1|p' "$log" | head -1)
}
stop_orrery() { kill "$orrery_pid"; wait "$orrery_pid" || true; }
orrery() { $load --port "$orrery_port" --key "$key" --pid "$orrery_pid" --seconds "$seconds" "$@"; }
orrery_run() { orrery "$@" | tee -a "$results"; }
# Starts on a folder once more, after a clean stop and after a kill.
measure_starts() { # FOLDER
    stop_orrery
    start_orrery --data "$1"
    note "{\"system\":\"orrery\",\"workload\":\"start\",\"folder_mb\":$(du -sm "$1" | cut -f1),\"ms\":$ready_ms}"
    orrery --first 2000000000 load 2000
    kill -9 "$orrery_pid"; wait "$orrery_pid" 2>/dev/null || true
    start_orrery --data "$1"
    note "{\"system\":\"orrery\",\"workload\":\"start-after-kill\",\"folder_mb\":$(du -sm "$1" | cut -f1),\"ms\":$ready_ms}"
}

echo "== Orrery, $items items =="
start_orrery --data "$work/orrery"
orrery setup
orrery load "$items"
settle "$orrery_pid"
orrery_run --system orrery-hot --items $hot run read
orrery_run --items "$items" run read
orrery_run --items "$items" --connections 8 run feed
orrery_run --items "$items" --first "$items" run create
orrery_run --items "$items" run upsert
orrery_run --items "$items" --zipfian true run mix95
orrery_run --items "$items" --zipfian true run mix50
measure_starts "$work/orrery"
stop_orrery
rm -rf "$work/orrery"

start_orrery --memory
sleep 2
before=$(ticks "$orrery_pid"); sleep 5; after=$(ticks "$orrery_pid")
note "{\"system\":\"orrery\",\"workload\":\"idle\",\"rss_mb\":$(($(awk '/VmRSS/{print $2}' "/proc/$orrery_pid/status") / 1024)),\"cpu_percent\":$(python3 -c "print(round(($after-$before)/5,2))")}"
began=$(now_ms)
orrery containers 1000
note "{\"system\":\"orrery\",\"workload\":\"containers\",\"count\":1000,\"ms\":$(($(now_ms) - began))}"
stop_orrery

echo "== Budgets enforced and not, in turns =="
cat >"$work/metering.json" <<'JSON'
{"databases":[{"id":"bench","containers":[{"id":"items","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
 "autoscaleMaxThroughput":1000000}]}]}
JSON
for turn in 1 2 3; do
    for system in orrery-unmetered orrery-metered; do
        throttling=()
        [ $system = orrery-metered ] || throttling=(--unthrottled)
        start_orrery --data "$work/metering" --init "$work/metering.json"
        orrery load $hot
        settle "$orrery_pid"
        orrery_run --system $system --items $hot run read
        orrery_run --system $system --items $hot --first $hot run create
        stop_orrery
        rm -rf "$work/metering"
    done
done
throttling=(--unthrottled)

echo "== nginx, a 1 KB file =="
mkdir -p "$work/nginx/www"
nginx_port=$(free_port)
head -c 1024 /dev/zero | tr '\0' x >"$work/nginx/www/file"
cat >"$work/nginx/nginx.conf" <<CONF
worker_processes 2; daemon off; pid $work/nginx/pid; error_log $work/nginx/error.log;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 100000000; sendfile on; open_file_cache max=10;
       client_body_temp_path $work/nginx/b; proxy_temp_path $work/nginx/p; fastcgi_temp_path $work/nginx/f;
       uwsgi_temp_path $work/nginx/u; scgi_temp_path $work/nginx/s;
       server { listen 127.0.0.1:$nginx_port; root $work/nginx/www; } }
CONF
chmod -R a+rX "$work/nginx"
nginx -c "$work/nginx/nginx.conf" &
nginx_pid=$!
pids+=("$nginx_pid")
await_port "$nginx_port"
$load --system nginx --port "$nginx_port" --path file --seconds "$seconds" --pid "$nginx_pid" run read | tee -a "$results"
kill "$nginx_pid"

echo "== raw RocksDB =="
$build/bench/rocksdb_load "$work/rocksdb" --items "$items" --seconds "$seconds" --cache-mb $cache_mb | tee -a "$results"
rm -rf "$work/rocksdb"

echo "== PostgreSQL =="
pg_bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
as_postgres() { if [ "$(id -u)" -eq 0 ]; then runuser -u postgres -- bash -c "$1"; else bash -c "$1"; fi; }
mkdir "$work/postgres"
[ "$(id -u)" -eq 0 ] && chown postgres "$work/postgres"
pg_port=$(free_port)
as_postgres "$pg_bin/initdb -D $work/postgres -A trust -U postgres" >/dev/null
pg_data=$work/postgres # from here on cleanup() stops it
as_postgres "$pg_bin/pg_ctl -D $pg_data -w -l $pg_data/log -o '-p $pg_port -k $pg_data -c listen_addresses=127.0.0.1 -c max_connections=100 -c shared_buffers=${cache_mb}MB' start" >/dev/null
pg_pid=$(head -1 "$pg_data/postmaster.pid")
pg_info="host=127.0.0.1 port=$pg_port user=postgres dbname=postgres"
pg() { $build/bench/postgres_load --conninfo "$pg_info" --pid "$pg_pid" --seconds "$seconds" "$@"; }
pg_run() { pg "$@" | tee -a "$results"; }
pg setup
pg load "$items"
"$pg_bin/psql" -q "$pg_info" -c "VACUUM ANALYZE items" -c "CHECKPOINT"
settle "$pg_pid"
pg_run --items "$items" run read
pg_run --items "$items" --connections 8 run feed
pg_run --items "$items" --first "$items" run create
pg_run --items "$items" run upsert
pg_run --items "$items" --zipfian true run mix95
pg_run --items "$items" --zipfian true run mix50
as_postgres "$pg_bin/pg_ctl -D $pg_data -m fast stop" >/dev/null
pg_data=""
rm -rf "$work/postgres"

echo "== npm's @vercel/cosmosdb-server =="
mkdir "$work/npm"
if (cd "$work/npm" && npm init -y >/dev/null && npm install --silent --no-audit --no-fund @vercel/cosmosdb-server >/dev/null 2>&1); then
    measure_npm() { # NAME OPTIONS
        local npm_port npm_pid
        npm_port=$(free_port)
        (cd "$work/npm" && exec node -e "require('@vercel/cosmosdb-server/lib/index.js').createHttpServer($2).listen($npm_port, '127.0.0.1')") >"$work/npm/log" 2>&1 &
        npm_pid=$!
        pids+=("$npm_pid")
        await_port "$npm_port"
        npm_load() { $load --system "$name" --port "$npm_port" --key "$key" --pid "$npm_pid" --seconds "$seconds" --connections 16 "$@"; }
        local name=$1
        if npm_load setup && npm_load load 2000; then
            npm_load --items 2000 run read | tee -a "$results" || true
            npm_load --items 2000 --first 2000 run create | tee -a "$results" || true
        else
            echo "the npm server did not take the set-up:" >&2
            tail -5 "$work/npm/log" >&2 || true
        fi
        kill "$npm_pid" 2>/dev/null || true
    }
    measure_npm npm-server "" # as it comes: closes the connection after each answer
    measure_npm npm-keepalive "{keepAlive: true}"
else
    echo "the npm server could not be installed; its lines are left out" >&2
fi

if [ -n "$steps" ]; then
    echo "== Orrery as it grows: $steps items =="
    bench/growth.sh --steps "$steps" --seconds "$seconds" --results "$results"
fi

python3 bench/report.py "$results" --items "$items" --hot "$hot" --seconds "$seconds" --cache-mb $cache_mb \
    --command "$command" >"$out"
echo "written: $out"
