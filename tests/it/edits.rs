//! Fixtures of `testdata/edits` through the server: resulting files and replies.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::harness::Server;
use crate::tree::Tree;

#[test]
fn edit_fixtures_match_content_and_reply() {
    let tree = Tree::new();
    let mut server = Server::open(
        &tree,
        "2025-11-25",
        &["--allow", &format!("{}:rw", tree.root().display())],
    );
    let mut cases: Vec<_> =
        fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/edits"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .collect();
    cases.sort();
    assert!(cases.len() >= 40, "{} cases", cases.len());
    for case in cases {
        let name = case.file_name().unwrap().to_str().unwrap().to_owned();
        let input = fs::read(case.join("input")).unwrap();
        let mut arguments: Value =
            serde_json::from_slice(&fs::read(case.join("call.json")).unwrap()).unwrap();
        let wanted: Value =
            serde_json::from_slice(&fs::read(case.join("reply.json")).unwrap()).unwrap();
        let is_preview = arguments["dryRun"] == true;
        let path = tree.file(&name, &input).text(&name);
        arguments["path"] = path.clone().into();
        let reply = server.call("edit_file", arguments);
        let expected = fs::read(case.join("expected")).unwrap_or_else(|_| input.clone());
        let expected = if is_preview { input } else { expected };
        assert_eq!(fs::read(&path).unwrap(), expected, "{name}: the content");
        if let Some(error) = wanted["error"].as_str() {
            let failure = reply
                .failure()
                .unwrap_or_else(|| panic!("{name}: {reply:?}"));
            let hint = wanted["hint"]
                .as_str()
                .map(|hint| format!("\nhint: {hint}"))
                .unwrap_or_default();
            assert_eq!(failure.code, Some(-32603), "{name}");
            assert_eq!(failure.message, format!("{path}: {error}{hint}"), "{name}");
        } else {
            assert_eq!(
                reply.result()["structuredContent"]["edits"],
                wanted["edits"],
                "{name}"
            );
            if !is_preview {
                assert_eq!(
                    reply.text(),
                    format!("Successfully edited {path}"),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn edit_with_stale_hash_is_refused() {
    let tree = Tree::new();
    let path = tree.file("a.txt", "one\n").text("a.txt");
    let mut server = Server::open(
        &tree,
        "2025-11-25",
        &["--allow", &format!("{}:rw", tree.root().display())],
    );
    let of = |text: &str| {
        let mut digits = String::new();
        for byte in Sha256::digest(text) {
            write!(digits, "{byte:02x}").unwrap();
        }
        digits
    };
    let edit = |expected: &str| json!({"path": path, "edits": [{"oldText": "one", "newText": "two"}], "expectedSha256": expected});
    let refused = server
        .call("edit_file", edit(&of("other")))
        .failure()
        .unwrap();
    let message = format!(
        "`{path}` has changed: its SHA-256 is {}, not the expected {}; the file is unchanged\n\
         hint: read the file again, then repeat the call with the new hash",
        of("one\n"),
        of("other")
    );
    assert_eq!((refused.code, refused.message), (Some(-32603), message));
    assert_eq!(tree.read("a.txt"), "one\n");
    let done = server.call("edit_file", edit(&of("one\n")));
    assert_eq!(done.result()["structuredContent"]["sha256"], of("two\n"));
    let written = server.call(
        "write_file",
        json!({"path": path, "content": "three", "expectedSha256": of("two\n")}),
    );
    assert_eq!(
        written.result()["_meta"],
        json!({"path": path, "size": 5, "sha256": of("three")})
    );
    let malformed = server.call("edit_file", edit("abc")).failure().unwrap();
    assert_eq!(malformed.code, Some(-32602));
}

#[test]
fn edit_files_is_per_file_or_atomic() {
    let tree = Tree::new();
    tree.file("a.c", "old\n")
        .file("b.c", "none\n")
        .file("sub/c.c", "old old\n")
        .file("d.h", "old\n");
    let mut server = Server::open(
        &tree,
        "2025-11-25",
        &["--allow", &format!("{}:rw", tree.root().display())],
    );
    let call = |paths: &[&str], atomic: bool| {
        let edits = json!([{"oldText": "old", "newText": "new", "limit": 0}]);
        let paths: Vec<String> = paths.iter().map(|path| tree.text(path)).collect();
        json!({"paths": paths, "edits": edits, "atomic": atomic})
    };
    let contents = || {
        [
            tree.read("a.c"),
            tree.read("b.c"),
            tree.read("sub/c.c"),
            tree.read("d.h"),
        ]
    };

    // A file that is named must match.
    let atomic = server.call("edit_files", call(&["**/*.c", "b.c"], true));
    assert_eq!(contents(), ["old\n", "none\n", "old old\n", "old\n"]);
    let summary = |reply: &Value| {
        let reply = &reply["structuredContent"];
        (reply["edited"].clone(), reply["failed"].clone())
    };
    assert_eq!(summary(&atomic.0["result"]), (json!(0), json!(3)));
    assert_eq!(atomic.0["result"]["isError"], true);

    let single = server.call("edit_files", call(&["**/*.c"], false));
    assert_eq!(contents(), ["new\n", "none\n", "new new\n", "old\n"]);
    assert_eq!(summary(single.result()), (json!(2), json!(0)));
    let texts = single.texts();
    assert_eq!(
        texts[0],
        format!("Successfully edited {}", tree.text("a.c"))
    );
    assert!(
        texts[1].starts_with(&format!("{}: [error -32603] ", tree.text("b.c"))),
        "{}",
        texts[1]
    );
    assert_eq!(
        texts[2],
        format!("Successfully edited {}", tree.text("sub/c.c"))
    );
    assert_eq!(texts[3], "[2 edited, 1 other has no match]");

    tree.file("b.c", "old\n")
        .file("a.c", "old\n")
        .file("sub/c.c", "old\n");
    let atomic = server.call("edit_files", call(&["**/*.c"], true));
    assert_eq!(summary(atomic.result()), (json!(3), json!(0)));
    assert_eq!(contents(), ["new\n", "new\n", "new\n", "old\n"]);
    let none = server.call(
        "edit_files",
        json!({"paths": [tree.text("**/*.rs")], "edits": [{"oldText": "a"}]}),
    );
    assert_eq!(none.code(), -32002);
}

#[test]
fn edit_glob_skips_binary_files() {
    let tree = Tree::new();
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff.txt");
    tree.file(odd, "old\n")
        .file("binary.txt", "old\0")
        .file("plain.txt", "old\n");
    let mut server = Server::open(
        &tree,
        "2025-11-25",
        &["--allow", &format!("{}:rw", tree.root().display())],
    );
    let edits = json!([{"oldText": "old", "newText": "new"}]);
    let reply = server.call(
        "edit_files",
        json!({"paths": [tree.text("*.txt")], "edits": edits}),
    );
    let root = tree.root().display();
    let expected = [
        format!(
            "{root}/binary.txt: [error -32603] `{root}/binary.txt` is binary\nhint: if it is text all the same, edit it with edit_file"
        ),
        format!("Successfully edited $'{root}/odd\\377.txt'"),
        format!("Successfully edited {root}/plain.txt"),
        "[2 edited, 1 failed; do not repeat those that succeeded]".to_owned(),
    ];
    assert_eq!(reply.texts(), expected);
    let contents = [
        fs::read(tree.path(odd)),
        fs::read(tree.path("binary.txt")),
        fs::read(tree.path("plain.txt")),
    ];
    assert_eq!(
        contents.map(Result::unwrap),
        [b"new\n".to_vec(), b"old\0".to_vec(), b"new\n".to_vec()]
    );
}

#[test]
fn file_size_limit_fails_only_one_call() {
    let tree = Tree::new();
    let path = tree.file("f", b"old").text("f");
    let arguments = json!({"path": path, "content": "x".repeat(100_000)}).to_string();
    // In blocks of 512 or 1,024 bytes, depending on the shell.
    let limited = Command::new("sh")
        .args([
            "-c",
            "ulimit -f 8; exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_replay"),
            "call",
            "write_file",
            &arguments,
        ])
        .args(["--allow", &format!("{}:rw", tree.root().display())])
        .output()
        .unwrap();
    assert_eq!(limited.status.code(), Some(1), "{limited:?}");
    assert_eq!(fs::read(&path).unwrap(), b"old");
    let names: Vec<_> = fs::read_dir(tree.root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        !names
            .iter()
            .any(|name| name.as_bytes().starts_with(b".replay-tmp-")),
        "{names:?}"
    );
}

#[test]
fn edit_many_files_under_low_descriptor_limit() {
    let tree = Tree::new();
    let name = |at: usize| format!("{}/{at}.txt", at % 7);
    let holds = |at: usize| {
        if at.is_multiple_of(100) {
            "other\n"
        } else {
            "old\n"
        }
    };
    for at in 0..400 {
        tree.file(name(at), holds(at));
    }
    let allow = format!("{}:rw", tree.root().display());
    let wrapper = ["sh", "-c", "ulimit -S -n 256; exec \"$@\"", "sh"];
    let mut server =
        Server::start_under(&tree, &wrapper, &["--allow", &allow]).opened("2025-11-25");
    let mut edit = |old: &str, new: &str, atomic: bool| {
        let arguments = json!({"paths": ["*/*.txt"], "edits": [{"oldText": old, "newText": new}], "atomic": atomic});
        let reply = server.call("edit_files", arguments).result()["structuredContent"].clone();
        (reply["edited"].clone(), reply["failed"].clone())
    };
    let contents = || {
        (0..400)
            .map(|at| fs::read_to_string(tree.path(name(at))).unwrap())
            .collect::<Vec<_>>()
    };
    let with = |word: &str| {
        (0..400)
            .map(|at| holds(at).replace("old", word))
            .collect::<Vec<_>>()
    };
    assert_eq!(edit("old", "new", false), (json!(396), json!(0)));
    assert_eq!(contents(), with("new"));
    assert_eq!(edit("e", "E", true), (json!(400), json!(0)));
    assert_eq!(
        contents(),
        with("new")
            .iter()
            .map(|text| text.replace('e', "E"))
            .collect::<Vec<_>>()
    );
    let names = (0..7).flat_map(|dir| fs::read_dir(tree.path(dir.to_string())).unwrap());
    assert_eq!(names.count(), 400);
}
