#!/bin/sh
# Lets a fuzzer search for inputs that break a target, and keeps in fuzz/corpus the smallest files that reach all code that it
# reached. Needs cargo-fuzz and a nightly toolchain. `cargo test` runs the same targets on the corpus with any toolchain.
#
#   scripts/fuzz.sh [SECONDS] [TARGET…]     SECONDS for each target, default 60
set -eu
cd "$(dirname "$0")/../fuzz"
seconds=60
case "${1:-}" in
[0-9]*)
    seconds=$1
    shift
    ;;
esac
# shellcheck disable=SC2046  # names of targets are single words
[ $# -gt 0 ] || set -- $(sed -n 's/^name = "\(.*\)"/\1/p' Cargo.toml | grep -v teamkeep-fuzz)
# The code is safe Rust: a sanitizer finds nothing more, and is slower.
cargo +nightly fuzz build --sanitizer none
for target; do
    mkdir -p "target/found/$target"
    cargo +nightly fuzz run --sanitizer none "$target" "target/found/$target" "corpus/$target" -- \
        -max_total_time="$seconds" -max_len=4096 -print_final_stats=1
    cargo +nightly fuzz cmin --sanitizer none "$target" "corpus/$target" "target/found/$target"
done
