# What the benchmarks have in common; sourced by them, from the project's folder. Sets work, a temporary folder that goes
# at the end together with every process whose id is in pids.
build=${BENCH_BUILD_DIR:-build-bench}
key="C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
cache_mb=${cache_mb:-512}
work=$(mktemp -d)
pids=()

cleanup() {
    local pid
    for pid in "${pids[@]:-}"; do [ -n "$pid" ] && kill "$pid" 2>/dev/null || true; done
    if [ -n "${pg_data:-}" ]; then as_postgres "$pg_bin/pg_ctl -D $pg_data -m fast stop" >/dev/null 2>&1 || true; fi
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

build_programs() { # TARGET…
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DORRERY_BENCH=ON -DORRERY_TESTS=OFF >/dev/null
    ninja -C "$build" "$@"
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }
free_port() { python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])'; }

# CPU ticks of a process and its children.
ticks() {
    local pid stats=""
    for pid in "$1" $(pgrep -P "$1" || true); do stats+="$(cat "/proc/$pid/stat" 2>/dev/null || true)"$'\n'; done
    awk 'NF { sub(/^.*\) /, ""); sum += $12 + $13 } END { print sum + 0 }' <<<"$stats"
}
# Waits until a server rests, three minutes at most: loading leaves merges behind, which are no part of what follows.
settle() { # PID
    local quiet=0 before
    for _ in $(seq 360); do
        before=$(ticks "$1"); sleep 0.5
        if [ $(($(ticks "$1") - before)) -le 2 ]; then quiet=$((quiet + 1)); else quiet=0; fi
        if [ $quiet -ge 3 ]; then return; fi
    done
}

# Starts a server (its options follow) and waits until it is ready; sets orrery_pid, orrery_port, ready_ms.
start_orrery() {
    local log=$work/orrery.log began
    : >"$log"
    began=$(now_ms)
    "$build/orrery" serve "$@" --port 0 --cache-mb "$cache_mb" >"$log" 2>&1 &
    orrery_pid=$!
    pids+=("$orrery_pid")
    until grep -q "ready at" "$log"; do
        kill -0 "$orrery_pid" 2>/dev/null || { cat "$log" >&2; exit 1; }
        sleep 0.005
    done
    ready_ms=$(($(now_ms) - began))
    orrery_port=$(sed -n 's|.*ready at http://[^:]*:\([0-9]*\)/.*|\1|p' "$log" | head -1)
}
stop_orrery() { # [SIGNAL]
    kill -"${1:-TERM}" "$orrery_pid"
    wait "$orrery_pid" 2>/dev/null || true
    local left=() pid
    for pid in "${pids[@]}"; do [ "$pid" = "$orrery_pid" ] || left+=("$pid"); done
    pids=("${left[@]}")
}

# The load generator, at the server that runs.
orrery_load() { "$build/bench/orrery_load" --port "$orrery_port" --key "$key" --pid "$orrery_pid" "$@"; }

await_port() { # PORT, twenty seconds at most
    for _ in $(seq 200); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return; fi
        sleep 0.1
    done
}

# nginx with one file, which it also sends to those who POST; sets nginx_port, nginx_pid.
start_nginx() { # PATH BYTES [further directives]
    mkdir -p "$work/nginx/www/$(dirname "$1")"
    nginx_port=$(free_port)
    head -c "$2" /dev/zero | tr '\0' x >"$work/nginx/www/$1"
    cat >"$work/nginx/nginx.conf" <<CONF
worker_processes 2; daemon off; pid $work/nginx/pid; error_log $work/nginx/error.log;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 100000000; sendfile on; open_file_cache max=10;
       client_body_temp_path $work/nginx/b; proxy_temp_path $work/nginx/p; fastcgi_temp_path $work/nginx/f;
       uwsgi_temp_path $work/nginx/u; scgi_temp_path $work/nginx/s;
       server { listen 127.0.0.1:$nginx_port; root $work/nginx/www; error_page 405 =200 \$uri; ${3:-} } }
CONF
    chmod a+rx "$work"
    chmod -R a+rX "$work/nginx"
    nginx -c "$work/nginx/nginx.conf" &
    nginx_pid=$!
    pids+=("$nginx_pid")
    await_port "$nginx_port"
}

# PostgreSQL in a folder of its own; it does not run as root.
as_postgres() { if [ "$(id -u)" -eq 0 ]; then runuser -u postgres -- bash -c "$1"; else bash -c "$1"; fi; }
start_postgres() { # further options; sets pg_data, pg_port
    pg_bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
    chmod a+rx "$work"
    mkdir "$work/postgres"
    [ "$(id -u)" -ne 0 ] || chown postgres "$work/postgres"
    pg_data=$work/postgres
    pg_port=$(free_port)
    as_postgres "$pg_bin/initdb -D $pg_data -A trust -U postgres" >/dev/null
    as_postgres "$pg_bin/pg_ctl -D $pg_data -w -l $pg_data/log -o '-p $pg_port -k $pg_data -c listen_addresses=127.0.0.1 -c max_connections=100 -c shared_buffers=${cache_mb}MB $*' start" >/dev/null
}
stop_postgres() {
    as_postgres "$pg_bin/pg_ctl -D $pg_data -m fast stop" >/dev/null
    pg_data=""
}
