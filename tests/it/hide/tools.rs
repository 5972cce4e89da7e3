//! Access to hidden paths by file tools.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{REFUSAL, SECRET};
use crate::harness::Server;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

fn tree() -> Tree {
    let tree = Tree::new();
    for name in [
        "work/.env",
        "work/sub/.env",
        "work/keys/deep/k.txt",
        "work/cfg/prod/x.key",
        "work/real-target",
    ] {
        tree.file(name, SECRET);
    }
    tree.file("work/notes.txt", "plain\n")
        .file("work/sub/other.txt", "plain\n");
    tree.hard_link("work/.env", "work/other-name")
        .link("real-target", "work/linked.pem")
        .link(".env", "work/to-env");
    tree
}

fn server(tree: &Tree, more: &[&str]) -> Server {
    let allowed = format!("{}:rw", tree.text("work"));
    let hidden = [
        "--hide",
        ".env",
        "--hide",
        "keys/",
        "--hide",
        "cfg/prod/*.key",
        "--hide",
        "*.pem",
    ];
    Server::open(
        tree,
        NEWEST_HANDSHAKE,
        &[
            &["--allow", &allowed, "--tools", "files"],
            &hidden[..],
            more,
        ]
        .concat(),
    )
}

#[test]
fn file_tools_refuse_hidden_paths() {
    let tree = tree();
    let mut server = server(&tree, &[]);
    let refused: [(&str, Value); 21] = [
        ("read_file", json!({"path": ".env"})),
        ("read_file", json!({"path": "sub/.env"})),
        ("read_file", json!({"path": "sub/../sub/./.env"})),
        ("read_file", json!({"path": "other-name"})),
        ("read_file", json!({"path": "to-env"})),
        ("read_file", json!({"path": "linked.pem"})),
        ("read_file", json!({"path": "real-target"})),
        ("read_file", json!({"path": "keys/deep/k.txt"})),
        ("read_file", json!({"path": "cfg/prod/x.key"})),
        ("list_directory", json!({"path": "keys"})),
        ("grep_files", json!({"path": ".env", "regex": "s"})),
        ("get_file_info", json!({"path": ".env"})),
        ("get_file_info", json!({"path": "keys/deep"})),
        (
            "edit_file",
            json!({"path": ".env", "edits": [{"oldText": "s", "newText": "t"}], "dryRun": true}),
        ),
        ("write_file", json!({"path": ".env", "content": "x"})),
        ("write_file", json!({"path": "new/.env", "content": "x"})),
        (
            "move_file",
            json!({"source": ".env", "destination": "seen.txt"}),
        ),
        ("move_file", json!({"source": "sub", "destination": "sub2"})),
        (
            "move_file",
            json!({"source": "notes.txt", "destination": "sub/keys"}),
        ),
        ("delete_file", json!({"path": ".env"})),
        ("delete_file", json!({"path": "sub"})),
    ];
    for (tool, arguments) in refused {
        let reply = server.call(tool, arguments.clone());
        let said = reply
            .failure()
            .unwrap_or_else(|| panic!("{tool} {arguments}: {}", reply.whole()))
            .message;
        assert!(
            said.contains(REFUSAL) && !reply.whole().contains(SECRET),
            "{tool} {arguments}: {said}"
        );
    }
    let left_out: [(&str, Value); 9] = [
        ("list_directory", json!({"path": "."})),
        ("list_directory", json!({"path": ".", "sizes": true})),
        ("directory_tree", json!({"path": "."})),
        ("search_files", json!({"path": ".", "pattern": "*"})),
        ("glob_search", json!({"pattern": "**/*"})),
        ("glob_search", json!({"pattern": "**/.env"})),
        (
            "grep_files",
            json!({"path": ".", "regex": "s3cr3t", "includeIgnored": true}),
        ),
        (
            "grep_files",
            json!({"path": ".", "regex": "c0nt3nt", "glob": "**/.env"}),
        ),
        (
            "read_multiple_files",
            json!({"paths": [".env", "notes.txt"]}),
        ),
    ];
    for (tool, arguments) in left_out {
        let whole = server.call(tool, arguments.clone()).whole();
        for secret in [
            SECRET,
            "k.txt",
            "x.key",
            "other-name",
            "real-target",
            "linked.pem",
        ] {
            assert!(!whole.contains(secret), "{tool} {arguments}: {whole}");
        }
    }
    assert_eq!(
        std::fs::read_to_string(tree.path("work/.env")).unwrap(),
        SECRET
    );
}

#[test]
fn nested_allowed_directory_keeps_hidden_files() {
    let tree = tree();
    let inner = tree.text("work/sub");
    let mut server = server(&tree, &["--allow", &inner]);
    for path in ["sub/.env".to_owned(), format!("{inner}/.env")] {
        let said = server
            .call("read_file", json!({"path": path}))
            .failure()
            .unwrap()
            .message;
        assert!(said.contains(REFUSAL), "{path}: {said}");
    }
    assert_eq!(
        server.call("list_directory", json!({"path": inner})).text(),
        "[FILE] other.txt"
    );
}

#[test]
fn file_renamed_to_hidden_name_is_hidden() {
    let tree = tree();
    let mut server = server(&tree, &[]);
    let grep = json!({"path": ".", "regex": "s3cr3t"});
    tree.file("work/seen.txt", SECRET);
    assert!(
        server
            .call("grep_files", grep.clone())
            .whole()
            .contains("seen.txt")
    );
    // Renames of the file itself, and of its directory.
    std::fs::rename(tree.path("work/seen.txt"), tree.path("work/sub/seen.pem")).unwrap();
    tree.file("work/open/k.txt", SECRET);
    assert!(
        server
            .call("read_file", json!({"path": "open/k.txt"}))
            .whole()
            .contains(SECRET)
    );
    std::fs::rename(tree.path("work/open"), tree.path("work/sub/keys")).unwrap();
    for path in ["sub/seen.pem", "sub/keys/k.txt"] {
        let said = server
            .call("read_file", json!({"path": path}))
            .failure()
            .unwrap()
            .message;
        assert!(said.contains(REFUSAL), "{path}: {said}");
    }
    let whole = server.call("grep_files", grep).whole();
    assert!(
        !whole.contains("seen.") && !whole.contains("k.txt"),
        "{whole}"
    );
}

#[test]
fn move_across_hidden_pattern_path_is_refused() {
    let tree = tree();
    std::fs::remove_dir_all(tree.path("work/cfg/prod")).unwrap();
    tree.dir("work/open/prod");
    let mut server = server(&tree, &[]);
    for (source, destination) in [("cfg", "cfg2"), ("open/prod", "cfg/prod")] {
        let moved = server.call(
            "move_file",
            json!({"source": source, "destination": destination}),
        );
        let said = moved.failure().unwrap().message;
        assert!(
            said.contains("is, contains or would become a protected path"),
            "{said}"
        );
    }
    assert!(tree.has("work/cfg") && tree.has("work/open/prod"));
    server
        .call(
            "move_file",
            json!({"source": "notes.txt", "destination": "cfg/prod"}),
        )
        .text();
}

#[test]
fn diff_and_undo_omit_newly_hidden_files() {
    let tree = tree();
    let allowed = format!("{}:rw", tree.text("work"));
    let mut before = Server::open(
        &tree,
        NEWEST_HANDSHAKE,
        &["--allow", &allowed, "--tools", "files"],
    );
    before
        .call(
            "write_file",
            json!({"path": "sub/.env", "content": "mine\n"}),
        )
        .text();
    before.call("delete_file", json!({"path": ".env"})).text();
    drop(before);
    let mut server = server(&tree, &[]);
    for call in [1, 2] {
        let whole = server.call("list_changes", json!({"call": call})).whole();
        assert!(
            whole.contains(REFUSAL) && !whole.contains(SECRET),
            "{whole}"
        );
        let said = server
            .call("undo_changes", json!({"calls": [call]}))
            .failure()
            .unwrap()
            .message;
        assert!(said.contains(REFUSAL), "{said}");
    }
}

#[test]
fn invalid_hide_pattern_is_refused_at_start() {
    let tree = tree();
    for (pattern, said) in [
        ("work", "it would hide"),
        ("/etc/passwd", "is a path in no allowed directory"),
        (
            "[a",
            "has a `[` without its `]` at offset 0: write `\\` before",
        ),
        ("!.env", "write `\\!.env`"),
        ("x[a/b]", "has a slash in brackets"),
        ("", "names nothing"),
        ("cfg//prod", "write `cfg/prod`"),
    ] {
        let allowed = format!("{}:rw", tree.text("work"));
        let mut server = Server::start(
            &tree,
            &["--allow", &allowed, "--tools", "files", "--hide", pattern],
        );
        assert!(!server.wait_exit().success());
        assert!(
            server.stderr().contains("--hide: ") && server.stderr().contains(said),
            "{}",
            server.stderr()
        );
    }
}

#[test]
fn bracket_names_can_be_hidden() {
    let tree = Tree::new();
    let paths = [
        "app/[slug]/.env",
        "app/[slug]/a.key",
        "keys/{prod}.key",
        "keys/{a,b}",
        "back\\slash.txt",
    ];
    for path in paths {
        tree.file(format!("work/{path}"), SECRET);
    }
    let allowed = format!("{}:rw", tree.text("work"));
    let absolute = tree.text("work/app/[slug]/.env");
    for (pattern, path) in [
        ("app/[slug]/.env", paths[0]),
        ("./app/[slug]/.env", paths[0]),
        (absolute.as_str(), paths[0]),
        ("app/[slug]/", paths[0]),
        ("[slug]", paths[0]),
        ("**/[slug]/.env", paths[0]),
        ("app/[[]slug]/.env", paths[0]),
        ("app/\\[slug\\]/.env", paths[0]),
        ("app/[slug]/[ab].key", paths[1]),
        ("app/[slug]/*.key", paths[1]),
        ("keys/{prod}.key", paths[2]),
        ("{prod}.*", paths[2]),
        ("keys/{a,b}", paths[3]),
        ("back\\slash.txt", paths[4]),
    ] {
        let arguments = ["--allow", &allowed, "--tools", "files", "--hide", pattern];
        let mut server = Server::open(&tree, NEWEST_HANDSHAKE, &arguments);
        // The name stays hidden if the file is created again while the server runs.
        std::fs::remove_file(tree.path(format!("work/{path}"))).unwrap();
        tree.file(format!("work/{path}"), SECRET);
        let said = server
            .call("read_file", json!({"path": path}))
            .failure()
            .expect(pattern)
            .message;
        assert!(said.contains(REFUSAL), "{pattern}: {said}");
        let whole = server
            .call(
                "grep_files",
                json!({"directory": tree.text("work"), "regex": "s3cr3t"}),
            )
            .whole();
        assert!(
            !whole.contains(&path.replace('\\', "\\\\")) && whole.contains(" matches]"),
            "{pattern}: {whole}"
        );
    }
}
