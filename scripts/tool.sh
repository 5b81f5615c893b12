#!/usr/bin/env bash
# Run a tool for texts, such as `scripts/tool.sh typos`. Installs the pinned tools of scripts/requirements.txt into
# target/tools first. Needs Python 3.10 or later with venv.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

"$root/scripts/venv.sh" requirements.txt tools
tool=$1
shift
exec "$root/target/tools/bin/$tool" "$@"
