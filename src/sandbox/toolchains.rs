//! Compilers and interpreters that live below the operator's home: what commands may see of them,
//! and which variables they need. A function of paths; whether something exists is asked through a
//! closure.
//!
//! A line of the table names programs and libraries alone. What could hold a secret is never in it:
//! no `credentials.toml`, no `.npmrc`, no `.condarc`, no directory of scripts that somebody wrote
//! for themselves (`~/bin`, `~/.local/bin`). What is missing the operator adds with `--system`.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// What commands see without being asked, read-only and executable; none need exist. `/etc` is the
/// launcher's matter, which shows only what everybody may read. `/snap` is left out: its programs
/// start through a setuid helper, and commands cannot gain rights.
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
    /// Why, in a few words.
    pub why: &'static str,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolchains {
    /// Directories and files to show to commands.
    pub system: Vec<Visible>,
    /// Variables that commands need to find them.
    pub variables: Vec<(OsString, OsString)>,
    /// Links to make in a private home: where (below it), and what they lead to, which is also in
    /// `system`.
    pub home_links: Vec<(PathBuf, PathBuf)>,
    /// Cargo's directory, if it is in use.
    pub cargo_home: Option<PathBuf>,
}

/// What of the server's surroundings says which toolchains there are.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    pub home: &'a Path,
    /// The entries of the server's PATH.
    pub path: &'a [PathBuf],
    /// Whether commands see what the operator's package managers have downloaded.
    pub downloads: bool,
}

/// One kind of toolchain.
struct Kind {
    why: &'static str,
    /// The variable that names its directory, if there is one.
    variable: &'static str,
    /// Where its directory is otherwise, below the home.
    places: &'static [&'static str],
    /// An entry of PATH below one of these (below the home) says that it is in use, as one in its
    /// directory does.
    marks: &'static [&'static str],
    /// Below its directory: what commands see.
    parts: &'static [&'static str],
    /// Variables that commands need, each for a path below its directory.
    exports: &'static [(&'static str, &'static str)],
}

const KINDS: [Kind; 23] = [
    // What cargo writes lies in the private home; only the programs come from here.
    Kind {
        why: "Rust (cargo)",
        variable: CARGO_HOME,
        places: &[".cargo"],
        marks: &[],
        parts: &["bin"],
        exports: &[],
    },
    // Its proxies look at settings.toml, and make update-hashes if it is not there.
    Kind {
        why: "Rust (rustup)",
        variable: "RUSTUP_HOME",
        places: &[".rustup"],
        marks: &[".cargo/bin"],
        parts: &["toolchains", "settings.toml", "update-hashes"],
        exports: &[("RUSTUP_HOME", "")],
    },
    Kind {
        why: "Python (pyenv)",
        variable: "PYENV_ROOT",
        places: &[".pyenv"],
        marks: &[],
        parts: &[
            "bin", "libexec", "plugins", "pyenv.d", "shims", "version", "versions",
        ],
        exports: &[("PYENV_ROOT", "")],
    },
    Kind {
        why: "Python (uv)",
        variable: "",
        places: &[".local"],
        marks: &[],
        parts: &["bin/uv", "bin/uvx", "share/uv/python", "share/uv/tools"],
        exports: &[("UV_PYTHON_INSTALL_DIR", "share/uv/python")],
    },
    Kind {
        why: "Python (virtual environment)",
        variable: "VIRTUAL_ENV",
        places: &[],
        marks: &[],
        parts: &["bin", "include", "lib", "lib64", "pyvenv.cfg", "share"],
        exports: &[("VIRTUAL_ENV", "")],
    },
    // `etc` and `conda-meta` hold variables that people set for an environment.
    Kind {
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
    Kind {
        why: "Ruby (rbenv)",
        variable: "RBENV_ROOT",
        places: &[".rbenv"],
        marks: &[],
        parts: &[
            "bin", "libexec", "plugins", "rbenv.d", "shims", "version", "versions",
        ],
        exports: &[("RBENV_ROOT", "")],
    },
    Kind {
        why: "Node.js (nodenv)",
        variable: "NODENV_ROOT",
        places: &[".nodenv"],
        marks: &[],
        parts: &[
            "bin", "libexec", "nodenv.d", "plugins", "shims", "version", "versions",
        ],
        exports: &[("NODENV_ROOT", "")],
    },
    Kind {
        why: "Node.js (nvm)",
        variable: "NVM_DIR",
        places: &[".nvm"],
        marks: &[],
        parts: &["alias", "nvm.sh", "versions"],
        exports: &[("NVM_DIR", "")],
    },
    Kind {
        why: "Node.js (volta)",
        variable: "VOLTA_HOME",
        places: &[".volta"],
        marks: &[],
        parts: &["bin", "layout.v4", "tools"],
        exports: &[("VOLTA_HOME", "")],
    },
    Kind {
        why: "Bun",
        variable: "BUN_INSTALL",
        places: &[".bun"],
        marks: &[],
        parts: &["bin"],
        exports: &[],
    },
    Kind {
        why: "Deno",
        variable: "DENO_INSTALL",
        places: &[".deno"],
        marks: &[],
        parts: &["bin"],
        exports: &[],
    },
    Kind {
        why: "mise",
        variable: "MISE_DATA_DIR",
        places: &[".local/share/mise"],
        marks: &[],
        parts: &["installs", "shims"],
        exports: &[("MISE_DATA_DIR", "")],
    },
    Kind {
        why: "asdf",
        variable: "ASDF_DATA_DIR",
        places: &[".asdf"],
        marks: &[],
        parts: &[
            "asdf.sh", "bin", "installs", "lib", "libexec", "plugins", "shims",
        ],
        exports: &[("ASDF_DATA_DIR", "")],
    },
    Kind {
        why: "Java (SDKMAN)",
        variable: "SDKMAN_DIR",
        places: &[".sdkman"],
        marks: &[],
        parts: &["candidates"],
        exports: &[],
    },
    Kind {
        why: "Go (programs)",
        variable: "GOPATH",
        places: &["go"],
        marks: &[],
        parts: &["bin"],
        exports: &[],
    },
    Kind {
        why: "Go",
        variable: "GOROOT",
        places: &[],
        marks: &[],
        parts: &["VERSION", "bin", "go.env", "lib", "misc", "pkg", "src"],
        exports: &[("GOROOT", "")],
    },
    Kind {
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
    Kind {
        why: "Haskell (ghcup)",
        variable: "",
        places: &[".ghcup"],
        marks: &[],
        parts: &["bin", "cabal", "ghc", "hls", "stack"],
        exports: &[],
    },
    Kind {
        why: "OCaml (opam)",
        variable: "OPAM_SWITCH_PREFIX",
        places: &[],
        marks: &[],
        parts: &["bin", "lib", "share"],
        exports: &[("OPAM_SWITCH_PREFIX", "")],
    },
    Kind {
        why: "Lean (elan)",
        variable: "ELAN_HOME",
        places: &[".elan"],
        marks: &[],
        parts: &["bin", "settings.toml", "toolchains"],
        exports: &[("ELAN_HOME", "")],
    },
    Kind {
        why: "Homebrew",
        variable: "HOMEBREW_PREFIX",
        places: &["/home/linuxbrew/.linuxbrew"],
        marks: &[],
        parts: &[
            "Cellar", "bin", "include", "lib", "libexec", "opt", "sbin", "share",
        ],
        exports: &[],
    },
    // A link to a directory of links into the store.
    Kind {
        why: "Nix profile",
        variable: "",
        places: &[".nix-profile"],
        marks: &[],
        parts: &["bin", "lib", "share"],
        exports: &[],
    },
];

/// Where package managers have caches, and locks for them, below HOME and not in `~/.cache`, and
/// whether it is a directory. Configuration, credentials and programs are never among them.
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

/// What names the directory that `~/.cache` is otherwise (XDG Base Directory Specification). pip,
/// run by root, takes none that it finds through a link.
pub const CACHE_VARIABLE: &str = "XDG_CACHE_HOME";

/// Cargo's directory, which it knows its sources by: at another path it builds each crate anew.
pub const CARGO_HOME: &str = "CARGO_HOME";
/// Where `cargo install` puts programs, since those of the operator are read-only.
pub const CARGO_INSTALL_ROOT: &str = "CARGO_INSTALL_ROOT";
/// Where Go has downloaded modules, all of which it reads without writing once they are unpacked.
pub const GO_MODULES: &str = "GOMODCACHE";
/// Makes cargo take what it has (`net.offline` of its configuration).
const OFFLINE: &str = "CARGO_NET_OFFLINE";
/// The names that cargo gives to the public registry, by version of cargo and of the protocol.
/// Other registries may be private, and their sources are none of a command's business.
const CRATES_IO: [&str; 4] = [
    "index.crates.io-1949cf8c6b5b557f",
    "index.crates.io-6f17d22bba15001f",
    "github.com-1ecc6299db9ec823",
    "github.com-25cdd57fae9f0462",
];

/// What commands need of the toolchains that are in use: those that an entry of PATH lies in, or a
/// variable names.
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

/// Whether a variable is one that [`find`] sets: its value is a path, and no secret.
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
    fn add(&mut self, kind: &Kind, dir: &Path, exists: impl Fn(&Path) -> bool) {
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

    /// Downloads of the public registry, so that a project builds without network. cargo takes its
    /// locks and unpacks sources beside the links, in the private home, and needs these two for
    /// reading alone.
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
            // Without it cargo asks the network first wherever there is no lock file.
            self.variables.push((OFFLINE.into(), "true".into()));
        }
    }
}

/// Absolute, plain, and not the whole disk.
fn is_place(path: &Path) -> bool {
    path.is_absolute()
        && path.parent().is_some()
        && !path.components().any(|part| part == Component::ParentDir)
}

#[cfg(test)]
#[path = "toolchains_tests.rs"]
mod tests;
