//! The audit log is out of the agent's reach: every tool and the shell try, in every tier.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{Setting, Walls, everywhere, give, start_server};
use crate::audit;
use crate::tree::Tree;

mod inside;

/// Starts a server with a log and a key beside the allowed directories.
fn start(setting: Setting) -> Walls {
    let tree = Tree::new();
    tree.file("work/ok.txt", "fine\n")
        .file("docs/read.txt", "readme\n")
        .dir("tmp")
        .file("outside/x", "");
    tree.file("logs/key", "0123456789abcdef")
        .link(tree.path("logs"), "work/logs");
    super::fs::set_permissions(
        tree.path("logs/key"),
        super::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    if let Some(owner) = setting.owner {
        give(tree.root(), owner);
    }
    let (log, key) = (tree.text("logs/audit.jsonl"), tree.text("logs/key"));
    Walls::on(tree, setting, &["--audit", &log, "--audit-key", &key], &[])
}

#[test]
fn shell_reaches_neither_audit_log_nor_key() {
    everywhere(|setting| {
        let mut walls = start(setting);
        let at = |path: &str| walls.tree.text(path);
        let (log, key, logs, root) = (at("logs/audit.jsonl"), at("logs/key"), at("logs"), at(""));
        let attempts = [
            format!("cat {log}"),
            format!("cat {key}"),
            format!("cat {}", at("work/logs/key")),
            format!("echo x >> {log}"),
            format!(": > {log}"),
            format!("rm -f {log} && test ! -e {log} && false || cat {log}"),
            format!("mv {log} {log}.old"),
            format!("mv {logs} {root}elsewhere"),
            format!("ln {log} {}", at("work/name")),
            format!("ln {key} {}", at("work/key")),
            format!("cp {log} {}", at("work/copy")),
            format!("flock -n {log} true"),
            format!("ls {logs} | grep audit"),
            "for f in /proc/[0-9]*/fd/*; do test -f $f && cat $f; done | grep '\"prev\"'"
                .to_owned(),
            "grep -l audit.jsonl /proc/[0-9]*/cmdline | while read f; do cat ${f%cmdline}root"
                .to_owned()
                + &log
                + "; done | grep prev",
        ];
        let count = attempts.len();
        for attempt in attempts {
            walls.fails(&attempt);
        }
        let text = super::fs::read_to_string(walls.tree.path("logs/audit.jsonl")).unwrap();
        assert_eq!(text.lines().count(), 2 * count + 1, "{setting:?}");
        assert_eq!(
            super::fs::read_to_string(walls.tree.path("logs/key")).unwrap(),
            "0123456789abcdef"
        );
        walls.end();
        let lines = audit::without_begins(audit::lines(&walls.tree));
        let work = json!([{"path": walls.tree.text("work"), "access": "run"}]);
        assert!(
            lines[1..].iter().all(|line| line["paths"] == work),
            "{}",
            lines[1]
        );
        let (status, said) = audit::audit(
            &walls.tree,
            &["verify", "logs/audit.jsonl", "--key", "logs/key"],
        );
        assert!(status == 0, "{setting:?}: {said}");
    });
}

#[test]
fn file_tools_cannot_reach_audit_log() {
    everywhere(|setting| {
        let mut walls = start(setting);
        let at = |path: &str| walls.tree.text(path);
        let mut calls = Vec::new();
        for place in ["logs", "work/logs"] {
            let (log, dir) = (at(&format!("{place}/audit.jsonl")), at(place));
            let edit = json!([{"oldText": "seq", "newText": "x"}]);
            let attempts: [(&str, Value); 12] = [
                ("read_file", json!({"path": log})),
                ("read_multiple_files", json!({"paths": [log]})),
                ("get_file_info", json!({"path": log})),
                ("write_file", json!({"path": log, "content": ""})),
                ("edit_file", json!({"path": log, "edits": edit})),
                ("delete_file", json!({"path": log})),
                (
                    "move_file",
                    json!({"source": log, "destination": at("work/mine")}),
                ),
                (
                    "move_file",
                    json!({"source": at("work/ok.txt"), "destination": log}),
                ),
                ("list_directory", json!({"path": dir})),
                ("directory_tree", json!({"path": dir})),
                ("search_files", json!({"path": dir, "pattern": "prev"})),
                ("create_directory", json!({"path": format!("{dir}/sub")})),
            ];
            calls.extend(attempts);
        }
        for (tool, arguments) in &calls {
            let reply = walls.server.call(tool, arguments.clone()).whole();
            assert!(
                !reply.contains("prev") && !reply.contains("\"seq\\"),
                "{setting:?}: {tool}: {reply}"
            );
        }
        let lines = audit::without_begins(audit::lines(&walls.tree));
        assert_eq!(lines.len(), calls.len() + 1);
        for (line, (tool, arguments)) in lines[1..].iter().zip(&calls) {
            let denied = line["paths"]
                .as_array()
                .unwrap()
                .iter()
                .any(|path| path["access"] == "denied");
            assert!(denied, "{setting:?}: {tool} {arguments}: {line}");
        }
        assert!(
            walls.tree.path("work/ok.txt").exists() && walls.tree.path("work/logs").is_symlink()
        );
        walls.end();
        assert_eq!(
            audit::audit(
                &walls.tree,
                &["verify", "logs/audit.jsonl", "--key", "logs/key"]
            )
            .0,
            0
        );
    });
}
