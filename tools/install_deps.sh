#!/usr/bin/env bash
# Installs the Debian packages that are missing. Usage: tools/install_deps.sh [build|test|sdk|sanitizers|bench|lint ...]
set -euo pipefail

build="g++ cmake ninja-build pkg-config ccache mold librocksdb-dev libssl-dev libsimdjson-dev
       libfmt-dev libspdlog-dev libcli11-dev libabsl-dev libre2-dev libjemalloc-dev libgtest-dev libgmock-dev
       libs2-dev libgeographiclib-dev libedit-dev libmozjs-102-dev python3"
lint="clang-format clang-tidy"
sanitizers="clang libclang-rt-14-dev"
bench="libbenchmark-dev libpq-dev postgresql nginx-light"

javascript="node:nodejs npm:npm curl:curl"

wanted=""
commands=""
venv=0
for group in "${@:-build}"; do
    case "$group" in
        build) wanted+=" $build"; commands+=" node:nodejs npm:npm" ;;
        test) wanted+=" $build"; commands+=" $javascript" ;;
        sdk) wanted+=" $build"; commands+=" $javascript java:openjdk-17-jdk-headless mvn:maven go:golang-go"; venv=1 ;;
        explorer) wanted+=" $build"; commands+=" $javascript chromium:chromium" ;;
        lint) wanted+=" $lint" ;;
        sanitizers) wanted+=" $build $sanitizers" ;;
        bench) wanted+=" $build $bench"; commands+=" $javascript pgrep:procps" ;;
        *) echo "unknown group: $group" >&2; exit 2 ;;
    esac
done

missing=""
for package in $wanted; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing+=" $package"
done
# Tools that people often have from elsewhere: the package only if the command is absent.
for pair in $commands; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || missing+=" ${pair#*:}"
done
# Debian's python3 comes without what `python3 -m venv` needs.
if [ $venv -eq 1 ] && ! python3 -c 'import ensurepip' 2>/dev/null; then missing+=" python3-venv"; fi
missing=$(echo "$missing" | tr ' ' '\n' | sort -u | tr '\n' ' ')
[ -z "${missing// /}" ] && exit 0

echo "Installing:$missing"
sudo=""
[ "$(id -u)" -eq 0 ] || sudo="sudo"
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
