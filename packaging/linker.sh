#!/bin/sh
# The linker of packaging/static.sh. It links twice: the second time with what a start runs side by side, in the order in which it
# ran. Else each start maps most of the program, since the kernel maps 64 KiB around what is touched, and what runs lies everywhere.
#
# usage: RUSTFLAGS="-C linker=$PWD/packaging/linker.sh" cargo build ...
set -eu
# rustc links a static program of aarch64 at a fixed address, though its code and the C library can be at any.
for word; do
    shift
    case $word in
    -no-pie) ;;
    -static) set -- "$@" -static-pie ;;
    *) set -- "$@" "$word" ;;
    esac
done
# Packed relocations are a megabyte less to carry.
packed=-Wl,-z,pack-relative-relocs
case "$*" in
*-fuse-ld=lld*) ;;
*)
    # Other linkers have no such order, and not all of them pack.
    if echo 'int main(void) { return 0; }' | cc -x c - -o /dev/null "$packed,--fatal-warnings" 2>/dev/null; then
        set -- "$@" "$packed"
    fi
    exec cc "$@"
    ;;
esac
set -- "$@" "$packed"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
# The names of functions are needed in between.
named=$(for word; do [ "$word" = -Wl,--strip-all ] || printf "%s\n" "$word"; done)
(IFS='
'; exec cc $named -o "$stage/program")
mkdir "$stage/home" "$stage/served"
printf '%s\n' \
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"linker","version":"1"}}}' \
    '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/list"}' |
    HOME="$stage/home" XDG_STATE_HOME="$stage/home" valgrind --tool=callgrind --demangle=no --log-file="$stage/log" \
        --callgrind-out-file="$stage/ran" "$stage/program" --mcp-server --log-level off --allow "$stage/served:rw" \
        >"$stage/answers" 2>>"$stage/log"
grep -q '"id":2,"result":{"tools":' "$stage/answers" || { cat "$stage/log" >&2; exit 1; }
# Then what the launcher of commands runs, which cannot be started so.
{
    sed -n "s/^c\{0,1\}fn=([0-9]*) \(.*\)/\1/p" "$stage/ran" | sed "s/'[0-9]*$//" | awk '!seen[$0]++'
    nm "$stage/program" | awk '$2 ~ /[tTwW]/ && /replay(\.\.|7)sandbox/ { print $3 }'
} >"$stage/order"
cc "$@" -Wl,--symbol-ordering-file="$stage/order" -Wl,--no-warn-symbol-ordering
