#!/usr/bin/env bash
# Builds the programs of a release for macOS, on Linux: zig links them. Apple's SDK is not needed, because the names of the
# functions that the programs call in three frameworks are in packaging/macos/. Needs Python 3 with venv.
#
#   scripts/macos.sh [--with-ship] TARGET [OPTION…]     as scripts/static.sh
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/venv.sh macos.txt zig
export PATH=$PWD/target/zig/bin:$PATH
export TEAMKEEP_CARGO_BUILD=zigbuild
export RUSTFLAGS="-C link-arg=-F$PWD/packaging/macos"
exec scripts/static.sh "$@"
