#!/bin/sh
# The image of deploy/Containerfile for one platform, from the program that is built already: IMAGE:VERSION-amd64 or -arm64.
#
# usage: [PROGRAM=...] [BUILDER='podman build --format docker'] [IMAGE=NAME] [OWNER=...] sh packaging/image.sh
#
# Its steps run programs of that platform: for another one than this machine's, the kernel needs an emulator (binfmt_misc, as Debian's
# qemu-user-static with binfmt-support registers it).
. "$(dirname "$0")/program.sh"
sed -n '/^FROM .*debian/,$p' deploy/Containerfile | sed 's/^COPY --from=build [^ ]*/COPY replay/' >"$stage/Containerfile"
install -m 755 "$program" "$stage/replay"
${BUILDER:-docker build} --platform "linux/$debian" --label "io.modelcontextprotocol.server.name=io.github.${owner:-trial}/replay" \
    -t "$image-$debian" -f "$stage/Containerfile" "$stage"
