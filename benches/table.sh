#!/bin/sh
# Builds the static binary as it is released, and measures it. `benches/table.sh --check` fails when anything is over.
# The files lie below TMPDIR: on another kind of disk what is written costs something else.
set -eu
cd "$(dirname "$0")/.."
target="$(uname -m)-unknown-linux-musl"
if ! [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
    target=$(rustc -vV | sed -n 's/^host: //p')
    echo "without \`rustup target add $(uname -m)-unknown-linux-musl\` this is $target, which starts later" >&2
fi
cargo build --release --quiet --target "$target" --config .cargo/static.toml
TEAMKEEP_BENCH_BINARY="${CARGO_TARGET_DIR:-$PWD/target}/$target/release/teamkeep" \
    cargo bench --quiet --bench hook -- "$@"
