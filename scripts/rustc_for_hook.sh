#!/bin/sh
# `scripts/static.sh` has cargo run this instead of rustc for the crates of the workspace. Only the hook program is worth
# link-time optimization: Claude Code waits for it. Its library has the same name.
rustc=$1
shift
case " $* " in
    *' --crate-name teamkeep_hook '*' --crate-type bin '*) set -- "$@" -C lto=fat -C codegen-units=1 ;;
esac
exec "$rustc" "$@"
