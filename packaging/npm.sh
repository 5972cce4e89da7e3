#!/bin/sh
# The npm package of one platform, replay-linux-x64 or replay-linux-arm64: the program. packaging/npm-starter.sh makes the main package.
#
# usage: [PROGRAM=...] [HOST_PROGRAM=...] [OUT=...] [OWNER=...] sh packaging/npm.sh
. "$(dirname "$0")/program.sh"
install -D -m 755 "$program" "$stage/bin/replay"
cp LICENSE "$stage/"
echo "The program of the package \`$npm_name\`, for Linux on $node." >"$stage/README.md"
libraries=${glibc:+'"libc": ["glibc"], '}
# Yarn must unpack it: a program inside an archive cannot run.
cat >"$stage/package.json" <<EOF
{
  "name": "$npm_name-linux-$node",
  "version": "$version",
  "description": "$about",
  "license": "$license",
  "bin": { "replay-linux-$node": "bin/replay" },
  "files": ["bin"],
  "preferUnplugged": true,
  "os": ["linux"],
  $libraries"cpu": ["$node"]
}
EOF
(cd "$out" && npm pack --silent "$stage")
