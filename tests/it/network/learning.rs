//! `replay net learn`: a program reaches everything, and behaves the same under the rules that the
//! command prints.

use std::fs;
use std::process::{Command, Stdio};

use pretty_assertions::assert_eq;

use super::{CONNECT, everywhere};
use crate::tree::Tree;

const PLACES: &str = "for place in api.example.com:80 api.example.com:8080 private.example.com:80 11.0.0.3:80 six.example.com:80 \
    meta.example.com:80 169.254.169.254:80 nothing.example.com:80; \
    do python3 connect.py ${place%:*} ${place#*:}; done; exit 3";

const LEARNED: &str = "--allow-host api.example.com
--allow-host api.example.com:8080
--allow-host private.example.com
--allow-host six.example.com
--allow-host 10.0.0.9
--allow-host 11.0.0.3
";

#[test]
fn learned_rules_suffice_for_program() {
    everywhere(|world| {
        world.file("connect.py", CONNECT);
        let learned = world.run_with(&["net", "learn", "--log-level", "warn"], &[], PLACES);
        let said = "connected\nconnected\nconnected\nconnected\nconnected\n13\n13\n-2\n";
        assert_eq!(
            learned.out,
            format!("{said}{LEARNED}"),
            "{:?}: {}",
            world.setting,
            learned.err
        );
        let danger = "gives the machine's credentials in a cloud";
        let blocked = format!(
            "replay: blocked: 169.254.169.254:80, which {danger} (python3); no rule is proposed \
             for this target
replay: blocked: meta.example.com:80, it resolves to 169.254.169.254, \
             which {danger} (python3); no rule is proposed for this target
"
        );
        // There is no resolver.
        let unresolved = "replay: the name nothing.example.com was not resolved: there is no such \
            name\n";
        assert_eq!(
            (learned.err, learned.status),
            (format!("{blocked}{unresolved}"), Some(3)),
            "{:?}",
            world.setting
        );
        let rules: Vec<&str> = LEARNED.split_whitespace().collect();
        let held = world.run(&rules, PLACES);
        assert!(
            held.out
                .starts_with("connected\nconnected\nconnected\nconnected\nconnected\n13\n13\n"),
            "{held:?}"
        );
    });
}

#[test]
fn learning_obeys_denials_and_writes_file() {
    everywhere(|world| {
        world.file("connect.py", CONNECT);
        let line = "python3 connect.py api.example.com 80; python3 connect.py evil.example.com 80";
        let flags = ["--deny-host", "evil.example.com", "--out", "rules"];
        let learned = world.run_with(&["net", "learn", "--log-level", "warn"], &flags, line);
        let blocked = "replay: blocked: evil.example.com:80, --deny-host names it (python3); no \
            rule is proposed for this target\n";
        let said = (learned.out.as_str(), learned.err.as_str(), learned.status);
        assert_eq!(
            said,
            ("connected\n13\n", blocked, Some(0)),
            "{:?}",
            world.setting
        );
        let rules = fs::read_to_string(world.tree.path().join("work/rules")).unwrap();
        assert_eq!(
            rules, "--allow-host api.example.com\n",
            "{:?}",
            world.setting
        );
        let nothing = world.run_with(&["net", "learn", "--log-level", "warn"], &[], "true");
        let said = (nothing.out.as_str(), nothing.err.as_str());
        assert_eq!(
            said,
            (
                "",
                "replay: the program reached no host; servers of this machine need --allow-host \
                 ADDRESS:PORT while learning\n"
            ),
            "{:?}",
            world.setting
        );
        let open = world.run_with(&["net", "learn"], &["--network", "host"], "true");
        assert!(
            open.err
                .contains("--network both set the network of commands"),
            "{}",
            open.err
        );
    });
}

#[test]
fn learning_with_proxy_of_program_names_proxy() {
    let tree = Tree::new();
    tree.dir("work");
    let ran = Command::new(env!("CARGO_BIN_EXE_replay"))
        .args([
            "net",
            "learn",
            "--log-level",
            "warn",
            "--allow",
            &tree.text("work"),
            "--env",
            "HTTPS_PROXY=http://127.0.0.1:9",
            "--",
            "true",
        ])
        .current_dir(tree.path("work"))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .envs([("HOME", tree.root()), ("XDG_STATE_HOME", tree.state())])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = "replay: the program had the proxy of HTTPS_PROXY=http://127.0.0.1:9, so the \
        hosts behind it are unknown, and a rule for the proxy would allow all of them; learn \
        without --env HTTPS_PROXY\n";
    assert_eq!(
        (
            String::from_utf8_lossy(&ran.stderr).as_ref(),
            ran.stdout.is_empty()
        ),
        (said, true)
    );
}
