#!/usr/bin/env bash
# The part of scripts/clean-debian.sh inside the clean system: runs the commands of /commands as a user without privileges.
set -uo pipefail
LIMIT=30
# For what runs until it is stopped.
SHORT_LIMIT=5

cd ~/teamkeep || exit 1
{
    mkdir -p ~/.local/share && ./teamkeep demo --keep ~/.local/share/teamkeep </dev/null && ./install.sh --no-check </dev/null
} >/tmp/setup 2>&1 || {
    echo "clean-debian: the release cannot be installed, or the bundled run not played:" >&2
    cat /tmp/setup >&2
    exit 1
}
cp -a ~ /tmp/home

page="" line="" skipped="" ok=0 stopped=0 absent=0 failed=0 rejected=0
while IFS=$'\t' read -r file line text; do
    if [ "$file" != "$page" ]; then
        page=$file skipped=""
        cd /
        find ~ -mindepth 1 -delete
        cp -a /tmp/home/. ~
        cd ~/teamkeep || exit 1
        printf '\n%s\n' "$page"
    fi
    command=$(printf '%b' "$text")
    case $command in
        # The release replaces a clone.
        "git clone "*) skipped=clone && continue ;;
        "cd "*) [ "$skipped" = clone ] && skipped="" && continue ;;
    esac
    # What changes the shell of the reader runs in this one, and reaches the commands after it.
    set -a
    code=0
    if [[ $command == "teamkeep watch"* ]]; then
        # It needs a terminal.
        sleep "$SHORT_LIMIT" | timeout --foreground "$SHORT_LIMIT" script --quiet --return --command "$command" /tmp/output >/dev/null
        code=${PIPESTATUS[1]}
    elif [[ $command == *" --follow"* ]]; then
        timeout "$SHORT_LIMIT" bash -c "$command" </dev/null >/tmp/output 2>&1 || code=$?
    elif [[ $command =~ ^([A-Za-z_]+=[^\ ]*$|[A-Za-z_]+=\$\(|cd\ |export\ ) ]]; then
        eval "$command" </dev/null >/tmp/output 2>&1 || code=$?
    else
        timeout --kill-after=2 "$LIMIT" bash -c "$command" </dev/null >/tmp/output 2>&1 || code=$?
    fi
    set +a
    printf '%4d  %5s  %s\n' "$code" "$line" "${command//$'\n'/$'\n'             }"
    case $code in
        0) ok=$((ok + 1)) && continue ;;
        124) stopped=$((stopped + 1)) && echo '             | runs until it is stopped' && continue ;;
        127) absent=$((absent + 1)) ;;
        *) failed=$((failed + 1)) ;;
    esac
    printf '             | %s\n' "$(head -n 1 /tmp/output | cut -c 1-110)"
    if [[ $command == *teamkeep* && $code -ge 64 && $code != 127 ]]; then
        rejected=$((rejected + 1))
    fi
done </commands
printf '\n%d succeeded, %d ran until they were stopped, %d need a program that is not installed, %d failed\n' \
    "$ok" "$stopped" "$absent" "$failed"
printf '%d of them teamkeep did not accept\n' "$rejected"
[ "$rejected" = 0 ]
