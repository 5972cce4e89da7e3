#!/bin/sh
# A package for Debian and Ubuntu. MAINTAINER is a name with an address; deb-control(5), deb-changelog(5).
#
# usage: [PROGRAM=...] [HOST_PROGRAM=...] [OUT=...] [MAINTAINER=...] sh packaging/deb.sh
. "$(dirname "$0")/program.sh"
maintainer=${MAINTAINER:-replay maintainers <maintainers@localhost>}
depends=${glibc:+libc6 (>= $glibc), libgcc-s1}
share=$stage/usr/share
install -D -m 755 "$program" "$stage/usr/bin/replay"
install -D -m 644 man/replay.1 "$share/man/man1/replay.1"
install -D -m 644 man/replay-tools.7 "$share/man/man7/replay-tools.7"
install -d "$share/bash-completion/completions" "$share/zsh/vendor-completions" "$share/fish/vendor_completions.d"
generate completions bash >"$share/bash-completion/completions/replay"
generate completions zsh >"$share/zsh/vendor-completions/_replay"
generate completions fish >"$share/fish/vendor_completions.d/replay.fish"
install -D -m 644 packaging/apparmor/replay "$share/replay/apparmor-profile"
mkdir -p "$share/doc/replay" "$share/lintian/overrides"
cat >"$share/doc/replay/copyright" <<EOF
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: replay

Files: *
Copyright: 2026 the authors of replay and of the crates that Cargo.lock names
License: $license
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
EOF
cat >"$share/doc/replay/changelog" <<EOF
replay ($version) unstable; urgency=medium

  * Version $version; CHANGELOG.md of the sources tells what changed.

 -- $maintainer  $(date -R -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}")
EOF
gzip -9n "$share/doc/replay/changelog" "$share"/man/man?/*
printf 'replay: %s [usr/bin/replay]\n' statically-linked-binary shared-library-lacks-prerequisites >"$share/lintian/overrides/replay"
mkdir "$stage/DEBIAN"
cat >"$stage/DEBIAN/control" <<EOF
Package: replay
Version: $version
Architecture: $debian
Maintainer: $maintainer
Section: devel
Priority: optional
Installed-Size: $(du -sk "$stage/usr" | cut -f 1)
Depends: $depends
Recommends: git
Suggests: python3
Description: $short
 replay gives an AI agent files, search, edits and a shell, and the kernel
 keeps it inside the directories that are allowed. It speaks the Model Context
 Protocol.
EOF
[ -n "$depends" ] || sed -i '/^Depends:/d' "$stage/DEBIAN/control"
# Older AppArmor does not know the rule, and keeps nobody from user namespaces.
cat >"$stage/DEBIAN/postinst" <<'EOF'
#!/bin/sh
set -e
if [ "$1" = configure ] && [ -e /etc/apparmor.d/abi/4.0 ]; then
    install -m 644 /usr/share/replay/apparmor-profile /etc/apparmor.d/replay
    if aa-enabled --quiet 2>/dev/null; then
        apparmor_parser --replace /etc/apparmor.d/replay || true
    fi
fi
EOF
cat >"$stage/DEBIAN/postrm" <<'EOF'
#!/bin/sh
set -e
if [ "$1" = remove ] || [ "$1" = purge ]; then
    rm -f /etc/apparmor.d/replay
fi
EOF
chmod 755 "$stage/DEBIAN/postinst" "$stage/DEBIAN/postrm"
find "$stage" -type d -exec chmod 755 {} +
(cd "$stage" && find usr -type f -exec md5sum {} + >DEBIAN/md5sums)
dpkg-deb --root-owner-group --build "$stage" "$out/replay_${version}_$debian.deb" >/dev/null
