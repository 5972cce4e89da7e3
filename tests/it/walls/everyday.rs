//! Everyday work inside the sandbox: `tests/everyday.sh`, compared with the list of known failures.

use pretty_assertions::assert_eq;
use replay_sandbox::Tier;
use serde_json::json;

use super::{Walls, everywhere};

/// Work that fails without namespaces: it needs sockets, terminals or a private /tmp, or signals a
/// process by id.
const LANDLOCK: [&str; 7] = [
    "localhost server",
    "python manager",
    "python process pool",
    "renice of itself",
    "script in a terminal",
    "unix socket",
    "writing to /tmp",
];

#[test]
fn everyday_work_fails_only_as_listed() {
    everywhere(|setting| {
        // The toolchains of the test user lie below a home that other users cannot enter.
        let own = ["PATH", "HOME"].map(|name| (name, std::env::var(name).unwrap_or_default()));
        let own: Vec<(&str, &str)> = own
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let variables = if setting.owner.is_none() {
            own.as_slice()
        } else {
            &[]
        };
        let mut walls = Walls::start(setting, &["--max-command-timeout-secs", "300"], variables);
        walls
            .tree
            .file("work/everyday.sh", include_str!("../../everyday.sh"));
        // In the background, since this may take long on a slow machine.
        let reply = walls
            .try_run(json!({"command": "sh everyday.sh > said 2>&1; echo over", "timeout": 300, "background": true}));
        let id = reply.result()["structuredContent"]["commandId"].clone();
        while walls
            .server
            .call("follow_command", json!({"commandId": id, "waitSecs": 10}))
            .result()["structuredContent"]["running"]
            == true
        {}
        let said = walls.works("cat said");
        let mut failed: Vec<&str> = said
            .lines()
            .filter_map(|line| line.strip_prefix("FAIL "))
            .map(|line| line.split(':').next().unwrap())
            .collect();
        failed.sort_unstable();
        let skipped: Vec<&str> = said
            .lines()
            .filter_map(|line| line.strip_prefix("skip "))
            .collect();
        let known: Vec<&str> = match setting.tier {
            Tier::Landlock => LANDLOCK
                .into_iter()
                .filter(|name| !skipped.contains(name))
                .collect(),
            Tier::Namespaces | Tier::Off => Vec::new(),
        };
        assert_eq!(failed, known, "{setting:?}\n{said}");
        assert!(said.lines().count() > 40, "{setting:?}\n{said}");
        walls.end();
    });
}

#[test]
fn shell_text_has_same_meaning_in_every_tier() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let long = format!(": {}; echo long", "x".repeat(100_000));
        for (text, code, stdout) in [
            ("echo \"$0 $# $*\"", 0, "/bin/bash 0 \n"),
            ("cat; read line; echo $?", 0, "1\n"),
            (
                "#!/bin/sh\nset -- a 'b  c'\nprintf '<%s>' \"$@\" # end",
                0,
                "<a><b  c>",
            ),
            ("cat <<'END'\n$HOME \\ \"'\nEND", 0, "$HOME \\ \"'\n"),
            ("cat <<END\n$((1 + 1))\nEND\n", 0, "2\n"),
            (
                "shopt -s expand_aliases; alias ll='echo listed'\nll",
                0,
                "listed\n",
            ),
            ("[[ ab == a* ]] && echo {1..3}", 0, "1 2 3\n"),
            ("set -o pipefail; false | true; echo $?", 0, "1\n"),
            ("source /dev/null; echo $SHELL", 0, "/bin/bash\n"),
            ("set -e; false; echo not reached", 1, ""),
            ("trap 'echo bye' EXIT; exit 3", 3, "bye\n"),
            ("exec echo instead; echo not reached", 0, "instead\n"),
            ("sleep 0 & wait $!; echo $?", 0, "0\n"),
            ("f() { return 4; }; f; echo $?", 0, "4\n"),
            ("echo a\nif", 2, "a\n"),
            ("sh -c 'kill -9 $$'", 137, ""),
            ("env | grep -c REPLAY_", 1, "0\n"),
            ("set | grep -c ^REPLAY_", 1, "0\n"),
            ("sh -c 'ls /proc/self/fd' | tr '\\n' ' '", 0, "0 1 2 3 "),
            ("", 0, ""),
            (" \n", 0, ""),
            ("# nothing", 0, ""),
            (&long, 0, "long\n"),
        ] {
            let ran = walls.sh(text);
            assert_eq!(
                (ran.code, ran.stdout.as_str()),
                (code, stdout),
                "{setting:?}: {text:.80}: {}",
                ran.stderr
            );
        }
        // Line numbers are those of the text.
        let ran = walls.sh("true\ntrue\nno_such_program");
        assert!(
            ran.code == 127 && ran.stderr.contains("3: ") && ran.stderr.contains("no_such_program"),
            "{ran:?}"
        );
        walls.end();
    });
}
