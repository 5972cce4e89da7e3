#!/bin/sh
# A formula for Homebrew on Linux, for the archives in OUT that packaging/tarball.sh has made: one for each of MACHINES.
#
# usage: [OUT=...] [MACHINES='x86_64 aarch64'] OWNER=... sh packaging/formula.sh
. "$(dirname "$0")/common.sh"
: "${owner:?is who publishes it}"
blocks='' machine_count=0
for machine in $machines; do
    set_words "$machine"
    archive=$(archive_of "$machine")
    [ -e "$out/$archive" ] || fail "$out/$archive is missing: make it with packaging/tarball.sh, or set MACHINES"
    blocks="$blocks
  $brew_block do
    url \"https://github.com/$owner/replay/releases/download/v$version/$archive\"
    sha256 \"$(sha256sum "$out/$archive" | cut -d ' ' -f 1)\"
  end
"
    machine_count=$((machine_count + 1))
done
only=
[ "$machine_count" != 1 ] || only="  depends_on arch: :$brew
"
cat >"$out/replay.rb" <<END
class Replay < Formula
  desc "$short"
  homepage "https://github.com/$owner/replay"
  version "$version"
  license "$license"

$only  depends_on :linux
$blocks
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
END
