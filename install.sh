#!/bin/sh
# Builds teamkeep, installs it below a prefix and adds its hooks to the client's settings.
set -eu

usage() {
    cat <<'USAGE'
Builds teamkeep, installs it and adds its hooks to the settings of Claude Code.

Usage: ./install.sh [--prefix DIR] [--no-hooks]
       ./install.sh --uninstall [--prefix DIR] [--no-hooks]

  --prefix DIR   install to DIR/bin instead of ~/.local/bin
  --no-hooks     leave the client's settings alone
  --uninstall    take the hooks out of the settings, then remove the binary; the record stays
  -h, --help     show this

It needs cargo, as rustup installs it (https://rustup.rs), and writes nothing but DIR/bin/teamkeep, the
settings file (with a backup) and ./target.
USAGE
}

say() {
    printf '%s\n' "$*"
}

# fail MESSAGE [HINT...]
fail() {
    printf 'install.sh: %s\n' "$1" >&2
    shift
    for hint in "$@"; do
        printf 'hint: %s\n' "$hint" >&2
    done
    exit 1
}

misused() {
    printf 'install.sh: %s\n' "$1" >&2
    usage >&2
    exit 64
}

# A word as a shell takes it back.
quoted() {
    case $1 in
        *[!A-Za-z0-9_/.+,:@%=-]*) printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
        *) printf '%s' "$1" ;;
    esac
}

# Where the binary keeps its record on this system.
record() {
    if [ -n "${TEAMKEEP_HOME:-}" ]; then
        printf '%s' "$TEAMKEEP_HOME"
    elif [ "$(uname -s)" = Darwin ]; then
        printf '%s' "${HOME:-}/Library/Application Support/teamkeep"
    else
        printf '%s' "${XDG_DATA_HOME:-${HOME:-}/.local/share}/teamkeep"
    fi
}

build() {
    command -v cargo >/dev/null 2>&1 || fail 'cannot build: there is no cargo on the search path' \
        'install it from https://rustup.rs, or, if that is done: . ~/.cargo/env'
    command -v rustc >/dev/null 2>&1 || fail 'cannot build: there is no rustc on the search path' \
        'rustup puts it beside cargo: . ~/.cargo/env'
    host=$(rustc -vV | sed -n 's/^host: //p')
    [ -n "$host" ] || fail 'cannot build: rustc -vV does not name its host'
    say 'building (a minute or two the first time)'
    cargo build --release --locked --target "$host" --config .cargo/static.toml --target-dir target ||
        fail 'cannot build: cargo says why above'
    built=target/$host/release/teamkeep
}

install_binary() {
    [ ! -d "$binary" ] || fail "cannot install $binary: a directory stands there"
    mkdir -p "$prefix/bin" || fail "cannot make the directory $prefix/bin" 'choose another place: --prefix DIR'
    temporary=$prefix/bin/.teamkeep.$$
    trap 'rm -f "$temporary"' EXIT
    trap 'exit 1' HUP INT TERM
    # A rename puts it in place whole, also under a session that is running the old one.
    { cp "$built" "$temporary" && chmod 755 "$temporary" && mv -f "$temporary" "$binary"; } ||
        fail "cannot write $binary" 'choose another place: --prefix DIR'
    say "installed $("$binary" --version) as $binary"
}

install_all() {
    build
    install_binary
    if [ "$hooks" = yes ]; then
        "$binary" install --yes || fail "the binary is installed, the hooks are not" \
            "when the cause is gone: $(quoted "$binary") install"
    else
        say "the settings are as they were; to add the hooks: $(quoted "$binary") install"
    fi
    case :${PATH:-}: in
        *:"$prefix/bin":*) ;;
        *) say "$prefix/bin is not on the search path; to call teamkeep by its name: export PATH=$(quoted "$prefix/bin"):\$PATH" ;;
    esac
    say "to undo all of it: $(quoted "$root/install.sh") --uninstall$chosen"
}

uninstall_all() {
    if [ ! -x "$binary" ]; then
        say "nothing to do: there is no $binary"
        return
    fi
    kept=$(record)
    if [ "$hooks" = yes ]; then
        anyway='the settings would call a binary that is gone; to remove it all the same: --uninstall --no-hooks'
        "$binary" uninstall --yes || fail "cannot take the hooks out, so $binary stays" "$anyway"
        for install in "$kept"/installs/*.json; do
            [ -f "$install" ] || continue
            other=$(sed -n 's/.*"settings":"\([^"]*\)".*/\1/p' "$install")
            if grep -q 'teamkeep' "$other" 2>/dev/null; then
                fail "$other has hooks too, so $binary stays" \
                    "$(quoted "$binary") uninstall --settings $(quoted "$other")" "$anyway"
            fi
        done
    fi
    rm -f "$binary" || fail "cannot remove $binary"
    say "removed $binary"
    if [ -d "$kept" ]; then
        say "the record stays in $kept"
        say "to delete it for good: rm -r $(quoted "$kept")"
    fi
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || fail 'cannot tell where install.sh is'
here=$PWD
prefix=
chosen=
hooks=yes
action=install_all
while [ $# -gt 0 ]; do
    case $1 in
        --prefix)
            [ -n "${2:-}" ] || misused '--prefix needs a directory'
            prefix=$2
            shift
            ;;
        --prefix=?*) prefix=${1#--prefix=} ;;
        --no-hooks) hooks=no ;;
        --uninstall) action=uninstall_all ;;
        -h | --help)
            usage
            exit 0
            ;;
        *) misused "unknown argument: $1" ;;
    esac
    shift
done
case $prefix in
    '')
        [ -n "${HOME:-}" ] || fail 'cannot tell where to install: HOME is not set' 'name a place: --prefix DIR'
        prefix=$HOME/.local
        ;;
    /*) chosen=" --prefix $(quoted "$prefix")" ;;
    *)
        prefix=$here/${prefix#./}
        chosen=" --prefix $(quoted "$prefix")"
        ;;
esac
prefix=${prefix%/}
binary=$prefix/bin/teamkeep
cd "$root" || fail "cannot enter $root"
$action
