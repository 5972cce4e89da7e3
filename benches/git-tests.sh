#!/usr/bin/env bash
# Git's own tests of worktrees, submodules and signed commits, outside the walls and inside them: a line for each script whose
# outcome differs, then the totals.
#
# usage: git-tests.sh PROGRAM GIT_SOURCE [USER]     GIT_SOURCE: a built source tree of git, with its tests; USER: runs both as that user
set -euo pipefail
program=$(readlink -f "$1") source=$(readlink -f "$2")
out=$(mktemp -d) && trap 'rm -rf "$out"' EXIT
as=()
if [ $# -gt 2 ]; then
    chown "$3" "$out"
    as=(setpriv --reuid="$3" --regid="$(id -g "$3")" --clear-groups)
fi
run='cd "$1/t"; for test in t24*.sh t74*.sh t7510-*.sh t7528-*.sh; do
    said=$("./$test" --root="$2/trash" 2>&1) && code=0 || code=$?
    echo "$test exit $code, $(grep -c ^ok <<<"$said") ok, $(grep -c "^not ok" <<<"$said") not ok"; done'
cd "$out"
HOME=$out "${as[@]}" bash -c "$run" - "$source" "$out" >outside.txt
rm -rf trash
HOME=$out "${as[@]}" "$program" sandbox run --allow "$out:rw" --allow "$source:rw" -- bash -c "$run" - "$source" "$out" >inside.txt
diff outside.txt inside.txt || true
for where in outside inside; do
    awk -v where="$where" '{ scripts++; ok += $4; not += $6; failed += $3 != "0," } END { print where ": " scripts " scripts, " failed " failed, " ok " ok, " not " not ok" }' "$where.txt"
done
