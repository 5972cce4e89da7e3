#!/bin/sh
# The program, man pages and completions as a tar archive.
#
# usage: [PROGRAM=...] [OUT=...] sh packaging/tarball.sh
. "$(dirname "$0")/common.sh"
name=replay-$version-$machine-linux
mkdir "$stage/$name"
cp -R man LICENSE README.md "$stage/$name/"
mkdir "$stage/$name/completions"
"$program" completions bash >"$stage/$name/completions/replay.bash"
"$program" completions zsh >"$stage/$name/completions/_replay"
"$program" completions fish >"$stage/$name/completions/replay.fish"
install -m 755 "$program" "$stage/$name/replay"
tar -C "$stage" --owner=0 --group=0 -czf "$out/$name.tar.gz" "$name"
