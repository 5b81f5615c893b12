#!/bin/sh
# Builds the two programs of a release.
#
#   scripts/static.sh TARGET [OPTION…]     with more options of cargo
set -eu
cd "$(dirname "$0")/.."
target=$1
shift
# The variable replaces the flags of the configuration. Without bitcode the hook program cannot be linked.
[ -z "${RUSTFLAGS:-}" ] || export RUSTFLAGS="$RUSTFLAGS -C embed-bitcode=yes"
set -- --release --locked --target "$target" --config .cargo/static.toml "$@"
cargo build "$@" --bin teamkeep
# Only the hook program is worth link-time optimization: Claude Code waits for it.
cargo rustc "$@" --bin teamkeep-hook -- -C lto=fat -C codegen-units=1
