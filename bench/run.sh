#!/usr/bin/env bash
# Measures Orrery beside its peers in one run and writes docs/benchmarks.md.
#   bench/run.sh [--items 200000] [--seconds 5] [--quick]
# Everything runs on loopback from a temporary folder; only processes started here are ended.
set -euo pipefail
cd "$(dirname "$0")/.."

items=200000
hot=2000
seconds=5
while [ $# -gt 0 ]; do
    case "$1" in
        --items) items=$2; shift 2 ;;
        --seconds) seconds=$2; shift 2 ;;
        --quick) items=20000; seconds=2; shift ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
done

build=build-bench
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DORRERY_BENCH=ON -DORRERY_TESTS=OFF >/dev/null
ninja -C $build orrery orrery_load postgres_load rocksdb_load

work=$(mktemp -d)
results=$work/results.jsonl
: >"$results"
pids=()
key="C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
cleanup() {
    for pid in "${pids[@]:-}"; do [ -n "$pid" ] && kill "$pid" 2>/dev/null || true; done
    [ -n "${pg_data:-}" ] && as_postgres "$pg_bin/pg_ctl -D $pg_data -m fast stop" >/dev/null 2>&1 || true
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
free_port() { python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])'; }
load=$build/bench/orrery_load

start_orrery() { # folder or --memory
    local log=$work/orrery.log
    : >"$log"
    $build/orrery serve "$@" --port 0 >"$log" 2>&1 &
    orrery_pid=$!
    pids+=("$orrery_pid")
    for _ in $(seq 100); do grep -q "ready at" "$log" && break; sleep 0.05; done
    orrery_port=$(sed -n 's|.*ready at http://[^:]*:\([0-9]*\)/.*|\1|p' "$log" | head -1)
}
stop_orrery() { kill "$orrery_pid"; wait "$orrery_pid" || true; }
orrery_run() { $load --port "$orrery_port" --key "$key" --pid "$orrery_pid" --seconds "$seconds" "$@" | tee -a "$results"; }
note() { echo "$1" | tee -a "$results"; }

echo "== Orrery, $items items =="
start_orrery --data "$work/orrery"
$load --port "$orrery_port" --key "$key" setup
$load --port "$orrery_port" --key "$key" load "$items"
orrery_run --system orrery-hot --items $hot run read
orrery_run --items "$items" run read
orrery_run --items "$items" run create
orrery_run --items "$items" run upsert
orrery_run --items "$items" --zipfian true run mix95
orrery_run --items "$items" --zipfian true run mix50
orrery_run --items "$items" --connections 8 run feed
stop_orrery
began=$(date +%s%N)
start_orrery --data "$work/orrery"
note "{\"system\":\"orrery\",\"workload\":\"start\",\"folder_mb\":$(du -sm "$work/orrery" | cut -f1),\"ms\":$((($(date +%s%N) - began) / 1000000))}"
stop_orrery
start_orrery --memory
sleep 2
cpu() { awk '{print $14+$15}' "/proc/$1/stat"; }
before=$(cpu "$orrery_pid"); sleep 5; after=$(cpu "$orrery_pid")
note "{\"system\":\"orrery\",\"workload\":\"idle\",\"rss_mb\":$(($(awk '/VmRSS/{print $2}' "/proc/$orrery_pid/status") / 1024)),\"cpu_percent\":$(python3 -c "print(round(($after-$before)/5,2))")}"
began=$(date +%s%N)
$load --port "$orrery_port" --key "$key" containers 1000
note "{\"system\":\"orrery\",\"workload\":\"containers\",\"count\":1000,\"ms\":$((($(date +%s%N) - began) / 1000000))}"
stop_orrery

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
chmod -R a+rX "$work"
nginx -c "$work/nginx/nginx.conf" &
nginx_pid=$!
pids+=("$nginx_pid")
sleep 0.5
nginx_pids=$(pgrep -P "$nginx_pid" | sed 's/^/--pid /' | tr '\n' ' ')
$load --system nginx --port "$nginx_port" --path file --seconds "$seconds" $nginx_pids run read | tee -a "$results"
kill "$nginx_pid"

echo "== raw RocksDB =="
$build/bench/rocksdb_load "$work/rocksdb" --items "$items" --seconds "$seconds" | tee -a "$results"
rm -rf "$work/rocksdb"

echo "== PostgreSQL =="
pg_bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
pg_data=$work/postgres
as_postgres() { if [ "$(id -u)" -eq 0 ]; then runuser -u postgres -- bash -c "$1"; else bash -c "$1"; fi; }
chmod a+rx "$work"
mkdir "$pg_data"
[ "$(id -u)" -eq 0 ] && chown postgres "$pg_data"
pg_port=$(free_port)
as_postgres "$pg_bin/initdb -D $pg_data -A trust -U postgres" >/dev/null
as_postgres "$pg_bin/pg_ctl -D $pg_data -w -l $pg_data/log -o '-p $pg_port -k $pg_data -c listen_addresses=127.0.0.1 -c max_connections=100 -c shared_buffers=512MB' start" >/dev/null
pg() { $build/bench/postgres_load --conninfo "host=127.0.0.1 port=$pg_port user=postgres dbname=postgres" --seconds "$seconds" "$@"; }
pg setup
pg load "$items"
pg --items "$items" run read | tee -a "$results"
pg --items "$items" run create | tee -a "$results"
pg --items "$items" run upsert | tee -a "$results"
pg --items "$items" --zipfian true run mix95 | tee -a "$results"
pg --items "$items" --zipfian true run mix50 | tee -a "$results"
pg --items "$items" --connections 8 run feed | tee -a "$results"
as_postgres "$pg_bin/pg_ctl -D $pg_data -m fast stop" >/dev/null
pg_data=""

echo "== npm's @vercel/cosmosdb-server =="
mkdir "$work/npm"
if (cd "$work/npm" && npm init -y >/dev/null && npm install --silent --no-audit --no-fund @vercel/cosmosdb-server >/dev/null 2>&1); then
    npm_port=$(free_port)
    cat >"$work/npm/serve.cjs" <<JS
const { default: create } = require("@vercel/cosmosdb-server/lib/index.js");
require("http").createServer(create().listeners("request")[0]).listen($npm_port, "127.0.0.1");
JS
    (cd "$work/npm" && exec node serve.cjs) >"$work/npm/log" 2>&1 &
    npm_pid=$!
    pids+=("$npm_pid")
    sleep 2
    npm_run() { $load --system npm-server --port "$npm_port" --key "$key" --pid "$npm_pid" --seconds "$seconds" --connections 16 "$@"; }
    if npm_run setup && npm_run load 2000; then
        npm_run --items 2000 run read | tee -a "$results" || true
        npm_run --items 2000 run create | tee -a "$results" || true
    else
        echo "the npm server did not take the set-up; see $work/npm/log" >&2
        tail -5 "$work/npm/log" >&2 || true
    fi
fi

python3 bench/report.py "$results" "$items" "$hot" "$seconds" >docs/benchmarks.md
echo "written: docs/benchmarks.md"
