//! Compilers and interpreters below the operator's home: the files that commands may see, and the
//! variables that they need. Pure functions of paths; a closure tests for existence.
//!
//! A line of the table names only programs and libraries, never a possible secret: no
//! `credentials.toml`, no `.npmrc`, no `.condarc`, no directory of personal scripts (`~/bin`,
//! `~/.local/bin`). The operator adds missing paths with `--system`.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// Paths that commands always see, read-only and executable; they need not exist. The launcher
/// handles `/etc` and shows only its world-readable files. `/snap` is left out: its programs start
/// through a setuid helper, and commands cannot gain privileges.
pub const SYSTEM: [&str; 11] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
];

/// A directory or file that commands see, read-only and executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visible {
    /// Absolute; it may be a link.
    pub path: PathBuf,
    /// Short reason.
    pub why: &'static str,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolchains {
    /// Directories and files that commands see.
    pub system: Vec<Visible>,
    /// Variables that commands need to find them.
    pub variables: Vec<(OsString, OsString)>,
    /// Symlinks to create in a private home: path below it, and target, which is also in `system`.
    pub home_links: Vec<(PathBuf, PathBuf)>,
    /// Cargo's directory, if it is in use.
    pub cargo_home: Option<PathBuf>,
}

/// Environment of the server that determines the toolchains in use.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    pub home: &'a Path,
    /// The entries of the server's PATH.
    pub path: &'a [PathBuf],
    /// `true` if commands see downloads of the operator's package managers.
    pub downloads: bool,
}

/// A type of toolchain.
struct ToolchainType {
    why: &'static str,
    /// Variable that names its directory, if any.
    variable: &'static str,
    /// Default directories, below the home.
    places: &'static [&'static str],
    /// Directories below the home. A PATH entry below one of them means that the toolchain is in
    /// use, like one in its own directory.
    marks: &'static [&'static str],
    /// Parts of its directory that commands see.
    parts: &'static [&'static str],
    /// Variables that commands need, each for a path below its directory.
    exports: &'static [(&'static str, &'static str)],
}

const KINDS: [ToolchainType; 23] = [
    // Cargo writes to the private home; only its programs come from here.
    ToolchainType {
        why: "Rust (cargo)",
        variable: CARGO_HOME,
        places: &[".cargo"],
        marks: &[],
        parts: &["bin"],
        exports: &[],
    },
    // The rustup proxies read settings.toml, and create update-hashes if it is missing.
    ToolchainType {
        why: "Rust (rustup)",
        variable: "RUSTUP_HOME",
        places: &[".rustup"],
        marks: &[".cargo/bin"],
        parts: &["toolchains", "settings.toml", "update-hashes"],
        exports: &[("RUSTUP_HOME", "")],
    },
    ToolchainType {
        why: "Python (pyenv)",
        variable: "PYENV_ROOT",
        places: &[".pyenv"],
        marks: &[],
        parts: &[
            "bin", "libexec", "plugins", "pyenv.d", "shims", "version", "versions",
        ],
        exports: &[("PYENV_ROOT", "")],
    },
    ToolchainType {
        why: "Python (uv)",
        variable: "",
        places: &[".local"],
        marks: &[],
        parts: &["bin/uv", "bin/uvx", "share/uv/python", "share/uv/tools"],
        exports: &[("UV_PYTHON_INSTALL_DIR", "share/uv/python")],
    },
    ToolchainType {
        why: "Python (virtual environment)",
        variable: "VIRTUAL_ENV",
        places: &[],
        marks: &[],
        parts: &["bin", "include", "lib", "lib64", "pyvenv.cfg", "share"],
        exports: &[("VIRTUAL_ENV", "")],
    },
    // `etc` and `conda-meta` hold variables that users set for an environment.
    ToolchainType {
        why: "conda",
        variable: "CONDA_PREFIX",
        places: &["miniconda3", "anaconda3", "miniforge3"],
        marks: &[],
        parts: &[
            "bin",
            "condabin",
            "include",
            "lib",
            "libexec",
            "share",
            "ssl",
            "x86_64-conda-linux-gnu",
        ],
        exports: &[],
    },
    ToolchainType {
        why: "Ruby (rbenv)",
        variable: "RBENV_ROOT",
        places: &[".rbenv"],
        marks: &[],
        parts: &[
            "bin", "libexec", "plugins", "rbenv.d", "shims", "version", "versions",
        ],
        exports: &[("RBENV_ROOT", "")],
    },
    ToolchainType {
        why: "Node.js (nodenv)",
        variable: "NODENV_ROOT",
        places: &[".nodenv"],
        marks: &[],
        parts: &[
            "bin", "libexec", "nodenv.d", "plugins", "shims", "version", "versions",
        ],
        exports: &[("NODENV_ROOT", "")],
    },
    ToolchainType {
        why: "Node.js (nvm)",
        variable: "NVM_DIR",
        places: &[".nvm"],
        marks: &[],
        parts: &["alias", "nvm.sh", "versions"],
        exports: &[("NVM_DIR", "")],
    },
    ToolchainType {
        why: "Node.js (volta)",
        variable: "VOLTA_HOME",
        places: &[".volta"],
        marks: &[],
        parts: &["bin", "layout.v4", "tools"],
        exports: &[("VOLTA_HOME", "")],
    },
    ToolchainType {
        why: "Bun",
        variable: "BUN_INSTALL",
        places: &[".bun"],
        marks: &[],
        parts: &["bin"],
        exports: &[],
    },
    ToolchainType {
        why: "Deno",
        variable: "DENO_INSTALL",
        places: &[".deno"],
        marks: &[],
        parts: &["bin"],
        exports: &[],
    },
    ToolchainType {
        why: "mise",
        variable: "MISE_DATA_DIR",
        places: &[".local/share/mise"],
        marks: &[],
        parts: &["installs", "shims"],
        exports: &[("MISE_DATA_DIR", "")],
    },
    ToolchainType {
        why: "asdf",
        variable: "ASDF_DATA_DIR",
        places: &[".asdf"],
        marks: &[],
        parts: &[
            "asdf.sh", "bin", "installs", "lib", "libexec", "plugins", "shims",
        ],
        exports: &[("ASDF_DATA_DIR", "")],
    },
    ToolchainType {
        why: "Java (SDKMAN)",
        variable: "SDKMAN_DIR",
        places: &[".sdkman"],
        marks: &[],
        parts: &["candidates"],
        exports: &[],
    },
    ToolchainType {
        why: "Go (programs)",
        variable: "GOPATH",
        places: &["go"],
        marks: &[],
        parts: &["bin"],
        exports: &[],
    },
    ToolchainType {
        why: "Go",
        variable: "GOROOT",
        places: &[],
        marks: &[],
        parts: &["VERSION", "bin", "go.env", "lib", "misc", "pkg", "src"],
        exports: &[("GOROOT", "")],
    },
    ToolchainType {
        why: ".NET",
        variable: "DOTNET_ROOT",
        places: &[".dotnet"],
        marks: &[],
        parts: &[
            "dotnet",
            "host",
            "library-packs",
            "packs",
            "sdk",
            "sdk-manifests",
            "shared",
            "templates",
        ],
        exports: &[("DOTNET_ROOT", "")],
    },
    ToolchainType {
        why: "Haskell (ghcup)",
        variable: "",
        places: &[".ghcup"],
        marks: &[],
        parts: &["bin", "cabal", "ghc", "hls", "stack"],
        exports: &[],
    },
    ToolchainType {
        why: "OCaml (opam)",
        variable: "OPAM_SWITCH_PREFIX",
        places: &[],
        marks: &[],
        parts: &["bin", "lib", "share"],
        exports: &[("OPAM_SWITCH_PREFIX", "")],
    },
    ToolchainType {
        why: "Lean (elan)",
        variable: "ELAN_HOME",
        places: &[".elan"],
        marks: &[],
        parts: &["bin", "settings.toml", "toolchains"],
        exports: &[("ELAN_HOME", "")],
    },
    ToolchainType {
        why: "Homebrew",
        variable: "HOMEBREW_PREFIX",
        places: &["/home/linuxbrew/.linuxbrew"],
        marks: &[],
        parts: &[
            "Cellar", "bin", "include", "lib", "libexec", "opt", "sbin", "share",
        ],
        exports: &[],
    },
    // A symlink to a directory of symlinks into the store.
    ToolchainType {
        why: "Nix profile",
        variable: "",
        places: &[".nix-profile"],
        marks: &[],
        parts: &["bin", "lib", "share"],
        exports: &[],
    },
];

/// Caches of package managers, and their locks, below HOME but outside `~/.cache`. The flag is true
/// for a directory. Configuration, credentials and programs are never included.
pub const CACHES: [(&str, bool); 14] = [
    (".npm", true),
    (".cargo/registry", true),
    (".cargo/git", true),
    (".cargo/.package-cache", false),
    (".cargo/.package-cache-mutate", false),
    ("go/pkg", true),
    (".m2/repository", true),
    (".gradle/caches", true),
    (".gradle/wrapper", true),
    (".ivy2/cache", true),
    (".nuget/packages", true),
    (".local/share/pnpm/store", true),
    (".yarn/berry", true),
    (".bun/install/cache", true),
];

/// Settings in the private home: path and content. Without them pnpm makes its store in the project,
/// since the home is on another filesystem (<https://pnpm.io/settings#storedir>). Versions 9 and 10
/// read the first file, 11 the second. npm warns of a variable for it.
pub const HOME_FILES: [(&str, &str); 2] = [
    (".config/pnpm/rc", "store-dir=~/.local/share/pnpm/store\n"),
    (
        ".config/pnpm/config.yaml",
        "storeDir: ~/.local/share/pnpm/store\n",
    ),
];

/// Variable that replaces `~/.cache` (XDG Base Directory Specification). When root runs pip, it
/// rejects a cache behind a symlink.
pub const CACHE_VARIABLE: &str = "XDG_CACHE_HOME";

/// Cargo's directory. Cargo identifies its sources by this path: another path causes a rebuild of
/// each crate.
pub const CARGO_HOME: &str = "CARGO_HOME";
/// Target directory of `cargo install`, because the operator's program directory is read-only.
pub const CARGO_INSTALL_ROOT: &str = "CARGO_INSTALL_ROOT";
/// Go's module cache. Go reads unpacked modules without writing.
pub const GO_MODULES: &str = "GOMODCACHE";
/// Makes cargo use only downloaded crates (`net.offline` of its configuration).
const OFFLINE: &str = "CARGO_NET_OFFLINE";
/// Cargo's names of the public registry, by version of cargo and of the protocol. Other registries
/// may be private, so commands do not see their sources.
const CRATES_IO: [&str; 4] = [
    "index.crates.io-1949cf8c6b5b557f",
    "index.crates.io-6f17d22bba15001f",
    "github.com-1ecc6299db9ec823",
    "github.com-25cdd57fae9f0462",
];

/// Finds the toolchains in use (a PATH entry lies in one, or a variable names it) and returns what
/// commands need of them.
pub fn find(
    surroundings: Surroundings<'_>,
    variable: impl Fn(&str) -> Option<OsString>,
    exists: impl Fn(&Path) -> bool,
) -> Toolchains {
    let mut found = Toolchains::default();
    for kind in &KINDS {
        let named = Some(kind.variable)
            .filter(|name| !name.is_empty())
            .and_then(&variable)
            .map(PathBuf::from);
        let named = named.filter(|named| is_place(named));
        let in_path = |place: &Path| {
            surroundings
                .path
                .iter()
                .any(|entry| entry.starts_with(place))
        };
        let marked = kind
            .marks
            .iter()
            .any(|mark| in_path(&surroundings.home.join(mark)));
        let placed = kind
            .places
            .iter()
            .map(|place| surroundings.home.join(place));
        let placed =
            placed.filter(|place| named.is_none() && is_place(place) && (marked || in_path(place)));
        for dir in placed.chain(named.clone()) {
            found.add(kind, &dir, &exists);
        }
    }
    if found.system.iter().any(|seen| seen.why == KINDS[0].why) {
        let named = variable(CARGO_HOME)
            .map(PathBuf::from)
            .filter(|named| is_place(named));
        let cargo_home = named.unwrap_or_else(|| surroundings.home.join(".cargo"));
        if surroundings.downloads {
            found.add_crates(&cargo_home, &exists);
        }
        found.cargo_home = Some(cargo_home);
    }
    if surroundings.downloads {
        let in_first = |list: OsString| Some(std::env::split_paths(&list).next()?.join("pkg/mod"));
        let modules = variable(GO_MODULES)
            .map(PathBuf::from)
            .or_else(|| variable("GOPATH").and_then(in_first));
        let modules = modules.unwrap_or_else(|| surroundings.home.join("go/pkg/mod"));
        if is_place(&modules) && exists(&modules) {
            found
                .variables
                .push((GO_MODULES.into(), modules.clone().into()));
            found.system.push(Visible {
                path: modules,
                why: "Go (modules that are already here)",
            });
        }
    }
    found
}

/// Returns true if [`find`] sets this variable: its value is a path, and no secret.
pub fn is_export(name: &OsStr) -> bool {
    [
        OFFLINE,
        CACHE_VARIABLE,
        CARGO_HOME,
        CARGO_INSTALL_ROOT,
        GO_MODULES,
    ]
    .iter()
    .any(|own| name == *own)
        || KINDS
            .iter()
            .flat_map(|kind| kind.exports)
            .any(|(export, _)| name == *export)
}

impl Toolchains {
    fn add(&mut self, kind: &ToolchainType, dir: &Path, exists: impl Fn(&Path) -> bool) {
        let before = self.system.len();
        let parts = kind
            .parts
            .iter()
            .map(|part| dir.join(part))
            .filter(|path| exists(path));
        self.system.extend(parts.map(|path| Visible {
            path,
            why: kind.why,
        }));
        if self.system.len() > before {
            for (name, below) in kind.exports {
                let value = if below.is_empty() {
                    dir.to_path_buf()
                } else {
                    dir.join(below)
                };
                self.variables.push((name.into(), value.into()));
            }
        }
    }

    /// Adds downloads of the public registry, so that a project builds offline. Cargo creates its
    /// locks and unpacks sources beside the symlinks, in the private home. It only reads these two
    /// directories.
    fn add_crates(&mut self, cargo_home: &Path, exists: impl Fn(&Path) -> bool) {
        for name in CRATES_IO {
            for part in ["index", "cache"] {
                let below = Path::new("registry").join(part).join(name);
                let path = cargo_home.join(&below);
                if exists(&path) {
                    self.home_links
                        .push((Path::new(".cargo").join(below), path.clone()));
                    self.system.push(Visible {
                        path,
                        why: "Rust (crates that are already here)",
                    });
                }
            }
        }
        if !self.home_links.is_empty() {
            // Without it cargo first tries the network if there is no lock file.
            self.variables.push((OFFLINE.into(), "true".into()));
        }
    }
}

/// Returns true if a path is absolute, without `.` or `..`, and not `/`.
fn is_place(path: &Path) -> bool {
    path.is_absolute()
        && path.parent().is_some()
        && !path.components().any(|part| part == Component::ParentDir)
}

#[cfg(test)]
mod tests;
