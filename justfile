# Run every test that needs neither Claude Code nor a network.
test:
    cargo test --locked

# Check the model of the policy (all states to a depth, long random walks, faults that it must find), and kill processes before each
# system call that changes a file. It takes half an hour.
proof:
    TEAMKEEP_MODEL_DEPTH=4 TEAMKEEP_MODEL_ORDER_DEPTH=3 TEAMKEEP_MODEL_STEPS=10000000 \
        cargo test --locked --release -p teamkeep-policy --test model -- --nocapture
    scripts/faults.py
    TEAMKEEP_ALL_KILLS=1 cargo test --locked --test it -- killed_calls

# Play teams with the real Claude Code and a scripted model: needs npm, tmux and a network namespace of its own.
live *ARGS:
    cargo test --locked --test live -- --live {{ARGS}}

# Run the tests for Windows, in wine. It installs wine and mingw from Debian. It takes half an hour.
windows *ARGS:
    scripts/windows.sh {{ARGS}}

# Build the documentation site into target/site and check its links.
docs:
    scripts/docs.sh

# Search for inputs that break a parser: needs cargo-fuzz and a nightly toolchain.
fuzz *ARGS:
    scripts/fuzz.sh {{ARGS}}
