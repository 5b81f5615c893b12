# Run every test that needs neither Claude Code nor a network.
test:
    cargo test --locked

# Play teams with the real Claude Code and a scripted model: needs npm, tmux and a network namespace of its own.
live *ARGS:
    cargo test --locked --test live -- --live {{ARGS}}

# Build the documentation site into target/site and check its links.
docs:
    scripts/docs.sh

# Search for inputs that break a parser: needs cargo-fuzz and a nightly toolchain.
fuzz *ARGS:
    scripts/fuzz.sh {{ARGS}}
