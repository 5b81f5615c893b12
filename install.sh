#!/bin/sh
# Installs teamkeep below a prefix, built here or as it lies beside, and adds its hooks to the client's settings.
set -eu

# Nothing of the current directory is run, whatever the search path says.
absolute=
set -f
IFS=:
for directory in ${PATH-}; do
    case $directory in
        /*) absolute=${absolute:+$absolute:}$directory ;;
    esac
done
unset IFS
set +f
PATH=$absolute

usage() {
    cat <<'USAGE'
Builds teamkeep where it is not built yet, installs it and adds its hooks to the settings of Claude Code.

Usage: ./install.sh [--prefix DIR] [--no-hooks]
       ./install.sh --uninstall [--prefix DIR] [--no-hooks]

  --prefix DIR   install to DIR/bin instead of ~/.local/bin
  --no-hooks     leave the client's settings alone
  --uninstall    take the hooks out of the settings, then remove the binary; the record stays
  -h, --help     show this

Where a built teamkeep lies beside it, as in a release, that one is installed, unless teamkeep.sha256 beside it says
that it should be another. Else it needs cargo, as rustup installs it (https://rustup.rs). It writes nothing but
DIR/bin/teamkeep, man pages and completions below DIR/share, the settings file (with a backup) and ./target; cargo
fetches into its own cache, and rustup adds the musl target to the toolchain where that lacks it.
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

# Sets `target` to the one whose programs start soonest: with musl a hook call costs a third less than with glibc.
choose_target() {
    target=$1
    case $1 in
        *-unknown-linux-gnu)
            musl=${1%-gnu}-musl
            if [ -d "$(rustc --print sysroot)/lib/rustlib/$musl" ]; then
                target=$musl
            elif rustup target add "$musl" >/dev/null 2>&1; then
                target=$musl
                added=$musl
            fi
            ;;
    esac
}

# The machine that a Linux program is for, as uname calls it; nothing where it is no such program.
machine_of() {
    case $(od -An -tx1 -N20 "$1" 2>/dev/null | tr -d ' \n') in
        7f454c46*3e00) printf 'x86_64' ;;
        7f454c46*b700) printf 'aarch64' ;;
        7f454c46*) printf 'a machine of another kind' ;;
    esac
}

# Holds the program that lies beside against its checksum, where there is one, and against this machine. A shell may
# take a program for another machine for a script and run that: so its head is looked at before it is tried.
check_beside() {
    if [ -f "$root/teamkeep.sha256" ]; then
        if command -v sha256sum >/dev/null 2>&1; then
            found=$(sha256sum <"$root/teamkeep")
        elif command -v shasum >/dev/null 2>&1; then
            found=$(shasum -a 256 <"$root/teamkeep")
        else
            fail "cannot check $root/teamkeep: there is no sha256sum and no shasum on the search path" \
                "to install it unchecked: rm $(quoted "$root/teamkeep.sha256")"
        fi
        wanted=
        read -r wanted _ <"$root/teamkeep.sha256" || :
        [ "${found%% *}" = "$wanted" ] || fail "$root/teamkeep is not what was released: it has another checksum than teamkeep.sha256 says" \
            'download the release again'
    fi
    runs "$root/teamkeep" || fail "$root/teamkeep cannot be executed" "to mend it: chmod +x $(quoted "$root/teamkeep")"
    other='take the release for this machine, or build it from the source'
    of=$(machine_of "$root/teamkeep")
    here=$(uname -m | sed -e 's/^arm64$/aarch64/' -e 's/^amd64$/x86_64/')
    [ -z "$of" ] || [ "$of" = "$here" ] || fail "$root/teamkeep is for $of, and this machine is $here" "$other"
    "$root/teamkeep" --version >/dev/null 2>&1 || fail "$root/teamkeep does not run on this machine" "$other"
}

build() {
    if [ -f "$root/teamkeep" ]; then
        check_beside
        say "taking $root/teamkeep"
        built=$root/teamkeep
        return
    fi
    command -v cargo >/dev/null 2>&1 || fail 'cannot build: there is no cargo on the search path' \
        'install it from https://rustup.rs, or, if that is done: . ~/.cargo/env'
    command -v rustc >/dev/null 2>&1 || fail 'cannot build: there is no rustc on the search path' \
        'rustup puts it beside cargo: . ~/.cargo/env'
    host=$(rustc -vV | sed -n 's/^host: //p')
    [ -n "$host" ] || fail 'cannot build: rustc -vV does not name its host'
    choose_target "$host"
    say 'building (a few minutes the first time)'
    (cd "$root" &&
        cargo build --release --locked --target "$target" --config .cargo/static.toml --target-dir target) ||
        fail 'cannot build: cargo says why above'
    built=$root/target/$target/release/teamkeep
}

# Makes a directory with its parents, and notes in ./target which of them were missing.
make_directory() {
    [ ! -d "$1" ] || return 0
    make_directory "$(dirname "$1")" && mkdir "$1" && { ls -di "$1" >>"$made" || :; }
}

# Removes a directory that was made here and is empty again, and then its parent likewise.
unmake_directory() {
    note=$(ls -di "$1" 2>/dev/null) || return 0
    if grep -qxF -e "$note" "$made" 2>/dev/null && rmdir "$1" 2>/dev/null; then
        grep -vxF -e "$note" "$made" >"$made.new" || :
        mv -f "$made.new" "$made"
        unmake_directory "$(dirname "$1")"
    fi
}

install_binary() {
    [ ! -d "$binary" ] || fail "cannot install $binary: a directory stands there"
    make_directory "$prefix/bin" || fail "cannot make the directory $prefix/bin" 'choose another place: --prefix DIR'
    temporary=$prefix/bin/.teamkeep.$$
    trap 'rm -f "$temporary"' EXIT
    trap 'exit 1' HUP INT TERM
    # A rename puts it in place whole, also under a session that is running the old one.
    { cp "$built" "$temporary" && chmod 755 "$temporary" && mv -f "$temporary" "$binary"; } ||
        fail "cannot write $binary" 'choose another place: --prefix DIR'
    say "installed $("$binary" --version) as $binary"
}

# The man pages and completions: where each lies in the source, and where it goes below the prefix.
pages() {
    for page in "$root"/docs/man/*.1; do
        [ ! -f "$page" ] || printf '%s\n' "docs/man/${page##*/} share/man/man1/${page##*/}"
    done
    while read -r page place; do
        [ ! -f "$root/$page" ] || printf '%s\n' "$page $place"
    done <<'PAGES'
docs/completions/teamkeep.bash share/bash-completion/completions/teamkeep
docs/completions/_teamkeep share/zsh/site-functions/_teamkeep
docs/completions/teamkeep.fish share/fish/vendor_completions.d/teamkeep.fish
PAGES
}

# Whether a page is one of these, of whatever version: no link, and not somebody's own.
is_page() {
    [ -f "$1" ] && [ ! -L "$1" ] && grep -q -e '^\.TH teamkeep[-a-z]* 1 .*teamkeep' -e 'teamkeep__' \
        -e '_teamkeep_commands' -e '__fish_teamkeep_needs_command' "$1"
}

# They are a help and no need: what cannot be written is told.
install_pages() {
    pages | while read -r page place; do
        place=$prefix/$place
        if { [ -e "$place" ] || [ -L "$place" ]; } && ! is_page "$place"; then
            say "$place is not teamkeep's: it stays as it is"
            continue
        fi
        { make_directory "$(dirname "$place")" && rm -f "$place.new" && cp "$root/$page" "$place.new" && chmod 644 "$place.new" &&
            mv -f "$place.new" "$place"; } || say "cannot write $place"
    done
    [ ! -f "$prefix/share/man/man1/teamkeep.1" ] || say "man pages and completions are below $prefix/share"
    tell_zsh
}

# Says what zsh needs, when it is the user's shell and does not look where its completions are.
tell_zsh() {
    place=$prefix/share/zsh/site-functions
    case ${SHELL:-} in
        */zsh) [ -f "$place/_teamkeep" ] || return 0 ;;
        *) return 0 ;;
    esac
    # shellcheck disable=SC2016 # zsh puts it in
    if "$SHELL" -c 'print -rl -- $fpath' 2>/dev/null </dev/null | grep -qxF -e "$place"; then
        return 0
    fi
    # What .zshrc adds an interactive zsh alone could say, and that one does whatever stands there.
    rc=${ZDOTDIR:-${HOME:-}}/.zshrc
    if ! grep -qsF -e "${place#"${HOME:-}"}" "$rc"; then
        say "for completions in zsh, in $rc before compinit: fpath=($(quoted "$place") \$fpath)"
    fi
}

remove_pages() {
    {
        pages | cut -d ' ' -f 2
        # Of another version.
        for page in "$prefix"/share/man/man1/teamkeep-*.1; do
            [ ! -f "$page" ] || printf '%s\n' "share/man/man1/${page##*/}"
        done
    } | sort -u | while IFS= read -r place; do
        ! is_page "$prefix/$place" || rm -f "$prefix/$place" || say "cannot remove $prefix/$place"
        unmake_directory "$(dirname "$prefix/$place")"
    done
}

install_all() {
    build
    install_binary
    install_pages
    if [ "$hooks" = yes ]; then
        "$binary" install --yes || fail "the binary is installed; the hooks are not" \
            "when the cause is gone: $(quoted "$binary") install"
    else
        say "the settings are as they were; to add the hooks: $(quoted "$binary") install"
    fi
    case :${PATH:-}: in
        *:"$prefix/bin":*) ;;
        *) say "$prefix/bin is not on the search path; to call teamkeep by its name: export PATH=$(quoted "$prefix/bin"):\$PATH" ;;
    esac
    say "to undo all of it: $self --uninstall$chosen"
    [ -z "$added" ] || say "the toolchain has got $added, for a program that starts sooner; to undo that: rustup target remove $added"
}

runs() {
    [ -f "$1" ] && [ -x "$1" ]
}

# A path behind all links.
real() {
    path=$1
    while [ -L "$path" ]; do
        link=$(readlink "$path") || return 1
        case $link in
            /*) path=$link ;;
            *) path=$(dirname "$path")/$link ;;
        esac
    done
    directory=$(CDPATH='' cd -P -- "$(dirname -- "$path")" && pwd) && printf '%s/%s' "${directory%/}" "$(basename -- "$path")"
}

# Whether a program that is there is our binary, by whatever name.
is_ours() {
    [ "$(real "$1")" = "$(real "$binary" 2>/dev/null)" ]
}

# The strings that stand behind a key in a JSON file, one a line.
strings() {
    tr '\n' ' ' <"$2" | grep -oE "\"$1\"[[:space:]]*:[[:space:]]*\"([^\"\\\\]|\\\\.)*\"" |
        sed -e 's/^"[^"]*"[^"]*"\(.*\)"$/\1/' -e 's/\\\(.\)/\1/g'
}

# The programs named teamkeep that the hooks of a settings file call, one a line, whichever form they have.
called() {
    [ -r "$1" ] || return 0
    hook='[[:space:]]\{1,\}hook\([[:space:]].*\)\{0,1\}$'
    strings command "$1" | sed -n -e "s/^'\(.*teamkeep\)'$hook/\1/" -e "s/^\"\(.*teamkeep\)\"$hook/\1/" \
        -e "s/^\([^[:space:]]*teamkeep\)$hook/\1/" -e "s/'\\\\''/'/g" \
        -e '/^[~$/].*\/teamkeep$/p' -e '/^teamkeep$/p' | sort -u |
        while IFS= read -r program; do
            # shellcheck disable=SC2016,SC2088 # as it stands in the file
            case $program in
                teamkeep) command -v teamkeep || printf '%s\n' teamkeep ;;
                '~/'* | '$HOME/'*) printf '%s\n' "${HOME:-}/${program#*/}" ;;
                *) printf '%s\n' "$program" ;;
            esac
        done
}

# Those of them that are gone, or would be with our binary.
lost() {
    called "$1" | while IFS= read -r program; do
        if ! runs "$program" || is_ours "$program"; then
            printf '%s\n' "$program"
        fi
    done
}

# Lines in one sentence.
listed() {
    printf '%s\n' "$1" | paste -s -d '|' - | sed 's/|/ and /g'
}

# The settings files that may have our hooks: the user's, and those that are on record.
candidates() {
    printf '%s\n' "$settings"
    for install in "$kept"/installs/*.json; do
        [ ! -f "$install" ] || strings settings "$install"
    done | grep -vxF -e "$settings" || :
}

# What takes the hooks out of a settings file.
remedy() {
    if runs "$binary"; then
        say "to take them out: $(quoted "$binary") uninstall --settings $(quoted "$1")"
    elif [ "$1" = "$settings" ]; then
        say "to take them out: $self --no-hooks$chosen && $self --uninstall$chosen"
    else
        say "to take them out: $self --no-hooks$chosen && $(quoted "$binary") uninstall --settings $(quoted "$1") && $self --uninstall$chosen"
    fi
}

# Takes the hooks out of the user's settings, with the binary that they call where ours is gone.
remove_hooks() {
    [ -n "$settings" ] || fail 'cannot tell where the settings are: HOME is not set' ${anyway:+"$anyway"}
    [ ! -e "$settings" ] || [ -r "$settings" ] || fail "cannot read $settings" ${anyway:+"$anyway"}
    callers=$(called "$settings")
    other=$(printf '%s\n' "$callers" | while IFS= read -r program; do
        if runs "$program" && ! is_ours "$program"; then
            printf '%s\n' "$program"
            break
        fi
    done)
    if runs "$binary"; then
        remover=$binary
    else
        remover=$other
    fi
    if [ -n "$callers" ]; then
        callers="the hooks in $settings call $(listed "$callers")"
        [ -n "$remover" ] || fail "$callers, which is not there" "$(remedy "$settings")"
        [ "$callers" = "the hooks in $settings call $binary" ] || say "$callers"
    fi
    # A file without the word needs no edit, and one that cannot be edited may well have no hooks of ours.
    if [ -z "$remover" ] || ! grep -q teamkeep "$settings" 2>/dev/null; then
        say "$settings has no hooks of ours"
    elif ! "$remover" uninstall --yes; then
        [ -z "$callers" ] || fail "cannot take the hooks out" ${anyway:+"$anyway"}
        say "no hook in $settings calls teamkeep"
    fi
}

# Whether all hooks that are left can do without our binary. $1 says what becomes of those that cannot.
none_lost() {
    files=$(candidates)
    failed=0
    while IFS= read -r file; do
        gone=$(lost "$file")
        if [ -n "$gone" ]; then
            failed=1
            printf 'install.sh: the hooks in %s call %s%s\n' "$file" "$(listed "$gone")" "$1" >&2
            printf 'hint: %s\n' "$(remedy "$file")" >&2
        fi
    done <<FILES
$files
FILES
    return "$failed"
}

uninstall_all() {
    [ ! -d "$binary" ] || fail "cannot remove $binary: it is a directory"
    kept=$(record)
    other=
    anyway="to remove the binary and leave the settings alone: $self --uninstall --no-hooks$chosen"
    [ -e "$binary" ] || anyway=
    if [ "$hooks" = yes ]; then
        remove_hooks
        if ! runs "$binary"; then
            none_lost ', which is not there' || exit 1
        elif ! none_lost "; $binary stays until they are out"; then
            printf 'hint: %s\n' "$anyway" >&2
            exit 1
        fi
    fi
    if [ -e "$binary" ] || [ -L "$binary" ]; then
        rm -f "$binary" || fail "cannot remove $binary"
        say "removed $binary"
        unmake_directory "$prefix/bin"
        remove_pages
    else
        say "there is no $binary"
    fi
    case $other in
        */bin/teamkeep) say "$other stays; to remove it: $self --uninstall --prefix $(quoted "${other%/bin/teamkeep}")" ;;
        ?*) say "$other stays" ;;
    esac
    if [ -d "$kept" ]; then
        say "the record stays in $kept"
        say "to delete it for good: rm -r $(quoted "$kept")"
    fi
    none_lost ', which is not there' || exit 1
}

# The place of this script, also when it is called through a link.
script=$(real "$0") || fail 'cannot tell where install.sh is'
root=$(dirname "$script")
self=$(quoted "$root/install.sh")
made=$root/target/made-by-install
[ ! -f "$root/teamkeep" ] || made=$root/.made-by-install
prefix=
chosen=
added=
hooks=yes
action=install_all
while [ $# -gt 0 ]; do
    case $1 in
        --prefix | --prefix=*)
            case $1 in
                --prefix=*) prefix=${1#--prefix=} ;;
                *)
                    prefix=${2:-}
                    [ $# -lt 2 ] || shift
                    ;;
            esac
            case $prefix in
                '' | -*) misused '--prefix needs a directory' ;;
            esac
            ;;
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
        prefix=$PWD/${prefix#./}
        chosen=" --prefix $(quoted "$prefix")"
        ;;
esac
prefix=${prefix%/}
binary=$prefix/bin/teamkeep
settings=
if [ -n "${CLAUDE_CONFIG_DIR:-}" ]; then
    settings=$CLAUDE_CONFIG_DIR/settings.json
elif [ -n "${HOME:-}" ]; then
    settings=$HOME/.claude/settings.json
fi
$action
