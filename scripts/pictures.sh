#!/usr/bin/env bash
# Update docs/pictures: the SVGs of terminal output, and the page of a report in light and dark. Needs Chromium for the latter.
# The screen of Claude Code is captured again where it can run: see "Test with the real Claude Code" in CONTRIBUTING.md.
set -euo pipefail
cd "$(dirname "$0")/.."
if command -v npm node tmux ip >/dev/null && unshare --net --mount --map-root-user true 2>/dev/null; then
    cargo test --locked --test live -- --live 2.1.332 --picture tests/fixtures/screens/block.ansi
fi
TEAMKEEP_GENERATE=1 cargo test --locked --test it pictures
browser=$(command -v chromium || command -v google-chrome)
page() {
    "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --blink-settings=preferredColorScheme="$1" \
        --window-size=1280,900 --virtual-time-budget=3000 --screenshot="$PWD/docs/pictures/$2" \
        "file://$PWD/target/pictures/report.html" 2>/dev/null
}
page 1 report-page.png
page 0 report-page-dark.png
