//! Protected paths (`--protect`), against cooperating commands and a killed server.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use pretty_assertions::assert_eq;
use replay_sandbox::Tier;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Setting, Tree, Walls, everywhere, give, installed, launcher};
use crate::harness::{DEADLINE, ends_within};

const CONTENT: &str = "good\n";

/// Runs a test with two protected paths: `work/a/keys`, which exists, and `work/new`, which does
/// not. Only namespaces enforce this.
fn with_keys(test: impl Fn(&mut Walls)) {
    everywhere(|setting: Setting| {
        if setting.tier != Tier::Namespaces {
            return;
        }
        let tree = Tree::new();
        tree.file("work/a/keys", CONTENT)
            .file("docs/read.txt", "readme\n")
            .dir("tmp")
            .file("outside/secret", "x");
        if let Some(owner) = setting.owner {
            give(tree.root(), owner);
        }
        let [keys, new] = ["work/a/keys", "work/new"].map(|path| tree.text(path));
        let mut walls = Walls::on(tree, setting, &["--protect", &keys, "--protect", &new], &[]);
        test(&mut walls);
        assert_eq!(
            fs::read_to_string(walls.tree.path("work/a/keys")).unwrap(),
            CONTENT,
            "{setting:?}"
        );
        assert!(!walls.tree.has("work/new"), "{setting:?}");
    });
}

/// Starts a background command and returns its id.
fn start(walls: &mut Walls, command: &str) -> Value {
    let reply = walls.try_run(json!({"command": command, "background": true}));
    reply.result()["structuredContent"]["commandId"].clone()
}

/// Waits until a background command has ended, and returns the reply.
fn await_end(walls: &mut Walls, id: &Value) -> String {
    let until = Instant::now() + DEADLINE;
    loop {
        assert!(Instant::now() < until, "{id} never ended");
        let reply = walls
            .server
            .call("follow_command", json!({"commandId": id, "waitSecs": 1}));
        if reply.result()["structuredContent"]["running"] == false {
            return reply.all_texts().join("\n");
        }
    }
}

/// Runs a test with the tree that `lay` makes in `work` and the default protected paths. Only
/// namespaces enforce this.
fn with_tree(lay: impl Fn(&Tree), test: impl Fn(&mut Walls)) {
    everywhere(|setting: Setting| {
        if setting.tier != Tier::Namespaces {
            return;
        }
        let tree = Tree::new();
        tree.dir("work/.git")
            .file("docs/read.txt", "readme\n")
            .dir("tmp")
            .file("outside/secret", "x");
        lay(&tree);
        if let Some(owner) = setting.owner {
            give(tree.root(), owner);
        }
        let mut walls = Walls::on(tree, setting, &[], &[]);
        test(&mut walls);
        walls.end();
    });
}

/// Waits until a command has created this file.
fn await_file(walls: &mut Walls, name: &str) {
    let until = Instant::now() + DEADLINE;
    while !walls.tree.has(name) {
        assert!(Instant::now() < until, "{name} never came");
        walls.server.settle();
    }
}

/// Waits until this file has been set aside.
fn await_none(walls: &mut Walls, name: &str) {
    let until = Instant::now() + DEADLINE;
    while walls.tree.has(name) {
        assert!(Instant::now() < until, "{name} is still there");
        walls.server.settle();
    }
}

#[test]
fn refused_change_of_protected_path_is_reported() {
    with_keys(|walls| {
        // Refused changes are seen only by a supervisor that records undo, which another user
        // cannot do here.
        if !walls.setting.root() {
            return;
        }
        let note = format!(
            "[commands cannot change `{}`: the path is protected",
            walls.tree.text("work/a/keys")
        );
        for command in [
            "echo x > a/keys",
            "echo x > a/keys; true",
            "rm a/keys",
            "echo x > new2; mv -f new2 a/keys",
            "chmod 600 a/keys",
        ] {
            let ran = walls.sh(command);
            assert_eq!(
                ran.text.matches(&note).count(),
                1,
                "{:?}: {command}: {ran:?}",
                walls.setting
            );
        }
        let ran = walls.sh("mkdir -p a; echo x > x; rm x; cat a/keys > /dev/null; false");
        assert!(
            !ran.text.contains("cannot change"),
            "{:?}: {ran:?}",
            walls.setting
        );
        walls.end();
    });
    with_tree(
        |tree| {
            tree.file("work/.git/hooks/old", "");
        },
        |walls| {
            if !walls.setting.root() {
                return;
            }
            let hook = walls.tree.text("work/.git/hooks/pre-commit");
            let ran = walls.sh("echo x > .git/hooks/pre-commit");
            assert!(
                ran.text.contains(&format!("cannot change `{hook}`")),
                "{:?}: {ran:?}",
                walls.setting
            );
        },
    );
}

#[test]
fn parent_of_protected_path_cannot_be_moved() {
    with_keys(|walls| {
        walls.fails("mv a b");
        walls.fails("mkdir b && mv -T b a");
        walls.sh("mv a b; ln -s b a; rm -rf a/keys b/keys; echo evil > a/keys");
        walls.sh("echo evil > b/keys; mv b a; rm -rf a");
        // Entries beside it stay writable, also with moves across the directory's border.
        walls.works("echo x > a/x && mv a/x x && mv x a/y && rm a/y");
        walls.end();
    });
}

#[test]
fn file_at_protected_path_cannot_pass_between_commands() {
    with_keys(|walls| {
        // Renamed while the first command ends, restored before the second ends.
        start(
            walls,
            "echo evil > new; : > made; until [ -e go ]; do sleep 0.01; done; mv new hidden; : > gone",
        );
        await_file(walls, "work/made");
        walls.sh(": > go; until [ -e gone ]; do sleep 0.01; done; mv hidden new");
        await_none(walls, "work/new");
        // Through a hard link.
        walls.sh("rm -f go gone made");
        start(
            walls,
            "echo evil > new; ln new twin; : > made; until [ -e go ]; do sleep 0.01; done; rm new; : > gone",
        );
        await_file(walls, "work/made");
        walls.sh(": > go; until [ -e gone ]; do sleep 0.01; done; sleep 0.2; mv twin new");
        await_none(walls, "work/new");
        walls.end();
    });
}

#[test]
fn new_protected_file_is_set_aside_despite_obstacles() {
    with_keys(|walls| {
        walls.sh("echo evil > new; echo x > new.set-aside; for i in $(seq 1 1001); do : > new.set-aside-$i; done");
        await_none(walls, "work/new");
        walls.sh("echo evil > new; chmod 555 .");
        await_none(walls, "work/new");
        walls.sh("chmod 755 .");
        walls.end();
    });
}

#[test]
fn protected_link_and_its_target_stay() {
    let lay = |tree: &Tree| {
        tree.file("work/githooks/pre-commit", CONTENT)
            .link("../githooks", "work/.git/hooks");
        tree.file("work/shared/x.json", CONTENT)
            .link("shared/x.json", "work/.mcp.json");
    };
    with_tree(lay, |walls| {
        // ext4 reuses the inode number of a removed file for the next one.
        walls.sh("rm .git/hooks; mkdir .git/hooks; echo evil > .git/hooks/pre-commit");
        walls.sh("rm .mcp.json; echo evil > .mcp.json");
        walls.sh("ln -sfn ../evil .git/hooks; mv .mcp.json x; mkdir evil; cp .git/hooks/* evil");
        walls.sh("echo evil > githooks/pre-commit; rm -rf githooks; mv shared y; mv shared/x.json z; echo evil > shared/x.json");
        let led = ["work/.git/hooks", "work/.mcp.json"]
            .map(|link| fs::read_link(walls.tree.path(link)).unwrap());
        assert_eq!(
            led.map(|to| to.to_str().unwrap().to_owned()),
            ["../githooks", "shared/x.json"]
        );
        let read = ["work/.git/hooks/pre-commit", "work/.mcp.json"]
            .map(|path| fs::read_to_string(walls.tree.path(path)));
        assert_eq!(read.map(Result::unwrap), [CONTENT; 2]);
    });
}

#[test]
fn later_link_target_is_protected_for_next_command() {
    with_tree(
        |tree: &Tree| _ = tree.file("work/later/pre-commit", CONTENT),
        |walls| {
            walls.works("true");
            walls
                .tree
                .link("../later", "work/.git/hooks")
                .link("made.json", "work/.mcp.json");
            walls.fails("echo evil > later/pre-commit");
            walls.fails("rm -rf later");
            walls.fails("ln -sfn ../evil .git/hooks");
            // The target does not exist yet: the file created there is moved, not the link.
            let said = walls.sh("echo evil > made.json").text;
            assert!(
                said.contains(
                    ".mcp.json` is protected: the file or directory that the command created \
                     there was renamed"
                ),
                "{said}"
            );
            assert!(!walls.tree.has("work/made.json"));
            assert_eq!(
                fs::read_link(walls.tree.path("work/.mcp.json"))
                    .unwrap()
                    .to_str(),
                Some("made.json")
            );
            assert_eq!(
                fs::read_to_string(walls.tree.path("work/.git/hooks/pre-commit")).unwrap(),
                CONTENT
            );
        },
    );
}

#[test]
fn link_in_protected_path_cannot_be_redirected() {
    with_tree(
        |tree: &Tree| {
            _ = tree
                .file("work/mine/settings.json", CONTENT)
                .link("mine", "work/.claude");
        },
        |walls| {
            for (link, name) in [(".vscode", "tasks.json"), (".gemini", "settings.json")] {
                let said = walls
                    .sh(&format!("mkdir {link}.evil; ln -s {link}.evil {link}"))
                    .text;
                assert!(
                    said.contains(
                        "is protected: the file or directory that the command created \
                        there was renamed"
                    ),
                    "{said}"
                );
                let at = walls.tree.text(&format!("work/{link}.evil/{name}"));
                walls
                    .server
                    .call("write_file", json!({"path": at, "content": "evil\n"}))
                    .result();
                assert!(!walls.tree.has(&format!("work/{link}/{name}")), "{link}");
            }
            // A link that existed at the start stays unchanged.
            walls.fails("rm .claude || ln -sfn .vscode.evil .claude || mv .claude away");
            assert_eq!(
                fs::read_to_string(walls.tree.path("work/.claude/settings.json")).unwrap(),
                CONTENT
            );
        },
    );
}

#[test]
fn reused_inode_number_is_another_file() {
    with_tree(
        |tree: &Tree| _ = tree.file("work/.mcp.json", CONTENT),
        |walls| {
            let number = fs::metadata(walls.tree.path("work/.mcp.json"))
                .unwrap()
                .ino();
            let command = format!(
                ": > begun; while [ -e .mcp.json ]; do sleep 0.01; done; for i in $(seq 300); do echo evil > x$i; \
                 [ $(stat -c %i x$i) = {number} ] && break; done; mv x$i .mcp.json; : > placed; \
                 until [ -e stop ]; do sleep 0.01; done; rm -f x*"
            );
            let id = start(walls, &command);
            await_file(walls, "work/begun");
            fs::remove_file(walls.tree.path("work/.mcp.json")).unwrap();
            await_file(walls, "work/placed");
            await_none(walls, "work/.mcp.json");
            walls.tree.file("work/stop", "");
            await_end(walls, &id);
        },
    );
}

#[test]
fn protected_file_is_set_aside_during_later_command() {
    with_keys(|walls| {
        // Through a hard link.
        let planted = "echo evil > hidden; ln hidden new; : > made; until [ -e begun ]; do sleep 0.01; done; rm -f new; : > gone";
        start(walls, planted);
        await_file(walls, "work/made");
        let back = ": > begun; until [ -e gone ]; do sleep 0.01; done; ln hidden new; : > back; until [ -e stop ]; do sleep 0.01; done";
        let id = start(walls, back);
        await_file(walls, "work/back");
        await_none(walls, "work/new");
        walls.tree.file("work/stop", "");
        let said = await_end(walls, &id);
        assert!(
            said.contains(
                "new` is protected: the file or directory that the command created \
                there was renamed"
            ),
            "{said}"
        );
        walls.end();
    });
}

/// Creates the hooks directory, which git creates too, and passes its descriptor to a client.
const SEND_DESCRIPTOR: &str = "import os, socket, time
os.mkdir('.git/hooks')
door = socket.socket(socket.AF_UNIX)
door.bind('door')
door.listen()
open('made', 'w').close()
asks, _ = door.accept()
socket.send_fds(asks, [b'x'], [os.open('.git/hooks', os.O_RDONLY)])
while not os.path.exists('stop'):
    time.sleep(0.01)
";
const RECEIVE_DESCRIPTOR: &str = "import os, socket, time
asks = socket.socket(socket.AF_UNIX)
asks.connect('door')
_, [hooks], _, _ = socket.recv_fds(asks, 1, 1)
os.close(os.open('pre-commit', os.O_CREAT | os.O_WRONLY, 0o755, dir_fd=hooks))
open('back', 'w').close()
while not os.path.exists('stop'):
    time.sleep(0.01)
";

#[test]
fn passed_directory_descriptor_creates_no_hook() {
    if !installed("python3") {
        return;
    }
    let lay = |tree: &Tree| {
        _ = tree
            .file("work/gives.py", SEND_DESCRIPTOR)
            .file("work/takes.py", RECEIVE_DESCRIPTOR);
    };
    with_tree(lay, |walls| {
        let gives = start(walls, "python3 gives.py");
        await_file(walls, "work/made");
        let takes = start(walls, "python3 takes.py");
        await_file(walls, "work/back");
        await_none(walls, "work/.git/hooks/pre-commit");
        walls.tree.file("work/stop", "");
        for id in [gives, takes] {
            let said = await_end(walls, &id);
            assert!(
                said.contains(
                    ".git/hooks` is protected: the file or directory that the command created \
                     there was renamed"
                ),
                "{said}"
            );
        }
    });
}

#[test]
fn file_set_aside_is_reported_to_all_commands() {
    with_keys(|walls| {
        let id = start(walls, ": > begun; until [ -e stop ]; do sleep 0.01; done");
        await_file(walls, "work/begun");
        let told = "new` is protected: the file or directory that the command created there was \
            renamed (.set-aside)";
        let said = walls.sh("echo evil > new; : > stop").text;
        assert!(said.contains(told), "{said}");
        let said = await_end(walls, &id);
        assert!(said.contains(told), "{said}");
        assert!(!walls.sh("true").text.contains(told));
        walls.end();
    });
}

#[test]
fn repeated_writer_of_protected_path_is_ended() {
    with_keys(|walls| {
        let ran =
            walls.try_run(json!({"command": "for i in $(seq 1000); do echo evil > new; rm -f new; sleep 0.01; done"}));
        let said = ran.all_texts().join("\n");
        let told = "all running commands were ended: one of them created files at protected paths \
            again and again";
        assert!(said.contains(told), "{said}");
        walls.end();
    });
}

#[test]
fn protected_file_is_set_aside_after_server_kill() {
    with_keys(|walls| {
        let launcher = Pid::from_raw(launcher(&walls.server).cast_signed()).unwrap();
        start(walls, "echo evil > new; : > made; exec sleep 1000");
        await_file(walls, "work/made");
        kill_process(walls.server.pid(), Signal::KILL).unwrap();
        assert!(
            ends_within(launcher, DEADLINE),
            "the launcher has not ended"
        );
    });
}

#[test]
fn parents_of_read_only_directory_cannot_be_moved() {
    everywhere(|setting: Setting| {
        if setting.tier != Tier::Namespaces {
            return;
        }
        let tree = Tree::new();
        tree.file("work/a/b/vendor/file", CONTENT)
            .dir("work/a/b/vendor/own")
            .file("docs/read.txt", "readme\n")
            .dir("tmp")
            .file("outside/secret", "x");
        if let Some(owner) = setting.owner {
            give(tree.root(), owner);
        }
        let (vendor, own) = (
            tree.text("work/a/b/vendor"),
            format!("{}:rw", tree.text("work/a/b/vendor/own")),
        );
        let mut walls = Walls::on(tree, setting, &["--allow", &vendor, "--allow", &own], &[]);
        walls.fails("mv a c");
        walls.fails("mv a/b b");
        walls.fails("mv a/b/vendor vendor");
        walls.fails("echo evil > a/b/vendor/file");
        walls.works("echo x > a/b/x && mv a/b/x a/x && rm a/x");
        walls.works("echo x > a/b/vendor/own/x");
        walls.end();
        assert_eq!(
            fs::read_to_string(walls.tree.path("work/a/b/vendor/file")).unwrap(),
            CONTENT,
            "{setting:?}"
        );
    });
}
