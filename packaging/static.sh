#!/bin/sh
# Builds the program so that it needs no shared library, and checks that.
#
# usage: sh packaging/static.sh
#
# It needs valgrind (linker.sh).
set -eu
cd "$(dirname "$0")/.."
target=$(uname -m)-unknown-linux-gnu
# Packed relocations are a megabyte less to carry.
RUSTFLAGS="-C target-feature=+crt-static -C link-arg=-Wl,-z,pack-relative-relocs -C linker=$PWD/packaging/linker.sh" \
    cargo build --locked --profile dist --target "$target" --bin replay
program=target/$target/dist/replay
if readelf -d "$program" | grep NEEDED; then
    echo "$0: $program needs shared libraries" >&2
    exit 1
fi
ls -l "$program"
