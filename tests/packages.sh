#!/bin/sh
# Builds the packages from PROGRAM, installs each in a clean place by its own package manager, and asks the server that is there for its
# tools and for a command. Prints a table of sizes and times.
#
# usage: [PROGRAM=target/debug/replay] [ARM_PROGRAM=...] sh tests/packages.sh
#
# The packages of ARM_PROGRAM, for aarch64, are read: architectures and metadata. With qemu-user their programs tell their version.
# Needs root on Debian or Ubuntu; what is missing comes from the system's packages.
set -eu
cd "$(dirname "$0")/.."
here=$PWD
program=$(realpath "${PROGRAM:-target/debug/replay}")
[ -z "${ARM_PROGRAM:-}" ] || ARM_PROGRAM=$(realpath "$ARM_PROGRAM")
for need in mmdebstrap lintian npm python3-venv:python3-venv readelf:binutils \
    ${ARM_PROGRAM:+aarch64-linux-gnu-strip:binutils-aarch64-linux-gnu}; do
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
registry=
trap 'rm -rf "$work"; [ -z "$registry" ] || kill "$registry"' EXIT
chmod 755 "$work"
fail() {
    echo "FAIL $*"
    exit 1
}
# A subject, its value, the value that it must have.
expect() { [ "$2" = "$3" ] || fail "$1: got '$2', not '$3'"; }
machine_of() {
    case $(LC_ALL=C readelf -h "$1" | sed -n 's/^ *Machine: *//p') in
    *X86-64) echo x86_64 ;;
    AArch64) echo aarch64 ;;
    esac
}
# Without symbols: a debug build has ten times as many of them as code.
strip -o "$work/replay" "$program"
export PROGRAM="$work/replay" OUT="$work/out" OWNER=trial
machine=$(machine_of "$PROGRAM")
case $machine in aarch64) node_cpu=arm64 ;; *) node_cpu=x64 ;; esac
# The tests are no release.
export DPKG_DEB_COMPRESSOR_TYPE="${DPKG_DEB_COMPRESSOR_TYPE:-gzip}" DPKG_DEB_COMPRESSOR_LEVEL="${DPKG_DEB_COMPRESSOR_LEVEL:-1}"
for package in tarball deb npm wheel npm-starter server-json; do
    sh "packaging/$package.sh" >/dev/null
done
MACHINES=$machine sh packaging/formula.sh
version=$("$PROGRAM" --version | cut -d ' ' -f 2)
python3 -m json.tool "$OUT/server.json" >/dev/null

# A message of packaging/tarball.sh in a source tree, then its environment. One tree is of another version.
mkdir "$work/other"
cp -R packaging "$work/other/"
sed 's/^version = ".*"$/version = "9.8.7"/' Cargo.toml >"$work/other/Cargo.toml"
expect_refusal() {
    message=$1 sources=$2
    shift 2
    ! env "$@" sh "$sources/packaging/tarball.sh" 2>"$work/refused" || fail "packaged: $message"
    grep -qF "$message" "$work/refused" || fail "not '$message': $(cat "$work/refused")"
}
expect_refusal 'is not version 9.8.7 of Cargo.toml' "$work/other" PROGRAM="$PROGRAM"
expect_refusal 'is not an ELF program' "$here" PROGRAM="$here/Cargo.toml"
expect_refusal "is for $machine, but MACHINE is riscv64" "$here" MACHINE=riscv64
echo 'ok programs of another version or architecture are refused' >&2

python3 tests/packages/starter.py "$OUT/trial-replay-$version.tgz" "$PROGRAM" >&2

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

python3 tests/packages/registry.py "$OUT" >"$work/port" &
registry=$!
until [ -s "$work/port" ]; do sleep 0.1; done
# Installs the main package with other arguments of npm's in a new folder, and lists the packages that came.
npm_install() {
    mkdir "$work/$1"
    (
        cd "$work/$1"
        shift
        npm install --registry "http://127.0.0.1:$(cat "$work/port")" --silent --no-audit --no-fund "$@" @trial/replay
        find node_modules/@trial -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' '
    )
}
begun=$(now)
expect 'packages that npm installs' "$(npm_install npm)" "replay replay-linux-$node_cpu "
ask 'npm' "$OUT/trial-replay-linux-$node_cpu-$version.tgz" "$begun" "$work/npm/node_modules/.bin/replay" --mcp-server --allow "$work/project:rw"
expect 'packages without optional ones' "$(npm_install omit --omit=optional)" 'replay '
! "$work/omit/node_modules/.bin/replay" --version 2>"$work/refused" || fail 'the starter runs without a program'
grep -qF "the package @trial/replay-linux-$node_cpu@$version is missing on linux-$node_cpu; install @trial/replay" "$work/refused"

begun=$(now)
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-index --disable-pip-version-check --find-links "$OUT" replay
ask 'wheel' "$OUT"/*.whl "$begun" "$work/venv/bin/replay" --mcp-server --allow "$work/project:rw"

begun=$(now)
tar -C "$work" -xzf "$OUT"/replay-*.tar.gz
ask 'tar.gz' "$OUT"/replay-*.tar.gz "$begun" "$work/replay-$version-$machine-linux/replay" --mcp-server --allow "$work/project:rw"

if [ -z "${ARM_PROGRAM:-}" ]; then
    [ "$machine" = aarch64 ] || echo 'skipped: the arm64 packages, since there is no ARM_PROGRAM' >&2
    exit
fi
arm_program=$work/replay-arm
aarch64-linux-gnu-strip -o "$arm_program" "$ARM_PROGRAM"
export MACHINE=aarch64 HOST_PROGRAM="$PROGRAM"
expect_refusal 'does not run here: set HOST_PROGRAM' "$here" PROGRAM="$arm_program" EMULATOR= HOST_PROGRAM=
expect_refusal "$arm_program is not version 9.8.7 of Cargo.toml" "$work/other" PROGRAM="$arm_program" EMULATOR=
expect_refusal "is for x86_64, but MACHINE is aarch64" "$here" PROGRAM="$PROGRAM"
# Made as on a machine without qemu-user.
PROGRAM="$arm_program" EMULATOR='' sh packaging/tarball.sh
for package in deb npm wheel; do
    PROGRAM="$arm_program" sh "packaging/$package.sh" >/dev/null
done
sh packaging/formula.sh
unset MACHINE

emulator=$(command -v qemu-aarch64-static || command -v qemu-aarch64 || true)
if [ -z "$emulator" ] || ! "$emulator" "$arm_program" --version >/dev/null 2>&1; then
    echo 'skipped: the version that the arm64 programs tell, since no qemu-user runs them' >&2
    emulator=
fi
# A package, and the program in it.
check_arm_program() {
    expect "architecture of the program in the $1" "$(machine_of "$2")" aarch64
    cmp "$2" "$arm_program"
    [ -x "$2" ] || fail "the program in the $1 cannot be executed"
    [ -z "$emulator" ] || expect "version in the $1" "$("$emulator" "$2" --version)" "replay $version"
}
mkdir "$work/arm"
deb=$OUT/replay_${version}_arm64.deb
lintian --allow-root --fail-on error --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$deb"
expect 'Architecture of the .deb' "$(dpkg-deb --field "$deb" Architecture)" arm64
dpkg-deb --extract "$deb" "$work/arm/deb"
check_arm_program .deb "$work/arm/deb/usr/bin/replay"
test -s "$work/arm/deb/usr/share/bash-completion/completions/replay"

expect 'packages that npm installs for arm64' "$(npm_install npm-arm --cpu=arm64 --os=linux)" 'replay replay-linux-arm64 '
check_arm_program 'npm package' "$work/npm-arm/node_modules/@trial/replay-linux-arm64/bin/replay"

wheel=$(echo "$OUT"/replay-*aarch64.whl)
platform=${wheel##*[-.]manylinux}
platform=manylinux${platform%%.*}
"$work/venv/bin/pip" download --quiet --no-index --disable-pip-version-check --find-links "$OUT" --only-binary :all: --no-deps \
    --platform "$platform" --dest "$work/arm" replay
expect 'wheel that pip takes for arm64' "$(cd "$work/arm" && echo replay-*.whl)" "${wheel##*/}"
python3 -m zipfile -e "$wheel" "$work/arm/wheel"
chmod 755 "$work/arm/wheel/replay-$version.data/scripts/replay"
check_arm_program wheel "$work/arm/wheel/replay-$version.data/scripts/replay"

tar -C "$work/arm" -xzf "$OUT/replay-$version-aarch64-linux.tar.gz"
check_arm_program tar.gz "$work/arm/replay-$version-aarch64-linux/replay"
"$PROGRAM" completions bash | cmp - "$work/arm/replay-$version-aarch64-linux/completions/replay.bash"

for block in on_intel:x86_64 on_arm:aarch64; do
    archive=replay-$version-${block#*:}-linux.tar.gz
    expect "formula, ${block%:*}" "$(sed -n "/^  ${block%:*} do\$/,/^  end\$/p" "$OUT/replay.rb" | sed -n 's/^ *\(url\|sha256\) "\(.*\)"$/\2/p' | tr '\n' ' ')" \
        "https://github.com/trial/replay/releases/download/v$version/$archive $(sha256sum "$OUT/$archive" | cut -d ' ' -f 1) "
done
echo "ok the arm64 packages${emulator:+, and their programs in emulation}" >&2
