#!/usr/bin/env bash
# Packs a release: static binaries for each Linux machine that can be linked for here, with install.sh, man pages and
# completions, and the checksums. The archive for this machine's architecture has teamkeep-ship, too, which is dynamic: TLS
# does not build for musl without a C compiler for it. The same commit gives the same bytes.
#
#   scripts/release.sh [DIR]     into DIR, or target/release-files
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-target/release-files}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
grep -q "^## $version - [0-9]" CHANGELOG.md || {
    echo "release.sh: CHANGELOG.md has no heading with a date for $version" >&2
    exit 1
}
if [ -n "$(git status --porcelain)" ]; then
    echo "release.sh: there are changes that are not committed" >&2
    exit 1
fi
host=$(rustc -vV | sed -n 's/^host: //p')
stamp=$(git log -1 --format=%ct)
mkdir -p "$out"
rm -f "$out"/teamkeep-*.tar.gz "$out"/SHA256SUMS

# Whether the compiler has this target, or can get it.
has_target() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$1" ] || rustup target add "$1" >/dev/null 2>&1
}

# The linker for a target, as cargo's variable names it: Debian's (gcc-aarch64-linux-gnu), else none.
linker() {
    local machine=${1%%-*}
    if [ "$(uname -m)" = "$machine" ]; then
        echo cc
    else
        command -v "$machine-linux-gnu-gcc"
    fi
}

# pack TARGET
pack() {
    local target=$1 name dir built program
    name=teamkeep-$version-$target
    dir=target/packing/$name
    built=target/$target/release
    scripts/static.sh "$target" --target-dir target
    rm -rf "$dir"
    mkdir -p "$dir/docs"
    cp install.sh README.md CHANGELOG.md LICENSE "$dir"
    for program in teamkeep teamkeep-hook; do
        if readelf -lW "$built/$program" | grep -q INTERP; then
            echo "release.sh: $built/$program is not static" >&2
            exit 1
        fi
        cp "$built/$program" "$dir"
        (cd "$dir" && sha256sum "$program" >"$program.sha256")
    done
    if [ "${target%%-*}" = "$(uname -m)" ]; then
        cargo build --release --locked --package teamkeep-ship --target "$host" --target-dir target
        cp "target/$host/release/teamkeep-ship" "$dir"
        (cd "$dir" && sha256sum teamkeep-ship >teamkeep-ship.sha256)
    fi
    cp -r docs/man docs/completions "$dir/docs"
    tar --sort=name --mtime="@$stamp" --owner=0 --group=0 --numeric-owner --mode=go-w \
        -C target/packing -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
    echo "packed $out/$name.tar.gz"
}

for target in x86_64-unknown-linux-musl aarch64-unknown-linux-musl; do
    if ! has_target "$target"; then
        echo "left out: rustup has no $target here" >&2
    elif ! found=$(linker "$target"); then
        echo "left out: $target has no linker here (on Debian: gcc-${target%%-*}-linux-gnu)" >&2
    else
        variable=CARGO_TARGET_$(echo "$target" | tr 'a-z-' 'A-Z_')_LINKER
        export "$variable=$found"
        pack "$target"
    fi
done
(cd "$out" && sha256sum teamkeep-*.tar.gz | tee SHA256SUMS)
