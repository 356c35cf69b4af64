#!/usr/bin/env bash
# Builds the Data Explorer and packs it for the binary: build.sh OUTPUT_FOLDER
#
# What was built is kept by the hash of all sources (ORRERY_EXPLORER_CACHE, default ~/.cache/orrery/explorer), so npm runs
# only when something in this folder changed, whatever the number of build folders and clones.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?usage: build.sh OUTPUT_FOLDER}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$here"

sources=(src index.html package.json package-lock.json vite.config.ts tsconfig.json build.sh pack.mjs)
hash=$(find "${sources[@]}" -type f 2>/dev/null -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c1-32)
kept=${ORRERY_EXPLORER_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/orrery/explorer}/$hash

if [ ! -f "$kept/assets_data.cc" ]; then
    log=$out/npm.log
    fail() {
        echo "explorer: $1. The log: $log" >&2
        tail -n 20 "$log" >&2
        echo "explorer: to build the server without the Data Explorer, configure with -DORRERY_EXPLORER=OFF" >&2
        exit 1
    }
    # Two builds at once would share node_modules.
    exec 9>"$here/.build.lock"
    flock 9
    if ! cmp -s package-lock.json node_modules/.orrery-lock; then
        npm ci --no-audit --no-fund >"$log" 2>&1 || fail "'npm ci' failed (it needs the npm registry once)"
        cp package-lock.json node_modules/.orrery-lock
    fi
    npm run --silent build >"$log" 2>&1 || fail "'npm run build' failed"
    fresh=$(mktemp -d "$out/pack.XXXXXX")
    node pack.mjs dist "$fresh" || exit 1
    mkdir -p "$(dirname "$kept")"
    # Another build may have put the same files there meanwhile.
    mv -T "$fresh" "$kept" 2>/dev/null || rm -rf "$fresh"
fi
cp "$kept/assets.bin" "$out/assets.bin"
sed "s|@BIN@|$out/assets.bin|" "$kept/assets_data.cc" >"$out/assets_data.cc"
