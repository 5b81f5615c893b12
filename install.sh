#!/bin/sh
# Installs teamkeep below a prefix, from source or from the binary beside this script, and adds its hooks to Claude Code's
# settings.
set -eu

# Ignores relative entries of PATH, so that nothing in the current directory runs.
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
Installs teamkeep and adds its hooks to the settings of Claude Code.

Usage: ./install.sh [--prefix DIR] [--no-hooks | --enable-teams] [--with-ship] [--no-check]
       ./install.sh --uninstall [--prefix DIR] [--no-hooks]

  --prefix DIR   install to DIR/bin instead of ~/.local/bin
  --no-hooks     do not change the settings of Claude Code
  --enable-teams set the variables in the settings that enable agent teams and
                 task tools; without it, the script asks on a terminal
  --no-check     do not play the bundled run through the installed programs
  --with-ship    install teamkeep-ship, too, which sends recorded data to the
                 destinations in the configuration; it sends nothing without them
  --uninstall    remove the hooks and the binaries; recorded data is kept
  -h, --help     show this help

A release contains the binaries beside this script, each with its checksum, as in teamkeep.sha256.
Without a binary, the script builds teamkeep with cargo (https://rustup.rs).

It writes DIR/bin/teamkeep and DIR/bin/teamkeep-hook, with --with-ship also DIR/bin/teamkeep-ship, man pages and completions below DIR/share, the settings file (with a backup) and ./target.
A build also uses the cache of cargo, and adds the musl target to the toolchain if it is missing.
USAGE
}

report() {
    printf '%s\n' "$*"
}

# fail MESSAGE [HINT...]
fail() {
    printf 'error: %s\n' "$1" >&2
    shift
    for hint in "$@"; do
        printf 'hint: %s\n' "$hint" >&2
    done
    exit 1
}

misused() {
    printf 'error: %s\n' "$1" >&2
    usage >&2
    exit 64
}

# Quotes a word for a shell.
quoted() {
    case $1 in
        *[!A-Za-z0-9_/.+,:@%=-]*) printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
        *) printf '%s' "$1" ;;
    esac
}

# Prints the path of the store on this system.
record() {
    if [ -n "${TEAMKEEP_HOME:-}" ]; then
        printf '%s' "$TEAMKEEP_HOME"
    elif [ "$(uname -s)" = Darwin ]; then
        printf '%s' "${HOME:-}/Library/Application Support/teamkeep"
    else
        printf '%s' "${XDG_DATA_HOME:-${HOME:-}/.local/share}/teamkeep"
    fi
}

# Sets `target` to the one whose programs start fastest: with musl a hook call costs a third less than with glibc.
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

# Prints the architecture of a Linux program as uname names it, or nothing if it is not a Linux program.
machine_of() {
    case $(od -An -tx1 -N20 "$1" 2>/dev/null | tr -d ' \n') in
        7f454c46*3e00) printf 'x86_64' ;;
        7f454c46*b700) printf 'aarch64' ;;
        7f454c46*) printf 'another architecture' ;;
    esac
}

# Checks a binary beside this script: its checksum, if there is one, and its architecture. A shell may run a binary of
# another architecture as a script, so the header is checked first.
check_beside() {
    name=$1
    beside=$root/$name
    if [ -f "$beside.sha256" ]; then
        if command -v sha256sum >/dev/null 2>&1; then
            found=$(sha256sum <"$beside")
        elif command -v shasum >/dev/null 2>&1; then
            found=$(shasum -a 256 <"$beside")
        else
            fail "cannot check $beside: sha256sum and shasum are not in PATH" \
                "to install it unchecked: rm $(quoted "$beside.sha256")"
        fi
        wanted=
        read -r wanted _ <"$beside.sha256" || :
        [ "${found%% *}" = "$wanted" ] || fail "checksum mismatch: $beside does not match $name.sha256" \
            'download the release again'
    fi
    runs "$beside" || fail "$beside cannot be executed" "to fix it: chmod +x $(quoted "$beside")"
    other='download the release for this machine, or build teamkeep from source'
    of=$(machine_of "$beside")
    here=$(uname -m | sed -e 's/^arm64$/aarch64/' -e 's/^amd64$/x86_64/')
    [ -z "$of" ] || [ "$of" = "$here" ] || fail "$beside is for $of, but this machine is $here" "$other"
    "$beside" --version >/dev/null 2>&1 || fail "$beside does not run on this machine" "$other"
}

build() {
    if [ -f "$root/teamkeep" ]; then
        [ -f "$root/teamkeep-hook" ] || fail 'this release has no teamkeep-hook' 'download the release again'
        check_beside teamkeep
        check_beside teamkeep-hook
        report "using $root/teamkeep"
        built=$root
        [ "$with_ship" = no ] || use_ship_beside
        return
    fi
    command -v cargo >/dev/null 2>&1 || fail 'cannot build: cargo is not in PATH' \
        'install it from https://rustup.rs; if it is installed: . ~/.cargo/env'
    command -v rustc >/dev/null 2>&1 || fail 'cannot build: rustc is not in PATH' \
        'rustup installs it beside cargo: . ~/.cargo/env'
    host=$(rustc -vV | sed -n 's/^host: //p')
    [ -n "$host" ] || fail 'cannot build: rustc -vV does not report its host'
    choose_target "$host"
    prepare_prefix
    report 'building (a few minutes the first time)'
    shipping=
    case $with_ship,$target in
        yes,*-musl) shipping=--with-ship ;;
    esac
    "$root/scripts/static.sh" ${shipping:+"$shipping"} "$target" --target-dir target ||
        fail 'cannot build: see the output of cargo above'
    built=$root/target/$target/release
    built_ship=$built/teamkeep-ship
    [ "$with_ship" = no ] || [ -n "$shipping" ] || build_ship
}

use_ship_beside() {
    [ -f "$root/teamkeep-ship" ] || fail 'this release has no teamkeep-ship' 'build teamkeep from source'
    check_beside teamkeep-ship
    built_ship=$root/teamkeep-ship
}

# A static program with glibc would not find all hosts.
build_ship() {
    report 'building teamkeep-ship (some minutes the first time)'
    (cd "$root" && cargo build --release --locked --package teamkeep-ship --target "$target" --target-dir target) ||
        fail 'cannot build teamkeep-ship: see the output of cargo above'
}

# Creates a directory with its parents, and records in ./target which of them were missing.
make_directory() {
    [ ! -d "$1" ] || return 0
    make_directory "$(dirname "$1")" && mkdir "$1" && { ls -di "$1" >>"$made" || :; }
}

# Removes a directory that this script created, if it is empty again, and then its parent in the same way.
unmake_directory() {
    note=$(ls -di "$1" 2>/dev/null) || return 0
    if grep -qxF -e "$note" "$made" 2>/dev/null && rmdir "$1" 2>/dev/null; then
        grep -vxF -e "$note" "$made" >"$made.new" || :
        mv -f "$made.new" "$made"
        unmake_directory "$(dirname "$1")"
    fi
}

prepare_prefix() {
    mkdir -p "$(dirname "$made")" 2>/dev/null || :
    make_directory "$prefix/bin" || fail "cannot create the directory $prefix/bin" 'choose another place: --prefix DIR'
}

# install_program FILE PLACE
install_program() {
    [ ! -d "$2" ] || fail "cannot install $2: it is a directory"
    prepare_prefix
    temporary=$prefix/bin/.teamkeep.$$
    trap 'rm -f "$temporary"' EXIT
    trap 'exit 1' HUP INT TERM
    # A rename replaces it atomically, even while a session runs the old one.
    { cp "$1" "$temporary" && chmod 755 "$temporary" && mv -f "$temporary" "$2"; } ||
        fail "cannot write $2" 'choose another place: --prefix DIR'
}

install_binary() {
    # The hook program first: the settings name it as soon as it is there.
    install_program "$built/teamkeep-hook" "$hook"
    install_program "$built/teamkeep" "$binary"
    report "installed $("$binary" --version) as $binary"
    if [ "$with_ship" = yes ]; then
        install_program "$built_ship" "$ship"
        report "installed $ship"
    elif [ -f "$ship" ]; then
        report "$ship is not updated; to update it: $self --with-ship$chosen"
    fi
}

remove_program() {
    if [ -f "$1" ] || [ -L "$1" ]; then
        rm -f "$1" || fail "cannot remove $1"
        report "removed $1"
    fi
}

# The man pages and completions: the path of each in the source, and below the prefix.
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

# Whether a page is teamkeep's, of any version, and not a link or a file of the user's.
is_page() {
    [ -f "$1" ] && [ ! -L "$1" ] && grep -q -e '^\.TH teamkeep[-a-z]* 1 .*teamkeep' -e 'teamkeep__' \
        -e '_teamkeep_commands' -e '__fish_teamkeep_needs_command' -e 'TEAMKEEP_COMPLETE=' "$1"
}

# They are optional: a page that cannot be written is only reported.
install_pages() {
    pages | while read -r page place; do
        place=$prefix/$place
        if { [ -e "$place" ] || [ -L "$place" ]; } && ! is_page "$place"; then
            report "$place is not teamkeep's; left unchanged"
            continue
        fi
        { make_directory "$(dirname "$place")" && rm -f "$place.new" && cp "$root/$page" "$place.new" && chmod 644 "$place.new" &&
            mv -f "$place.new" "$place"; } || report "cannot write $place"
    done
    [ ! -f "$prefix/share/man/man1/teamkeep.1" ] || report "man pages and completions: $prefix/share"
    explain_zsh
}

# Prints the setting that zsh needs to find the completions, if zsh is the user's shell.
explain_zsh() {
    place=$prefix/share/zsh/site-functions
    case ${SHELL:-} in
        */zsh) [ -f "$place/_teamkeep" ] || return 0 ;;
        *) return 0 ;;
    esac
    # shellcheck disable=SC2016 # zsh expands it
    if "$SHELL" -c 'print -rl -- $fpath' 2>/dev/null </dev/null | grep -qxF -e "$place"; then
        return 0
    fi
    # Only an interactive zsh could show what .zshrc adds, and that would run everything in it.
    rc=${ZDOTDIR:-${HOME:-}}/.zshrc
    if ! grep -qsF -e "${place#"${HOME:-}"}" "$rc"; then
        report "for completions in zsh, add to $rc before compinit: fpath=($(quoted "$place") \$fpath)"
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
        ! is_page "$prefix/$place" || rm -f "$prefix/$place" || report "cannot remove $prefix/$place"
        unmake_directory "$(dirname "$prefix/$place")"
    done
}

# Asks whether to enable agent teams, if the settings do not mention them.
ask_for_teams() {
    if [ -n "$teams" ] || [ -z "$settings" ] || [ ! -t 0 ] || [ ! -t 1 ] ||
        grep -qs CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS "$settings"; then
        return 0
    fi
    printf 'enable agent teams in %s? [y/N] ' "$settings"
    read -r answer || answer=
    case $answer in
        [yY] | [yY][eE][sS]) teams=--enable-teams ;;
    esac
}

install_all() {
    build
    install_binary
    install_pages
    if [ "$hooks" = yes ]; then
        ask_for_teams
        "$binary" install --yes ${teams:+"$teams"} || fail "installed the binary, but not the hooks" \
            "fix the cause, then: $(quoted "$binary") install${teams:+ $teams}"
        if [ -z "$teams" ] && [ -n "$settings" ] && ! grep -qs CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS "$settings"; then
            report "agent teams are off; to turn them on: $(quoted "$binary") install --enable-teams"
        fi
    else
        report "settings unchanged; to add the hooks: $(quoted "$binary") install"
    fi
    [ -z "$added" ] || report "added the target $added to the toolchain; to remove it: rustup target remove $added"
    if [ "$check" = yes ] && ! "$binary" demo --check; then
        printf 'warning: the installed programs failed their check\nhint: to repeat it: %s demo --check\n' \
            "$(quoted "$binary")" >&2
    fi
    report 'next:'
    case :${PATH:-}: in
        *:"$prefix/bin":*) ;;
        *) report "  add the programs to PATH, here and in your shell's profile: export PATH=$(quoted "$prefix/bin"):\$PATH" ;;
    esac
    [ "$hooks" = no ] || report '  restart sessions that run now: they keep the hooks that they started with'
    report '  check the setup: teamkeep doctor'
    report "to undo all of this: $self --uninstall$chosen"
}

runs() {
    [ -f "$1" ] && [ -x "$1" ]
}

# Resolves all links of a path.
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

# Whether an existing program is one of the installed binaries, under any name.
is_ours() {
    program=$(real "$1")
    [ "$program" = "$(real "$binary" 2>/dev/null)" ] || [ "$program" = "$(real "$hook" 2>/dev/null)" ]
}

# The string values of a key in a JSON file, one per line.
strings() {
    tr '\n' ' ' <"$2" | grep -oE "\"$1\"[[:space:]]*:[[:space:]]*\"([^\"\\\\]|\\\\.)*\"" |
        sed -e 's/^"[^"]*"[^"]*"\(.*\)"$/\1/' -e 's/\\\(.\)/\1/g'
}

# The programs that the hooks of a settings file call, `teamkeep hook` or teamkeep-hook, one per line.
called() {
    [ -r "$1" ] || return 0
    words='[[:space:]]\{1,\}hook\([[:space:]].*\)\{0,1\}$'
    event='\([[:space:]].*\)\{0,1\}$'
    strings command "$1" | sed -n -e "s/^'\(.*teamkeep\)'$words/\1/" -e "s/^\"\(.*teamkeep\)\"$words/\1/" \
        -e "s/^\([^[:space:]]*teamkeep\)$words/\1/" -e "s/^'\(.*teamkeep-hook\)'$event/\1/" \
        -e "s/^\"\(.*teamkeep-hook\)\"$event/\1/" -e "s/^\([^[:space:]]*teamkeep-hook\)$event/\1/" -e "s/'\\\\''/'/g" \
        -e '/^[~$/].*\/teamkeep\(-hook\)\{0,1\}$/p' -e '/^teamkeep\(-hook\)\{0,1\}$/p' | sort -u |
        while IFS= read -r program; do
            # shellcheck disable=SC2016,SC2088 # unexpanded, as in the file
            case $program in
                teamkeep | teamkeep-hook) command -v "$program" || printf '%s\n' "$program" ;;
                '~/'* | '$HOME/'*) printf '%s\n' "${HOME:-}/${program#*/}" ;;
                *) printf '%s\n' "$program" ;;
            esac
        done
}

# The ones that are missing, or would be without the installed binary.
lost() {
    called "$1" | while IFS= read -r program; do
        if ! runs "$program" || is_ours "$program"; then
            printf '%s\n' "$program"
        fi
    done
}

# Joins lines to one sentence.
listed() {
    printf '%s\n' "$1" | paste -s -d '|' - | sed 's/|/ and /g'
}

# The settings files that may contain teamkeep's hooks: the user's, and those of recorded installs.
candidates() {
    printf '%s\n' "$settings"
    for install in "$kept"/installs/*.json; do
        [ ! -f "$install" ] || strings settings "$install"
    done | grep -vxF -e "$settings" || :
}

# Prints the command that removes the hooks from a settings file.
remedy() {
    if runs "$binary"; then
        report "to remove them: $(quoted "$binary") uninstall --settings $(quoted "$1")"
    elif [ "$1" = "$settings" ]; then
        report "to remove them: $self --no-hooks$chosen && $self --uninstall$chosen"
    else
        report "to remove them: $self --no-hooks$chosen && $(quoted "$binary") uninstall --settings $(quoted "$1") && $self --uninstall$chosen"
    fi
}

# Removes the hooks from the user's settings, with the binary that they call if the installed one is missing.
remove_hooks() {
    [ -n "$settings" ] || fail 'cannot find the settings: HOME is not set' ${anyway:+"$anyway"}
    [ ! -e "$settings" ] || [ -r "$settings" ] || fail "cannot read $settings" ${anyway:+"$anyway"}
    callers=$(called "$settings")
    other=$(printf '%s\n' "$callers" | while IFS= read -r program; do
        # Only the command line beside the hook program can remove the hooks.
        program=${program%-hook}
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
        [ -n "$remover" ] || fail "$callers, which does not exist" "$(remedy "$settings")"
        case $callers in
            "the hooks in $settings call $binary" | "the hooks in $settings call $hook") ;;
            *) report "$callers" ;;
        esac
    fi
    # A file without the word needs no edit, unless an install set variables in it. One that cannot be edited may contain no
    # teamkeep hooks.
    if [ -z "$remover" ] || [ ! -e "$settings" ] ||
        { ! grep -q teamkeep "$settings" 2>/dev/null && ! ls "$kept"/installs/*.json >/dev/null 2>&1; }; then
        report "$settings has no teamkeep hooks"
    elif ! "$remover" uninstall --yes; then
        [ -z "$callers" ] || fail "cannot remove the hooks" ${anyway:+"$anyway"}
        report "no hook in $settings calls teamkeep"
    fi
}

# Whether all remaining hooks work without the installed binary. $1 is the end of the message for the others.
none_lost() {
    files=$(candidates)
    failed=0
    while IFS= read -r file; do
        gone=$(lost "$file")
        if [ -n "$gone" ]; then
            failed=1
            printf 'error: the hooks in %s call %s%s\n' "$file" "$(listed "$gone")" "$1" >&2
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
    anyway="to remove only the binary: $self --uninstall --no-hooks$chosen"
    [ -e "$binary" ] || anyway=
    if [ "$hooks" = yes ]; then
        remove_hooks
        if ! runs "$binary"; then
            none_lost ', which does not exist' || exit 1
        elif ! none_lost "; $binary is kept until they are removed"; then
            printf 'hint: %s\n' "$anyway" >&2
            exit 1
        fi
    fi
    remove_program "$ship"
    remove_program "$hook"
    if [ -e "$binary" ] || [ -L "$binary" ]; then
        rm -f "$binary" || fail "cannot remove $binary"
        report "removed $binary"
        unmake_directory "$prefix/bin"
        remove_pages
    else
        report "$binary does not exist"
    fi
    case $other in
        */bin/teamkeep) report "kept $other; to remove it: $self --uninstall --prefix $(quoted "${other%/bin/teamkeep}")" ;;
        ?*) report "kept $other" ;;
    esac
    if [ -d "$kept" ]; then
        if [ -d "$kept/runs" ] || [ -d "$kept/sessions" ]; then
            report "recorded data and backups of your settings are kept in $kept"
            report "to delete all of it: rm -r $(quoted "$kept")"
        else
            report "backups of your settings are kept in $kept"
            report "to delete them: rm -r $(quoted "$kept")"
        fi
    fi
    [ ! -e "$configuration" ] || report "your configuration is kept: $configuration"
    none_lost ', which does not exist' || exit 1
}

# The path of this script, even if it is called through a link.
script=$(real "$0") || fail 'cannot find the path of install.sh'
root=$(dirname "$script")
self=$(quoted "$root/install.sh")
made=$root/target/made-by-install
[ ! -f "$root/teamkeep" ] || made=$root/.made-by-install
prefix=
chosen=
added=
hooks=yes
teams=
check=yes
with_ship=no
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
        --enable-teams) teams=--enable-teams ;;
        --no-check) check=no ;;
        --with-ship) with_ship=yes ;;
        --uninstall) action=uninstall_all ;;
        -h | --help)
            usage
            exit 0
            ;;
        *) misused "unknown argument: $1" ;;
    esac
    shift
done
[ -z "$teams" ] || [ "$hooks" = yes ] || misused '--enable-teams changes the settings, --no-hooks does not'
case $prefix in
    '')
        [ -n "${HOME:-}" ] || fail 'cannot choose a directory: HOME is not set' 'set it: --prefix DIR'
        prefix=$HOME/.local
        ;;
    /*) chosen=" --prefix $(quoted "$prefix")" ;;
    *)
        prefix=$PWD/${prefix#./}
        chosen=" --prefix $(quoted "$prefix")"
        ;;
esac
prefix=${prefix%/}
configuration=${TEAMKEEP_CONFIG:-${XDG_CONFIG_HOME:-${HOME:-}/.config}/teamkeep/teamkeep.toml}
binary=$prefix/bin/teamkeep
hook=$prefix/bin/teamkeep-hook
ship=$prefix/bin/teamkeep-ship
settings=
if [ -n "${CLAUDE_CONFIG_DIR:-}" ]; then
    settings=$CLAUDE_CONFIG_DIR/settings.json
elif [ -n "${HOME:-}" ]; then
    settings=$HOME/.claude/settings.json
fi
$action
