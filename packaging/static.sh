#!/bin/sh
# Builds the program so that it needs no shared library and runs at any address, and checks both.
#
# usage: sh packaging/static.sh
#
# It needs valgrind where rustc links with lld, as on x86_64 (linker.sh).
set -eu
cd "$(dirname "$0")/.."
target=$(uname -m)-unknown-linux-gnu
cargo fetch --locked --target "$target"
# Where crates lie here is no matter to whoever runs it.
elsewhere=
for sources in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do elsewhere="$elsewhere --remap-path-prefix=$sources="; done
RUSTFLAGS="-C target-feature=+crt-static -C linker=$PWD/packaging/linker.sh$elsewhere" \
    cargo build --locked --profile dist --target "$target" --bin replay
program=target/$target/dist/replay
if readelf -d "$program" | grep NEEDED; then
    echo "$0: $program needs shared libraries" >&2
    exit 1
fi
if ! LC_ALL=C readelf -h "$program" | grep -q 'Type: *DYN'; then
    echo "$0: $program is not position-independent" >&2
    exit 1
fi
"$program" --version
ls -l "$program"
