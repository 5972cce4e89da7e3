#!/bin/sh
# Builds the program so that it needs no shared library, and checks that.
#
# usage: sh packaging/static.sh
#
# It needs valgrind (linker.sh).
set -eu
cd "$(dirname "$0")/.."
target=$(uname -m)-unknown-linux-gnu
cargo fetch --locked --target "$target"
# Where crates lie here is no matter to whoever runs it.
elsewhere=
for sources in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do elsewhere="$elsewhere --remap-path-prefix=$sources="; done
# Packed relocations are a megabyte less to carry.
RUSTFLAGS="-C target-feature=+crt-static -C link-arg=-Wl,-z,pack-relative-relocs -C linker=$PWD/packaging/linker.sh$elsewhere" \
    cargo build --locked --profile dist --target "$target" --bin replay
program=target/$target/dist/replay
if readelf -d "$program" | grep NEEDED; then
    echo "$0: $program needs shared libraries" >&2
    exit 1
fi
ls -l "$program"
