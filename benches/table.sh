#!/bin/sh
# Builds the static binary as it is released, and measures it. `benches/table.sh --check` fails when anything is over.
set -eu
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')
cargo build --release --quiet --target "$host" --config .cargo/static.toml
TEAMKEEP_BENCH_BINARY="${CARGO_TARGET_DIR:-$PWD/target}/$host/release/teamkeep" \
    cargo bench --quiet --bench hook -- "$@"
