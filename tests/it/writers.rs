//! Concurrent writers: several servers and other programs change the same files. No change is lost,
//! and replies are true.

use std::fmt::Write as _;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Signal, kill_process};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::harness::Server;
use crate::tree::Tree;

/// Files that all servers change.
const FILES: [&str; 3] = ["f", "g", "h"];
/// Number of changes by each server.
const CHANGES: usize = 150;

fn open(tree: &Tree) -> Server {
    let allowed = format!("{}:rw", tree.root().display());
    Server::open(
        tree,
        "2025-11-25",
        &["--allow", &allowed, "--sandbox", "off"],
    )
}

/// Returns the number on the line of a server.
fn number(text: &str, server: usize) -> usize {
    let lead = format!("s{server}=");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&lead))
        .unwrap_or_else(|| panic!("no {lead} in {text:?}"));
    line.trim_end_matches(';').parse().unwrap()
}

/// Makes one change with one of the tools. Returns for each requested file whether the reply
/// reports a change.
fn change(
    server: &mut Server,
    tree: &Tree,
    own: usize,
    round: usize,
    have: [usize; 3],
) -> Vec<(usize, bool)> {
    let new = format!("s{own}={round};");
    // One file for all that change only one: waiting for the disk synchronises the servers.
    let one = 0;
    let path = tree.text(FILES[one]);
    match round % 4 {
        0 => {
            let edits = json!([{"oldText": format!("s{own}={};", have[one]), "newText": new}]);
            vec![(
                one,
                server
                    .call("edit_file", json!({"path": path, "edits": edits}))
                    .failure()
                    .is_none(),
            )]
        }
        1 => {
            let text = tree.read(FILES[one]);
            let mut digits = String::new();
            for byte in Sha256::digest(&text) {
                write!(digits, "{byte:02x}").unwrap();
            }
            let content = text.replace(&format!("s{own}={};", number(&text, own)), &new);
            let arguments = json!({"path": path, "content": content, "expectedSha256": digits});
            vec![(
                one,
                server.call("write_file", arguments).failure().is_none(),
            )]
        }
        kind => {
            let edits =
                json!([{"oldText": format!("s{own}=\\d+;"), "newText": new, "isRegex": true}]);
            let paths: Vec<String> = FILES.iter().map(|file| tree.text(file)).collect();
            let reply = server.call(
                "edit_files",
                json!({"paths": paths, "edits": edits, "atomic": kind == 2}),
            );
            let files = reply.0["result"]["structuredContent"]["files"].clone();
            (0..FILES.len())
                .map(|file| {
                    (
                        file,
                        files[file].is_object() && files[file].get("error").is_none(),
                    )
                })
                .collect()
        }
    }
}

/// Lets this number of servers change their own lines in the same files, and compares each reply
/// with the files.
fn compete(servers: usize) {
    let tree = Tree::new();
    let lines: Vec<String> = (0..servers)
        .map(|server| format!("s{server}=0;\n"))
        .collect();
    for file in FILES {
        tree.file(file, lines.concat());
    }
    std::thread::scope(|scope| {
        for own in 0..servers {
            let tree = &tree;
            scope.spawn(move || {
                let mut server = open(tree);
                let (mut have, mut made) = ([0; 3], 0);
                for round in 1.. {
                    for (file, told) in change(&mut server, tree, own, round, have) {
                        let wanted = if told { round } else { have[file] };
                        let there = number(&tree.read(FILES[file]), own);
                        assert_eq!(
                            there, wanted,
                            "`{}`, of which change {round} said {told}",
                            FILES[file]
                        );
                        (have[file], made) = (wanted, made + usize::from(told));
                    }
                    if made >= CHANGES {
                        break;
                    }
                    assert!(
                        round < 20 * CHANGES,
                        "{made} of {CHANGES} changes in {round} calls"
                    );
                }
            });
        }
    });
    let names = fs::read_dir(tree.root())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().is_file())
        .count();
    assert_eq!(names, FILES.len(), "files are left behind");
}

#[test]
fn two_servers_lose_no_changes() {
    compete(2);
}

#[test]
fn four_servers_lose_no_changes() {
    compete(4);
}

#[test]
fn killed_server_leaves_whole_files_unlocked() {
    let tree = Tree::new();
    let texts = ["a".repeat(5000), "b".repeat(5000)];
    let path = tree.file("f", &texts[0]).text("f");
    for round in 0..8 {
        let mut server = open(&tree);
        for call in 0..200 {
            let edit = json!({"oldText": texts[call % 2], "newText": texts[(call + 1) % 2]});
            let arguments = json!({"path": path, "edits": [edit]});
            server.send(
                "tools/call",
                json!({"name": "edit_file", "arguments": arguments}),
            );
        }
        // At an arbitrary moment during the changes.
        for _ in 0..round * 5 {
            server.recv();
        }
        kill_process(server.pid(), Signal::KILL).unwrap();
        server.wait_exit();
        let text = tree.read("f");
        assert!(texts.contains(&text), "{} bytes", text.len());
        let edit = json!({"oldText": text, "newText": texts[0]});
        assert_eq!(
            open(&tree)
                .call("edit_file", json!({"path": path, "edits": [edit]}))
                .failure(),
            None
        );
    }
}

#[test]
fn directory_lock_of_other_program_is_reported() {
    let tree = Tree::new();
    let path = tree.file("sub/f", "one\n").text("sub/f");
    let locked: OwnedFd = fs::File::open(tree.path("sub")).unwrap().into();
    flock(&locked, FlockOperation::LockShared).unwrap();
    let mut server = open(&tree);
    let edit = json!({"path": path, "edits": [{"oldText": "one", "newText": "two"}]});
    let message = format!(
        "`{path}` was not changed: another program holds a lock on its directory (flock)\nhint: \
         end the program that holds the lock (`lslocks` names it), or wait for it; then repeat \
         the call"
    );
    assert_eq!(
        server
            .call("edit_file", edit.clone())
            .failure()
            .unwrap()
            .message,
        message
    );
    assert_eq!(
        (tree.read("sub/f"), entry_count(&tree.path("sub"))),
        ("one\n".to_owned(), 1)
    );
    drop(locked);
    assert_eq!(server.call("edit_file", edit).failure(), None);
    assert_eq!(
        (tree.read("sub/f"), entry_count(&tree.path("sub"))),
        ("two\n".to_owned(), 1)
    );
}

#[test]
fn file_open_for_writing_elsewhere_is_not_changed() {
    let tree = Tree::new();
    let path = tree.file("f", "one\n").text("f");
    let writing = fs::File::options()
        .append(true)
        .open(tree.path("f"))
        .unwrap();
    let mut server = open(&tree);
    let edit = json!({"path": path, "edits": [{"oldText": "one", "newText": "two"}]});
    let message = format!(
        "`{path}` was not written: another program has it open for writing\n\
         hint: wait for the program, or end it (`fuser -v FILE` names it), then read the file again and repeat the change"
    );
    assert_eq!(
        server
            .call("edit_file", edit.clone())
            .failure()
            .unwrap()
            .message,
        message
    );
    drop(writing);
    assert_eq!(server.call("edit_file", edit).failure(), None);
    assert_eq!(tree.read("f"), "two\n");
}

#[test]
fn edit_time_is_later_than_preceding_write() {
    let tree = Tree::new();
    tree.file("in", "0;").file("out", "");
    let mut server = open(&tree);
    let modified = |name: &str| fs::metadata(tree.path(name)).unwrap().modified().unwrap();
    let ways = 3;
    // More rounds than clock ticks of the kernel, which stamp files, can end between the two
    // writes.
    for round in 0..40 * ways {
        fs::write(tree.path("out"), format!("{round}")).unwrap();
        let (path, new) = (tree.text("in"), format!("{};", round + 1));
        let edits = json!([{"oldText": format!("{round};"), "newText": new}]);
        let (tool, arguments) = match round % ways {
            0 => ("edit_file", json!({"path": path, "edits": edits})),
            1 => (
                "edit_files",
                json!({"paths": [path], "edits": edits, "atomic": true}),
            ),
            _ => ("write_file", json!({"path": path, "content": new})),
        };
        assert_eq!(server.call(tool, arguments).failure(), None);
        assert!(
            modified("in") > modified("out"),
            "{tool} in round {round}: {:?}",
            modified("in")
        );
    }
}

fn entry_count(dir: &Path) -> usize {
    fs::read_dir(dir).unwrap().count()
}
