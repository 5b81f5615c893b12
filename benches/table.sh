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
# A copy, as install.sh makes one: the pages of a file that the linker wrote piece by piece cost more to map.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp "${CARGO_TARGET_DIR:-$PWD/target}/$target/release/teamkeep" "$copy/teamkeep"
TEAMKEEP_BENCH_BINARY="$copy/teamkeep" cargo bench --quiet --bench hook -- "$@"
