#!/usr/bin/env bash
# Prints the path of a Node.js that the JavaScript SDK supports (22 or newer): the installed one, or one from npm, which
# is downloaded once into build/sdk (ORRERY_SDK_CACHE).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${ORRERY_SDK_CACHE:-$root/build/sdk}
version=22.23.3
if command -v node >/dev/null && (($(node -p 'process.versions.node.split(".")[0]') >= 22)); then
  command -v node
  exit
fi
case $(uname -m) in
  x86_64) arch=x64 ;;
  aarch64) arch=arm64 ;;
  *) echo "needs Node.js 22 or newer" >&2; exit 1 ;;
esac
node=$cache/node/node_modules/node-linux-$arch/bin/node
if [[ ! -x $node ]]; then
  mkdir -p "$cache"
  npm install --prefix "$cache/node" --no-save --no-audit --no-fund --silent "node-linux-$arch@$version" >&2
fi
echo "$node"
