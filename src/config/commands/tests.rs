//! Tests of settings merged from flags and profile.

use clap::Parser as _;
use pretty_assertions::assert_eq;
use replay_files::policy::Access;

use super::*;
use crate::cli::Cli;
use crate::config::withheld::WithheldRemedy;

fn resolve(flags: &[&str], profile: &str) -> Result<SandboxConfig> {
    let cli = Cli::try_parse_from(["replay", "--mcp-server"].iter().chain(flags)).unwrap();
    let vars = [
        ("HOME", "/nowhere/home"),
        ("TMPDIR", "/nowhere/tmp"),
        ("PATH", "/nowhere/bin:/usr/bin:/project/bin"),
        ("LANG", "C.UTF-8"),
        ("MY_TOKEN", "secret"),
        ("MY_NAME", "name"),
        ("LONG_TOKEN", SECRET),
    ];
    let vars = vars
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec();
    let world = ProcessState {
        here: "/here".into(),
        vars,
        own: false,
    };
    let grants = [Grant {
        path: "/project".into(),
        access: Access::ReadWrite,
    }];
    SandboxConfig::resolve(
        &cli.server.options,
        &Profile::parse(profile)?,
        &world,
        &grants,
        false,
    )
}

fn good(flags: &[&str], profile: &str) -> SandboxConfig {
    resolve(flags, profile).unwrap()
}

fn wrong(flags: &[&str], profile: &str) -> String {
    format!("{:#}", resolve(flags, profile).unwrap_err())
}

const GIT_CONFIGURED: [(&str, &str); 7] = [
    ("GIT_CONFIG_KEY_0", "gc.autoDetach"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_KEY_1", "maintenance.autoDetach"),
    ("GIT_CONFIG_VALUE_1", "false"),
    ("GIT_CONFIG_KEY_2", "gc.worktreePruneExpire"),
    ("GIT_CONFIG_VALUE_2", "never"),
    ("GIT_CONFIG_COUNT", "3"),
];

/// Variables without the fixed settings of package managers and git.
fn variables(config: &SandboxConfig) -> Vec<String> {
    let usual = || WITHOUT_NETWORK.into_iter().chain(GIT).chain(GIT_CONFIGURED);
    let own = |(name, value): &&(OsString, OsString)| {
        usual().all(|other| other != (name.to_str().unwrap(), value.to_str().unwrap()))
    };
    let shown =
        |(name, value): &(OsString, OsString)| format!("{}={}", name.display(), value.display());
    config.environment.iter().filter(own).map(shown).collect()
}

#[test]
fn default_settings_are_strict() {
    let system = Definitions::embedded().system().iter().map(|path| Visible {
        path: path.clone(),
        why: "the system's programs".into(),
    });
    let environment = [
        ("LANG", "C.UTF-8"),
        ("SHELL", "/bin/bash"),
        ("PATH", "/usr/bin:/project/bin"),
    ];
    let environment = environment
        .into_iter()
        .chain(WITHOUT_NETWORK)
        .chain(GIT)
        .chain(GIT_CONFIGURED);
    assert_eq!(
        good(&[], "{}"),
        SandboxConfig {
            is_tried: true,
            mode: Sandbox::Require,
            network: Network::Loopback,
            rules: Rules::default(),
            credentials: Credentials::default(),
            secret_files: Vec::new(),
            publish: PublishRules::default(),
            upstream_proxy: None,
            proxy_file: None,
            proxy_faults: Vec::new(),
            recording: None,
            loopback_asked: false,
            linked_git: LinkedGit::Auto,
            ssh_agent: None,
            limits: Limits {
                processes: Some(4096),
                oom_score_adj: 500,
                ..Limits::default()
            },
            processes_asked: false,
            private_home: true,
            environment: environment
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            system: system.collect(),
            sockets: Vec::new(),
            home_links: Vec::new(),
            hints: good(&[], "{}").hints,
            downloads: Downloads::default(),
            cargo_home: None,
            definitions: Definitions::embedded().clone(),
            home_files: Vec::new(),
            left_out_scripts: Vec::new(),
            unseen_path: Vec::new(),
            withheld: [
                ("MY_TOKEN", WithheldRemedy::Credential),
                ("MY_NAME", WithheldRemedy::Pass),
                ("LONG_TOKEN", WithheldRemedy::Credential),
            ]
            .map(|(name, remedy)| Withheld {
                name: name.to_owned(),
                unseen: Vec::new(),
                remedy,
            })
            .to_vec(),
            cache: None,
            devices: Devices::find(Definitions::embedded(), &[], &MachineDevices).unwrap(),
            refused: None,
        }
    );
}

#[test]
fn explicit_requests_differ_from_defaults() {
    let asked = |flags: &[&str], profile| {
        let config = good(flags, profile);
        (config.loopback_asked, config.processes_asked)
    };
    assert_eq!(
        asked(&["--network", "loopback"], r#"{"network": "host"}"#),
        (true, false)
    );
    assert_eq!(
        asked(
            &[],
            r#"{"network": "loopback", "limits": {"processes": 100}}"#
        ),
        (true, true)
    );
    assert_eq!(
        asked(
            &["--network", "none", "--limit-processes", "100"],
            r#"{"network": "loopback"}"#
        ),
        (false, true)
    );
    // Another name of the default.
    assert_eq!(asked(&[], r#"{"allow_network": false}"#), (false, false));
}

#[test]
fn cache_requires_private_home() {
    let cache = |flags: &[&str], profile| {
        good(flags, profile)
            .cache
            .map(|cache| (cache.dir, cache.bytes >> 20))
    };
    assert_eq!(cache(&[], r#"{"limits": {"cache_mib": 2}}"#), None);
    assert_eq!(
        cache(&[], r#"{"cache": "c"}"#),
        Some(("/here/c".into(), 8192))
    );
    let typed = ["--cache", "/d", "--cache-mib", "1"];
    assert_eq!(
        cache(&typed, r#"{"cache": "c", "limits": {"cache_mib": 2}}"#),
        Some(("/d".into(), 1))
    );
    let none = "--cache needs the private HOME of commands; leave out --sandbox off and --home \
        read-only";
    for more in [["--sandbox", "off"], ["--home", "read-only"]] {
        assert_eq!(wrong(&[&typed[..], &more].concat(), "{}"), none);
    }
}

#[test]
fn command_line_overrides_profile() {
    let mode = |flags: &[&str], profile| good(flags, profile).mode;
    assert_eq!(mode(&[], r#"{"sandbox": "landlock"}"#), Sandbox::Landlock);
    assert_eq!(
        mode(&["--sandbox", "namespaces"], r#"{"sandbox": "off"}"#),
        Sandbox::Namespaces
    );
    let limits = r#"{"limits": {"processes": 10, "cpu_secs": 20, "memory_bytes": 1000000000}}"#;
    let expected = Limits {
        processes: Some(10),
        cpu_secs: Some(30),
        file_bytes: Some(4096),
        memory_bytes: Some(1_000_000_000),
        open_files: None,
        oom_score_adj: 500,
    };
    assert_eq!(
        good(
            &["--limit-cpu-secs", "30", "--limit-file-bytes", "4096"],
            limits
        )
        .limits,
        expected
    );
    let env = r#"{"env": {"pass": ["MY_*"], "set": {"A": "1", "B": "1"}, "drop": ["LANG"]}, "git_identity": "X <x@y>"}"#;
    let flags = [
        "--shell",
        "/bin/sh",
        "--env",
        "MY_TOKEN",
        "--env",
        "B=2=3",
        "--git-identity",
        "A U Thor <a@b.c>",
        "--env=GIT_AUTHOR_NAME=N",
    ];
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
fn contradictory_network_settings_are_refused() {
    let network = |flags: &[&str], profile| good(flags, profile).network;
    assert_eq!(
        network(&["--network", "none"], r#"{"allow_network": true}"#),
        Network::None
    );
    assert_eq!(
        network(&["--network", "host"], r#"{"allow_network": false}"#),
        Network::Host
    );
    assert_eq!(network(&[], r#"{"allow_network": true}"#), Network::Host);
    assert_eq!(
        network(&[], r#"{"allow_network": false}"#),
        Network::Loopback
    );
    assert_eq!(
        network(&[], r#"{"allow_network": false, "network": "none"}"#),
        Network::None
    );
    assert_eq!(network(&["--sandbox", "off"], "{}"), Network::Host);
    let twice = wrong(&[], r#"{"allow_network": false, "network": "host"}"#);
    assert_eq!(
        twice,
        "the profile's `allow_network` is false, which contradicts its `network`; leave one of \
         them out"
    );
    let unheld = "without walls (--sandbox off) commands have the whole network";
    assert!(wrong(&["--sandbox", "off", "--network", "none"], "{}").starts_with(unheld));
    assert!(wrong(&["--sandbox", "off"], r#"{"allow_network": false}"#).starts_with(unheld));
}

#[test]
fn profile_without_exec_or_shell_refuses_commands() {
    let refused = |flags: &[&str], profile| good(flags, profile).refused.unwrap_or_default();
    assert_eq!(
        refused(&[], r#"{"allow_exec": false}"#),
        "the profile has `allow_exec: false`"
    );
    assert!(
        refused(&["--sandbox", "off"], r#"{"allow_fork": false}"#)
            .contains("a shell must start programs")
    );
    assert!(refused(&[], r#"{"import_baseline": false}"#).contains("there is no shell"));
    assert_eq!(
        refused(&["--system", "/usr"], r#"{"import_baseline": false}"#),
        ""
    );
    assert_eq!(refused(&[], r#"{"system": ["/usr", "/bin"]}"#), "");
    assert_eq!(
        refused(&["--sandbox", "off"], r#"{"import_baseline": false}"#),
        ""
    );
}

#[test]
fn system_directories_merge_flags_and_profile() {
    let system = |flags: &[&str], profile: &str| {
        let seen = good(flags, profile).system;
        seen.iter()
            .map(|seen| format!("{} ({})", seen.path.display(), seen.why))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        system(&["--system", "/usr"], r#"{"system": ["x", "/bin"]}"#),
        [
            "/here/x (`system` of the profile)",
            "/bin (`system` of the profile)",
            "/usr (--system)"
        ]
    );
    assert_eq!(
        system(&[], r#"{"system": ["/x"], "import_baseline": true}"#).len(),
        Definitions::embedded().system().len() + 1
    );
    assert_eq!(system(&["--sandbox", "off"], "{}"), Vec::<String>::new());
    let both = wrong(&[], r#"{"system": "default", "import_baseline": false}"#);
    assert_eq!(
        both,
        "the profile's `system` is `default` and its `import_baseline` is false; leave one of them out"
    );
    assert_eq!(
        wrong(&["--system", "/nowhere"], "{}"),
        "--system `/nowhere` does not exist or cannot be read"
    );
    assert!(wrong(&["--system", "/"], "{}").contains("it is the root directory"));
    assert!(wrong(&[], r#"{"system": ["/proc/1"]}"#).contains("belongs to the kernel"));
    let inside = wrong(&[], r#"{"system": ["/project/tools"]}"#);
    assert!(
        inside.contains("is in the allowed directory `/project`"),
        "{inside}"
    );
}

#[test]
fn shell_must_be_absolute_program_path() {
    for shell in ["sh", "/bin", "/bin/no-such-shell"] {
        let expected = format!(
            "--shell `{shell}` is not a program; give the absolute path of one, such as /bin/sh"
        );
        assert_eq!(wrong(&["--shell", shell], "{}"), expected);
    }
    assert_eq!(
        variables(&good(&[], r#"{"shell": "/bin/sh"}"#))[1],
        "SHELL=/bin/sh"
    );
}

#[test]
fn home_is_private_or_real() {
    let real = good(&["--home", "read-only"], "{}");
    assert!(!real.private_home);
    assert_eq!(
        real.system.last(),
        Some(&Visible {
            path: "/nowhere/home".into(),
            why: "the real home".into()
        })
    );
    // With the real home its programs are visible, but `/nowhere/bin` is not below it.
    assert_eq!(
        variables(&real)[1..],
        [
            "SHELL=/bin/bash",
            "PATH=/usr/bin:/project/bin",
            "HOME=/nowhere/home"
        ]
    );
    assert!(good(&["--home", "private"], r#"{"home": "read_only"}"#).private_home);
    let off = good(&["--sandbox", "off"], "{}");
    assert!(!off.private_home);
    assert_eq!(
        variables(&off),
        [
            "LANG=C.UTF-8",
            "SHELL=/bin/bash",
            "PATH=/nowhere/bin:/usr/bin:/project/bin",
            "HOME=/nowhere/home",
            "TMPDIR=/nowhere/tmp"
        ]
    );
}

#[test]
fn invalid_variables_and_identities_are_refused() {
    assert_eq!(
        wrong(&["--env", "=x"], "{}"),
        "`` is not a valid variable name, or its value contains a NUL byte"
    );
    assert_eq!(
        wrong(&["--env", ""], "{}"),
        "`--env`: `` is not a valid variable name"
    );
    assert_eq!(
        wrong(&[], r#"{"env": {"pass": ["A=B"]}}"#),
        "`env.pass`: `A=B` is not a valid variable name"
    );
    assert_eq!(
        wrong(&[], r#"{"env": {"set": {"A": 1}}}"#),
        "the profile's `env.set.A` must be a string"
    );
    assert!(
        wrong(&["--env", "HOME=/root"], "{}")
            .contains("--home read-only gives commands the real one")
    );
    assert!(wrong(&[], r#"{"env": {"pass": ["TMPDIR"]}}"#).contains("it is always private"));
    for identity in [
        "",
        "Name",
        "<a@b>",
        "Name <>",
        "Name <a@b> x",
        "A <b> <c>",
        "A\nB <b>",
    ] {
        assert!(
            wrong(&["--git-identity", identity], "{}")
                .ends_with("is not of the form `Name <mail>`"),
            "{identity:?}"
        );
    }
}

#[test]
fn rule_with_name_of_machine_is_refused() {
    let [_, machine] = own_host_names();
    let rule = format!("{machine}:35057");
    let refused = resolve(&["--allow-host", &rule], "{}").map(drop);
    assert_eq!(
        refused.map_err(|error| format!("{error:#}")),
        Err(format!(
            "the network rule `{rule}` never matches, since programs resolve this name \
             themselves; give its address, such as 127.0.0.1:35057"
        ))
    );
}

const SECRET: &str = "secret-0123456789abcdef";

/// Variables of credentials, with `STAND_IN` for the placeholder of the first.
fn credentials(flags: &[&str], profile: &str) -> Result<Vec<String>, String> {
    let fixed = [
        "--allow-host",
        "api.example.com",
        "--env",
        "OTHER=secret-0123456789abcdef!",
    ];
    let config =
        resolve(&[&fixed[..], flags].concat(), profile).map_err(|error| format!("{error:#}"))?;
    let stand_in = config
        .credentials
        .iter()
        .next()
        .map(|one| one.stand_in.clone())
        .unwrap_or_default();
    let ours = |text: &String| {
        ["GIT", "MY", "OTHER", "TOKEN", "GH"]
            .iter()
            .any(|name| text.starts_with(name))
    };
    let said = variables(&config)
        .into_iter()
        .filter(ours)
        .map(|text| text.replace(&stand_in, "STAND_IN"));
    Ok(said.collect())
}

#[test]
fn secrets_in_environment_become_placeholders() {
    let helper = |user: &str| {
        format!(
            "!f() {{ test \"$1\" != get || printf '%s\\n' username={user} password=STAND_IN; }}; f"
        )
    };
    let flags = [
        "--credential",
        "TOKEN=env:LONG_TOKEN",
        "--for",
        "https://api.example.com",
        "--env",
        "LONG_TOKEN",
    ];
    let expected = [
        "OTHER=STAND_IN!".to_owned(),
        "TOKEN=STAND_IN".to_owned(),
        "GIT_CONFIG_KEY_3=credential.https://api.example.com.helper".to_owned(),
        format!("GIT_CONFIG_VALUE_3={}", helper("x-access-token")),
        "GIT_CONFIG_COUNT=4".to_owned(),
    ];
    assert_eq!(credentials(&flags, "{}"), Ok(expected.to_vec()));
    let with_git = [
        "--env",
        "GIT_CONFIG_COUNT=1",
        "--env",
        "GIT_CONFIG_KEY_0=a.b",
        "--env",
        "GIT_CONFIG_VALUE_0=c",
    ];
    let profile = r#"{"credentials": [{"credential": "TOKEN=env:LONG_TOKEN", "for": ["https://me@api.example.com"]}]}"#;
    let said = credentials(&with_git, profile).unwrap();
    let expected = [
        "OTHER=STAND_IN!",
        "GIT_CONFIG_KEY_0=a.b",
        "GIT_CONFIG_VALUE_0=c",
        // Including the fixed git settings.
        "GIT_CONFIG_KEY_1=gc.autoDetach",
        "GIT_CONFIG_KEY_2=maintenance.autoDetach",
        "GIT_CONFIG_VALUE_2=false",
        "GIT_CONFIG_KEY_3=gc.worktreePruneExpire",
        "GIT_CONFIG_VALUE_3=never",
        "TOKEN=STAND_IN",
        "GIT_CONFIG_KEY_4=credential.https://api.example.com.helper",
        &format!("GIT_CONFIG_VALUE_4={}", helper("me")),
        "GIT_CONFIG_COUNT=5",
    ];
    assert_eq!(said, expected);
}

#[test]
fn unusable_credential_is_refused() {
    let place = ["--for", "https://api.example.com"];
    let said = |flags: &[&str]| credentials(flags, "{}").unwrap_err();
    let one = |credential| said(&["--credential", credential, place[0], place[1]]);
    assert_eq!(
        one("TOKEN"),
        "--credential must be NAME=env:VARIABLE or NAME=file:PATH; one has no `=`"
    );
    assert_eq!(
        one("1A=env:LONG_TOKEN"),
        "--credential 1A: it is not a valid variable name"
    );
    assert_eq!(
        one("TOKEN=env:NOT_SET"),
        "--credential TOKEN: the variable `NOT_SET` is not set"
    );
    assert_eq!(
        one("TOKEN=secret"),
        "--credential TOKEN must be read from env:VARIABLE or file:PATH"
    );
    assert_eq!(
        one("TOKEN=env:MY_TOKEN"),
        "--credential TOKEN: its value: has 6 bytes; 8 to 8192 are allowed"
    );
    assert_eq!(
        one("TOKEN=file:/dev/null"),
        "--credential TOKEN: `/dev/null` is not a regular file"
    );
    assert_eq!(
        said(&["--credential", "TOKEN=env:LONG_TOKEN"]),
        "--credential TOKEN needs a --for after it, such as --for https://example.com/**"
    );
    assert_eq!(
        said(&[
            "--credential",
            "TOKEN=env:LONG_TOKEN",
            "--for",
            "https://other.example"
        ]),
        "--credential TOKEN: --for `https://other.example`: commands cannot reach it; add a rule, \
         such as --allow-host other.example:443"
    );
    let postgres = [
        "--credential",
        "TOKEN=env:LONG_TOKEN",
        "--for",
        "postgres://api.example.com",
    ];
    let expected = "--for `postgres://api.example.com`: commands cannot reach it; add a rule, \
        such as --allow-host api.example.com:5432";
    assert_eq!(said(&postgres), format!("--credential TOKEN: {expected}"));
    let again = ["--credential", "TOKEN=env:LONG_TOKEN", place[0], place[1]];
    assert_eq!(
        said(&[&again[..], &again[..]].concat()),
        "--credential TOKEN is given twice; to use it at a second place add another --for"
    );
    assert_eq!(
        said(
            &[
                &again[..],
                &["--credential", "GH=env:LONG_TOKEN", place[0], place[1]]
            ]
            .concat()
        ),
        "the value of --credential GH contains that of TOKEN; declare it once, with a --for for \
         each place"
    );
    let typed = [
        "replay",
        "--mcp-server",
        "--for",
        "https://api.example.com",
        "--credential",
        "A=env:B",
    ];
    let error = Cli::try_parse_from(typed).unwrap_err().to_string();
    let expected = "error: --for `https://api.example.com` must follow the --credential that it \
        belongs to";
    assert_eq!(error.lines().next(), Some(expected));
}

#[test]
fn memory_limit_is_told_to_runtimes() {
    let named = |flags: &[&str]| -> Vec<String> {
        let all = variables(&good(flags, "{}"));
        let names = ["GOMEMLIMIT", "NODE_OPTIONS", "DOTNET_", "JAVA_TOOL"];
        let is_one = |line: &String| names.iter().any(|name| line.starts_with(name));
        all.into_iter().filter(is_one).collect()
    };
    let limit = ["--limit-memory-bytes", "1073741824"];
    assert_eq!(
        named(&limit),
        [
            "GOMEMLIMIT=805306350",
            "NODE_OPTIONS=--max-old-space-size=767",
            "DOTNET_GCHeapHardLimit=2fffffee",
            "JAVA_TOOL_OPTIONS=-XX:MaxRAM=1073741824"
        ]
    );
    let own = [&limit[..], &["--env", "NODE_OPTIONS=--x"]].concat();
    assert!(named(&own).contains(&"NODE_OPTIONS=--x".to_owned()));
    assert_eq!(named(&own).len(), 4);
    assert_eq!(named(&[]), [""; 0]);
}
