#!/bin/sh
# What a first build costs: crates, seconds from an empty cargo home, and again after a change, size of the program.
#
# usage: sh benches/build.sh [PROFILE]
#
# Prints a row of a table in Markdown. Cargo's settings (a registry's mirror) are taken along.
set -eu
cd "$(dirname "$0")/.."
profile=${1:-release}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/home"
settings=${CARGO_HOME:-$HOME/.cargo}/config.toml
[ ! -e "$settings" ] || cp "$settings" "$work/home/"
export CARGO_HOME="$work/home" CARGO_TARGET_DIR="$work/target"

build() {
    begun=$(date +%s.%N)
    cargo build --quiet --locked --profile "$profile" --bin replay
    echo "$begun $(date +%s.%N)" | awk '{ printf "%.0f", $2 - $1 }'
}
crates() { cargo tree --locked --edges "$1" --prefix none | sed 's/ (\*)$//' | sort -u | wc -l; }

cold=$(build)
touch src/lib.rs
again=$(build)
bytes=$(wc -c <"$work/target/$profile/replay")
echo "| profile | crates | with those of tests | first build, s | again, s | program, bytes |"
echo "|---|--:|--:|--:|--:|--:|"
echo "| $profile | $(crates normal,build) | $(crates normal,build,dev) | $cold | $again | $bytes |"
