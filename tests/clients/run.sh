#!/bin/sh
# Drives the built program with the official Python and TypeScript SDKs.
#
# usage: tests/clients/run.sh BINARY
#
# Installs both SDKs below target/clients, pinned by requirements.txt and package-lock.json.
set -eu

binary=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
place=$here/../../target/clients
mkdir -p "$place"
place=$(realpath "$place")

# Only what changed is installed anew.
if ! cmp -s "$here/requirements.txt" "$place/requirements.txt"; then
    python3 -m venv --clear "$place/venv"
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$place/requirements.txt"
fi
if ! cmp -s "$here/package-lock.json" "$place/installed-lock.json"; then
    cp "$here/package.json" "$here/package-lock.json" "$place/"
    npm ci --prefix "$place" --no-audit --no-fund --silent
    cp "$here/package-lock.json" "$place/installed-lock.json"
fi
# Imports are looked for beside the script.
cp "$here/checks.mjs" "$here/ts_client.mjs" "$here/ts_mock.mjs" "$place/"

walls=require
if [ "${REPLAY_TEST_REQUIRE_SANDBOX:-}" != 1 ] && ! "$binary" sandbox run --allow "$here" -- true; then
    echo "no walls can be built here: commands are tried without them" >&2
    walls=off
fi

failed=0
"$place/venv/bin/python" "$here/python_client.py" "$binary" "$walls" || failed=1
for way in stdio http; do
    node "$place/ts_client.mjs" "$binary" "$walls" "$way" || failed=1
done
"$place/venv/bin/python" "$here/python_mock.py" "$binary" "$here/mock.yaml" "$here/mock_expect.yaml" || failed=1
node "$place/ts_mock.mjs" "$binary" "$here/mock.yaml" "$here/mock_expect.yaml" || failed=1
exit "$failed"
