#!/bin/sh
# The image of deploy/Containerfile, from the program that is built already.
#
# usage: [PROGRAM=...] [BUILDER='podman build --format docker'] [IMAGE=NAME] [OWNER=...] sh packaging/image.sh
. "$(dirname "$0")/common.sh"
sed -n '/^FROM .*debian/,$p' deploy/Containerfile | sed 's/^COPY --from=build [^ ]*/COPY replay/' >"$stage/Containerfile"
install -m 755 "$program" "$stage/replay"
${BUILDER:-docker build} --label "io.modelcontextprotocol.server.name=io.github.${owner:-trial}/replay" \
    -t "${IMAGE:-replay}:$version" -f "$stage/Containerfile" "$stage"
