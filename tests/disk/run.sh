#!/usr/bin/env bash
# Full-disk test: tests/disk/run.sh [options of disk.mjs]
# Mounts a small ext4 image (a tmpfs where loop devices are missing), which needs root; without the right to mount it says
# so and counts nothing. Closes with "disk: N passed, M failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -d tests/sdk/js/node_modules ] || (cd tests/sdk/js && npm ci --silent --no-audit --no-fund)

megabytes=160
work=$(mktemp -d)
mounted=0
cleanup() {
    if [ "$mounted" -eq 1 ]; then umount "$work/disk" || umount -l "$work/disk"; fi
    rm -rf "$work"
}
trap cleanup EXIT
mkdir "$work/disk"
truncate -s "${megabytes}M" "$work/image"
# No reserved blocks: root would otherwise write on after everybody else is told that the disk is full.
if mkfs.ext4 -q -F -m 0 "$work/image" 2>/dev/null && mount -o loop "$work/image" "$work/disk" 2>/dev/null; then
    mounted=1 kind=ext4
elif mount -t tmpfs -o "size=${megabytes}m" tmpfs "$work/disk" 2>/dev/null; then
    mounted=1 kind=tmpfs
else
    echo "disk: skipped, this user may not mount a file system (run as root)"
    exit 0
fi
echo "full disk: ${megabytes} MB of $kind"
"$(tests/sdk/node.sh)" tests/disk/disk.mjs --folder "$work/disk" --server "${ORRERY_BIN:-build/orrery}" "$@"
