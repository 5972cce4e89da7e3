# First lines of every script that packages a program: common.sh, then PROGRAM, its architecture and its version.
#
# MACHINE: the architecture that PROGRAM must have (default: any). A PROGRAM of another architecture runs by EMULATOR
# (default: qemu-user, if it is here; empty: none). Where it does not run, its version is read in the file, and HOST_PROGRAM, which has
# the same version and runs here, prints the completions.
. "$(dirname "$0")/common.sh"
machine_of() {
    case $(LC_ALL=C readelf -h "$1" 2>/dev/null | sed -n 's/^ *Machine: *//p') in
    *X86-64) echo x86_64 ;;
    AArch64) echo aarch64 ;;
    esac
}
program=$(realpath "${PROGRAM:-target/${MACHINE:-$(uname -m)}-unknown-linux-gnu/dist/replay}")
machine=$(machine_of "$program")
[ -n "$machine" ] || fail "$program is not an ELF program for x86_64 or aarch64"
[ "$machine" = "${MACHINE:-$machine}" ] || fail "$program is for $machine, but MACHINE is $MACHINE"
set_words "$machine"

# readelf's own architecture: the kernel may run a userland of another one.
here=$(machine_of /proc/self/exe)
emulator='' generator=$program
# shellcheck disable=SC2086
generate() { $emulator "$generator" "$@"; }
if [ "$machine" != "$here" ]; then
    emulator=${EMULATOR-$(command -v "qemu-$machine-static" || command -v "qemu-$machine" || true)}
    if [ -z "$emulator" ] || ! generate --version >/dev/null 2>&1; then
        [ -n "${HOST_PROGRAM:-}" ] || fail "$program is for $machine and does not run here: set HOST_PROGRAM to" \
            "a program of the same version for $here, or install qemu-user-static"
        [ "$(machine_of "$HOST_PROGRAM")" = "$here" ] || fail "HOST_PROGRAM $HOST_PROGRAM is not a program for $here"
        emulator='' generator=$(realpath "$HOST_PROGRAM")
        # Two messages of the program hold its version: "replay 1.2.3, ..." and "replay (1.2.3)".
        LC_ALL=C grep -aqE "replay [(]?$(echo "$version" | sed 's/[.+]/\\&/g')[^0-9A-Za-z.+-]" "$program" ||
            fail "$program is not version $version of Cargo.toml"
    fi
fi
[ "$(generate --version)" = "replay $version" ] || fail "$generator is not version $version of Cargo.toml"

# Oldest glibc that the program runs with; empty if the program is static.
glibc=$(LC_ALL=C readelf -V -W "$program" | sed 's/GLIBC_ABI_DT_RELR/GLIBC_2.36/' | grep -o 'GLIBC_[0-9][0-9.]*' | sort -V | tail -n 1)
glibc=${glibc#GLIBC_}
