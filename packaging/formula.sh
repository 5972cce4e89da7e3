#!/bin/sh
# A formula for Homebrew on Linux, for the archive that packaging/tarball.sh has made.
#
# usage: [PROGRAM=...] [OUT=...] OWNER=... sh packaging/formula.sh
. "$(dirname "$0")/common.sh"
: "${owner:?is who publishes it}"
archive=replay-$version-$machine-linux.tar.gz
cat >"$out/replay.rb" <<EOF
class Replay < Formula
  desc "$short"
  homepage "https://github.com/$owner/replay"
  url "https://github.com/$owner/replay/releases/download/v$version/$archive"
  sha256 "$(sha256sum "$out/$archive" | cut -d ' ' -f 1)"
  license "$license"
  depends_on arch: :$machine
  depends_on :linux

  def install
    bin.install "replay"
    man1.install "man/replay.1"
    man7.install "man/replay-tools.7"
    generate_completions_from_executable(bin/"replay", "completions")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/replay --version")
  end
end
EOF
