//! Paths given with `--protect`, against commands that work together, and against the end of the server.

use std::fs;
use std::time::Instant;

use pretty_assertions::assert_eq;
use replay::sandbox::Tier;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{Setting, Tree, Walls, everywhere, give, launcher};
use crate::harness::{DEADLINE, ends_within};

const GOOD: &str = "good\n";

/// With `work/a/keys` protected, which is there, and `work/new`, which is not. Only namespaces hold commands to it.
fn with_keys(test: impl Fn(&mut Walls)) {
    everywhere(|setting: Setting| {
        if setting.tier != Tier::Namespaces {
            return;
        }
        let tree = Tree::new();
        tree.file("work/a/keys", GOOD).file("docs/read.txt", "readme\n").dir("tmp").file("outside/secret", "x");
        if let Some(owner) = setting.owner {
            give(tree.root(), owner);
        }
        let [keys, new] = ["work/a/keys", "work/new"].map(|path| tree.text(path));
        let mut walls = Walls::on(tree, setting, &["--protect", &keys, "--protect", &new], &[]);
        test(&mut walls);
        assert_eq!(fs::read_to_string(walls.tree.path("work/a/keys")).unwrap(), GOOD, "{setting:?}");
        assert!(!walls.tree.has("work/new"), "{setting:?}");
    });
}

fn start(walls: &mut Walls, command: &str) {
    walls.try_run(json!({"command": command, "background": true})).result();
}

/// Waits until a command has made this.
fn await_file(walls: &mut Walls, name: &str) {
    let until = Instant::now() + DEADLINE;
    while !walls.tree.has(name) {
        assert!(Instant::now() < until, "{name} never came");
        walls.server.settle();
    }
}

/// Waits until what is set aside at the end of the last command has been.
fn await_none(walls: &mut Walls, name: &str) {
    let until = Instant::now() + DEADLINE;
    while walls.tree.has(name) {
        assert!(Instant::now() < until, "{name} is still there");
        walls.server.settle();
    }
}

#[test]
fn a_directory_above_cannot_be_moved_and_the_path_with_it() {
    with_keys(|walls| {
        walls.fails("mv a b");
        walls.fails("mkdir b && mv -T b a");
        walls.sh("mv a b; ln -s b a; rm -rf a/keys b/keys; echo evil > a/keys");
        walls.sh("echo evil > b/keys; mv b a; rm -rf a");
        // What is beside it is as writable as before, also across the directory's border.
        walls.works("echo x > a/x && mv a/x x && mv x a/y && rm a/y");
        walls.end();
    });
}

#[test]
fn nothing_is_passed_from_one_command_to_another() {
    with_keys(|walls| {
        // Hidden while the first ends, back before the second does.
        start(walls, "echo evil > new; : > made; until [ -e go ]; do sleep 0.01; done; mv new hidden; : > gone");
        await_file(walls, "work/made");
        walls.sh(": > go; until [ -e gone ]; do sleep 0.01; done; mv hidden new");
        await_none(walls, "work/new");
        // The same file by another name.
        walls.sh("rm -f go gone made");
        start(walls, "echo evil > new; ln new twin; : > made; until [ -e go ]; do sleep 0.01; done; rm new; : > gone");
        await_file(walls, "work/made");
        walls.sh(": > go; until [ -e gone ]; do sleep 0.01; done; sleep 0.2; mv twin new");
        await_none(walls, "work/new");
        walls.end();
    });
}

#[test]
fn what_was_put_there_is_set_aside_whatever_stands_in_the_way() {
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
fn it_is_set_aside_when_the_server_is_killed() {
    with_keys(|walls| {
        let launcher = Pid::from_raw(launcher(&walls.server).cast_signed()).unwrap();
        start(walls, "echo evil > new; : > made; exec sleep 1000");
        await_file(walls, "work/made");
        kill_process(walls.server.pid(), Signal::KILL).unwrap();
        assert!(ends_within(launcher, DEADLINE), "the launcher has not ended");
    });
}

#[test]
fn what_lies_above_a_read_only_directory_stays_in_its_place() {
    everywhere(|setting: Setting| {
        if setting.tier != Tier::Namespaces {
            return;
        }
        let tree = Tree::new();
        tree.file("work/a/b/vendor/file", GOOD)
            .dir("work/a/b/vendor/own")
            .file("docs/read.txt", "readme\n")
            .dir("tmp")
            .file("outside/secret", "x");
        if let Some(owner) = setting.owner {
            give(tree.root(), owner);
        }
        let (vendor, own) = (tree.text("work/a/b/vendor"), format!("{}:rw", tree.text("work/a/b/vendor/own")));
        let mut walls = Walls::on(tree, setting, &["--allow", &vendor, "--allow", &own], &[]);
        walls.fails("mv a c");
        walls.fails("mv a/b b");
        walls.fails("mv a/b/vendor vendor");
        walls.fails("echo evil > a/b/vendor/file");
        walls.works("echo x > a/b/x && mv a/b/x a/x && rm a/x");
        walls.works("echo x > a/b/vendor/own/x");
        walls.end();
        assert_eq!(fs::read_to_string(walls.tree.path("work/a/b/vendor/file")).unwrap(), GOOD, "{setting:?}");
    });
}
