#!/bin/sh
# Installs what the bench compares with. Every peer is optional: a missing one is named in the tables.
set -eu
cd "$(dirname "$0")/../.."

# The official file server, from the npm registry, below target/peers.
mkdir -p target/peers target/bench
if command -v npm >/dev/null; then
    npm install --prefix target/peers --no-audit --no-fund --ignore-scripts @modelcontextprotocol/server-filesystem
else
    echo "npm is missing: no official file server" >&2
fi

# A file server in Rust, and the newest ripgrep with PCRE2 for `rg -P`, from crates.io.
cargo install --quiet --root target/peers rust-mcp-filesystem
cargo install --quiet --root target/peers --features pcre2 ripgrep

# Another server from a manifest, from crates.io.
cargo install --quiet --root target/peers mcptest

# ipykernel and what drives it, from PyPI, for Python sessions.
if command -v python3 >/dev/null && python3 -m venv target/peers/python; then
    target/peers/python/bin/python -m pip install --quiet --disable-pip-version-check ipykernel jupyter_client
else
    echo "python3 with venv is missing: no ipykernel" >&2
fi

# Programs on PATH: Debian's packages ripgrep (rg), fd-find (fdfind), sed, grep, findutils (find), bubblewrap (bwrap),
# gcc, perl.
for program in rg fdfind sed grep find bwrap gcc perl; do
    command -v "$program" >/dev/null ||
        echo "$program is missing: apt-get install ripgrep fd-find sed grep findutils bubblewrap gcc perl" >&2
done

# The source tree: Debian's package linux-source-6.1 has it as an archive.
if [ ! -d target/bench/linux-source-6.1 ]; then
    archive=/usr/src/linux-source-6.1.tar.xz
    if [ -f "$archive" ]; then
        tar -xJf "$archive" -C target/bench
    else
        echo "no source tree: apt-get install linux-source-6.1, then run this again" >&2
    fi
fi
