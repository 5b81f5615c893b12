#!/bin/sh
# Runs the program of this machine's architecture. `teamkeep install` writes the path of that program into the settings, so
# hook calls do not pass through here.
file=$(readlink -f "$0")
program=$(dirname "$(dirname "$file")")/native/$(uname -m)/$(basename "$file")
[ -x "$program" ] || {
    echo "error: the npm package of teamkeep has no program for $(uname -s) on $(uname -m)" >&2
    exit 1
}
exec "$program" "$@"
