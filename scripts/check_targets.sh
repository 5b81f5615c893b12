#!/bin/sh
# Checks that the workspace compiles for macOS and Windows. Nothing is linked, so no C compiler for them is needed: the output of the
# C compiler, and of Microsoft's archiver, is an empty file.
#
#   scripts/check_targets.sh [TARGET…]
set -eu
cd "$(dirname "$0")/.."
if [ "${1:-}" = --cc ]; then
    while [ $# -gt 0 ]; do
        case $1 in
            -o) : >"$2" ;;
            -out:*) : >"${1#-out:}" ;;
        esac
        shift
    done
    exit 0
fi
[ $# -gt 0 ] || set -- aarch64-apple-darwin x86_64-apple-darwin x86_64-pc-windows-gnu x86_64-pc-windows-msvc
rustup target add "$@"
for target in "$@"; do
    name=$(echo "$target" | tr - _)
    echo "= $target"
    none="$PWD/scripts/check_targets.sh --cc" ar=ar
    case $target in *-msvc) ar=$none ;; esac
    env "CC_$name=$none" "AR_$name=$ar" SDKROOT=/ \
        cargo check --locked --workspace --target "$target"
done
