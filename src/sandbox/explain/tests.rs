//! Tests of the explanation of the walls, and of requests that a tier cannot enforce.

use pretty_assertions::assert_eq;
use replay_environment::{HomeFile, MissingKeys};

use super::*;
use crate::plan::{CanonicalPath, Extent, Limits, PlannedCache, PlannedDevices};

fn root(path: &str, writable: bool) -> PlannedRoot {
    PlannedRoot {
        place: CanonicalPath {
            path: path.into(),
            dev: 1,
            ino: 2,
        },
        writable,
        extent: Extent::Allowed,
    }
}

fn plan(tier: Tier) -> Plan {
    Plan {
        is_tried: true,
        journal: None,
        hide: None,
        tier,
        network: Network::Loopback,
        answers_names: false,
        roots: vec![
            root("/src", true),
            root("/src/docs", false),
            root("/ro", false),
            root("/ro/rw", true),
        ],
        hidden: Vec::new(),
        other_names: Vec::new(),
        protected: ["/src/.git/hooks", "/src/keys", "/ro/keys", "/src/docs/x"]
            .map(Into::into)
            .to_vec(),
        system: vec!["/usr".into(), "/home/me/.cargo/bin".into()],
        devices: PlannedDevices::default(),
        sockets: Vec::new(),
        public_only: Vec::new(),
        public: Vec::new(),
        scratch: "/tmp/scratch".into(),
        cache: None,
        layers: Vec::new(),
        cargo_home: None,
        private_home: true,
        environment: [
            ("LANG", "C"),
            ("MY_TOKEN", "hidden"),
            ("RUSTUP_HOME", "/home/me/.rustup"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec(),
        limits: Limits {
            processes: Some(4096),
            file_bytes: Some(1024),
            oom_score_adj: 500,
            ..Limits::default()
        },
    }
}

fn requests() -> ExplicitRequests<'static> {
    static PROTECTED: std::sync::OnceLock<[&Path; 2]> = std::sync::OnceLock::new();
    let protected = PROTECTED.get_or_init(|| ["/src/keys", "/ro/keys"].map(Path::new));
    ExplicitRequests {
        protected,
        ..ExplicitRequests::default()
    }
}

#[test]
fn landlock_cannot_enforce_nested_or_hidden_paths() {
    let roots = vec![root("/src", true), root("/src/in", true)];
    let hidden = vec![CanonicalPath {
        path: "/src/replay-0".into(),
        dev: 1,
        ino: 3,
    }];
    let plan = Plan {
        roots,
        hidden,
        ..plan(Tier::Landlock)
    };
    let nested = Unenforceable::NestedRoot {
        path: "/src/in".into(),
        inside: "/src".into(),
    };
    let hidden = Unenforceable::Hidden {
        path: "/src/replay-0".into(),
    };
    assert_eq!(
        unenforceable(&plan, ExplicitRequests::default()),
        [nested.clone(), hidden.clone()]
    );
    assert_eq!(
        nested.describe(),
        "`/src/in` cannot be fixed inside `/src`: commands could move it"
    );
    let said = "`/src/replay-0`, which has files of undo or of other servers' commands, cannot be \
        hidden from commands: allow a directory without it (TMPDIR moves the files of commands)";
    assert_eq!(hidden.describe(), said);
    assert_eq!(
        unenforceable(
            &Plan {
                tier: Tier::Namespaces,
                ..plan
            },
            ExplicitRequests::default()
        ),
        []
    );
}

#[test]
fn landlock_cannot_restrict_inside_writable_root() {
    let protected = Unenforceable::Protected {
        path: "/src/keys".into(),
    };
    let nested = Unenforceable::ReadOnlyRoot {
        path: "/src/docs".into(),
        inside: "/src".into(),
    };
    assert_eq!(
        unenforceable(&plan(Tier::Landlock), requests()),
        [protected.clone(), nested.clone()]
    );
    assert_eq!(
        protected.describe(),
        "`/src/keys` cannot be kept read-only (--protect, or it configures the server)"
    );
    assert_eq!(
        nested.describe(),
        "`/src/docs` cannot be read-only inside `/src`, which is read-write"
    );
    assert_eq!(unenforceable(&plan(Tier::Namespaces), requests()), []);
    assert_eq!(refusal(&plan(Tier::Namespaces), requests()), None);
    let reason = "`/src/keys` cannot be kept read-only (--protect, or it configures the server), \
        and `/src/docs` cannot be read-only inside `/src`, which is read-write, because Landlock \
        rules only add rights; leave it out, give a narrower read-write directory, or run where \
        user namespaces work";
    assert_eq!(
        refusal(&plan(Tier::Landlock), requests()).as_deref(),
        Some(reason)
    );
    let gaps = gaps(&plan(Tier::Landlock), requests(), None);
    assert_eq!(
        gaps[2],
        "commands can write paths that file tools protect by default, such as `/src/.git/hooks` \
         and the configuration of git repositories"
    );
    assert_eq!(gaps.len(), 9);
}

#[test]
fn explicit_unenforceable_request_is_refused() {
    let plan = Plan {
        protected: Vec::new(),
        roots: vec![root("/src", true)],
        ..plan(Tier::Landlock)
    };
    let count = |asked| gaps(&plan, asked, None).len();
    let all = count(ExplicitRequests::default());
    let loopback = ExplicitRequests {
        loopback: true,
        ..ExplicitRequests::default()
    };
    let processes = ExplicitRequests {
        processes: true,
        ..ExplicitRequests::default()
    };
    assert_eq!(refusal(&plan, ExplicitRequests::default()), None);
    let reason = "without namespaces commands have no private loopback (--network loopback); \
        leave it out, or run where user namespaces work";
    assert_eq!(refusal(&plan, loopback).as_deref(), Some(reason));
    let reason = "without namespaces the number of processes cannot be limited \
        (--limit-processes); leave it out, or run where user namespaces work";
    assert_eq!(refusal(&plan, processes).as_deref(), Some(reason));
    // No gap is listed twice.
    assert_eq!([loopback, processes].map(count), [all, all]);
    let elsewhere = Plan {
        tier: Tier::Namespaces,
        ..plan.clone()
    };
    assert_eq!(
        [loopback, processes].map(|asked| refusal(&elsewhere, asked)),
        [None, None]
    );
}

fn explained(plan: &Plan, standing: &WallStatus) -> String {
    let visible = |path: &str, why: &'static str| Visible {
        path: path.into(),
        why: why.into(),
    };
    let system = [
        visible("/usr", "the system's programs"),
        visible("/home/me/.cargo/bin", "Rust (cargo)"),
    ];
    let protected = [
        ("/src/.git/hooks", "by default", Some("git")),
        ("/src/keys", "--protect", None),
    ]
    .map(|(path, by, program)| Protected {
        path: path.into(),
        by,
        program,
    });
    let file = |path: &str, passed, missing| HomeFile {
        path: path.to_owned(),
        source: Path::new("/home/me").join(path),
        text: String::new(),
        passed,
        hosts: Vec::new(),
        left_out: vec!["prefix".to_owned(); passed],
        missing,
    };
    let lacks = |key: Option<&str>, fault: Option<&str>| {
        Some(MissingKeys {
            keys: key.map(str::to_owned).into_iter().collect(),
            addresses: Vec::new(),
            fault: fault.map(str::to_owned),
        })
    };
    let home = [
        file(".npmrc", 2, lacks(Some("//h/:_authToken"), None)),
        file(".netrc", 0, lacks(None, None)),
        file(".condarc", 0, lacks(None, Some("it is no YAML"))),
        file(".config/git/ignore", 0, None),
        file(".gemrc", 1, None),
    ];
    let devices = Devices {
        nodes: vec![
            ("/dev/nvidiactl".into(), "nvidia".into()),
            ("/dev/ttyUSB0".into(), "/dev/ttyUSB0".into()),
        ],
        system: vec!["/sys/bus/pci/devices".into()],
        names_threads: true,
        unseen: vec![("dri".into(), "a GPU".into())],
    };
    let why = Why {
        devices: &devices,
        kernel: "Linux 6.18 (x86_64)",
        system: &system,
        home: &home,
        scripts: &["~/.local/bin/deploy".to_owned()],
        protected: &protected,
        asked: requests(),
    };
    explain(plan, standing, &why)
}

#[test]
fn explain_shows_every_rule() {
    let standing = WallStatus {
        tier: Some(Tier::Namespaces),
        network: Network::Loopback,
        private_home: true,
        home: Some("/home/replay".into()),
        tmp: Some("/tmp".into()),
        landlock_abi: Some(7),
        cgroup: Some(CgroupView::Shown),
        ..WallStatus::off()
    };
    insta::assert_snapshot!("namespaces", explained(&plan(Tier::Namespaces), &standing));
    let standing = WallStatus {
        tier: Some(Tier::Landlock),
        tried: vec![(
            Tier::Namespaces,
            "user namespaces are forbidden here".to_owned(),
        )],
        home: Some("/tmp/scratch/home".into()),
        tmp: Some("/tmp/scratch/tmp".into()),
        gaps: vec!["the kernel does not say who opened a terminal".to_owned()],
        cgroup: None,
        ..standing
    };
    insta::assert_snapshot!("landlock", explained(&plan(Tier::Landlock), &standing));
}

#[test]
fn explain_tells_why_cgroup_is_missing() {
    let standing = WallStatus {
        tier: Some(Tier::Namespaces),
        cgroup: Some(CgroupView::Missing {
            reason: "the kernel refuses the mount".to_owned(),
        }),
        ..WallStatus::off()
    };
    let text = explained(&plan(Tier::Namespaces), &standing);
    let rows: Vec<_> = text
        .lines()
        .filter(|line| line.contains("/sys/fs/cgroup"))
        .collect();
    assert_eq!(
        rows,
        ["  /sys/fs/cgroup           not there: the kernel refuses the mount"]
    );
}

#[test]
fn explain_shows_cache() {
    let (shown, place) = (root("/c/caches", true), root("/c", true).place);
    let cache = PlannedCache {
        place,
        bytes: 64 * 1024 * 1024,
    };
    let roots = vec![PlannedRoot {
        extent: Extent::Cache,
        ..shown
    }];
    let plan = Plan {
        roots,
        cache: Some(cache),
        ..plan(Tier::Landlock)
    };
    let text = explained(&plan, &WallStatus::off());
    let expected = "allowed directories\n  none\n\ncaches of package managers that stay after the \
        server, for commands only\n  read-write               /c/caches, of which 64 MiB are kept \
        (--cache-mib)\n\nread-only inside them";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn explain_shows_missing_walls() {
    let off = explained(&plan(Tier::Off), &WallStatus::off());
    assert!(
        off.contains("off: commands run outside any kernel wall"),
        "{off}"
    );
    assert!(
        off.contains("commands can do whatever the server's user can"),
        "{off}"
    );
    let tried = vec![
        (Tier::Namespaces, "EPERM".to_owned()),
        (Tier::Landlock, "ENOSYS".to_owned()),
    ];
    let refused = explained(
        &plan(Tier::Namespaces),
        &WallStatus::refused("no walls can be built", tried),
    );
    let head: Vec<&str> = refused.lines().take(7).collect();
    assert_eq!(
        head,
        [
            "walls",
            "  commands                 refused: no walls can be built",
            "  shown below              rules in the tier `namespaces`",
            "  not namespaces           EPERM",
            "  not landlock             ENOSYS",
            "  kernel                   Linux 6.18 (x86_64)",
            "  Landlock                 not in use",
        ]
    );
    assert!(!refused.contains("hidden"), "{refused}");
}
