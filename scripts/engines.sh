#!/usr/bin/env bash
# Install the collector, the object store and the query engines that the tests of teamkeep-ship use. They are pinned in
# scripts/engines.txt and installed into target/engines. Prints the variables that the tests read:
#
#     eval "$(scripts/engines.sh)"
#
# Needs Python 3.10 or later with venv, and about 1.3 GB.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
engines=$root/target/engines

"$root/scripts/venv.sh" engines.txt engines
site=$("$engines/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf 'export %s=%q\n' \
    TEAMKEEP_ROTEL "$site/rotel/rotel-agent" \
    TEAMKEEP_WEED "$engines/bin/weed" \
    TEAMKEEP_ENGINES_PYTHON "$engines/bin/python"
