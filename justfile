# Every test that needs no client and no network.
test:
    cargo test --locked

# The real client with a scripted model: needs npm, tmux and a network namespace of its own.
live *ARGS:
    cargo test --locked --test live -- --live {{ARGS}}
