#!/usr/bin/env bash
# Boots other kernels in QEMU (no hardware help needed, a minute or two each) and tries in each, as root and as a user, what the
# walls promise. Prints a table; the exit status is 1 if something of the first columns does not work.
#
# usage: tests/kernels.sh PROGRAM [KERNEL ...]     PROGRAM: the built `replay`
#
# KERNEL is a release of Debian, whose cloud kernel is taken, or the path of a vmlinuz; after a comma, something for its command line
# (trixie,lsm=capability has no Landlock). Kernels stay in $REPLAY_KERNELS
# (target/kernels). Where QEMU cannot be had nothing is tried, unless REPLAY_TEST_REQUIRE_KERNELS is set: then that is a failure.
set -euo pipefail
program=$(readlink -f "$1") && shift
cd "$(dirname "$0")/.."
keep=${REPLAY_KERNELS:-target/kernels}
mkdir -p "$keep" && keep=$(readlink -f "$keep")
[ $# -gt 0 ] || set -- bullseye bookworm trixie trixie,lsm=capability

skip() {
    echo "tests/kernels.sh: skipped: $*"
    [ -z "${REPLAY_TEST_REQUIRE_KERNELS:-}" ] || exit 1
    exit 0
}

missing=
for need in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio xz:xz-utils strip:binutils mkfs.ext4:e2fsprogs; do
    PATH=$PATH:/usr/sbin command -v "${need%%:*}" >/dev/null || missing="$missing ${need##*:}"
done
[ "$(uname -m)" = x86_64 ] || skip "it boots kernels for x86_64"
if [ -n "$missing" ]; then
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null 2>&1 ||
        skip "it needs$missing, and apt-get cannot install that here"
fi

# The newest cloud kernel of a release and its overlayfs, below $keep/RELEASE.
fetch() {
    local to=$keep/$1 options uri package
    mkdir -p "$to"/{lists/partial,archives/partial}
    uri=$(apt-get indextargets --format '$(REPO_URI)' | head -1)
    printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nTrusted: yes\n' "$uri" "$1" >"$to/apt.sources"
    options=(-o "Dir::Etc::sourcelist=$to/apt.sources" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$to/lists"
        -o "Dir::Cache=$to" -o Dir::State::status=/dev/null)
    apt-get "${options[@]}" -qq update
    package=$(apt-cache "${options[@]}" search '^linux-image-[0-9].*-cloud-amd64$' | awk '{print $1}' | grep -v bpo | sort -V | tail -1)
    (cd "$to" && apt-get "${options[@]}" -qq download "$package" 2>/dev/null && dpkg-deb -x ./*.deb . && rm ./*.deb)
}

# A root with the programs that are tried, on a disk in memory.
root=$(mktemp -d) && trap 'rm -rf "$root" "$root".*' EXIT
mkdir -p "$root"/{usr/bin,usr/lib,proc,sys,dev,tmp,root,etc,home,run,var,srv,mnt}
ln -s usr/bin "$root/bin"
strip -o "$root/usr/bin/replay" "$program"
for name in busybox dash bash ls cat true sleep id mount head env grep tr sort rm mkdir setpriv git python3; do
    path=$(PATH=/usr/bin:/bin type -P "$name" || true)
    [ -z "$path" ] || cp -L "$path" "$root/usr/bin/"
done
ln -sf dash "$root/usr/bin/sh"
library=$(/usr/bin/python3 -c 'import os; print(os.path.dirname(os.__file__))' 2>/dev/null || true)
if [ -n "$library" ]; then
    tar -C / --exclude=test --exclude=__pycache__ --exclude=dist-packages --exclude='config-*' -cf - "${library#/}" | tar -C "$root" -xf -
fi
for file in "$root"/usr/bin/* "$root$library"/lib-dynload/*; do ldd "$file" 2>/dev/null || true; done | grep -oE '/[^ ]+' | sort -u | while read -r library; do
    mkdir -p "$root/$(dirname "$library")" && cp -L "$library" "$root/$library"
done
printf 'root:x:0:0::/root:/bin/sh\nu:x:1001:1001::/home/u:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nu:x:1001:\n' >"$root/etc/group"
echo '127.0.0.1 localhost' >"$root/etc/hosts"
: >"$root/etc/resolv.conf"

# The first file system in memory cannot be pivoted away from, so what is tried runs on a tmpfs.
cat >"$root/init" <<'INIT'
#!/usr/bin/busybox sh
b=/usr/bin/busybox
$b mkdir /new && $b mount -t tmpfs new /new
for name in bin usr lib lib64 etc home root srv run var mnt second overlay.ko; do [ ! -e /$name ] || $b cp -a /$name /new/; done
$b mkdir -p /new/proc /new/sys /new/dev /new/tmp
exec $b switch_root /new /second
INIT
cat >"$root/second" <<'SECOND'
#!/usr/bin/dash
b=/usr/bin/busybox
export PATH=/usr/bin
$b mount -t proc proc /proc; $b mount -t sysfs sys /sys; $b mount -t devtmpfs dev /dev
$b mkdir -p /dev/shm /dev/pts /home/u /srv/u
$b mount -t devpts pts /dev/pts; $b mount -t tmpfs shm /dev/shm; $b mount -t tmpfs tmp /tmp; $b chmod 1777 /tmp /dev/shm
$b mount -t ext4 /dev/nvme0n1 /mnt; $b mkdir /mnt/u /mnt/root; $b chown -R 1001:1001 /home/u /mnt/u
$b mount -t cgroup2 cgroup /sys/fs/cgroup 2>/dev/null
$b ip link set lo up
$b insmod /overlay.ko 2>/dev/null
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
    said=$(as replay sandbox probe --allow $dir/rw:rw)
    case $said in *'every promised wall held'*) say probe held ;; *) say probe "FAILED: $said" ;; esac
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
$b poweroff -f
SECOND
chmod +x "$root/init" "$root/second"

faults=0
rows=()
notes=()
for asked; do
    kernel=${asked%%,*} more=${asked#"${asked%%,*}"} overlay=
    if [ ! -f "$kernel" ]; then
        ls "$keep/$kernel"/boot/vmlinuz-* >/dev/null 2>&1 || fetch "$kernel" || skip "no kernel of $kernel can be had"
        overlay=$(find "$keep/$kernel" -name 'overlay.ko*' | head -1)
        kernel=$(ls "$keep/$kernel"/boot/vmlinuz-* | head -1)
    fi
    rm -f "$root/overlay.ko"
    case $overlay in
        *.xz) xz -dc "$overlay" >"$root/overlay.ko" ;;
        ?*) cp "$overlay" "$root/overlay.ko" ;;
    esac
    (cd "$root" && find . | cpio -o -H newc 2>/dev/null | gzip -1 >"$root.gz")
    # With what kernels of that age know of ext4: memory does not tell there when a file was made, which undo needs.
    rm -f "$root.disk" && truncate -s 256M "$root.disk"
    PATH=$PATH:/usr/sbin mkfs.ext4 -q -I 256 -O none,has_journal,extent,filetype,dir_index,large_file,extra_isize "$root.disk"
    timeout 400 qemu-system-x86_64 -m 3000 -smp 2 -nographic -no-reboot -kernel "$kernel" -initrd "$root.gz" \
        -drive "file=$root.disk,if=none,id=disk,format=raw" -device nvme,drive=disk,serial=1 \
        -append "console=ttyS0 quiet panic=-1 ${more#,}" </dev/null | tr -d '\r' >"$root.log" || true
    release=$(sed -n 's/.*@ \([^ ]*\) .*/\1/p' "$root.log" | head -1)$more
    if [ "$release" = "$more" ]; then
        tail -20 "$root.log"
        echo "tests/kernels.sh: $kernel does not boot" >&2
        exit 1
    fi
    for uid in 0 1001; do
        cells=
        for column in tier probe command writes undo python 'dry run' --allow-host --hide 'switched off'; do
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
echo '| kernel | uid | tier | probe | command | writes outside | undo | Python | dry run | --allow-host | --hide | switched off |'
echo '|---|---|---|---|---|---|---|---|---|---|---|---|'
printf '%s\n' "${rows[@]}"
[ ${#notes[@]} = 0 ] || printf '\n%s\n' "${notes[@]}"
exit $faults
