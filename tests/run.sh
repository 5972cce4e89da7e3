#!/bin/sh
# Runs every test of the project, installing what they need: Rust's own, the official clients, and the official
# conformance suite against the program.
#
# usage: sh tests/run.sh
#
# Needs cargo. A linker, curl, Python 3 with venv, Node.js, Go, Chromium, PostgreSQL, MariaDB and Redis come from the system's
# packages when they are missing and this is root.
set -eu
cd "$(dirname "$0")/.."

need() {
    command=$1
    shift
    if "$@" >/dev/null 2>&1; then
        return
    fi
    echo "installing $command"
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "tests/run.sh: $command is missing, and only root on Debian or Ubuntu can install it from here" >&2
        exit 1
    fi
    apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $packages
}

packages='gcc libc6-dev' need 'a linker' sh -c 'command -v cc'
packages='python3 python3-venv' need 'Python 3 with venv' python3 -c 'import ensurepip, venv'
packages='curl' need curl command -v curl
packages='git openssh-client' need 'git and ssh' sh -c 'command -v git && command -v ssh-agent'
packages='nodejs npm' need 'Node.js with npm' sh -c 'command -v node && command -v npm'
packages='golang-go' need Go command -v go
packages='golang-github-lib-pq-dev golang-github-gomodule-redigo-dev golang-github-google-uuid-dev golang-golang-x-crypto-dev' \
    need "Go's packages" sh -c 'cd /usr/share/gocode/src && ls github.com/lib/pq github.com/gomodule/redigo github.com/google/uuid golang.org/x/crypto'
packages='chromium' need Chromium sh -c 'command -v chromium || command -v chromium-browser || command -v google-chrome'

# The tests start these servers themselves. Debian starts them where it installs them, unless this file forbids it (invoke-rc.d(8)).
policy=/usr/sbin/policy-rc.d
made=
log=$(mktemp)
trap 'rm -f "$log" $made' EXIT
if [ "$(id -u)" = 0 ] && [ ! -e "$policy" ]; then
    made=$policy
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi
servers='command -v redis-server && command -v mariadbd && command -v my_print_defaults && { command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; }'
packages='postgresql mariadb-server-core mariadb-client-core redis-server' need 'PostgreSQL, MariaDB and Redis' \
    env PATH="$PATH:/usr/sbin" sh -c "$servers"
rm -f $made
made=

# Most of what a test takes is waiting: for limits that pass, for the disk.
export RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((2 * $(nproc)))}"
failed=0
# pipefail is not POSIX; the status goes through a file.
{ cargo test --locked --workspace --no-fail-fast 2>&1 || echo failed >"$log.status"; } | tee "$log"
[ ! -e "$log.status" ] || { failed=1; rm -f "$log.status"; }
{ sh tests/clients/run.sh target/debug/replay 2>&1 || echo failed >"$log.status"; } | tee -a "$log"
[ ! -e "$log.status" ] || { failed=1; rm -f "$log.status"; }
{ sh tests/conformance/run.sh target/debug/replay 2>&1 || echo failed >"$log.status"; } | tee -a "$log"
[ ! -e "$log.status" ] || { failed=1; rm -f "$log.status"; }

awk '
    /^test result:/ { passed += $4; failed += $6; skipped += $8 }
    /^(ok|FAIL) / { if ($1 == "ok") passed++; else failed++ }
    END { printf "\ntotal: %d passed, %d failed, %d skipped\n", passed, failed, skipped }
' "$log"
exit "$failed"
