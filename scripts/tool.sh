#!/usr/bin/env bash
# Run a tool for texts, such as `scripts/tool.sh typos`. Installs the pinned tools of scripts/requirements.txt into
# target/tools first. Needs Python 3.10 or later with venv.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/target/tools

if ! cmp -s "$root/scripts/requirements.txt" "$tools/requirements.txt"; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check --requirement "$root/scripts/requirements.txt"
    cp "$root/scripts/requirements.txt" "$tools/requirements.txt"
fi
tool=$1
shift
exec "$tools/bin/$tool" "$@"
