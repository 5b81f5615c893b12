#!/usr/bin/env bash
# Runs every command that the README and the pages show in a minimal Debian: without Rust, git, Python, uuidgen and a network.
# Prints each command with its exit code, and the first line of its output if it failed. Each page starts with a fresh home, in
# which the release is unpacked, installed, and has the bundled run.
#
#   scripts/clean-debian.sh [--replace OLD=NEW]… ARCHIVE [PAGE…]
#
# ARCHIVE is a file of scripts/release.sh, or its unpacked directory. --replace changes a name of the pages' examples to one
# that exists, for example the team of the bundled run.
#
# Needs root and debootstrap. The system is in target/clean-debian, and is made once. Exits with 1 if teamkeep does not accept
# a command (exit code 64), or fails in an unexpected way (70 and more).
set -euo pipefail
cd "$(dirname "$0")/.."

edits=()
while [ "${1:-}" = --replace ] && [ $# -gt 1 ]; do
    edits+=(-e "s|${2%%=*}|${2#*=}|g")
    shift 2
done
if [ $# = 0 ] || [ "$(id -u)" != 0 ]; then
    echo "usage: sudo scripts/clean-debian.sh [--replace OLD=NEW]… ARCHIVE [PAGE…]" >&2
    exit 2
fi
archive=$(realpath "$1")
shift
system=$PWD/target/clean-debian/system
if [ ! -e "$system/.complete" ]; then
    rm -rf "$system"
    mkdir -p "$system"
    debootstrap --variant=minbase bookworm "$system" >"$system.log"
    chroot "$system" useradd --create-home --shell /bin/bash reader
    touch "$system/.complete"
fi

# Where this run writes: nothing stays in the system.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/layer/home/reader/teamkeep" "$work/changes" "$work/root"
if [ -d "$archive" ]; then
    cp -a "$archive/." "$work/layer/home/reader/teamkeep"
else
    tar -xzf "$archive" -C "$work/layer/home/reader/teamkeep" --strip-components 1
fi
cp scripts/clean-debian-run.sh "$work/layer/run.sh"
chmod 755 "$work" "$work/layer" "$work/layer/home" "$work/layer/run.sh"
chown -R --reference="$system/home/reader" "$work/layer/home/reader"
scripts/doc_commands.py "$@" | sed "${edits[@]}" -e '' >"$work/layer/commands"
chmod 644 "$work/layer/commands"

# shellcheck disable=SC2016 # The inner shell expands them.
unshare --mount --net --pid --fork --kill-child bash -euc '
    mount -t tmpfs -o mode=755 changes "$2/changes"
    mkdir "$2/changes/upper" "$2/changes/work"
    mount -t overlay -o "lowerdir=$2/layer:$1,upperdir=$2/changes/upper,workdir=$2/changes/work" clean "$2/root"
    mount -t proc proc "$2/root/proc"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$2/root/dev/pts"
    ln -sf pts/ptmx "$2/root/dev/ptmx"
    chmod 1777 "$2/root/tmp"
    cd "$2/root"
    exec chroot --userspec=reader:reader . /usr/bin/env -i HOME=/home/reader USER=reader TERM=xterm LANG=C.UTF-8 \
        PATH=/home/reader/.local/bin:/usr/local/bin:/usr/bin:/bin bash /run.sh
' clean "$system" "$work"
