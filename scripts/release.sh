#!/usr/bin/env bash
# Packs a release: static binaries for each Linux machine that can be linked for here, and binaries for macOS, each with
# install.sh, man pages, completions, the files of packaging/ for an administrator, and the checksums; and binaries for Windows
# with install.ps1. The same commit gives the same bytes.
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
stamp=$(git log -1 --format=%ct)
mkdir -p "$out"
rm -f "$out"/teamkeep-*.tar.gz "$out"/teamkeep-*.zip "$out"/SHA256SUMS

# Whether the compiler has this target, or can get it.
has_target() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$1" ] || rustup target add "$1" >/dev/null 2>&1
}

# The C compiler for a target, which also links: Debian's (gcc-aarch64-linux-gnu), else none.
compiler() {
    local machine=${1%%-*}
    if [ "$(uname -m)" = "$machine" ]; then
        echo cc
    else
        command -v "$machine-linux-gnu-gcc"
    fi
}

# build TARGET SCRIPT [SUFFIX]: into $dir, the directory of the archive, with the checksums of the programs
build() {
    local target=$1 script=$2 suffix=${3:-} built=target/$1/release program
    name=teamkeep-$version-$target
    dir=target/packing/$name
    "$script" --with-ship "$target" --target-dir target
    rm -rf "$dir"
    mkdir -p "$dir"
    cp README.md CHANGELOG.md LICENSE "$dir"
    for program in teamkeep teamkeep-hook teamkeep-ship; do
        program=$program$suffix
        if [[ $target = *-linux-musl ]] && readelf -lW "$built/$program" | grep -q INTERP; then
            echo "release.sh: $built/$program is not static" >&2
            exit 1
        fi
        cp "$built/$program" "$dir"
        (cd "$dir" && sha256sum "$program" >"$program.sha256")
    done
}

# pack TARGET SCRIPT
pack() {
    build "$@"
    mkdir "$dir/docs" "$dir/packaging"
    cp install.sh "$dir"
    cp -r docs/man docs/completions "$dir/docs"
    cp -r packaging/container packaging/launchd packaging/systemd "$dir/packaging"
    tar --sort=name --mtime="@$stamp" --owner=0 --group=0 --numeric-owner --mode=go-w \
        -C target/packing -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
    echo "packed $out/$name.tar.gz"
}

# pack_windows TARGET
pack_windows() {
    build "$1" scripts/static.sh .exe
    cp install.ps1 "$dir"
    python3 - "$out/$name.zip" target/packing "$name" "$stamp" <<'END'
import pathlib, sys, time, zipfile

path, above, name, stamp = sys.argv[1:]
moment = time.gmtime(int(stamp))[:6]
with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
    for file in sorted(pathlib.Path(above, name).rglob("*")):
        if file.is_file():
            entry = zipfile.ZipInfo(str(file.relative_to(above)), moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.read_bytes())
END
    echo "packed $out/$name.zip"
}

for target in x86_64-unknown-linux-musl aarch64-unknown-linux-musl; do
    if ! has_target "$target"; then
        echo "left out: rustup has no $target here" >&2
    elif ! found=$(compiler "$target"); then
        echo "left out: $target has no C compiler here (on Debian: gcc-${target%%-*}-linux-gnu)" >&2
    else
        name=$(echo "$target" | tr - _)
        export "CARGO_TARGET_${name^^}_LINKER=$found" "CC_$name=$found"
        pack "$target" scripts/static.sh
    fi
done
for target in aarch64-apple-darwin x86_64-apple-darwin; do
    if has_target "$target"; then
        pack "$target" scripts/macos.sh
    else
        echo "left out: rustup has no $target here" >&2
    fi
done
target=x86_64-pc-windows-gnu
if ! has_target "$target"; then
    echo "left out: rustup has no $target here" >&2
elif ! command -v x86_64-w64-mingw32-gcc >/dev/null; then
    echo "left out: $target has no linker here (on Debian: gcc-mingw-w64-x86-64)" >&2
else
    pack_windows "$target"
fi
shopt -s nullglob
archives=("$out"/teamkeep-*.tar.gz "$out"/teamkeep-*.zip)
if [ ${#archives[@]} = 0 ]; then
    echo "release.sh: nothing can be built here" >&2
    exit 1
fi
(cd "$out" && sha256sum "${archives[@]##*/}" | tee SHA256SUMS)
