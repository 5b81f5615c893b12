#!/bin/sh
# Builds the static programs of a release and measures hook calls, compared with a static program that does nothing.
# `benches/table.sh --check` fails if a value exceeds its budget. The files are below TMPDIR; the times depend on its disk.
set -eu
cd "$(dirname "$0")/.."
target="$(uname -m)-unknown-linux-musl"
if ! [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
    target=$(rustc -vV | sed -n 's/^host: //p')
    echo "without \`rustup target add $(uname -m)-unknown-linux-musl\` this is $target, which starts later" >&2
fi
scripts/static.sh "$target" --quiet
# Copies, as install.sh makes them: the pages of a file that the linker wrote piece by piece cost more to map.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp "${CARGO_TARGET_DIR:-$PWD/target}/$target/release/teamkeep" "${CARGO_TARGET_DIR:-$PWD/target}/$target/release/teamkeep-hook" "$copy"
echo 'int main(void) { return 0; }' | cc -O2 -static -x c -o "$copy/nothing" -
TEAMKEEP_BENCH_BINARY="$copy/teamkeep-hook" TEAMKEEP_BENCH_NOOP="$copy/nothing" cargo bench --quiet --bench hook -- "$@"
