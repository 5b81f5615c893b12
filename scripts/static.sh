#!/bin/sh
# Builds the programs of a release: teamkeep and teamkeep-hook, and with --with-ship also teamkeep-ship.
#
#   scripts/static.sh [--with-ship] TARGET [OPTION…]     with more options of cargo
set -eu
cd "$(dirname "$0")/.."
ship=
if [ "$1" = --with-ship ]; then
    ship=teamkeep-ship
    shift
fi
target=$1
shift
# The variable replaces the flags of the configuration. Without bitcode the hook program cannot be linked.
[ -z "${RUSTFLAGS:-}" ] || export RUSTFLAGS="$RUSTFLAGS -C embed-bitcode=yes"
# Found by name: its path would be part of the programs.
PATH=$PWD/scripts:$PATH
export PATH RUSTC_WORKSPACE_WRAPPER=rustc_for_hook.sh
# One call: in another one, most of the crates that the programs share would have other features, and be built again.
# `scripts/macos.sh` sets the command that links for macOS.
exec cargo "${TEAMKEEP_CARGO_BUILD:-build}" --release --locked --target "$target" --config .cargo/static.toml "$@" \
    --package teamkeep ${ship:+--package "$ship"} --bins
