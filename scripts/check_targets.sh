#!/bin/sh
# Checks that the workspace compiles for macOS and Windows. Nothing is linked, so no C compiler for them is needed: the output of the
# C compiler is an empty file.
#
#   scripts/check_targets.sh [TARGET…]
set -eu
cd "$(dirname "$0")/.."
if [ "${1:-}" = --cc ]; then
    while [ $# -gt 0 ]; do
        if [ "$1" = -o ]; then
            : >"$2"
        fi
        shift
    done
    exit 0
fi
[ $# -gt 0 ] || set -- aarch64-apple-darwin x86_64-apple-darwin x86_64-pc-windows-gnu
rustup target add "$@"
for target in "$@"; do
    name=$(echo "$target" | tr - _)
    echo "= $target"
    env "CC_$name=$PWD/scripts/check_targets.sh --cc" "AR_$name=ar" SDKROOT=/ \
        cargo check --locked --workspace --target "$target"
done
