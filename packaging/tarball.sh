#!/bin/sh
# The program, man pages and completions as a tar archive.
#
# usage: [PROGRAM=...] [HOST_PROGRAM=...] [OUT=...] sh packaging/tarball.sh
. "$(dirname "$0")/program.sh"
archive=$(archive_of "$machine")
name=${archive%.tar.gz}
mkdir "$stage/$name"
cp -R man LICENSE README.md "$stage/$name/"
mkdir "$stage/$name/completions"
generate completions bash >"$stage/$name/completions/replay.bash"
generate completions zsh >"$stage/$name/completions/_replay"
generate completions fish >"$stage/$name/completions/replay.fish"
install -m 755 "$program" "$stage/$name/replay"
tar -C "$stage" --owner=0 --group=0 -czf "$out/$archive" "$name"
