#!/bin/sh
# Builds for Windows with mingw, and runs tests or a program under wine. Installs both from Debian if they are missing.
#
#   scripts/windows.sh                    all tests
#   scripts/windows.sh part               the integration tests that CI runs, in some minutes
#   scripts/windows.sh filters            only prints which these are, for libtest
#   scripts/windows.sh test OPTION…       cargo test with these options
#   scripts/windows.sh run PROGRAM ARG…   a program of the workspace
#
# TEAMKEEP_WINE is the directory for wine's files (default: target/wine).
set -eu
cd "$(dirname "$0")/.."
target=x86_64-pc-windows-gnu
# Capture, writers that are killed, the log, deletion, and the gates at a hook call. Those that are skipped take minutes.
filters="hook:: store::log store::prune:: store::retention::writers policy::gates policy::batches
    --skip hook::properties --skip hook::odd_files --skip hook::concurrency::eight_hooks"
if [ "${1:-}" = filters ]; then
    # shellcheck disable=SC2086 # these are words
    echo $filters
    exit
fi
if ! command -v x86_64-w64-mingw32-gcc >/dev/null || ! ls /usr/lib/wine/wine64 >/dev/null 2>&1; then
    sudo=""
    [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo apt-get update -qq
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq wine64 gcc-mingw-w64-x86-64 >/dev/null
fi
rustup target add "$target" 2>/dev/null

export WINEPREFIX="${TEAMKEEP_WINE:-$PWD/target/wine}" WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml=
wine=/usr/lib/wine/wine64
system=$WINEPREFIX/drive_c/windows/system32
if [ ! -f "$system/bcryptprimitives.dll" ]; then
    mkdir -p "$WINEPREFIX"
    "$wine" wineboot --init >/dev/null 2>&1
    # Rust's standard library needs a random number of it, and wine 8 does not have it.
    cat >"$WINEPREFIX/random.c" <<'END'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) { return SystemFunction036(data, (ULONG)size); }
END
    x86_64-w64-mingw32-gcc -shared -o "$system/bcryptprimitives.dll" "$WINEPREFIX/random.c" -ladvapi32
fi

export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER="$wine"
case "${1:-}" in
run)
    shift
    name=$1
    shift
    [ "$name" = teamkeep-ship ] && package=teamkeep-ship || package=teamkeep
    exec cargo run --quiet --locked --target "$target" --package "$package" --bin "$name" -- "$@"
    ;;
test)
    shift
    exec cargo test --locked --target "$target" "$@"
    ;;
part)
    # shellcheck disable=SC2086 # these are words
    exec cargo test --locked --target "$target" --test it -- $filters
    ;;
*)
    status=0
    cargo test --locked --no-fail-fast --target "$target" --workspace --exclude teamkeep --exclude teamkeep-ship || status=1
    cargo test --locked --no-fail-fast --target "$target" --package teamkeep --lib --test it || status=1
    exit $status
    ;;
esac
