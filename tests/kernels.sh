#!/usr/bin/env bash
# Boots other kernels in QEMU (no hardware help needed, a minute or two each) and tries in each, as root and as a user, what the
# walls promise. Prints a table; the exit status is 1 if something of the first columns does not work.
#
# usage: tests/kernels.sh PROGRAM [KERNEL ...]     PROGRAM: `replay`, built for x86_64 or aarch64, as the kernels are
#
# KERNEL is a release of Debian with a flavour of its kernel (bookworm, its cloud kernel; trixie:arm64-16k), or the path of an
# image with drivers for NVMe and ext4 built in; after a comma, something for its command line (trixie,lsm=capability has no Landlock).
# Other programs are Debian 13's, so PROGRAM must start with its C library. Packages stay in $REPLAY_KERNELS (target/kernels). Where
# QEMU cannot be had nothing is tried, unless REPLAY_TEST_REQUIRE_KERNELS is set: then that is a failure.
#
# EXTRA=DIR adds what DIR holds to the root, runs the shell script DIR/job as root instead, and prints what it says.
set -euo pipefail
program=$(readlink -f "$1") && shift
cd "$(dirname "$0")/.."
. tests/debian.sh
keep=${REPLAY_KERNELS:-target/kernels}
mkdir -p "$keep" && keep=$(readlink -f "$keep")
PATH=$PATH:/usr/sbin

skip() {
    echo "tests/kernels.sh: skipped: $*"
    [ -z "${REPLAY_TEST_REQUIRE_KERNELS:-}" ] || exit 1
    exit 0
}

# e_machine of elf(5).
case $(od -An -tu2 -j18 -N2 "$program" | tr -d ' ') in
62) architecture=amd64 qemu=(qemu-system-x86_64) package=qemu-system-x86 console=ttyS0 ;;
# The fast way to sign pointers: the processor is emulated.
183) architecture=arm64 qemu=(qemu-system-aarch64 -M 'virt,gic-version=3' -cpu 'max,pauth-impdef=on') package=qemu-system-arm console=ttyAMA0 ;;
*) echo "tests/kernels.sh: $program is for neither x86_64 nor aarch64" >&2 && exit 1 ;;
esac
if [ $# = 0 ]; then
    set -- bullseye bookworm trixie trixie,lsm=capability
    [ "$architecture" = amd64 ] || set -- bookworm trixie trixie:arm64-16k
fi

missing=
for need in "${qemu[0]}:$package" cpio:cpio xz:xz-utils mkfs.ext4:e2fsprogs; do
    command -v "${need%%:*}" >/dev/null || missing="$missing ${need##*:}"
done
if [ -n "$missing" ]; then
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null 2>&1 ||
        skip "it needs$missing, and apt-get cannot install that here"
fi

# fetch DIR SUITE PACKAGE ...: packages of the architecture and what they need, in DIR/root.
fetch() {
    local to=$1
    rm -rf "$to"
    debian_apt "$to" "$2" "$architecture" &&
        apt-get "${apt[@]}" -y --download-only install "${@:3}" >/dev/null &&
        debian_unpack "$to" "$to/root" && : >"$to/done"
}
# fetch_kernel DIR SUITE FLAVOUR: the newest kernel of a release alone.
fetch_kernel() {
    local to=$1 name
    rm -rf "$to"
    debian_apt "$to" "$2" "$architecture" || return
    name=$(apt-cache "${apt[@]}" depends "linux-image-$3" | sed -n 's/.*Depends: *\(linux-image-[0-9].*\)/\1/p' | head -1)
    (cd "$to/archives" && apt-get "${apt[@]}" download "$name" 2>/dev/null) && debian_unpack "$to" "$to/root" && : >"$to/done"
}

# A root with the programs that are tried.
system=$keep/system-$architecture
[ -e "$system/done" ] ||
    fetch "$system" trixie busybox-static dash bash coreutils util-linux grep libc-bin python3 git ||
    skip 'the programs of Debian 13 cannot be had'
root=$(mktemp -d)
trap 'rm -rf "$root" "$root".*' EXIT
cp -a "$system/root/." "$root/"
mkdir -p "$root"/{proc,sys,dev,tmp,root,etc,home/u,run,var,mnt/u,mnt/root}
rm -rf "${root:?}"/{boot,usr/share/{doc,man,locale,perl,i18n},usr/lib/modules}
cp "$program" "$root/usr/bin/replay"
printf 'root:x:0:0::/root:/bin/sh\nu:x:1001:1001::/home/u:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nu:x:1001:\n' >"$root/etc/group"
echo '127.0.0.1 localhost' >"$root/etc/hosts"
: >"$root/etc/resolv.conf"
chown -R 1001:1001 "$root/home/u" "$root/mnt/u"

cat >"$root/first" <<'FIRST'
#!/usr/bin/dash
b=/usr/bin/busybox
export PATH=/usr/bin:/usr/sbin
$b mount -t proc proc /proc; $b mount -t sysfs sys /sys; $b mount -t devtmpfs dev /dev 2>/dev/null
$b mkdir -p /dev/shm /dev/pts
for name in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do $b ln -sfn /proc/self/${name#*:} /dev/${name%%:*}; done
$b mount -t devpts pts /dev/pts; $b mount -t tmpfs shm /dev/shm; $b mount -t tmpfs tmp /tmp; $b chmod 1777 /tmp /dev/shm
$b mount -t tmpfs run /run
$b mount -t cgroup2 cgroup /sys/fs/cgroup 2>/dev/null
$b ip link set lo up
$b insmod /overlay.ko 2>/dev/null
dash /job
echo '@ end'
$b poweroff -f
FIRST
chmod 755 "$root/first"
cat >"$root/job" <<'TABLE'
b=/usr/bin/busybox
for uid in 0 1001; do
    if [ $uid = 0 ]; then name=root home=/root; else name=u home=/home/u; fi
    dir=/mnt/$name
    # as COMMAND ...: what it says, without line ends.
    as() { setpriv --reuid=$uid --regid=$uid --clear-groups env HOME=$home TMPDIR=$dir "$@" 2>&1 | tr '\n' ' '; }
    say() { echo "@ $($b uname -r) $uid $1|$2"; }
    setpriv --reuid=$uid --regid=$uid --clear-groups mkdir $dir/rw $dir/ro
    cd $dir/rw
    echo there >kept; echo there >$dir/ro/kept; $b chown $uid:$uid kept $dir/ro/kept
    run() { as replay call execute_command --allow $dir/rw:rw --allow $dir/ro:ro "$@"; }
    say tier "$(as replay sandbox explain --allow $dir/rw:rw | $b sed -n 's/.*  tier  *\([a-z]*\) .*/\1/p')"
    for tier in namespaces landlock; do
        said=$(as replay sandbox probe --sandbox $tier --allow $dir/rw:rw)
        case "$tier $said" in
            *'every promised wall held'*) say $tier held ;;
            landlock*replay:*) say $tier "refused: $said" ;;
            *) say $tier "FAILED: $said" ;;
        esac
    done
    said=$(run command='echo it runs > f; cat f; ls /')
    case $said in *'it runs bin dev '*) say command works ;; *) say command "FAILED: $said" ;; esac
    said=$(run command="echo x > $dir/ro/kept; echo x > /usr/bin/new; echo x > /etc/passwd; echo x > /proc/self/comm; echo tried")
    case $said in
        *tried*) [ "$(cat $dir/ro/kept)" = there ] && [ ! -e /usr/bin/new ] && say writes held || say writes "FAILED: $said" ;;
        *) say writes "FAILED: $said" ;;
    esac
    said=$(run command='echo other > kept; rm f' && as replay changes undo --since 1)
    case $(cat kept 2>&1) in there) say undo works ;; *) say undo "FAILED: $said" ;; esac
    said=$(as replay call run_python_code code='print(6*7)' --tools all --allow $dir/rw:rw)
    case $said in *42*) say python works ;; *) say python "FAILED: $said" ;; esac
    said=$(run command='echo dry > kept' dry_run=true)
    case "$said $(cat kept)" in *'dry run: would'*there) say 'dry run' works ;; *error:* | *replay:*) say 'dry run' "refused: $said" ;; *) say 'dry run' "FAILED: $said" ;; esac
    said=$(run command='echo by rule' --allow-host example.org)
    case $said in *'by rule '*) say '--allow-host' works ;; *error:* | *replay:*) say '--allow-host' "refused: $said" ;; *) say '--allow-host' "FAILED: $said" ;; esac
    echo secret >a.key; $b chown $uid:$uid a.key
    said=$(run command='cat a.key; cat kept' --hide '*.key')
    case $said in *secret*) say '--hide' "FAILED: $said" ;; *there*) say '--hide' works ;; *error:* | *replay:*) say '--hide' "refused: $said" ;; *) say '--hide' "FAILED: $said" ;; esac
    echo 0 >/proc/sys/user/max_user_namespaces
    said=$(run command=true --sandbox namespaces)
    case $said in *'sysctl -w user.max_user_namespaces='*) say 'switched off' named ;; *) say 'switched off' "FAILED: $said" ;; esac
    echo 9999 >/proc/sys/user/max_user_namespaces
done
TABLE
[ -z "${EXTRA:-}" ] || cp -a "$EXTRA/." "$root/"

# boot KERNEL OVERLAY MODULES-DIR APPEND: what the kernel prints.
boot() {
    local image=$1 overlay=$2 modules=$3 start=() file
    rm -rf "$root/overlay.ko" "$root".{disk,start,gz}
    case $overlay in
    *.xz) xz -dc "$overlay" >"$root/overlay.ko" ;;
    ?*) cp "$overlay" "$root/overlay.ko" ;;
    esac
    # All blocks are allocated now: a full disk would be an I/O error in the guest otherwise.
    fallocate -l $(($(du -sm "$root" | cut -f 1) + 1024))M "$root.disk"
    # With what kernels of that age know of ext4: memory does not tell there when a file was made, which undo needs.
    mkfs.ext4 -q -F -E nodiscard -I 256 -O none,has_journal,extent,filetype,dir_index,large_file,extra_isize -d "$root" "$root.disk"
    if [ -n "$modules" ]; then
        mkdir -p "$root.start"/{bin,m,proc,dev,new}
        cp "$root/usr/bin/busybox" "$root.start/bin/"
        for name in crc16 libcrc32c crc32c-cryptoapi crc32c_generic mbcache jbd2 ext4 nvme-keyring nvme-auth nvme-core nvme; do
            find "$modules" -name "$name.ko*" -exec cp {} "$root.start/m/" \;
        done
        for file in "$root.start"/m/*.xz; do [ ! -e "$file" ] || xz -d "$file"; done
        cat >"$root.start/init" <<'INIT'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t devtmpfs dev /dev
# What another one needs goes in first, so some go in at the second or third time.
for round in 1 2 3 4; do for module in /m/*; do $b insmod $module 2>/dev/null; done; done
for second in 1 2 3 4 5 6 7 8 9; do [ -e /dev/nvme0n1 ] && break; $b sleep 1; done
$b mount -t ext4 /dev/nvme0n1 /new
exec $b switch_root /new /first
INIT
        chmod 755 "$root.start/init"
        (cd "$root.start" && find . | cpio -o -H newc 2>/dev/null | gzip -1 >"$root.gz")
        start=(-initrd "$root.gz")
    fi
    timeout "${LIMIT:-900}" "${qemu[@]}" -m "${MEMORY:-3000}" -smp 2 -accel tcg,thread=multi -nographic -no-reboot -nic none -kernel "$image" \
        "${start[@]}" -drive "file=$root.disk,if=none,id=disk,format=raw" -device nvme,drive=disk,serial=1 \
        -append "console=$console quiet panic=-1 root=/dev/nvme0n1 rw init=/first $4" </dev/null 2>&1 | stdbuf -oL tr -d '\r' || true
}

faults=0
rows=()
notes=()
for asked; do
    kernel=${asked%%,*} more=${asked#"${asked%%,*}"} overlay='' modules=''
    if [ ! -f "$kernel" ]; then
        flavour=cloud-$architecture
        case $kernel in *:*) flavour=${kernel#*:} ;; esac
        at=$keep/kernel-${kernel%%:*}-$flavour
        [ -e "$at/done" ] || fetch_kernel "$at" "${kernel%%:*}" "$flavour" || skip "no kernel of $kernel can be had"
        overlay=$(find "$at/root" -name 'overlay.ko*' | head -1)
        kernel=$(find "$at/root" -name 'vmlinuz*' -type f | head -1)
        ! grep -qE '^CONFIG_(EXT4_FS|BLK_DEV_NVME)=m' "$at"/root/boot/config-* || modules=$at/root
    fi
    if [ -n "${EXTRA:-}" ]; then
        boot "$kernel" "$overlay" "$modules" "${more#,}" | tee "$root.log"
        grep -q '^@ end' "$root.log" || faults=1
        continue
    fi
    boot "$kernel" "$overlay" "$modules" "${more#,}" >"$root.log"
    if ! grep -q '^@ end' "$root.log"; then
        tail -20 "$root.log"
        echo "tests/kernels.sh: $kernel did not come to the end of its tests within ${LIMIT:-900} s" >&2
        exit 1
    fi
    release=$(sed -n 's/.*@ \([^ ]*\) .*/\1/p' "$root.log" | head -1)$more
    for uid in 0 1001; do
        cells=
        for column in tier namespaces landlock command writes undo python 'dry run' --allow-host --hide 'switched off'; do
            said=$(sed -n "s/.*@ [^ ]* $uid $column|//p" "$root.log" | head -1)
            case $said in
                works | held | namespaces | named) ;;
                refused:*) notes+=("$release, $uid, $column: $said") && said=refused ;;
                *) faults=1 && notes+=("$release, $uid, $column: ${said:-nothing was said}") && said=FAILED ;;
            esac
            cells="$cells $said |"
        done
        rows+=("| $release | $uid |$cells")
    done
done
[ -z "${EXTRA:-}" ] || exit $faults
echo '| kernel | uid | tier | probe: namespaces | probe: landlock | command | writes outside | undo | Python | dry run | --allow-host | --hide | switched off |'
echo '|---|---|---|---|---|---|---|---|---|---|---|---|---|'
printf '%s\n' "${rows[@]}"
[ ${#notes[@]} = 0 ] || printf '\n%s\n' "${notes[@]}"
exit $faults
