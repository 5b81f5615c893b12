#!/bin/sh
# Prints a value of the workspace's Cargo.toml: `scripts/manifest.sh version` or `scripts/manifest.sh repository`.
set -eu
cd "$(dirname "$0")/.."
value=$(sed -n "s/^$1 = \"\(.*\)\"\$/\1/p" Cargo.toml | head -n 1)
[ -n "$value" ] || {
    echo "manifest.sh: Cargo.toml has no $1" >&2
    exit 1
}
echo "$value"
