# First lines of every script here: fields of Cargo.toml, the directory OUT, words of the registries.
#
# OWNER publishes, and begins names in registries; without it the packages are a trial's. MACHINES: those that a release has programs for.
set -eu
cd "$(dirname "$0")/.."
field() { sed -n "s/^$1 = \"\(.*\)\"\$/\1/p" Cargo.toml | head -n 1; }
fail() {
    echo "$0: $*" >&2
    exit 1
}
version=$(field version)
about=$(field description)
short=$(echo "${about#An }" | sed 's/,[^,]*$//')
license=$(field license)
machines=${MACHINES:-x86_64 aarch64}
owner=${OWNER:-}
npm_name=${owner:+@$owner/}replay
image=${IMAGE:-replay}:$version
mkdir -p "${OUT:-target/packages}"
out=$(realpath "${OUT:-target/packages}")
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"
archive_of() { echo "replay-$version-$1-linux.tar.gz"; }
# Sets the words for machine $1: of Debian and OCI, of Node.js, and of Homebrew (architecture and block).
set_words() {
    case $1 in
    x86_64) debian=amd64 node=x64 brew=x86_64 brew_block=on_intel ;;
    aarch64) debian=arm64 node=arm64 brew=arm64 brew_block=on_arm ;;
    *) fail "no packages for the machine $1 (known: x86_64, aarch64)" ;;
    esac
}
