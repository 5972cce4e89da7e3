//! What comes of flags and profile together.

use clap::Parser as _;
use pretty_assertions::assert_eq;

use super::*;
use crate::cli::Cli;
use crate::policy::Access;

fn resolve(flags: &[&str], profile: &str) -> Result<SandboxConfig> {
    let cli = Cli::try_parse_from(["replay", "--mcp-server"].iter().chain(flags)).unwrap();
    let vars = [
        ("HOME", "/nowhere/home"),
        ("TMPDIR", "/nowhere/tmp"),
        ("PATH", "/nowhere/bin:/usr/bin:/project/bin"),
        ("LANG", "C.UTF-8"),
        ("MY_TOKEN", "secret"),
        ("MY_NAME", "name"),
    ];
    let vars = vars.map(|(name, value)| (name.into(), value.into())).to_vec();
    let world = World { here: "/here".into(), vars, own: false };
    let grants = [Grant { path: "/project".into(), access: Access::ReadWrite }];
    SandboxConfig::resolve(&cli.options, &Profile::parse(profile)?, &world, &grants)
}

fn good(flags: &[&str], profile: &str) -> SandboxConfig {
    resolve(flags, profile).unwrap()
}

fn wrong(flags: &[&str], profile: &str) -> String {
    format!("{:#}", resolve(flags, profile).unwrap_err())
}

/// Without what is said to package managers where there is no network.
fn variables(config: &SandboxConfig) -> Vec<String> {
    let own = |(name, _): &&(OsString, OsString)| WITHOUT_NETWORK.iter().all(|(other, _)| name != other);
    let shown = |(name, value): &(OsString, OsString)| format!("{}={}", name.display(), value.display());
    config.environment.iter().filter(own).map(shown).collect()
}

#[test]
fn nothing_said_is_the_careful_way() {
    let system = SYSTEM.map(|path| Visible { path: path.into(), why: "the system's programs" });
    let environment = [("LANG", "C.UTF-8"), ("SHELL", "/bin/sh"), ("PATH", "/usr/bin:/project/bin")];
    let environment = environment.into_iter().chain(WITHOUT_NETWORK);
    assert_eq!(
        good(&[], "{}"),
        SandboxConfig {
            mode: Sandbox::Require,
            network: Network::Loopback,
            rules: Rules::default(),
            recording: None,
            loopback_asked: false,
            limits: Limits { processes: Some(4096), oom_score_adj: 500, ..Limits::default() },
            processes_asked: false,
            private_home: true,
            environment: environment.map(|(name, value)| (name.into(), value.into())).collect(),
            system: system.to_vec(),
            home_links: Vec::new(),
            refused: None,
        }
    );
}

#[test]
fn what_was_asked_for_is_told_from_what_is_so_anyway() {
    let asked = |flags: &[&str], profile| {
        let config = good(flags, profile);
        (config.loopback_asked, config.processes_asked)
    };
    assert_eq!(asked(&["--network", "loopback"], r#"{"network": "host"}"#), (true, false));
    assert_eq!(asked(&[], r#"{"network": "loopback", "limits": {"processes": 100}}"#), (true, true));
    assert_eq!(asked(&["--network", "none", "--limit-processes", "100"], r#"{"network": "loopback"}"#), (false, true));
    // The default by another name.
    assert_eq!(asked(&[], r#"{"allow_network": false}"#), (false, false));
}

#[test]
fn the_command_line_beats_the_profile() {
    let mode = |flags: &[&str], profile| good(flags, profile).mode;
    assert_eq!(mode(&[], r#"{"sandbox": "landlock"}"#), Sandbox::Landlock);
    assert_eq!(mode(&["--sandbox", "namespaces"], r#"{"sandbox": "off"}"#), Sandbox::Namespaces);
    let limits = r#"{"limits": {"processes": 10, "cpu_secs": 20, "memory_bytes": 1000000000}}"#;
    let expected = Limits {
        processes: Some(10),
        cpu_secs: Some(30),
        file_bytes: Some(4096),
        memory_bytes: Some(1_000_000_000),
        open_files: None,
        oom_score_adj: 500,
    };
    assert_eq!(good(&["--limit-cpu-secs", "30", "--limit-file-bytes", "4096"], limits).limits, expected);
    let env =
        r#"{"env": {"pass": ["MY_*"], "set": {"A": "1", "B": "1"}, "drop": ["LANG"]}, "git_identity": "X <x@y>"}"#;
    let flags =
        ["--env", "MY_TOKEN", "--env", "B=2=3", "--git-identity", "A U Thor <a@b.c>", "--env=GIT_AUTHOR_NAME=N"];
    assert_eq!(
        variables(&good(&flags, env)),
        [
            "MY_TOKEN=secret",
            "MY_NAME=name",
            "SHELL=/bin/sh",
            "PATH=/usr/bin:/project/bin",
            "GIT_AUTHOR_EMAIL=a@b.c",
            "GIT_COMMITTER_NAME=A U Thor",
            "GIT_COMMITTER_EMAIL=a@b.c",
            "A=1",
            "B=2=3",
            "GIT_AUTHOR_NAME=N"
        ]
    );
}

#[test]
fn the_network_is_said_once() {
    let network = |flags: &[&str], profile| good(flags, profile).network;
    assert_eq!(network(&["--allow-network"], "{}"), Network::Host);
    assert_eq!(network(&["--allow-network", "--network", "host"], "{}"), Network::Host);
    assert_eq!(network(&["--network", "none"], r#"{"allow_network": true}"#), Network::None);
    assert_eq!(network(&["--allow-network"], r#"{"allow_network": false}"#), Network::Host);
    assert_eq!(network(&[], r#"{"allow_network": true}"#), Network::Host);
    assert_eq!(network(&[], r#"{"allow_network": false}"#), Network::Loopback);
    assert_eq!(network(&[], r#"{"allow_network": false, "network": "none"}"#), Network::None);
    assert_eq!(network(&["--sandbox", "off"], "{}"), Network::Host);
    assert!(wrong(&["--allow-network", "--network", "none"], "{}").starts_with("--allow-network is the same as"));
    let twice = wrong(&[], r#"{"allow_network": false, "network": "host"}"#);
    assert_eq!(twice, "the profile's `allow_network` is false and its `network` says otherwise; leave one of them out");
    let unheld = "only a wall can keep commands from the network, and it is switched off (sandbox off)";
    assert!(wrong(&["--sandbox", "off", "--network", "none"], "{}").starts_with(unheld));
    assert!(wrong(&["--sandbox", "off"], r#"{"allow_network": false}"#).starts_with(unheld));
}

#[test]
fn what_no_wall_can_make_good_is_refused() {
    let refused = |flags: &[&str], profile| good(flags, profile).refused.unwrap_or_default();
    assert_eq!(refused(&[], r#"{"allow_exec": false}"#), "the profile says `allow_exec: false`");
    assert!(refused(&["--sandbox", "off"], r#"{"allow_fork": false}"#).contains("a shell that may start nothing"));
    assert!(refused(&[], r#"{"import_baseline": false}"#).contains("there is no shell"));
    assert_eq!(refused(&["--system", "/usr"], r#"{"import_baseline": false}"#), "");
    assert_eq!(refused(&[], r#"{"system": ["/usr", "/bin"]}"#), "");
    assert_eq!(refused(&["--sandbox", "off"], r#"{"import_baseline": false}"#), "");
}

#[test]
fn directories_of_programs() {
    let system = |flags: &[&str], profile: &str| {
        let seen = good(flags, profile).system;
        seen.iter().map(|seen| format!("{} ({})", seen.path.display(), seen.why)).collect::<Vec<_>>()
    };
    assert_eq!(
        system(&["--system", "/usr"], r#"{"system": ["x", "/bin"]}"#),
        ["/here/x (`system` of the profile)", "/bin (`system` of the profile)", "/usr (--system)"]
    );
    assert_eq!(system(&[], r#"{"system": ["/x"], "import_baseline": true}"#).len(), SYSTEM.len() + 1);
    assert_eq!(system(&["--sandbox", "off"], "{}"), Vec::<String>::new());
    let both = wrong(&[], r#"{"system": "default", "import_baseline": false}"#);
    assert_eq!(both, "the profile's `system` is `default` and its `import_baseline` is false; leave one of them out");
    assert_eq!(wrong(&["--system", "/nowhere"], "{}"), "--system `/nowhere` does not exist or cannot be looked at");
    assert!(wrong(&["--system", "/"], "{}").contains("it is the whole disk"));
    assert!(wrong(&[], r#"{"system": ["/proc/1"]}"#).contains("belongs to the kernel"));
    let inside = wrong(&[], r#"{"system": ["/project/tools"]}"#);
    assert!(inside.contains("lies in the allowed directory `/project`"), "{inside}");
}

#[test]
fn a_home_is_private_or_the_real_one() {
    let real = good(&["--home", "read-only"], "{}");
    assert!(!real.private_home);
    assert_eq!(real.system.last(), Some(&Visible { path: "/nowhere/home".into(), why: "the real home" }));
    // Now its programs can be seen, but `/nowhere/bin` is not below it.
    assert_eq!(variables(&real)[1..], ["SHELL=/bin/sh", "PATH=/usr/bin:/project/bin", "HOME=/nowhere/home"]);
    assert!(good(&["--home", "private"], r#"{"home": "read_only"}"#).private_home);
    let off = good(&["--sandbox", "off"], "{}");
    assert!(!off.private_home);
    assert_eq!(
        variables(&off),
        [
            "LANG=C.UTF-8",
            "SHELL=/bin/sh",
            "PATH=/nowhere/bin:/usr/bin:/project/bin",
            "HOME=/nowhere/home",
            "TMPDIR=/nowhere/tmp"
        ]
    );
}

#[test]
fn names_and_values_are_checked() {
    assert_eq!(wrong(&["--env", "=x"], "{}"), "`` is no name of a variable, or its value holds a NUL byte");
    assert_eq!(wrong(&["--env", ""], "{}"), "`--env`: `` is no name of a variable");
    assert_eq!(wrong(&[], r#"{"env": {"pass": ["A=B"]}}"#), "`env.pass`: `A=B` is no name of a variable");
    assert_eq!(wrong(&[], r#"{"env": {"set": {"A": 1}}}"#), "the profile's `env.set.A` must be a string");
    assert!(wrong(&["--env", "HOME=/root"], "{}").contains("--home read-only shows commands the real one"));
    assert!(wrong(&[], r#"{"env": {"pass": ["TMPDIR"]}}"#).contains("it is always private"));
    for identity in ["", "Name", "<a@b>", "Name <>", "Name <a@b> x", "A <b> <c>", "A\nB <b>"] {
        assert!(
            wrong(&["--git-identity", identity], "{}").ends_with("is not of the form `Name <mail>`"),
            "{identity:?}"
        );
    }
}
