#!/bin/sh
# Builds the packages from one program, installs each in a clean place by its own package manager, and asks the server that is
# there for its tools and for a command. Prints a table of sizes and times.
#
# usage: [PROGRAM=target/debug/replay] sh tests/packages.sh
#
# Needs root on Debian or Ubuntu; what is missing comes from the system's packages.
set -eu
cd "$(dirname "$0")/.."
here=$PWD
program=$(realpath "${PROGRAM:-target/debug/replay}")
for need in mmdebstrap lintian npm python3-venv:python3-venv readelf:binutils; do
    case ${need%%:*} in
    python3-venv) python3 -c 'import ensurepip' 2>/dev/null ;;
    *) command -v "${need%%:*}" >/dev/null ;;
    esac || missing="${missing:-} ${need##*:}"
done
if [ -n "${missing:-}" ]; then
    apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
# Without symbols: a debug build has ten times as many of them as code.
strip -o "$work/replay" "$program"
export PROGRAM="$work/replay" OUT="$work/out" OWNER=trial
# The tests are no release.
export DPKG_DEB_COMPRESSOR_TYPE="${DPKG_DEB_COMPRESSOR_TYPE:-gzip}" DPKG_DEB_COMPRESSOR_LEVEL="${DPKG_DEB_COMPRESSOR_LEVEL:-1}"
for package in tarball deb npm wheel server-json formula; do
    sh "packaging/$package.sh" >/dev/null
done
version=$("$PROGRAM" --version | cut -d ' ' -f 2)
echo "#!/bin/sh
echo replay 0.0.0" >"$work/other"
chmod 755 "$work/other"
if PROGRAM="$work/other" sh packaging/tarball.sh 2>/dev/null; then
    echo 'FAIL a program of another version is packaged'
    exit 1
fi
python3 -m json.tool "$OUT/server.json" >/dev/null
lintian --allow-root --fail-on error --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$OUT"/*.deb

mkdir "$work/project"
echo '| package | bytes | install, s | to the first `tools/list`, s | walls |'
echo '|---|--:|--:|--:|---|'
# A package, its file, and when its installation began; then the command line of the server. It sees $work/project.
ask() {
    name=$1 file=$2 begun=$3
    shift 3
    python3 - "$name" "$(stat -c %s "$file")" "$begun" "$@" <<'EOF'
import sys
import time

sys.path.insert(0, "benches")
from stdio_client import Client

name, size, begun, *command = sys.argv[1:]
installed = time.time()
client = Client(command)
tools = [tool["name"] for tool in client.ask("tools/list", {})["result"]["tools"]]
listed = time.time()
assert "execute_command" in tools, tools
result = client.call("execute_command", command="echo $((6 * 7)) >answer; cat answer")["result"]
assert result["content"][0]["text"].startswith("42\n"), result
walls = client.call("list_allowed_directories")["result"]["structuredContent"]["sandbox"]
client.end()
tier = walls.get("tier") if isinstance(walls, dict) else walls
print(f"| {name} | {size} | {installed - float(begun):.1f} | {listed - float(begun):.1f} | {tier} |")
EOF
}
now() { date +%s.%N; }

root=$work/root
# A mirror that stands still is good enough.
mmdebstrap --quiet --variant=minbase --include=apparmor,libnss-resolve,libnss-mdns,libnss-myhostname --aptopt='Acquire::Check-Valid-Until "false"' "${SUITE:-stable}" "$root"
cp "$OUT"/*.deb "$root/tmp/"
begun=$(now)
chroot "$root" sh -c 'dpkg --install /tmp/*.deb' >/dev/null
# The kernel makes no user namespaces below chroot(2), so the root takes the place of the other one.
cat >"$work/inside" <<'EOF'
#!/bin/sh
exec unshare --mount --pid --fork sh -c 'root=$1 project=$2; shift 2
    mount --rbind "$root" "$root" && cd "$root" && mount -t proc proc proc && mount --bind "$project" srv &&
    pivot_root . mnt && umount --lazy /mnt && cd /srv && exec "$@"' sh "$@"
EOF
ask '.deb' "$OUT"/*.deb "$begun" sh "$work/inside" "$root" "$work/project" /usr/bin/replay --mcp-server --allow /srv:rw
chroot "$root" sh -c 'test -s /usr/share/man/man1/replay.1.gz && test -s /usr/share/bash-completion/completions/replay'
if [ -e "$root/etc/apparmor.d/abi/4.0" ]; then
    chroot "$root" apparmor_parser --skip-kernel-load --skip-cache /etc/apparmor.d/replay
    echo 'ok the profile of AppArmor' >&2
fi
# Modules of another C library than the one in the program must not be loaded into it.
echo 'hosts: mdns4_minimal resolve myhostname files dns' >"$root/etc/nsswitch.conf"
echo '127.0.0.1 here' >"$root/etc/hosts"
unshare --net chroot "$root" /usr/bin/replay health http://here:9 2>"$work/health" || test $? = 1
grep -q 'does not answer' "$work/health"
chroot "$root" dpkg --purge replay >/dev/null
test ! -e "$root/etc/apparmor.d/replay"

mkdir "$work/npm"
begun=$(now)
(cd "$work/npm" && npm install --offline --silent --no-audit --no-fund "$OUT"/*.tgz)
ask 'npm' "$OUT"/*.tgz "$begun" "$work/npm/node_modules/.bin/replay" --mcp-server --allow "$work/project:rw"

begun=$(now)
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$OUT"/*.whl
ask 'wheel' "$OUT"/*.whl "$begun" "$work/venv/bin/replay" --mcp-server --allow "$work/project:rw"

begun=$(now)
tar -C "$work" -xzf "$OUT"/replay-*.tar.gz
ask 'tar.gz' "$OUT"/replay-*.tar.gz "$begun" "$work/replay-$version-$(uname -m)-linux/replay" --mcp-server --allow "$work/project:rw"
