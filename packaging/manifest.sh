#!/bin/sh
# The image of all platforms, IMAGE:VERSION and IMAGE:latest: a manifest list of what packaging/image.sh has made for each machine.
#
# usage: [MANIFEST_TOOL=podman] [IMAGE=NAME] [TO=docker://NAME] sh packaging/manifest.sh
#
# docker (default) needs buildx, and the images in the registry, where the list is written to at once. podman and buildah take the
# images of this machine, and send list and images to TO, if it is given.
. "$(dirname "$0")/common.sh"
tool=${MANIFEST_TOOL:-docker}
set --
for machine in $machines; do
    set_words "$machine"
    set -- "$@" "$image-$debian"
done
if [ "$tool" = docker ]; then
    docker buildx imagetools create -t "$image" -t "${image%:*}:latest" "$@"
    exit
fi
! $tool manifest inspect "$image" >/dev/null 2>&1 || $tool manifest rm "$image" >/dev/null
$tool manifest create "$image" >/dev/null
for part; do
    id=$($tool images --quiet --no-trunc "$part")
    $tool manifest add "$image" "containers-storage:@${id#sha256:}" >/dev/null
done
[ -z "${TO:-}" ] || for tag in "$version" latest; do $tool manifest push --all "$image" "$TO:$tag"; done
