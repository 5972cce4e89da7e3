#!/bin/sh
# Runs the official conformance suite against `replay mock`, which serves testdata/mock/conformance.yaml.
#
# usage: tests/conformance/run.sh BINARY
#
# Installs the suite, and the Node.js that it needs (22), below target/conformance, pinned by package-lock.json.
set -eu

binary=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
manifest=$(realpath "$here/../../testdata/mock/conformance.yaml")
place=$here/../../target/conformance
mkdir -p "$place"
place=$(realpath "$place")

# Only what changed is installed anew.
if ! cmp -s "$here/package-lock.json" "$place/installed-lock.json"; then
    cp "$here/package.json" "$here/package-lock.json" "$place/"
    npm ci --prefix "$place" --no-audit --no-fund --silent
    cp "$here/package-lock.json" "$place/installed-lock.json"
fi
# Imports are looked for beside the script.
cp "$here/bridge.mjs" "$here/run.mjs" "$place/"
exec "$place/node_modules/node/bin/node" "$place/run.mjs" "$binary" "$manifest" "$here/expected"
