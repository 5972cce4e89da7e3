#!/bin/sh
# A package for npm that holds the program: nothing is loaded when it is installed.
#
# usage: [PROGRAM=...] [OUT=...] [OWNER=...] sh packaging/npm.sh
. "$(dirname "$0")/common.sh"
case $machine in
x86_64) cpu=x64 ;;
aarch64) cpu=arm64 ;;
*) cpu=$machine ;;
esac
install -D -m 755 "$program" "$stage/bin/replay"
cp README.md LICENSE "$stage/"
cat >"$stage/package.json" <<EOF
{
  "name": "${owner:+@$owner/}replay",
  "version": "$version",
  "description": "$about",
  "license": "$license",
  "mcpName": "io.github.${owner:-trial}/replay",
  "bin": { "replay": "bin/replay" },
  "files": ["bin"],
  "os": ["linux"],
  "cpu": ["$cpu"]
}
EOF
(cd "$out" && npm pack --silent "$stage")
