#!/bin/sh
# Drives the built program with the official Python and TypeScript SDKs, the Inspector, FastMCP and raw HTTP.
#
# usage: tests/clients/run.sh BINARY
#
# Installs them below target/clients, pinned by requirements.txt and package-lock.json, the service and the
# libraries of the programs whose calls are recorded and replayed, and what drives a browser, which must be there.
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
service=$place/service
mkdir -p "$service"
if ! cmp -s "$here/service/package-lock.json" "$service/installed-lock.json"; then
    cp "$here/service/package.json" "$here/service/package-lock.json" "$service/"
    npm ci --prefix "$service" --no-audit --no-fund --silent
    cp "$here/service/package-lock.json" "$service/installed-lock.json"
fi
cp "$here"/service/*.mjs "$here/service/package.json" "$here/service/requests.json" "$service/"
browser=$place/browser
mkdir -p "$browser"
if ! cmp -s "$here/browser/package-lock.json" "$browser/installed-lock.json"; then
    cp "$here/browser/package.json" "$here/browser/package-lock.json" "$browser/"
    npm ci --prefix "$browser" --no-audit --no-fund --silent
    cp "$here/browser/package-lock.json" "$browser/installed-lock.json"
fi
cp "$here"/browser/*.mjs "$here/checks.mjs" "$browser/"
libraries=$place/libraries
if ! cmp -s "$here/programs/requirements.txt" "$libraries.txt"; then
    rm -rf "$libraries"
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check --target "$libraries" -r "$here/programs/requirements.txt"
    cp "$here/programs/requirements.txt" "$libraries.txt"
fi
drivers=$place/drivers
if ! cmp -s "$here/databases/requirements.txt" "$drivers.txt"; then
    rm -rf "$drivers"
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check --target "$drivers" -r "$here/databases/requirements.txt"
    cp "$here/databases/requirements.txt" "$drivers.txt"
fi
ways=$place/ways
mkdir -p "$ways"
if ! cmp -s "$here/ways/package-lock.json" "$ways/installed-lock.json"; then
    cp "$here/ways/package.json" "$here/ways/package-lock.json" "$ways/"
    npm ci --prefix "$ways" --no-audit --no-fund --silent
    cp "$here/ways/package-lock.json" "$ways/installed-lock.json"
fi
cp "$here/ways/board.mjs" "$ways/"
# Go's packages are those of the system.
if ! GO111MODULE=off GOPATH=/usr/share/gocode CGO_ENABLED=0 go build -o "$ways/board" "$here/ways/board.go"; then
    rm -f "$ways/board"
    echo "board.go is not built, and not run: it needs Go and its packages lib/pq, redigo, uuid and crypto" >&2
fi
# Clients over HTTP that need packages, and a Node.js, of their own.
web=$place/http
mkdir -p "$web"
if ! cmp -s "$here/http/requirements.txt" "$web/requirements.txt"; then
    python3 -m venv --clear "$web/venv"
    "$web/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/http/requirements.txt"
    cp "$here/http/requirements.txt" "$web/requirements.txt"
fi
if ! cmp -s "$here/http/package-lock.json" "$web/installed-lock.json"; then
    cp "$here/http/package.json" "$here/http/package-lock.json" "$web/"
    npm ci --prefix "$web" --no-audit --no-fund --silent
    cp "$here/http/package-lock.json" "$web/installed-lock.json"
fi
cp "$here/http/clients.mjs" "$here/checks.mjs" "$web/"
analysis=$place/analysis
if ! cmp -s "$here/analysis/requirements.txt" "$analysis.txt"; then
    rm -rf "$analysis"
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check --target "$analysis" -r "$here/analysis/requirements.txt"
    cp "$here/analysis/requirements.txt" "$analysis.txt"
fi
# What run_tests runs: the oldest Vitest that it knows, and the newest. Without a lock: npm leaves out of one what is
# for other platforms, and then refuses to install from it.
for vitest in vitest3 vitest5; do
    if ! cmp -s "$here/$vitest/package.json" "$place/$vitest/installed.json"; then
        mkdir -p "$place/$vitest"
        cp "$here/$vitest/package.json" "$place/$vitest/"
        npm install --prefix "$place/$vitest" --no-package-lock --no-audit --no-fund --silent
        cp "$here/$vitest/package.json" "$place/$vitest/installed.json"
    fi
done
runs=$place/runs
if ! cmp -s "$here/runs/requirements.txt" "$runs/installed.txt"; then
    mkdir -p "$runs"
    python3 -m venv --clear "$runs/.venv"
    "$runs/.venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/runs/requirements.txt"
    cp "$here/runs/requirements.txt" "$runs/installed.txt"
fi
# Imports are looked for beside the script.
cp "$here/checks.mjs" "$here/ts_client.mjs" "$here/ts_mock.mjs" "$here/ts_sessions.mjs" "$here/vitest.mjs" \
    "$here/jest_reporter.mjs" \
    "$place/"

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
node22=$web/node_modules/node/bin/node
"$node22" "$web/clients.mjs" "$binary" "$walls" || failed=1
"$web/venv/bin/python" "$here/http/clients.py" "$binary" "$walls" "$node22" || failed=1
# With the system's interpreter, which the libraries were installed for.
"$place/venv/bin/python" "$here/python_sessions.py" "$binary" "$walls" "$analysis" || failed=1
node "$place/ts_sessions.mjs" "$binary" "$walls" "$analysis" || failed=1
"$place/venv/bin/python" "$here/python_mock.py" "$binary" "$here/mock.yaml" "$here/mock_expect.yaml" || failed=1
"$place/venv/bin/python" "$here/authorization/drive.py" "$binary" --check "$here/../../docs/mock-clients.md" || failed=1
node "$place/ts_mock.mjs" "$binary" "$here/mock.yaml" "$here/mock_expect.yaml" || failed=1
if [ "$walls" = require ]; then
    "$place/venv/bin/python" "$here/service.py" "$binary" "$service" || failed=1
    "$place/venv/bin/python" "$here/service_agent.py" "$binary" "$service" || failed=1
    "$place/venv/bin/python" "$here/programs.py" "$binary" "$libraries" || failed=1
    "$place/venv/bin/python" "$here/databases.py" "$binary" "$drivers" || failed=1
    "$place/venv/bin/python" "$here/ways.py" "$binary" "$drivers" "$ways" || failed=1
else
    echo "no calls are recorded without walls: service.py, service_agent.py, programs.py, databases.py and ways.py are not run" >&2
fi
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
node "$browser/page.mjs" "$binary" "$walls" "$chromium" || failed=1
node "$place/vitest.mjs" "$binary" "$walls" "$place/vitest3" 3.2.7 || failed=1
node "$place/vitest.mjs" "$binary" "$walls" "$place/vitest5" 5.1.1 || failed=1
runners=$here/../../src/testrun/runners
cat "$runners/common.js" "$runners/jest/reporter.cjs" >"$place/replay-jest.cjs"
node "$place/jest_reporter.mjs" "$place/replay-jest.cjs" "$place" || failed=1
"$place/venv/bin/python" "$here/runs.py" "$binary" "$walls" "$runs" || failed=1
exit "$failed"
