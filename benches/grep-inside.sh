#!/bin/sh
# Times GNU grep of a tree inside the walls against the same grep outside, interleaved, the clock inside the walls.
#
# usage: benches/grep-inside.sh REPLAY DIR [ROUNDS]
#
# Prints, for each setting, least and middle wall time and processor time in seconds and the number of hits.
set -eu
replay=$(realpath "$1")
cd "$2"
rounds=${3:-12}
search='TIMEFORMAT="%R %U %S"; time (LC_ALL=C grep -rI pm_runtime_get_noresume . | wc -l)'
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
bash -c "$search" >/dev/null 2>&1
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    bash -c "$search" >>"$out/outside" 2>&1
    for tier in landlock namespaces; do
        "$replay" sandbox run --allow "$PWD:rw" --sandbox "$tier" --log-level off -- bash -c "$search" >>"$out/$tier" 2>&1
    done
done
# mawk cannot sort, sort can.
middle() { sort -n | awk '{ value[NR] = $1 } END { printf "min %.2f median %.2f", value[1], value[int((NR + 1) / 2)] }'; }
for setting in outside landlock namespaces; do
    hits=$(awk 'NF == 1 { print $1 }' "$out/$setting" | sort -u | tr '\n' ' ')
    wall=$(awk 'NF == 3 { print $1 }' "$out/$setting" | middle)
    processor=$(awk 'NF == 3 { print $2 + $3 }' "$out/$setting" | middle)
    printf '%-11s %shits, wall %s, processor %s\n' "$setting" "$hits" "$wall" "$processor"
done
