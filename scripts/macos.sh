#!/usr/bin/env bash
# Builds the programs of a release for macOS, on Linux: zig links them. Apple's SDK is not needed, because the names of the
# functions that the programs call in three frameworks are in packaging/macos/. Needs Python 3 with venv.
#
#   scripts/macos.sh [--with-ship] TARGET [OPTION…]     as scripts/static.sh
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/target/zig

if ! cmp -s scripts/macos.txt "$tools/macos.txt"; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check --requirement scripts/macos.txt
    cp scripts/macos.txt "$tools/macos.txt"
fi
export PATH=$tools/bin:$PATH
export TEAMKEEP_CARGO_BUILD=zigbuild
export RUSTFLAGS="-C link-arg=-F$PWD/packaging/macos"
exec scripts/static.sh "$@"
