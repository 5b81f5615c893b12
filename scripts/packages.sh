#!/usr/bin/env bash
# Makes the Homebrew formula, and the packages for npm, Debian and RPM, from the archives of `scripts/release.sh`, with the
# address of the repository in Cargo.toml. The same archives give the same bytes. Installs the pinned tools for Debian and RPM
# into target/tools first.
#
#   scripts/packages.sh [DIR]     DIR has the archives and gets the packages; without it, target/release-files
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(realpath "${1:-target/release-files}")
version=$(scripts/manifest.sh version)
repository=$(scripts/manifest.sh repository)
shopt -s nullglob
archives=("$out/teamkeep-$version-"*-linux-musl.tar.gz)
if [ ${#archives[@]} = 0 ]; then
    echo "packages.sh: $out has no archives of $version; run scripts/release.sh $out first" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# fill TEMPLATE FILE
fill() {
    sed -e "s|@VERSION@|$version|g" -e "s|@REPOSITORY@|$repository|g" "$1" >"$2"
}

rm -f "$out"/teamkeep*.deb "$out"/teamkeep*.rpm
tools=$PWD/target/tools
# Without its default features, which would need liblzma.
cargo install --quiet --locked --root "$tools" --version 3.8.0 cargo-deb --no-default-features --features gzip
cargo install --quiet --locked --root "$tools" --version 0.21.1 cargo-generate-rpm
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
# Here all files have the time of the commit.
mkdir "$work/source"
git archive HEAD | tar -x -C "$work/source"

# for_system NAME DIR TARGET: the packages of a crate for Debian and RPM, as its Cargo.toml describes them. The programs are
# in $work/target.
for_system() (
    cd "$work/source"
    CARGO_TARGET_DIR=$work/target "$tools/bin/cargo-deb" --quiet --locked --package "$1" --no-build --no-strip \
        --fast --compress-type gzip --target "$3" --output "$out/"
    "$tools/bin/cargo-generate-rpm" --package "$2" --payload-compress gzip --target "$3" \
        --target-dir "$work/target" --output "$out/"
)

mkdir -p "$work/package/bin"
cpus=() blocks=""
for archive in "${archives[@]}"; do
    name=$(basename "$archive" .tar.gz)
    target=${name#"teamkeep-$version-"}
    machine=${target%%-*}
    case $machine in
        x86_64) cpu=x64 block=on_intel ;;
        aarch64) cpu=arm64 block=on_arm ;;
        *)
            echo "packages.sh: the packages have no name for $machine" >&2
            exit 1
            ;;
    esac
    cpus+=("\"$cpu\"")
    sum=$(sha256sum "$archive" | cut -d ' ' -f 1)
    url=$repository/releases/download/v$version/$name.tar.gz
    blocks+="  $block do"$'\n'"    url \"$url\""$'\n'"    sha256 \"$sum\""$'\n'"  end"$'\n'
    mkdir -p "$work/package/native/$machine"
    for program in teamkeep teamkeep-hook; do
        tar -xzf "$archive" -C "$work/package/native/$machine" --strip-components 1 "$name/$program"
        install -m 755 packaging/npm/launcher.sh "$work/package/bin/$program"
    done
    mkdir -p "$work/target/$target/release"
    tar -xzf "$archive" -C "$work/target/$target/release" --strip-components 1 "$name"/teamkeep{,-hook,-ship}
    for_system teamkeep . "$target"
    for_system teamkeep-ship ship "$target"
done
echo "made" "$out"/teamkeep*.deb "$out"/teamkeep*.rpm

fill packaging/homebrew/teamkeep.rb "$work/formula"
while IFS= read -r line; do
    case $line in
        *@ARCHIVES@*) printf '%s' "$blocks" ;;
        "# A template: "*) ;;
        *) printf '%s\n' "$line" ;;
    esac
done <"$work/formula" >"$out/teamkeep.rb"
echo "made $out/teamkeep.rb"

fill packaging/npm/package.json "$work/package.json"
sed "s|@CPU@|$(IFS=,; echo "${cpus[*]}")|" "$work/package.json" >"$work/package/package.json"
fill packaging/npm/README.md "$work/package/README.md"
cp LICENSE "$work/package"
tar --sort=name --mtime="@$(git log -1 --format=%ct)" --owner=0 --group=0 --numeric-owner --mode=go-w \
    -C "$work" -cf - package | gzip -9n >"$out/teamkeep-$version-npm.tgz"
echo "made $out/teamkeep-$version-npm.tgz"
(cd "$out" && sha256sum teamkeep-"$version"-*.{tar.gz,zip} teamkeep.rb "teamkeep-$version-npm.tgz" teamkeep*.deb teamkeep*.rpm >SHA256SUMS)
