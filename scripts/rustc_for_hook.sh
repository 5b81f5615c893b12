#!/bin/sh
# `scripts/static.sh` has cargo run this instead of rustc for the crates of the workspace. Only the hook program is worth
# link-time optimization: Claude Code waits for it. Its library has the same name.
rustc=$1
shift
case " $* " in
    *' --crate-name teamkeep_hook '*' --crate-type bin '*)
        set -- "$@" -C lto=fat -C codegen-units=1
        target='' before=''
        for argument; do
            [ "$before" != --target ] || target=$argument
            before=$argument
        done
        case $target in
            *-linux-*)
                # The index of the tables for unwinding: a panic aborts.
                set -- "$@" -C link-arg=-Wl,--no-eh-frame-hdr
                # The toolchain's own linker keeps one of several functions with the same code. Distributions leave it out.
                for linker in "$("$rustc" --print sysroot)"/lib/rustlib/*/bin/gcc-ld; do
                    [ -x "$linker/ld.lld" ] || continue
                    set -- "$@" -C "link-arg=-B$linker" -C link-arg=-fuse-ld=lld -C link-arg=-Wl,--icf=all
                done
                ;;
        esac
        ;;
esac
exec "$rustc" "$@"
