#!/bin/sh
# Deletes the rows of a run or of a store from the tables that compact.sh wrote.
#
#   forget.sh LAKE run|store ID
#
# The objects below LAKE/rows still have them: delete these too, or let a lifecycle rule do it.
set -eu
usage='usage: forget.sh LAKE run|store ID'
LAKE=${1:?$usage} COLUMN=${2:?$usage} ID=${3:?$usage}
LAKE=${LAKE%/}
LAKE=${LAKE#file://}
case $COLUMN in run | store) ;; *) echo "forget.sh: $COLUMN is not run or store" >&2; exit 2 ;; esac
case $ID in '' | *[!A-Za-z0-9._-]*) echo "forget.sh: invalid ID" >&2; exit 2 ;; esac
connect=${CONNECT:-$(dirname "$0")/connect.sql}
# Waits for a compaction.
case $LAKE in
*://*) exec 9<"$(dirname "$0")/compact.sh" ;;
*) exec 9<"$LAKE" ;;
esac
! command -v flock >/dev/null || flock 9
run() {
    { echo .output /dev/null && cat "$connect" && echo .output && cat; } | duckdb -no-init -bail -list -noheader
}
# The files that have such rows, each with the statement that writes it without them.
statements=$(
    for table in runs agents turns tasks messages verdicts incidents usage tools events hosts; do
        [ "$table:$COLUMN" = hosts:run ] || run <<SQL
SELECT DISTINCT 'COPY (SELECT * FROM read_parquet(''' || filename || ''') WHERE $COLUMN IS DISTINCT FROM ''$ID'') TO '''
  || filename || ''' (COMPRESSION zstd);'
FROM read_parquet('$LAKE/tables/$table/*.parquet', filename = true, union_by_name = true)
WHERE $COLUMN = '$ID';
SQL
    done
)
if [ -z "$statements" ]; then
    echo "forget.sh: no row has the $COLUMN $ID" >&2
    exit 1
fi
printf '%s\n' "$statements" | run
echo "files written again: $(printf '%s\n' "$statements" | grep -c '^COPY')"
