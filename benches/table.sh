#!/bin/sh
# Builds the static binary of the release and measures it. `benches/table.sh --check` fails if a value exceeds its budget.
# The files are below TMPDIR; the times depend on its disk.
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
