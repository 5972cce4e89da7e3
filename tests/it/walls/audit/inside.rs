//! The audit log below an allowed directory: hidden from every tool and program, or the server does
//! not start.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use pretty_assertions::assert_eq;
use replay_sandbox::Tier;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::{Setting, Tree, Walls, audit, everywhere, give, start_server};
use crate::harness::DEADLINE;

const KEY: &str = "0123456789abcdef0123456789abcdef";
const LOG: &str = "work/logs/deep/audit.jsonl";

/// Makes a tree with the key below the writable directory, for this setting.
fn tree(setting: Setting) -> Tree {
    let tree = Tree::new();
    tree.file("work/ok.txt", "fine\n")
        .file("docs/read.txt", "readme\n")
        .dir("tmp")
        .file("outside/x", "");
    tree.file("work/logs/deep/key", KEY)
        .link(tree.path("work/logs"), "alias");
    fs::set_permissions(
        tree.path("work/logs/deep/key"),
        super::super::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    if let Some(owner) = setting.owner {
        give(tree.root(), owner);
    }
    tree
}

fn flags<'a>(tree: &Tree, more: &[&'a str]) -> Vec<std::borrow::Cow<'a, str>> {
    let own = [
        "--audit".to_owned(),
        tree.text(LOG),
        "--audit-key".to_owned(),
        tree.text("work/logs/deep/key"),
    ];
    own.into_iter()
        .map(Into::into)
        .chain(more.iter().copied().map(Into::into))
        .collect()
}

/// Runs a test with a server whose log is inside, in each setting with namespaces.
fn inside(more: impl Fn(&Tree) -> Vec<String>, test: impl Fn(&mut Walls)) {
    everywhere(|setting| {
        if setting.tier != Tier::Namespaces {
            return;
        }
        let tree = tree(setting);
        let more = more(&tree);
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let all = flags(&tree, &more);
        let all: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
        let mut walls = Walls::on(tree, setting, &all, &[]);
        let which = |walls: &Walls| {
            fs::metadata(walls.tree.path(LOG))
                .map(|known| (known.dev(), known.ino()))
                .unwrap()
        };
        let before = which(&walls);
        test(&mut walls);
        walls.end();
        assert_eq!(which(&walls), before, "{setting:?}");
        assert_eq!(walls.tree.read("work/logs/deep/key"), KEY, "{setting:?}");
        let (status, said) =
            audit::audit(&walls.tree, &["verify", LOG, "--key", "work/logs/deep/key"]);
        assert!(
            status == 0 && !said.contains("without an end"),
            "{setting:?}: {said}"
        );
    });
}

#[track_caller]
fn assert_hidden(walls: &Walls, what: &str, reply: &str) {
    let is_told =
        reply.contains("\"prev\"") || reply.contains(r#"\"prev\""#) || reply.contains(KEY);
    assert!(!is_told, "{:?}: {what}: {reply}", walls.setting);
}

#[test]
fn shell_cannot_read_or_move_audit_log() {
    // A second allowed directory below the first, named by a link, changes nothing.
    for nested in [false, true] {
        let more = |tree: &Tree| {
            let alias = ["--allow".to_owned(), format!("{}:rw", tree.text("alias"))];
            if nested { alias.to_vec() } else { Vec::new() }
        };
        inside(more, |walls| {
            let inode = fs::metadata(walls.tree.path(LOG)).unwrap().ino();
            let log = "logs/deep/audit.jsonl";
            for attempt in [
                format!("test -s {log}"),
                "test -s logs/deep/key".to_owned(),
                format!("echo x >> {log}"),
                format!(": > {log}"),
                format!("chmod 666 {log}"),
                format!("touch {log}"),
                format!("rm -f {log}"),
                "rm -rf logs/deep".to_owned(),
                format!("mv {log} {log}.old"),
                format!("mv -T ok.txt {log}"),
                "mv logs elsewhere".to_owned(),
                "mv logs/deep deeper".to_owned(),
                "mkdir -p d && mv -T d logs/deep".to_owned(),
                format!("ln {log} name"),
                "ln logs/deep/key name".to_owned(),
                format!("umount {log}"),
                format!("umount -l logs/deep || test -s {log}"),
                format!("unshare -rm sh -c 'umount {log} && cat {log}'"),
                "mkdir -p m && mount --bind logs/deep m && cat m/key".to_owned(),
            ] {
                let ran = walls.sh(&attempt);
                assert_ne!(ran.code, 0, "{:?}: {attempt}: {ran:?}", walls.setting);
                assert_hidden(walls, &attempt, &ran.text);
            }
            for attempt in [
                format!("cat {log} logs/deep/key {} /proc/self/cwd/{log}", walls.tree.text(LOG)),
                format!("cd logs/deep && cat audit.jsonl && cd / && cat /proc/self/root{}", walls.tree.text(LOG)),
                format!("umount -l logs/deep {log}; cat {log}"),
                "ln -s logs/deep/audit.jsonl l; cat l; cp -r logs copy; cat copy/deep/*".to_owned(),
                "tar cf - logs | cat; find . -type f -exec cat {} +".to_owned(),
                format!("find . -inum {inode} -exec cat {{}} +"),
                "rm -rf logs; rm -rf ./*; ls -lR .; for f in /proc/[0-9]*/fd/*; do test -f $f && cat $f; done"
                    .to_owned(),
            ] {
                let ran = walls.sh(&attempt);
                assert_hidden(walls, &attempt, &ran.text);
            }
            walls.works("cp -r logs other && test ! -s other/deep/audit.jsonl");
            assert!(walls.tree.has("work/logs/deep/key"));
            walls.works("echo x > logs/deep/y && mv logs/deep/y logs/y && mv logs/y logs/deep/z && rm logs/deep/z");
        });
    }
}

#[test]
fn tools_cannot_read_list_or_move_audit_log() {
    let all = |_: &Tree| vec!["--tools".to_owned(), "all".to_owned()];
    inside(all, |walls| {
        let at = |path: &str| walls.tree.text(path);
        let (log, deep, work) = (at(LOG), at("work/logs/deep"), at("work"));
        let edit = json!([{"oldText": "seq", "newText": "x"}]);
        let refused: [(&str, Value); 13] = [
            ("read_file", json!({"path": log})),
            ("read_file", json!({"path": at("work/logs/deep/key")})),
            ("get_file_info", json!({"path": log})),
            ("write_file", json!({"path": log, "content": ""})),
            ("edit_file", json!({"path": log, "edits": edit})),
            ("delete_file", json!({"path": log})),
            ("delete_file", json!({"path": at("work/logs")})),
            (
                "move_file",
                json!({"source": log, "destination": at("work/mine")}),
            ),
            (
                "move_file",
                json!({"source": at("work/logs"), "destination": at("work/mine")}),
            ),
            (
                "move_file",
                json!({"source": at("work/ok.txt"), "destination": log}),
            ),
            ("create_directory", json!({"path": format!("{log}/sub")})),
            ("list_directory", json!({"path": log})),
            ("search_files", json!({"path": log, "pattern": "prev"})),
        ];
        for (tool, arguments) in refused {
            let reply = walls.server.call(tool, arguments.clone());
            assert_eq!(
                reply.code(),
                -32001,
                "{:?}: {tool} {arguments}: {}",
                walls.setting,
                reply.whole()
            );
            assert_hidden(walls, tool, &reply.whole());
        }
        for (tool, arguments) in [
            ("list_directory", json!({"path": deep})),
            ("directory_tree", json!({"path": work})),
            (
                "search_files",
                json!({"path": work, "pattern": "[0-9a-f]{32}"}),
            ),
            ("grep_files", json!({"path": work, "pattern": "start|call"})),
            ("glob_search", json!({"path": work, "pattern": "**/*"})),
        ] {
            let reply = walls.server.call(tool, arguments.clone());
            let whole = reply.whole();
            assert!(
                !whole.contains("audit.jsonl") && !whole.contains("key"),
                "{:?}: {tool}: {whole}",
                walls.setting
            );
            assert_hidden(walls, tool, &whole);
        }
    });
}

#[test]
fn every_command_tool_hides_audit_log() {
    let all = |_: &Tree| vec!["--tools".to_owned(), "all".to_owned()];
    inside(all, |walls| {
        let (log, work) = (walls.tree.text(LOG), walls.tree.text("work"));
        let command = |name: &str| format!("cat {log} logs/deep/key; echo ran > {work}/{name}");
        let code = format!(
            "open('{work}/python', 'w').close()\nfor f in ['{log}', '{work}/logs/deep/key']:\n try: print(open(f).read())\n \
             except OSError as e: print(e.errno)"
        );
        let calls = [
            ("python", "run_python_code", json!({"code": code})),
            (
                "record",
                "keploy_mock_record",
                json!({"command": command("record")}),
            ),
            (
                "tests",
                "run_tests",
                json!({"command": command("tests"), "report": "r.xml", "cwd": work}),
            ),
            (
                "background",
                "execute_command",
                json!({"command": command("background"), "background": true}),
            ),
        ];
        for (name, tool, arguments) in calls {
            let reply = walls.server.call(tool, arguments);
            assert_hidden(walls, tool, &reply.whole());
            let until = Instant::now() + DEADLINE;
            while !walls.tree.has(&format!("work/{name}")) {
                assert!(
                    Instant::now() < until,
                    "{:?}: {name} did not run: {}",
                    walls.setting,
                    reply.whole()
                );
                walls.server.settle();
            }
        }
    });
}

#[test]
fn parents_of_audit_log_cannot_be_moved() {
    inside(
        |_| Vec::new(),
        |walls| {
            let pushing = "while [ ! -e stop ]; do mv logs x; mv x logs; mv logs/deep logs/y; mv logs/y logs/deep; done";
            walls
                .try_run(json!({"command": pushing, "background": true}))
                .result();
            for round in 0..20 {
                let path = walls.tree.text(&format!("work/{round}"));
                let reply = walls
                    .server
                    .call("write_file", json!({"path": path, "content": "x"}));
                assert_eq!(reply.failure(), None, "{:?}", walls.setting);
            }
            walls.works(": > stop");
        },
    );
}

#[test]
fn server_refuses_audit_log_it_cannot_hide() {
    everywhere(|setting| {
        if setting.tier != Tier::Landlock {
            return;
        }
        let tree = tree(setting);
        let all = |more: &[&'static str]| {
            flags(&tree, more)
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        let start = |more: &[&'static str]| {
            let all = all(more);
            start_server(
                &tree,
                setting,
                &all.iter().map(String::as_str).collect::<Vec<_>>(),
                &[],
            )
        };
        let mut server = start(&[]);
        assert_eq!(server.wait_exit().code(), Some(2));
        let said = server.stderr();
        let reason = "hiding it from commands needs the namespaces tier, and --sandbox landlock \
            selects another tier";
        assert!(
            said.contains(reason) && said.contains("--tools files"),
            "{said}"
        );
        let mut server = start(&["--tools", "files"]).opened(crate::schema::NEWEST_HANDSHAKE);
        assert_eq!(
            server
                .call("read_file", json!({"path": tree.text(LOG)}))
                .code(),
            -32001
        );
    });
}

#[test]
fn call_of_killed_server_is_logged() {
    everywhere(|setting| {
        let tree = super::Tree::new();
        tree.file("work/ok.txt", "fine\n")
            .dir("docs")
            .dir("tmp")
            .dir("outside")
            .dir("logs");
        if let Some(owner) = setting.owner {
            give(tree.root(), owner);
        }
        let log = tree.text("logs/audit.jsonl");
        let mut walls = Walls::on(tree, setting, &["--audit", &log], &[]);
        walls.sh("exit 3");
        walls.server.send(
            "tools/call",
            json!({"name": "execute_command", "arguments": {"command": "exec sleep 1000"}}),
        );
        let until = Instant::now() + DEADLINE;
        while !walls.tree.read("logs/audit.jsonl").contains("sleep 1000") {
            assert!(Instant::now() < until, "the call never began");
            walls.server.settle();
        }
        kill_process(walls.server.pid(), Signal::KILL).unwrap();
        walls.server.wait_exit();
        let (status, said) = audit::audit(&walls.tree, &["verify", "logs/audit.jsonl"]);
        assert!(
            status == 0 && said.contains("1 call in 4 lines") && said.contains("1 call has no end"),
            "{said}"
        );
        let (_, shown) = audit::audit(
            &walls.tree,
            &["show", "logs/audit.jsonl", "--outcome", "unended"],
        );
        assert!(
            shown.lines().count() == 1 && shown.contains("exec sleep 1000"),
            "{shown}"
        );
        let (_, shown) = audit::audit(
            &walls.tree,
            &["show", "logs/audit.jsonl", "--outcome", "failed"],
        );
        assert!(shown.contains("[exit code 3] run "), "{shown}");
        assert_eq!(
            audit::audit(&walls.tree, &["show", "logs/audit.jsonl", "--tool", "none"]),
            (0, "no call matches\n".to_owned())
        );
    });
}
