# shellcheck shell=bash
# Debian's packages in a directory of their own, for scripts that source this. Nothing is installed, no script of a package runs.

# debian_apt DIR SUITE ARCHITECTURE [SECOND]: sets `apt`, the options with which apt-get and apt-cache know nothing but that suite.
debian_apt() {
    local uri
    mkdir -p "$1"/{lists/partial,archives/partial}
    : >"$1/status"
    # Of this machine, if it is Debian: its mirror may be the only one that it reaches.
    # shellcheck disable=SC2016
    uri=$(apt-get indextargets --format '$(REPO_URI)' 'Label: Debian' | head -1)
    uri=${uri:-http://deb.debian.org/debian}
    printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nTrusted: yes\n' "$uri" "$2" >"$1/apt.sources"
    apt=(-qq -o "Dir::Etc::sourcelist=$1/apt.sources" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$1/lists"
        -o "Dir::Cache=$1" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o "Dir::State::status=$1/status"
        -o "APT::Architecture=$3" -o "APT::Architectures::=$3" -o APT::Install-Recommends=false -o Acquire::Languages=none
        -o Acquire::Check-Valid-Until=false)
    [ -z "${4:-}" ] || apt+=(-o "APT::Architectures::=$4")
    apt-get "${apt[@]}" update
}

# debian_unpack DIR ROOT: unpacks the downloaded packages in the order of their names.
debian_unpack() {
    local name file
    mkdir -p "$2"/usr/{bin,sbin,lib,lib64}
    for name in bin sbin lib lib64; do ln -sfn usr/$name "$2/$name"; done
    for file in "$1"/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$file" | tar -x -C "$2" --keep-directory-symlink --no-same-owner -f -
        rm "$file"
    done
    ln -sfn dash "$2/usr/bin/sh"
}
