#!/bin/sh
# The main npm package, replay: a starter, and the package of each platform as an optional dependency. Publish those first.
#
# usage: [OUT=...] [MACHINES='x86_64 aarch64'] [OWNER=...] sh packaging/npm-starter.sh
. "$(dirname "$0")/common.sh"
platforms='' processors=''
for machine in $machines; do
    set_words "$machine"
    platforms="$platforms${platforms:+, }\"$npm_name-linux-$node\": \"$version\""
    processors="$processors${processors:+, }\"$node\""
done
install -D -m 755 packaging/npm/replay.js "$stage/bin/replay.js"
cp README.md LICENSE "$stage/"
cat >"$stage/package.json" <<EOF
{
  "name": "$npm_name",
  "version": "$version",
  "description": "$about",
  "license": "$license",
  "mcpName": "io.github.${owner:-trial}/replay",
  "bin": { "replay": "bin/replay.js" },
  "files": ["bin"],
  "os": ["linux"],
  "cpu": [$processors],
  "optionalDependencies": { $platforms }
}
EOF
(cd "$out" && npm pack --silent "$stage")
