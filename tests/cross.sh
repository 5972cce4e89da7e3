#!/usr/bin/env bash
# Runs cargo for 64-bit ARM, with the compilers of Debian sid in a directory of their own. Nothing is installed on the machine.
#
# usage: tests/cross.sh [ARGUMENT ...]     cargo's arguments; default: check --locked --workspace --all-targets
#
# Compilers (2 GiB) and results stay in $REPLAY_CROSS (target/cross). STATIC=1 links the C library into programs. Where the compilers
# cannot be had nothing is done, unless REPLAY_TEST_REQUIRE_CROSS is set: then that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/debian.sh
dir=${REPLAY_CROSS:-target/cross}
mkdir -p "$dir/target" && dir=$(readlink -f "$dir") root=$dir/root
[ $# -gt 0 ] || set -- check --locked --workspace --all-targets

skip() {
    echo "tests/cross.sh: skipped: $*"
    [ -z "${REPLAY_TEST_REQUIRE_CROSS:-}" ] || exit 1
    exit 0
}

if [ ! -e "$dir/done" ]; then
    if [ "$(id -u)" != 0 ] || [ "$(uname -m)" != x86_64 ] || ! command -v apt-get >/dev/null; then
        skip 'it needs root on Debian or Ubuntu for x86_64'
    fi
    debian_apt "$dir" sid amd64 arm64 || skip "no lists of Debian's packages can be had"
    # The target's C++ compiler builds libFuzzer.
    apt-get "${apt[@]}" -y --download-only install rustc cargo gcc g++ libc6-dev dash coreutils libstd-rust-dev:arm64 \
        gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross >/dev/null || skip "the compilers cannot be had"
    debian_unpack "$dir" "$root"
    # Links that only configuring a package makes.
    ln -sfn gcc "$root/usr/bin/cc"
    mkdir -p "$root"/{proc,dev,tmp,etc/ssl/certs,source,target,cargo}
    : >"$dir/done"
fi
cargo=${CARGO_HOME:-$HOME/.cargo}
mkdir -p "$cargo/registry"
for file in /etc/resolv.conf /etc/hosts /etc/nsswitch.conf; do [ ! -e $file ] || cp -L $file "$root/etc/"; done
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
# Mounts end with this shell. Its cargo shares the downloads of the machine's.
export ROOT=$root SOURCE=$PWD TARGET=$dir/target CARGO=$cargo FLAGS="${STATIC:+-C target-feature=+crt-static}"
# shellcheck disable=SC2016
exec unshare --mount --propagation private sh -euc '
    mount --rbind /proc "$ROOT/proc"
    mount --rbind /dev "$ROOT/dev"
    mount --bind "$SOURCE" "$ROOT/source"
    mount --bind "$TARGET" "$ROOT/target"
    mount --bind "$CARGO" "$ROOT/cargo"
    exec chroot "$ROOT" /usr/bin/env -i -C /source PATH=/usr/bin HOME=/tmp CARGO_HOME=/cargo CARGO_TARGET_DIR=/target \
        SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt CARGO_BUILD_TARGET=aarch64-unknown-linux-gnu \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="$FLAGS" \
        CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc CXX_aarch64_unknown_linux_gnu=aarch64-linux-gnu-g++ cargo "$@"
' sh "$@"
