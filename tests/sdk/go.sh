#!/usr/bin/env bash
# Prints the path of a Go that the Go SDK supports: the installed one, or where that is older (Debian 12 has 1.19, which
# cannot fetch newer ones itself), the toolchain from Go's module proxy, downloaded once into build/sdk (ORRERY_SDK_CACHE).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${ORRERY_SDK_CACHE:-$here/../../build/sdk}
wanted=$(sed -n 's/^go //p' "$here/go/go.mod")
have=$(go env GOVERSION 2>/dev/null | sed 's/^go//' || true)
if [[ -n $have && $(printf '%s\n' "$wanted" "$have" | sort -V | head -n 1) == "$wanted" ]]; then
  command -v go
  exit
fi
case $(uname -m) in
  x86_64) arch=amd64 ;;
  aarch64) arch=arm64 ;;
  *) echo "needs Go $wanted or newer" >&2; exit 1 ;;
esac
name=v0.0.1-go$wanted.linux-$arch
if [[ ! -x $cache/go-$wanted/bin/go ]]; then
  mkdir -p "$cache"
  proxy=$(go env GOPROXY 2>/dev/null | cut -d, -f1)
  curl -fsS -m 600 -o "$cache/go.zip" "${proxy:-https://proxy.golang.org}/golang.org/toolchain/@v/$name.zip"
  python3 - "$cache" "golang.org/toolchain@$name" "$wanted" <<'PY'
import os, sys, zipfile
cache, inside, version = sys.argv[1:]
with zipfile.ZipFile(f"{cache}/go.zip") as archive:
    archive.extractall(f"{cache}/go-unpacked")
root = f"{cache}/go-unpacked/{inside}"
for folder in ("bin", "pkg/tool"):
    for path, _, names in os.walk(f"{root}/{folder}"):
        for name in names:
            os.chmod(f"{path}/{name}", 0o755)
os.rename(root, f"{cache}/go-{version}")
PY
  rm -rf "$cache/go.zip" "$cache/go-unpacked"
fi
echo "$cache/go-$wanted/bin/go"
