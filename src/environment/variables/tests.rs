//! Properties and cases of the environment of commands.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn text(vars: &[(&str, &str)], rules: &EnvRules) -> Vec<String> {
    let vars = vars
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()));
    let show =
        |(name, value): (OsString, OsString)| format!("{}={}", name.display(), value.display());
    scrub(vars, rules, Definitions::embedded())
        .into_iter()
        .map(show)
        .collect()
}

fn rules(pass: &[&str], drop: &[&str], set: &[(&str, &str)]) -> EnvRules {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    EnvRules {
        pass: owned(pass),
        drop: owned(drop),
        set: set
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        visible: Some(
            ["/usr", "/bin", "/src", "/home/me/.local/bin/uv"]
                .map(PathBuf::from)
                .to_vec(),
        ),
        shell: None,
        whole: false,
    }
}

#[test]
fn unknown_variables_are_dropped() {
    let vars = [
        ("LANG", "de_DE.UTF-8"),
        ("LC_TIME", "C"),
        ("LC_API_TOKEN", "hidden"),
        ("SHELL", "/home/me/bin/zsh"),
        ("EDITOR", "vim"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("HOME", "/home/me"),
        ("TMPDIR", "/tmp/me"),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("LD_PRELOAD", "/x.so"),
        ("https_proxy", "http://proxy:3128"),
        ("HTTPS_PROXY", "http://me:pass@proxy:3128"),
        ("JAVA_HOME", "/usr/lib/jvm/17"),
        ("GOROOT", "/home/me/go-sdk"),
        (
            "PATH",
            "/home/me/bin:/usr/bin::bin:/src/x:/usr/bin:/usr/../etc:/home/me/.local/bin:/usrx",
        ),
    ];
    let kept = [
        "LANG=de_DE.UTF-8",
        "LC_TIME=C",
        "https_proxy=http://proxy:3128",
        "HTTPS_PROXY=http://proxy:3128",
        "JAVA_HOME=/usr/lib/jvm/17",
        "SHELL=/bin/sh",
        "PATH=/usr/bin:/src/x:/home/me/.local/bin",
    ];
    assert_eq!(text(&vars, &rules(&[], &[], &[])), kept);
}

#[test]
fn secret_passes_only_by_exact_name() {
    let vars = [
        ("MY_NAME", "n"),
        ("MY_TOKEN", "t"),
        ("my_password", "p"),
        ("DATABASE_URL", "postgres://me:pass@db/x"),
        ("REMOTE", "ssh://git@host/x"),
        ("PWD", "/src"),
    ];
    assert_eq!(
        text(&vars, &rules(&["*"], &[], &[])),
        [
            "MY_NAME=n",
            "REMOTE=ssh://git@host/x",
            "SHELL=/bin/sh",
            &format!("PATH={FALLBACK_PATH}")
        ]
    );
    let exact = text(&vars, &rules(&["MY_TOKEN", "DATABASE_URL"], &[], &[]));
    assert_eq!(
        exact[..2],
        ["MY_TOKEN=t", "DATABASE_URL=postgres://me:pass@db/x"]
    );
}

#[test]
fn set_overrides_drop_overrides_pass() {
    let vars = [
        ("LANG", "C"),
        ("TERM", "xterm"),
        ("A", "1"),
        ("PATH", "/usr/bin"),
    ];
    let asked = rules(
        &["A"],
        &["A", "LANG", "SHELL", "T*"],
        &[("TERM", "dumb"), ("TERM", "vt100"), ("PATH", "/x")],
    );
    assert_eq!(
        text(&vars, &asked),
        ["SHELL=/bin/sh", "TERM=vt100", "PATH=/x"]
    );
    let dropped = text(&vars, &rules(&[], &["*"], &[]));
    assert_eq!(dropped, ["SHELL=/bin/sh", &format!("PATH={FALLBACK_PATH}")]);
}

#[test]
fn path_without_walls_keeps_all_entries() {
    let rules = EnvRules::default();
    assert_eq!(
        text(&[("PATH", "/home/me/bin:/usr/bin:.")], &rules),
        ["SHELL=/bin/sh", "PATH=/home/me/bin:/usr/bin"]
    );
}

#[test]
fn star_in_glob_matches_any_text() {
    let yes = [
        ("*", ""),
        ("*", "A"),
        ("A*", "A"),
        ("*A", "BA"),
        ("*A*B*", "xAyBz"),
        ("A*A", "AA"),
        ("AB", "AB"),
    ];
    let no = [
        ("A", "AB"),
        ("A*A", "A"),
        ("*AB*BC", "ABC"),
        ("", "A"),
        ("*_KEY", "_KEYS"),
    ];
    assert!(
        yes.iter()
            .all(|(glob, name)| matches(glob, OsStr::new(name)))
    );
    assert_eq!(
        no.map(|(glob, name)| matches(glob, OsStr::new(name))),
        [false; 5]
    );
}

/// Names made of significant parts.
fn names() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "A", "LC_", "TOKEN", "_KEY", "SECRET", "LANG", "PATH", "HOME", "GIT_", "LD_", "my", "_",
        "TMPDIR", "SSH_", "ENV", "TERM", "CC",
    ]);
    prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

fn globs() -> impl Strategy<Value = Vec<String>> {
    let glob = (names(), 0..4_u8).prop_map(|(name, kind)| match kind {
        0 => name,
        1 => format!("{name}*"),
        2 => format!("*{name}"),
        _ => format!("*{name}*"),
    });
    prop::collection::vec(glob, 0..4)
}

fn pairs() -> impl Strategy<Value = Vec<(OsString, OsString)>> {
    let value = prop::sample::select(vec![
        "",
        "x",
        "/usr/bin:/etc",
        "http://a:b@c/d",
        "/src:/src",
        ":",
        "../x",
    ]);
    prop::collection::vec(
        (names(), value).prop_map(|(name, value)| (name.into(), value.into())),
        0..12,
    )
}

proptest! {
    #[test]
    fn scrub_output_obeys_rules(vars in pairs(), pass in globs(), drop in globs(), set in pairs()) {
        let rules = EnvRules { pass, drop, set, visible: rules(&[], &[], &[]).visible, shell: None, whole: false };
        let kept = scrub(vars.iter().cloned(), &rules, Definitions::embedded());
        let is_set = |name: &OsStr| rules.set.iter().any(|(set, _)| set == name);

        for (index, (name, value)) in kept.iter().enumerate() {
            prop_assert!(kept[..index].iter().all(|(known, _)| known != name), "{name:?} is there twice");
            prop_assert!(is_name(name));
            if is_set(name) {
                let last = rules.set.iter().rfind(|(set, _)| set == name).unwrap();
                prop_assert_eq!(value, &last.1);
                continue;
            }
            let dropped = rules.drop.iter().any(|glob| matches(glob, name));
            prop_assert!(!dropped || name == "PATH" || name == SHELL, "{name:?} is dropped");
            let exact = rules.pass.iter().any(|pass| name == pass.as_str());
            prop_assert!(exact || !is_sensitive(Definitions::embedded(), name), "{name:?} is sensitive");
            prop_assert!(exact || !has_password(value), "{value:?} has a password");
            prop_assert!(exact || !["HOME", "TMPDIR", "ENV"].iter().any(|own| name == *own), "{name:?}");
        }
        for (name, _) in rules.set.iter().filter(|(name, _)| is_name(name)) {
            prop_assert!(kept.iter().any(|(known, _)| known == name), "{name:?} is set");
        }
        if !is_set(OsStr::new("PATH")) {
            let (_, path) = kept.iter().find(|(name, _)| name == "PATH").unwrap();
            let entries: Vec<_> = std::env::split_paths(path).collect();
            prop_assert!(!entries.is_empty());
            for entry in &entries {
                let seen = is_visible(entry, &rules) || path == FALLBACK_PATH;
                prop_assert!(entry.is_absolute() && seen, "{entry:?}");
            }
        }
        prop_assert_eq!(scrub(kept.iter().cloned(), &rules, Definitions::embedded()), kept);
    }
}

#[test]
fn operator_command_gets_whole_environment() {
    let vars = [
        ("PGHOST", "db"),
        ("DATABASE_URL", "postgres://me:pass@db/shop"),
        ("API_TOKEN", "hidden"),
        ("HTTPS_PROXY", "http://me:pass@proxy:3128"),
        ("JAVA_HOME", "/nowhere/jvm"),
        ("LD_PRELOAD", "/x.so"),
        ("HOME", "/home/me"),
        ("TMPDIR", "/tmp/me"),
        ("PWD", "/here"),
        ("DROPPED", "1"),
        ("SET", "no"),
        ("PATH", "/home/me/bin:/usr/bin"),
    ];
    let rules = EnvRules {
        whole: true,
        ..rules(&[], &["DROPPED"], &[("SET", "yes")])
    };
    let kept = [
        "PGHOST=db",
        "DATABASE_URL=postgres://me:pass@db/shop",
        "API_TOKEN=hidden",
        "HTTPS_PROXY=http://me:pass@proxy:3128",
        "SHELL=/bin/sh",
        "PATH=/usr/bin",
        "SET=yes",
    ];
    assert_eq!(text(&vars, &rules), kept);
}
