#!/bin/sh
# Adds the rows that were shipped to an object store or a directory to tables: one Parquet file per table and day of shipment.
# Needs DuckDB 1.5 or later. It can be repeated, and interrupted, at any time.
#
#   compact.sh LAKE [DAYS]
#
# LAKE is a directory or an address such as s3://BUCKET/PREFIX. DAYS: how many days before today are searched for new objects (7).
# CONNECT names a file like connect.sql.
set -eu
LAKE=${1:?usage: compact.sh LAKE [DAYS]} DAYS=${2:-7}
LAKE=${LAKE%/}
LAKE=${LAKE#file://}
sql=$(cd "$(dirname "$0")" && pwd)
connect=$(realpath "${CONNECT:-$sql/connect.sql}")
case $LAKE in
*://*) lock=$sql/compact.sh ;;
*)
    LAKE=$(cd "$LAKE" && pwd)
    lock=$LAKE
    for table in runs agents turns tasks messages verdicts incidents usage tools events hosts objects; do
        mkdir -p "$LAKE/tables/$table"
    done
    ;;
esac
# Two at once would lose rows. Where there is no `flock`, do not start two.
exec 9<"$lock"
if command -v flock >/dev/null && ! flock -n 9; then
    echo "another compaction is running"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work"
export LAKE DAYS DAY

{
    echo .output /dev/null
    cat "$connect"
    echo .output
} >connect.sql
run() { cat connect.sql "$@" | duckdb -no-init -bail -list -noheader work.db; }
ask() { printf '%s\n' "$1" | run -; }
# Statements that fail do not end these.
try() { cat connect.sql "$1" | duckdb -no-init work.db >/dev/null 2>&1 || true; }

run "$sql/tables.sql" "$sql/prepare.sql"
ask "SELECT 'no objects below $LAKE/rows' WHERE NOT EXISTS (FROM found)"
ask "SELECT 'not read, with another name: ' || count(*) || ' objects' FROM found WHERE day IS NULL HAVING count(*) > 0"
ask "SELECT 'not read, older than $DAYS days: ' || count(*) || ' objects' FROM pending WHERE day < current_date - $DAYS HAVING count(*) > 0"
days=$(ask "SELECT day FROM pending WHERE day >= current_date - $DAYS UNION SELECT day FROM gone ORDER BY day")
for DAY in $days; do
    run "$sql/load.sql"
    try batches.sql
    run "$sql/retry.sql"
    try singles.sql
    : >problems.tsv
    ask "SELECT path FROM reading ANTI JOIN raw USING (path)" | while read -r path; do
        ask "SELECT load_statement(quoted('$path'))" >single.sql
        problem=$(run single.sql 2>&1 | grep -m 1 Error | tr '\t' ' ' | cut -c 1-200) || true
        printf '%s\t%s\n' "$path" "$problem" >>problems.tsv
    done
    run "$sql/check.sql"
    rows=$(ask "SELECT count(*) FROM raw")
    [ "$rows" = 0 ] || run "$sql/merge.sql"
    run "$sql/note.sql"
done
