#!/usr/bin/env bash
# Installs the pinned Python packages of a file into a virtual environment below target/, unless they are there. Needs Python 3.10
# or later with venv.
#
#   scripts/venv.sh FILE NAME     scripts/FILE into target/NAME
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
pinned=$root/scripts/$1
dir=$root/target/$2

if ! cmp -s "$pinned" "$dir/$1"; then
    rm -rf "$dir"
    python3 -m venv "$dir" >&2
    "$dir/bin/pip" install --quiet --disable-pip-version-check --requirement "$pinned" >&2
    cp "$pinned" "$dir/$1"
fi
