//! Undo of changes by commands, in both tiers. Commands run on the tree itself; their supervisor
//! records each change before it happens.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use pretty_assertions::assert_eq;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::calls;
use crate::harness::{DEADLINE, Server};
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

pub(super) const TIERS: [&str; 2] = ["namespaces", "landlock"];

pub(super) fn start(tree: &Tree, tier: &str) -> Server {
    let allowed = format!("{}:rw", tree.text("work"));
    let tools = "files,command,python";
    Server::open(
        tree,
        NEWEST_HANDSHAKE,
        &["--allow", &allowed, "--tools", tools, "--sandbox", tier],
    )
}

/// Runs a command and returns the changes in its reply.
pub(super) fn run(server: &mut Server, line: &str) -> Option<Value> {
    let reply = server.call("execute_command", json!({"command": line}));
    reply.result()["structuredContent"].get("changed").cloned()
}

/// State of an entry that undo restores: mode, owner, modification time (except of directories),
/// content or target, and the other names of the inode.
pub(super) type EntryState = (u32, (u32, u32), Option<(i64, i64)>, Vec<u8>, Vec<PathBuf>);

pub(super) fn snapshot(root: &Path) -> BTreeMap<PathBuf, EntryState> {
    let mut names: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
    let mut found = BTreeMap::new();
    let entries = walkdir::WalkDir::new(root).sort_by_file_name().into_iter();
    // Undo does not remove git objects.
    for entry in entries.filter_entry(|entry| entry.file_name() != "objects") {
        let path = entry.unwrap().into_path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = match (metadata.is_symlink(), metadata.is_file()) {
            (true, _) => fs::read_link(&path)
                .unwrap()
                .into_os_string()
                .into_encoded_bytes(),
            (_, true) => fs::read(&path).unwrap(),
            _ => Vec::new(),
        };
        let time = (!metadata.is_dir()).then(|| (metadata.mtime(), metadata.mtime_nsec()));
        let name = path.strip_prefix(root).unwrap().to_owned();
        if !metadata.is_dir() {
            names.entry(metadata.ino()).or_default().push(name.clone());
        }
        found.insert(
            name,
            (
                metadata.ino(),
                (
                    metadata.mode(),
                    (metadata.uid(), metadata.gid()),
                    time,
                    content,
                ),
            ),
        );
    }
    let with_names = |(name, (inode, (mode, owner, time, content)))| {
        (
            name,
            (
                mode,
                owner,
                time,
                content,
                names.get(&inode).cloned().unwrap_or_default(),
            ),
        )
    };
    found.into_iter().map(with_names).collect()
}

fn make_tree() -> Tree {
    let tree = Tree::new();
    for file in ["a", "b", "c", "d/e", "d/f", "d/g/h", "y/z"] {
        tree.file(
            format!("work/{file}"),
            format!("{file}\n{}", "x".repeat(50)),
        );
    }
    tree.hard_link("work/a", "work/x").link("d/e", "work/l");
    tree
}

#[test]
fn reply_lists_changes_and_undo_call() {
    for tier in TIERS {
        let tree = make_tree();
        let mut server = start(&tree, tier);
        let before = snapshot(&tree.path("work"));
        let mut told = |line: &str| {
            let reply = server.call("execute_command", json!({"command": line}));
            reply.result()["content"][0]["text"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(
            told("cat a >/dev/null"),
            "(no output)\n[exit code: 0]",
            "{tier}"
        );
        assert_eq!(
            told("echo more >>b; rm c; mkdir new; touch new/file"),
            "(no output)\n[changed: edited b, deleted c, created new: undo with call 1]\n[exit code: 0]",
            "{tier}"
        );
        assert_eq!(
            told("for i in 1 2 3 4; do echo $i >$i; done; chmod 600 b; mv d/g y; exit 3"),
            "(no output)\n[changed: created 1, created 2, created 3, created 4, touched b, moved d/g to y/g: undo with call 2]\n[exit code: 3]",
            "{tier}"
        );
        let changed = run(&mut server, "rm -r d").unwrap();
        assert_eq!(changed, json!({"call": 3, "deleted": 3}), "{tier}");
        server.call("undo_changes", json!({"since": 1})).texts();
        assert_eq!(snapshot(&tree.path("work")), before, "{tier}");
        assert_eq!(
            calls(&mut server)[3].1,
            "execute_command: echo more >>b; rm c; mkdir new; touch new/file: edited b, deleted c, created new",
            "{tier}"
        );
    }
}

#[test]
fn file_in_recreated_directory_is_not_reported_emptied() {
    for (line, told) in [
        ("rm -r d; mkdir d; echo anew >d/e", "edited d/e"),
        ("mv y n; echo more >>n/z", "edited n/z"),
    ] {
        let tree = make_tree();
        let mut server = start(&tree, TIERS[0]);
        run(&mut server, line).unwrap();
        let text = server.call("list_changes", json!({"call": 1})).text();
        assert!(
            text.contains(&format!(
                "\n{told}\n[no diff: the old content was not kept for undo, or the file changed \
                 since]"
            )),
            "{text}"
        );
    }
}

#[test]
fn files_of_recreated_directory_are_listed() {
    for tier in TIERS {
        let tree = make_tree();
        let mut server = start(&tree, tier);
        let before = snapshot(&tree.path("work"));
        let mut told = |line: &str| {
            let reply = server.call("execute_command", json!({"command": line}));
            let text = reply.result()["content"][0]["text"]
                .as_str()
                .unwrap()
                .to_owned();
            let call = reply.result()["structuredContent"]["changed"]["call"].clone();
            let undone = server.call("undo_changes", json!({"calls": [call]})).text();
            assert_eq!(
                snapshot(&tree.path("work")),
                before,
                "{tier}: {line}: {undone}"
            );
            text.split_once("[changed: ")
                .unwrap()
                .1
                .split_once(": undo")
                .unwrap()
                .0
                .to_owned()
        };
        assert_eq!(
            told("rm -rf y; mkdir y; echo >y/z"),
            "touched y, edited y/z",
            "{tier}"
        );
        assert_eq!(
            told("rm -rf d/g; mkdir d/g; echo >d/g/i"),
            "touched d/g, deleted d/g/h, created d/g/i",
            "{tier}"
        );
        assert_eq!(
            told("rm -rf y; mkdir y y/z"),
            "touched y, edited y/z",
            "{tier}"
        );
        assert_eq!(told("rm -rf y; echo >y"), "edited y, deleted y/z", "{tier}");
        assert_eq!(
            told("mv y o; mkdir y; mv o/z y; rmdir o"),
            "touched y",
            "{tier}"
        );
        assert_eq!(
            told("rm -rf d; mkdir -p d/g/j; echo >d/g/j/k; echo >d/g/h"),
            "touched d, deleted d/e, deleted d/f, touched d/g, edited d/g/h, created d/g/j",
            "{tier}"
        );
        let call = run(&mut server, "rm -rf d; mkdir d; echo >d/new").unwrap()["call"].clone();
        server
            .call("undo_changes", json!({"calls": [call], "paths": ["d/new"]}))
            .texts();
        assert_eq!(
            snapshot(&tree.path("work")),
            before,
            "{tier}: it comes back whole"
        );
    }
}

#[test]
fn cells_and_background_commands_have_own_entries() {
    for tier in TIERS {
        let tree = make_tree();
        let mut server = start(&tree, tier);
        let before = snapshot(&tree.path("work"));
        for (code, told) in [
            (
                "open('a', 'a').write('more')",
                json!(["changed: edited a: undo with call 1"]),
            ),
            (
                "import os; os.remove('b')",
                json!(["changed: deleted b: undo with call 2"]),
            ),
            ("open('c').read()[0]", Value::Null),
        ] {
            let reply = server.call("run_python_code", json!({"code": code}));
            assert_eq!(
                reply.result()["structuredContent"]["notes"],
                told,
                "{tier}: {code}"
            );
        }
        server
            .call(
                "execute_command",
                json!({"command": "echo bg >bg", "background": true}),
            )
            .texts();
        let until = Instant::now() + DEADLINE;
        let end = loop {
            let text = server
                .call("follow_command", json!({"commandId": "c1"}))
                .text();
            if !text.contains("still running") {
                break text;
            }
            assert!(Instant::now() < until, "{text}");
        };
        assert!(
            end.contains("[changed: created bg: undo with call 3]"),
            "{tier}: {end}"
        );
        server
            .call("undo_changes", json!({"calls": [1, 2, 3]}))
            .texts();
        assert_eq!(snapshot(&tree.path("work")), before, "{tier}");
    }
}

#[test]
fn background_command_reports_all_changes_at_end() {
    for tier in TIERS {
        let tree = make_tree();
        let allowed = format!("{}:rw", tree.text("work"));
        let flags = [
            "--allow",
            &allowed,
            "--sandbox",
            tier,
            "--command-timeout-secs",
            "1",
        ];
        let mut server = Server::open(&tree, NEWEST_HANDSHAKE, &flags);
        let before = snapshot(&tree.path("work"));
        let line = "rm b; until [ -e go ]; do sleep 0.01; done; rm c";
        let handed = server
            .call("execute_command", json!({"command": line}))
            .text();
        assert!(handed.contains("commandId \"c1\""), "{tier}: {handed}");
        server
            .call(
                "write_file",
                json!({"path": tree.text("work/go"), "content": ""}),
            )
            .texts();
        let end = server
            .call_with_progress("follow_command", json!({"commandId": "c1", "waitSecs": 60}))
            .text();
        assert_eq!(
            end,
            "(no new output)\n[changed: deleted b, deleted c: undo with call 1]\n[exit code: 0]",
            "{tier}"
        );
        server
            .call("undo_changes", json!({"calls": [1, 2]}))
            .texts();
        assert_eq!(snapshot(&tree.path("work")), before, "{tier}");
    }
}

#[test]
fn test_run_reports_changes_of_its_commands() {
    let tree = make_tree();
    let allowed = format!("{}:rw", tree.text("work"));
    let tools = "files,command,tests";
    let mut server = Server::open(
        &tree,
        NEWEST_HANDSHAKE,
        &["--allow", &allowed, "--tools", tools],
    );
    let before = snapshot(&tree.path("work"));
    let report = r#"<testsuite><testcase name="adds"/></testsuite>"#;
    let command = format!("rm b; echo '{report}' >report.xml");
    let reply = server.call(
        "run_tests",
        json!({"command": command, "report": "report.xml"}),
    );
    let text = reply.text();
    assert!(
        text.contains("\n[changed: deleted b, created report.xml: undo with call 1]"),
        "{text}"
    );
    let changed = &reply.result()["structuredContent"]["changed"];
    assert_eq!(changed, &json!({"call": 1, "created": 1, "deleted": 1}));
    server.call("undo_changes", json!({"calls": [1]})).texts();
    assert_eq!(snapshot(&tree.path("work")), before);
}

#[test]
fn operator_can_undo_without_undo_tool() {
    let tree = make_tree();
    let allowed = format!("{}:rw", tree.text("work"));
    let mut server = Server::open(
        &tree,
        NEWEST_HANDSHAKE,
        &["--allow", &allowed, "--tools", "command"],
    );
    let text = server
        .call("execute_command", json!({"command": "rm b"}))
        .text();
    assert_eq!(
        text,
        "(no output)\n[changed: deleted b: the operator can undo call 1]\n[exit code: 0]"
    );
}

/// Stub of mypy that rejects its first arguments, so that it is called again.
const FAKE_MYPY: &str = r#"#!/bin/sh
case "$*" in
*--output=json*)
    rm b; echo 1 >new; echo 1 >passing; echo 1 >>a
    echo "unrecognized arguments: --output=json" >&2
    exit 2;;
*) rm passing; echo 2 >>a; echo 2 >>new; echo 2 >b; mv c d/c;;
esac
"#;

#[test]
fn call_with_several_commands_is_one_entry() {
    for tier in TIERS {
        let tree = make_tree();
        let python = "work/.venv/bin/python";
        tree.file("work/mypy.ini", "[mypy]\n")
            .file("work/m.py", "")
            .program(python, FAKE_MYPY);
        let allowed = format!("{}:rw", tree.text("work"));
        let more = [
            "--allow",
            &allowed,
            "--tools",
            "files,command,tests",
            "--sandbox",
            tier,
        ];
        let mut server = Server::open(&tree, NEWEST_HANDSHAKE, &more);
        let before = snapshot(&tree.path("work"));
        let reply = server.call("type_check", json!({"checker": "mypy"}));
        let text = reply.text();
        assert_eq!(text.matches("undo with call").count(), 1, "{tier}: {text}");
        let changed = &reply.result()["structuredContent"]["changed"];
        assert_eq!(
            changed,
            &json!({"call": 1, "edited": 2, "created": 1, "moved": 1}),
            "{tier}: {text}"
        );
        assert_eq!(
            calls(&mut server)
                .iter()
                .map(|(call, _)| *call)
                .collect::<Vec<_>>(),
            [1],
            "{tier}"
        );
        server.call("undo_changes", json!({"calls": [1]})).texts();
        assert_eq!(snapshot(&tree.path("work")), before, "{tier}");
    }
}

const COMMIT: &str = "git add -A . && git -c user.name=a -c user.email=b commit -qm x";

/// Pseudorandom number generator.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn name(&mut self) -> &'static str {
        const NAMES: [&str; 14] = [
            "a", "b", "c", "l", "d/e", "d/f", "d/g/h", "x", "y/z", "y", "d", "d/g", "new", "y/new",
        ];
        NAMES[self.throw(NAMES.len())]
    }

    /// Returns a random shell operation, which may fail.
    fn operation(&mut self) -> String {
        const PYTHON: &str = "import os, mmap, socket, ctypes; c = ctypes.CDLL(None)";
        let (one, other, number) = (self.name(), self.name(), self.throw(90) + 10);
        let python = |code: String| format!("python3 -c \"{PYTHON}\n{code}\"");
        match self.throw(36) {
            0 => format!("echo {number} >{one}"),
            1 => format!("echo {number} >>{one}"),
            2 => format!("rm -rf {one}"),
            3 => format!("mkdir -p {one}"),
            4 => format!("mv {one} {other}"),
            5 => format!("mv -fT {one} {other}"),
            6 => format!("cp -a {one} {other}"),
            7 => format!("ln {one} {other}"),
            8 => format!("ln -s {one} {other}"),
            9 => format!("chmod 7{:02} {one}", number % 8 * 10),
            10 => format!("chown {number} {one}"),
            11 => format!("touch -d 2001-01-{number:02} {one}"),
            12 => format!("truncate -s {number} {one}"),
            13 => format!("dd if=/dev/zero of={one} bs=1 count=5 seek=3 conv=notrunc"),
            14 => format!("mkfifo {one}"),
            15 => format!("rmdir {one}"),
            16 => format!("sed -i s/a/b/ {one}"),
            17 => format!("tar cf t.tar {one} {other} && tar xf t.tar -C y"),
            18 => format!("find d y -name '{}*' -delete", &one[..1]),
            19 => format!("( exec 9>>{one}; rm -f {other}; python3 -c 'import os; os.ftruncate(9, 1)' )"),
            20 => format!("( exec 8<{one}; rm -f {one}; echo {number} >/proc/self/fd/8 )"),
            21 => COMMIT.to_owned(),
            22 => "git checkout -q . ; echo 1 >d/e; git -c user.name=a -c user.email=b stash -q; git stash pop -q"
                .to_owned(),
            23 => python(format!("c.renameat2(-100, b'{one}', -100, b'{other}', 2)")),
            24 => python(format!(
                "fd = os.open('.', os.O_TMPFILE | os.O_RDWR); os.write(fd, b'{number}')\n\
                 c.linkat(-100, b'/proc/self/fd/%d' % fd, -100, b'{one}', 0x400)"
            )),
            25 => python(format!("m = mmap.mmap(os.open('{one}', os.O_RDWR), 0); m[0:1] = b'M'")),
            26 => python(format!("os.fchmod(os.open('{one}', os.O_RDONLY), 0o740)")),
            27 => python(format!("socket.socket(socket.AF_UNIX).bind('{one}')")),
            28 => python(format!("os.setxattr('{one}', 'user.k', b'{number}')")),
            29 => python(format!("os.removexattr('{one}', 'user.k')")),
            // As package managers do.
            31 => format!(
                "mkdir -p node_modules/.new node_modules/.bin; echo {number} >node_modules/.new/main.js; ln -sf ../p/main.js node_modules/.bin/p\n\
                 mv node_modules/p node_modules/.old; mv node_modules/.new node_modules/p; rm -rf node_modules/.old\n\
                 echo {number} >lock.tmp; cp -l {one} node_modules/p; mv lock.tmp lock.json"
            ),
            32 => format!(
                "git checkout -qB side HEAD~1; echo {number} >{one}; git add -A; {COMMIT}; git checkout -q master\n\
                 git -c user.name=a -c user.email=b rebase -q side || git rebase --abort"
            ),
            33 => format!("git clean -fdxq; git gc -q --prune=now; echo {number} >.gitignore"),
            34 => format!("cp -aT d {other}; mv -f --backup=numbered {one} {other}"),
            30 => python(format!(
                "a, b = os.open('{one}', os.O_RDONLY), os.open('{other}', os.O_WRONLY); os.copy_file_range(a, b, 20)"
            )),
            _ => format!(
                "python3 -c \"import sqlite3; d = sqlite3.connect('q.db'); d.execute('create table if not exists t(a)'); d.execute('insert into t values({number})'); d.commit()\""
            ),
        }
    }

    fn program(&mut self) -> String {
        let operations: Vec<String> = (0..=self.throw(7)).map(|_| self.operation()).collect();
        format!("exec 2>/dev/null\n{}\ntrue", operations.join("\n"))
    }
}

/// Runs `REPLAY_TEST_UNDO_ROUNDS` rounds in each tier, from the seed `REPLAY_TEST_UNDO_SEED` on.
#[test]
fn random_operations_are_undone() {
    let number = |name: &str, usual| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(usual)
    };
    let (rounds, seed) = (
        number("REPLAY_TEST_UNDO_ROUNDS", 25),
        number("REPLAY_TEST_UNDO_SEED", 1),
    );
    for tier in TIERS {
        let tree = make_tree();
        let root = tree.path("work");
        let mut server = start(&tree, tier);
        run(
            &mut server,
            &format!("git init -qb master . && {COMMIT} && echo 2 >d/f && {COMMIT}"),
        );
        let mut dice = Dice(seed);
        for round in 0..rounds {
            let before = snapshot(&root);
            let programs: Vec<String> = (0..=dice.throw(2)).map(|_| dice.program()).collect();
            let told =
                |step: &str| format!("{tier}, seed {seed}, round {round}, {step}: {programs:#?}");
            let mut calls = Vec::new();
            for program in &programs {
                if let Some(changed) = run(&mut server, program) {
                    assert_eq!(changed.get("lost"), None, "{}", told("kept"));
                    calls.extend(changed["call"].as_u64());
                }
            }
            let after = snapshot(&root);
            if calls.is_empty() {
                assert_eq!(after, before, "{}", told("nothing changed"));
                continue;
            }
            let mut undo = |arguments: Value| {
                let reply = server.call("undo_changes", arguments);
                reply.failure().map_or_else(
                    || Ok(reply.result()["structuredContent"]["call"].as_u64()),
                    Err,
                )
            };
            match dice.throw(4) {
                // A person changes files in between: the undo is refused, or it keeps their
                // changes.
                0 => {
                    let theirs = format!("a person's, in round {round}");
                    // Not to a FIFO without a reader.
                    let mut how = fs::OpenOptions::new();
                    how.write(true)
                        .create(true)
                        .truncate(true)
                        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
                    let written = how
                        .open(root.join(dice.name()))
                        .and_then(|mut file| file.write_all(theirs.as_bytes()));
                    if written.is_err() {
                        continue;
                    }
                    let edited = snapshot(&root);
                    let undone = undo(json!({"calls": calls}));
                    let now = snapshot(&root);
                    assert!(
                        now.values().any(|seen| seen.3 == theirs.as_bytes()),
                        "{}",
                        told("theirs")
                    );
                    if undone.is_err() {
                        assert_eq!(now, edited, "{}", told("refused"));
                    }
                    continue;
                }
                // Undoes a part first, which may be everything.
                1 => {
                    let part = undo(json!({"calls": calls, "paths": [dice.name()]}));
                    let rest = undo(json!({"calls": calls}));
                    assert_eq!(
                        snapshot(&root),
                        before,
                        "{}: {part:?}, {rest:?}",
                        told("undone in two parts")
                    );
                    continue;
                }
                _ => {}
            }
            let mut own = undo(json!({"calls": calls}));
            assert_eq!(snapshot(&root), before, "{}: {own:?}", told("undone"));
            for (step, wanted) in [("the undo undone", &after), ("undone again", &before)] {
                let Ok(Some(call)) = own else { break };
                own = undo(json!({"calls": [call]}));
                assert_eq!(&snapshot(&root), wanted, "{}: {own:?}", told(step));
            }
        }
    }
}

#[test]
fn changes_of_killed_command_are_undone() {
    for tier in TIERS {
        let tree = Tree::new();
        for file in 0..3000 {
            tree.file(format!("work/t/d{}/{file}", file % 10), file.to_string());
        }
        let root = tree.path("work");
        let before = snapshot(&root);
        let mut server = start(&tree, tier);
        server.send(
            "tools/call",
            json!({"name": "execute_command", "arguments": {"command": "rm -r t"}}),
        );
        let until = Instant::now() + DEADLINE;
        while fs::read_dir(tree.path("work/t/d0")).is_ok_and(|dir| dir.count() > 150) {
            assert!(Instant::now() < until, "{tier}: too little is deleted");
        }
        kill_process(server.pid(), Signal::KILL).unwrap();
        server.wait_exit();
        // The supervisor ends the command, then the entry.
        let mut server = start(&tree, tier);
        let told = loop {
            match calls(&mut server).pop() {
                Some((1, told)) if !told.contains("runs") => break told,
                _ => assert!(Instant::now() < until, "{tier}: the entry does not end"),
            }
        };
        assert!(
            told.starts_with("execute_command: rm -r t: "),
            "{tier}: {told}"
        );
        server.call("undo_changes", json!({"calls": [1]})).texts();
        assert_eq!(snapshot(&root), before, "{tier}");
    }
}

#[test]
fn unsandboxed_commands_are_not_undoable() {
    let tree = make_tree();
    let mut server = start(&tree, "off");
    assert_eq!(run(&mut server, "echo x >a"), None);
    assert_eq!(
        server.call("list_changes", json!({})).text(),
        "[no call has changed anything]"
    );
}
