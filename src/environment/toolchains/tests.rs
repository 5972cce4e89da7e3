//! Tests of toolchain detection, and of files that must stay hidden.

use std::collections::HashSet;

use pretty_assertions::assert_eq;

use super::*;

struct Machine<'a> {
    path: &'a str,
    variables: &'a [(&'a str, &'a str)],
    downloads: bool,
}

impl Machine<'_> {
    /// Finds the toolchains of a home in which every path except `missing` exists.
    fn find(&self, missing: &[&str]) -> Toolchains {
        let path: Vec<PathBuf> = std::env::split_paths(self.path).collect();
        let surroundings = Surroundings {
            definitions: Definitions::embedded(),
            home: Path::new("/home/me"),
            path: &path,
            is_offline: self.downloads,
            asked: &[],
        };
        let variable = |name: &str| {
            self.variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, v)| v.into())
        };
        find(surroundings, variable, |path| {
            !path.starts_with("/home/me/.cache") && !missing.iter().any(|gone| path.ends_with(gone))
        })
    }
}

fn paths(found: &Toolchains) -> Vec<&str> {
    found
        .system
        .iter()
        .map(|seen| seen.path.to_str().unwrap())
        .collect()
}

fn variables(found: &Toolchains) -> Vec<(&str, &str)> {
    found
        .variables
        .iter()
        .map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap()))
        .collect()
}

#[test]
fn path_without_toolchains_finds_none() {
    let machine = Machine {
        path: "/usr/bin:/bin:/home/me/bin",
        variables: &[],
        downloads: true,
    };
    assert_eq!(
        machine.find(&["go/pkg/mod", "wrapper/dists"]),
        Toolchains::default()
    );
}

#[test]
fn rust_toolchain_builds_offline() {
    let machine = Machine {
        path: "/home/me/.cargo/bin:/usr/bin",
        variables: &[],
        downloads: true,
    };
    let gone = [
        "index.crates.io-6f17d22bba15001f",
        "github.com-1ecc6299db9ec823",
        "github.com-25cdd57fae9f0462",
        "wrapper/dists",
    ];
    let found = machine.find(&gone);
    let index = "/home/me/.cargo/registry/index/index.crates.io-1949cf8c6b5b557f";
    let cache = "/home/me/.cargo/registry/cache/index.crates.io-1949cf8c6b5b557f";
    assert_eq!(
        paths(&found),
        [
            "/home/me/.cargo/bin",
            "/home/me/.rustup/toolchains",
            "/home/me/.rustup/settings.toml",
            "/home/me/.rustup/update-hashes",
            index,
            cache,
            "/home/me/go/pkg/mod"
        ]
    );
    assert_eq!(
        variables(&found),
        [
            ("RUSTUP_HOME", "/home/me/.rustup"),
            ("CARGO_NET_OFFLINE", "true"),
            ("GOMODCACHE", "/home/me/go/pkg/mod")
        ]
    );
    let link = |target: &str| {
        (
            Path::new(target)
                .strip_prefix("/home/me")
                .unwrap()
                .to_owned(),
            target.into(),
        )
    };
    assert_eq!(found.home_links, [link(index), link(cache)]);

    let online = Machine {
        downloads: false,
        ..machine
    }
    .find(&gone);
    assert_eq!((paths(&online).len(), online.home_links.len()), (4, 0));
    assert_eq!(
        [found.cargo_home, online.cargo_home.clone()],
        [
            Some("/home/me/.cargo".into()),
            Some("/home/me/.cargo".into())
        ]
    );
    assert_eq!(variables(&online), [("RUSTUP_HOME", "/home/me/.rustup")]);
}

#[test]
fn wrapper_distributions_are_linked_offline() {
    let machine = |downloads| Machine {
        path: "/usr/bin",
        variables: &[("GRADLE_USER_HOME", "/data/gradle")],
        downloads,
    };
    let link = |below: &str, target: &str| (below.into(), target.into());
    assert_eq!(
        machine(true).find(&["go/pkg/mod"]).home_links,
        [
            link(".gradle/wrapper/dists", "/data/gradle/wrapper/dists"),
            link(".m2/wrapper/dists", "/home/me/.m2/wrapper/dists"),
        ]
    );
    assert_eq!(machine(false).find(&[]), Toolchains::default());
}

#[test]
fn variable_names_toolchain_directory() {
    let elsewhere = [
        ("CARGO_HOME", "/data/cargo"),
        ("RUSTUP_HOME", "/data/rustup"),
    ];
    let machine = Machine {
        path: "/data/cargo/bin",
        variables: &elsewhere,
        downloads: true,
    };
    let found = machine.find(&["wrapper/dists"]);
    assert_eq!(
        paths(&found)[..3],
        [
            "/data/cargo/bin",
            "/data/rustup/toolchains",
            "/data/rustup/settings.toml"
        ]
    );
    assert!(found.home_links.iter().all(|(name, target)| {
        name.starts_with(".cargo/registry") && target.starts_with("/data/cargo/registry")
    }));
    assert_eq!(found.cargo_home, Some("/data/cargo".into()));
    for (variable, value, modules) in [
        ("GOMODCACHE", "/data/mod", "/data/mod"),
        ("GOPATH", "/data/go:/more", "/data/go/pkg/mod"),
    ] {
        let variables = [(variable, value)];
        let machine = Machine {
            path: "/usr/bin",
            variables: &variables,
            downloads: true,
        };
        let found = machine.find(&["bin", "wrapper/dists"]);
        assert_eq!(paths(&found), [modules]);
        assert_eq!(super::tests::variables(&found), [("GOMODCACHE", modules)]);
        let variables = [(variable, value), ("GOPRIVATE", "*.acme.example")];
        let machine = Machine {
            variables: &variables,
            ..machine
        };
        assert_eq!(
            machine.find(&["bin", "wrapper/dists"]),
            Toolchains::default()
        );
    }
    for nonsense in ["", "/", "cargo", "/data/../etc"] {
        let variables = [("VIRTUAL_ENV", nonsense)];
        let machine = Machine {
            path: "/usr/bin",
            variables: &variables,
            downloads: false,
        };
        assert_eq!(machine.find(&[]), Toolchains::default(), "{nonsense}");
    }
}

#[test]
fn script_directory_shows_only_known_programs() {
    let machine = Machine {
        path: "/home/me/.local/bin",
        variables: &[],
        downloads: false,
    };
    let found = machine.find(&["share/mise", "uvx"]);
    let local = [
        "/home/me/.local/bin/uv",
        "/home/me/.local/share/uv/python",
        "/home/me/.local/share/uv/tools",
    ];
    assert_eq!(paths(&found), local);
    assert_eq!(
        variables(&found),
        [("UV_PYTHON_INSTALL_DIR", "/home/me/.local/share/uv/python")]
    );
    // Missing programs are not listed.
    let none = machine.find(&["uv", "uvx", "python", "tools"]);
    assert_eq!(none, Toolchains::default());
}

#[test]
fn table_shows_no_possible_secret() {
    let secrets = [
        ".cargo/config.toml",
        ".cargo/credentials.toml",
        ".cargo/registry/src/private/lib.rs",
        ".condarc",
        ".config/gh/hosts.yml",
        ".dotnet/corefx/cryptography/x509stores/my/key.pfx",
        ".local/bin/deploy",
        ".local/share/keyrings/login.keyring",
        ".npmrc",
        ".sdkman/etc/config",
        ".ssh/id_ed25519",
        "bin/deploy",
        "go/src/private/main.go",
        "miniconda3/.condarc",
        "miniconda3/conda-meta/state",
    ];
    let mut names = HashSet::new();
    let document = Definitions::embedded().document();
    for (_, kind) in &document.toolchain {
        assert!(names.insert(&kind.title), "{} is there twice", kind.title);
        assert!(
            !kind.places.is_empty() || kind.variable.is_some(),
            "{} cannot be found",
            kind.title
        );
        let mut parts = kind.parts.iter();
        assert!(
            !parts.any(|part| part.is_empty() || Path::new(part).is_absolute()),
            "{}",
            kind.title
        );
        for shown in kind
            .places
            .iter()
            .flat_map(|place| kind.parts.iter().map(|part| Path::new(place).join(part)))
        {
            let held: Vec<_> = secrets
                .iter()
                .filter(|secret| Path::new(secret).starts_with(&shown))
                .collect();
            assert!(
                held.is_empty(),
                "{}: {} shows {held:?}",
                kind.title,
                shown.display()
            );
        }
    }
}
