# What the scripts here begin with. They package the program PROGRAM, for the machine that they run on, into the directory OUT.
set -eu
cd "$(dirname "$0")/.."
field() { sed -n "s/^$1 = \"\(.*\)\"\$/\1/p" Cargo.toml | head -n 1; }
version=$(field version)
about=$(field description)
short=$(echo "${about#An }" | sed 's/,[^,]*$//')
license=$(field license)
machine=$(uname -m)
program=$(realpath "${PROGRAM:-target/$machine-unknown-linux-gnu/dist/replay}")
mkdir -p "${OUT:-target/packages}"
out=$(realpath "${OUT:-target/packages}")
if [ "$("$program" --version)" != "replay $version" ]; then
    echo "$0: $program is not version $version of Cargo.toml" >&2
    exit 1
fi
# Of whoever publishes; names in registries begin with it. Without it they are those of a trial.
owner=${OWNER:-}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"
