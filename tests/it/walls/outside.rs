//! Autorun files, which programs outside the sandbox execute: changes are reported, and with
//! --freeze-autorun reverted.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{Setting, Tree, Walls, everywhere, give};
use crate::harness::Reply;

const TOOLS: [&str; 2] = ["--tools", "files,command,python"];
const CHANGE_NOTE: &str = "[this changed what runs outside the walls: ";
const REVERT_NOTE: &str =
    "[put back, since it changed what runs outside the walls (--freeze-autorun): ";

/// Returns the contents of the lines in a reply with this beginning.
#[track_caller]
fn reply_lines(reply: &Reply, begins: &str) -> Vec<String> {
    let texts = reply.all_texts();
    let lines = texts.iter().flat_map(|text| text.lines());
    lines
        .filter_map(|line| Some(line.strip_prefix(begins)?.strip_suffix(']')?.to_owned()))
        .collect()
}

fn shell_call(command: &str) -> (&'static str, Value) {
    ("execute_command", json!({"command": command}))
}

fn walls(setting: Setting, flags: &[&str]) -> Walls {
    let tree = Tree::new();
    tree.file("docs/read.txt", "readme\n")
        .dir("tmp")
        .file("outside/secret", "x")
        .dir("work/sub");
    tree.file("work/package.json", r#"{"scripts": {"test": "x"}}"#)
        .file("work/old/.husky/pre-commit", "old\n");
    tree.file(
        "work/old/package.json",
        r#"{"scripts": {"prepare": "husky"}}"#,
    )
    .file("work/old/.envrc", "old\n");
    tree.file("work/g/.git/config", "[core]\nhooksPath = ../shared\n")
        .file("work/shared/pre-push", "old\n");
    if let Some(owner) = setting.owner {
        give(tree.root(), owner);
        give(tree.state(), owner);
    }
    Walls::on(tree, setting, &[&TOOLS, flags].concat(), &[])
}

#[test]
fn only_autorun_file_changes_are_reported() {
    everywhere(|setting: Setting| {
        let mut walls = walls(setting, &[]);
        let edits = |old: &str, new: &str| json!([{"oldText": old, "newText": new}]);
        let steps: Vec<((&str, Value), &[&str])> = vec![
            (shell_call("echo a > sub/.envrc"), &["sub/.envrc (direnv)"]),
            (shell_call("echo a > sub/.envrc"), &[]),
            (shell_call("echo b > sub/.envrc; echo a > sub/.envrc"), &[]),
            (
                (
                    "write_file",
                    json!({"path": "sub/.envrc", "content": "a\n"}),
                ),
                &[],
            ),
            (
                (
                    "write_file",
                    json!({"path": "sub/.envrc", "content": "b\n"}),
                ),
                &["sub/.envrc (direnv)"],
            ),
            (
                (
                    "edit_file",
                    json!({"path": "sub/.envrc", "edits": edits("b", "c")}),
                ),
                &["sub/.envrc (direnv)"],
            ),
            (
                (
                    "edit_files",
                    json!({"paths": ["sub/.envrc"], "edits": edits("c", "d")}),
                ),
                &["sub/.envrc (direnv)"],
            ),
            (
                (
                    "run_python_code",
                    json!({"code": "open('sub/.envrc', 'w').write('e')"}),
                ),
                &["sub/.envrc (direnv)"],
            ),
            (
                shell_call("rm sub/.envrc"),
                &["sub/.envrc (direnv removed)"],
            ),
            (
                (
                    "write_file",
                    json!({"path": "Makefile", "content": "all:\n\tevil\n"}),
                ),
                &[],
            ),
            // Only the install scripts of a package count.
            (
                (
                    "edit_file",
                    json!({"path": "package.json", "edits": edits(r#""x""#, r#""y", "lint": "z""#)}),
                ),
                &[],
            ),
            (
                (
                    "edit_file",
                    json!({"path": "package.json", "edits": edits("lint", "postinstall")}),
                ),
                &["package.json (scripts.postinstall)"],
            ),
            (
                shell_call("mkdir -p node_modules/a; cp package.json node_modules/a"),
                &[],
            ),
            // A new repository, created as a whole and in parts.
            (shell_call("git init -q new"), &[]),
            (
                shell_call(
                    "cd new; git config alias.co checkout; git config core.fsmonitor ./x; git config alias.x '!x'",
                ),
                &["new/.git/config (alias.co, alias.x, core.fsmonitor)"],
            ),
            (shell_call("cd new; git config user.name a"), &[]),
            (shell_call("echo x > new/.git/hooks/pre-commit"), &[]),
            (
                shell_call("chmod +x new/.git/hooks/pre-commit"),
                &["new/.git/hooks/pre-commit (hook)"],
            ),
            (
                shell_call("cd new; mkdir tools; cp .git/hooks/pre-commit tools/pre-push"),
                &[],
            ),
            (
                shell_call("cd new; git config core.hooksPath tools"),
                &["new/.git/config (core.hooksPath)"],
            ),
            (
                shell_call("cd new; echo y >> tools/pre-push"),
                &["new/tools/pre-push (hook)"],
            ),
            // Beside the repository that names it.
            (
                shell_call(
                    "chmod +x shared/pre-push; mkdir shared/d; cp -p shared/pre-push shared/d",
                ),
                &["shared/d/pre-push (hook), shared/pre-push (hook)"],
            ),
            (
                shell_call("cd new; mkdir lib; echo y > lib/x; chmod +x lib/x"),
                &[],
            ),
            (
                shell_call("git init -q --bare bare; git -C bare config diff.x.textconv y"),
                &["bare/config (diff.x.textconv)"],
            ),
            // Through a directory's name, and through a symlink in its place.
            (shell_call("mkdir staged; echo {} > staged/tasks.json"), &[]),
            (
                shell_call("mv staged sub/.vscode"),
                &["sub/.vscode/tasks.json (VS Code)"],
            ),
            (shell_call("mv sub sub2"), &[]),
            (
                (
                    "move_file",
                    json!({"source": "sub2/.vscode", "destination": "plain"}),
                ),
                &["sub2/.vscode/tasks.json (VS Code removed)"],
            ),
            (
                shell_call("ln -s ../plain sub2/.vscode"),
                &["sub2/.vscode (VS Code, a link)"],
            ),
            // A hard link would hide a change: of a new file, of an existing one, and from and into
            // a new directory.
            (
                shell_call("mkdir h; echo {} > h/package.json; ln h/package.json h/p"),
                &["h/package.json (npm, hard-linked)"],
            ),
            (
                shell_call("ln h/package.json h/q"),
                &["h/package.json (npm, hard-linked)"],
            ),
            (
                shell_call("echo '{\"b\": 1}' > h/q"),
                &["h/package.json (npm, hard-linked)"],
            ),
            (
                shell_call("mkdir i; ln h/package.json i/p"),
                &["h/package.json (npm, hard-linked)"],
            ),
            (
                shell_call("echo '{\"a\": 1}' > h/package.json; rm i/p"),
                &[],
            ),
            (
                shell_call("mkdir j; mv h/q j/package.json"),
                &["j/package.json (npm, hard-linked)"],
            ),
            (
                shell_call("rm h/package.json h/p; echo > new/x; ln new/x new/y"),
                &[],
            ),
            (
                shell_call("ln new/x new/.git/hooks/x"),
                &["new/.git/hooks/x (git, hard-linked)"],
            ),
            (
                shell_call("mkdir sub2/hooks; echo > sub2/hooks/x; chmod +x sub2/hooks/x"),
                &[],
            ),
            (
                shell_call("cd sub2; mkdir objects refs; echo ref: x > HEAD"),
                &["sub2/hooks/x (hook)"],
            ),
        ];
        for ((tool, arguments), expected) in steps {
            let reply = walls.server.call(tool, arguments.clone());
            assert_eq!(
                reply_lines(&reply, CHANGE_NOTE),
                expected,
                "{setting:?}: {tool} {arguments}: {}",
                reply.whole()
            );
        }
        walls.end();
    });
}

#[test]
fn background_change_is_reported_at_end() {
    everywhere(|setting: Setting| {
        let logs = tempfile::tempdir().unwrap();
        let log = logs.path().join("audit.jsonl");
        if let Some(owner) = setting.owner {
            give(logs.path(), owner);
        }
        let mut walls = walls(setting, &["--audit", log.to_str().unwrap()]);
        let arguments = json!({"command": "mkdir n; echo a > n/.envrc", "background": true});
        let id = walls.server.call("execute_command", arguments).result()["structuredContent"]["commandId"].clone();
        let reply = loop {
            let reply = walls
                .server
                .call("follow_command", json!({"commandId": id}));
            if reply.result()["structuredContent"]["running"] == false {
                break reply;
            }
        };
        assert_eq!(
            reply_lines(&reply, CHANGE_NOTE),
            ["n/.envrc (direnv)"],
            "{setting:?}"
        );
        let changed = &reply.result()["structuredContent"]["changed"];
        let path = &walls.tree.text("work/n/.envrc");
        assert_eq!(
            changed["outside"],
            json!({"changed": [{"path": path, "what": ["direnv"]}]}),
            "{setting:?}"
        );
        let again = walls
            .server
            .call("undo_changes", json!({"calls": [changed["call"]]}));
        let own = again.result()["structuredContent"]["call"].clone();
        let back = walls.server.call("undo_changes", json!({"calls": [own]}));
        assert_eq!(
            reply_lines(&back, CHANGE_NOTE),
            ["n/.envrc (direnv)"],
            "{setting:?}: {}",
            back.whole()
        );
        let lines = std::fs::read_to_string(&log).unwrap();
        let lines = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of_outside = lines.filter(|line| line["outside"] != Value::Null);
        let mut logged: Vec<_> = of_outside
            .map(|line| json!([line["event"], line["tool"], line["outside"]]))
            .collect();
        logged.sort_by_key(|line| line[0] != "background");
        // An undo that removes a whole directory does not report the files in it.
        let changed = json!({"changed": [{"path": path, "what": ["direnv"]}]});
        let expected = [
            json!(["background", null, changed]),
            json!(["call", "follow_command", changed]),
            json!(["call", "undo_changes", changed]),
        ];
        assert_eq!(logged, expected, "{setting:?}");
        walls.end();
    });
}

#[test]
fn frozen_autorun_files_stay_unchanged() {
    everywhere(|setting: Setting| {
        let mut walls = walls(setting, &["--freeze-autorun"]);
        let edits = json!([{"oldText": "old", "newText": "evil"}]);
        let husky = json!([{"oldText": "husky", "newText": "evil"}]);
        let refused: Vec<(&str, Value, &str)> = vec![
            (
                "write_file",
                json!({"path": "old/.envrc", "content": "evil\n"}),
                "direnv",
            ),
            (
                "edit_file",
                json!({"path": "old/.husky/pre-commit", "edits": edits}),
                "husky",
            ),
            (
                "edit_file",
                json!({"path": "old/package.json", "edits": husky}),
                "scripts.prepare",
            ),
            (
                "write_file",
                json!({"path": "sub/.envrc", "content": "evil\n"}),
                "direnv",
            ),
            (
                "write_file",
                json!({"path": "n/.git/modules/x/y", "content": "fine\n"}),
                "",
            ),
            (
                "delete_file",
                json!({"path": "old/.envrc"}),
                "direnv removed",
            ),
            ("delete_file", json!({"path": "old"}), "direnv removed"),
            (
                "move_file",
                json!({"source": "old/.envrc", "destination": "x"}),
                "direnv removed",
            ),
            (
                "move_file",
                json!({"source": "sub", "destination": ".husky"}),
                "",
            ),
            (
                "move_file",
                json!({"source": "package.json", "destination": ".husky/x"}),
                "husky",
            ),
        ];
        for (tool, arguments, what) in refused {
            let reply = walls.server.call(tool, arguments.clone());
            let said = reply
                .failure()
                .map(|failure| failure.message)
                .unwrap_or_default();
            let is_told = said.contains("--freeze-autorun")
                && said.contains("it would change what runs outside the walls");
            assert_eq!(
                is_told,
                !what.is_empty(),
                "{setting:?}: {tool} {arguments}: {said}"
            );
            assert!(
                said.contains(what),
                "{setting:?}: {tool} {arguments}: {said}"
            );
        }
        let fine = json!({"path": "package.json", "content": "{\"scripts\": {\"test\": \"y\"}}"});
        walls.server.call("write_file", fine).result();
        let steps: [(&str, &[&str]); 7] = [
            (
                "mkdir s; echo a > s/.envrc; echo b > s/fine",
                &["s/.envrc (direnv)"],
            ),
            ("echo b > fine", &[]),
            (
                "mkdir h; ln package.json h/p; ln package.json q",
                &["package.json (npm, hard-linked)"],
            ),
            (
                "printf '{\"scripts\": {\"install\": \"x\"}}' > package.json",
                &["package.json (scripts.install)"],
            ),
            (
                "git init -q new; git -C new config core.pager x",
                &["new/.git/config (core.pager)"],
            ),
            ("echo a > .husky/a", &[".husky/a (husky)"]),
            (
                "mkdir -p k/hooks k/objects k/refs; echo > k/hooks/x; chmod +x k/hooks/x",
                &["k/hooks/x (hook)"],
            ),
        ];
        for (command, expected) in steps {
            let reply = walls
                .server
                .call("execute_command", json!({"command": command}));
            assert_eq!(
                reply_lines(&reply, REVERT_NOTE),
                expected,
                "{setting:?}: {command}: {}",
                reply.whole()
            );
            assert_eq!(
                reply_lines(&reply, CHANGE_NOTE),
                [""; 0],
                "{setting:?}: {command}: {}",
                reply.whole()
            );
        }
        let left = ["s", "new", ".husky/a", "k", "h", "q"]
            .map(|path| walls.tree.has(&format!("work/{path}")));
        assert_eq!(left, [false; 6], "{setting:?}");
        assert_eq!(
            walls.tree.read("work/package.json"),
            "{\"scripts\": {\"test\": \"y\"}}",
            "{setting:?}"
        );
        // Existing files cannot be written to, or are restored.
        walls.sh("cd old; echo evil > .envrc; rm -f .husky/pre-commit; echo evil > p; mv -f p package.json; rm -f p");
        assert_eq!(walls.tree.read("work/old/.envrc"), "old\n", "{setting:?}");
        assert_eq!(
            walls.tree.read("work/old/package.json"),
            r#"{"scripts": {"prepare": "husky"}}"#,
            "{setting:?}"
        );
        assert_eq!(
            walls.tree.read("work/old/.husky/pre-commit"),
            "old\n",
            "{setting:?}"
        );
        // An undo does not restore the change either.
        let made = walls.server.call(
            "execute_command",
            json!({"command": "mkdir m; echo a > m/.envrc"}),
        );
        let call = made.result()["structuredContent"]["changed"]["call"]
            .as_u64()
            .unwrap();
        let again = walls
            .server
            .call("undo_changes", json!({"calls": [call + 1]}));
        assert_eq!(
            reply_lines(&again, REVERT_NOTE),
            ["m/.envrc (direnv)"],
            "{setting:?}: {}",
            again.whole()
        );
        assert!(!walls.tree.has("work/m"), "{setting:?}");
        walls.end();
    });
}

#[test]
fn background_change_of_frozen_file_is_reverted() {
    everywhere(|setting: Setting| {
        let mut walls = walls(setting, &["--freeze-autorun"]);
        let arguments = json!({"command": "echo a > sub/.envrc; echo > done", "background": true});
        let id = walls.server.call("execute_command", arguments).result()["structuredContent"]["commandId"].clone();
        let until = std::time::Instant::now() + crate::harness::DEADLINE;
        while !walls.tree.has("work/done") || walls.tree.has("work/sub/.envrc") {
            assert!(std::time::Instant::now() < until, "{setting:?}");
            std::thread::yield_now();
        }
        let reply = walls
            .server
            .call("follow_command", json!({"commandId": id}));
        assert_eq!(
            reply_lines(&reply, REVERT_NOTE),
            ["sub/.envrc (direnv)"],
            "{setting:?}: {}",
            reply.whole()
        );
        walls.end();
    });
}
