//! Texts for the agent: instructions, hints and error messages.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{open_server, stage};
use crate::harness::{Failure, Server};
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

fn refusal(message: &str) -> Failure {
    Failure {
        code: Some(-32602),
        message: message.to_owned(),
    }
}

#[test]
fn instructions_name_only_served_tools() {
    let (tree, allow) = stage();
    let read_only = tree.text("work");
    for (flags, edits, commands) in [
        (vec!["--allow", &allow, "--sandbox", "off"], true, true),
        (vec!["--allow", &allow, "--tools", "files"], true, false),
        (
            vec!["--allow", &read_only, "--sandbox", "off"],
            false,
            false,
        ),
    ] {
        let mut server = Server::start(&tree, &flags);
        let client = json!({"name": "it", "version": "0"});
        let reply = server.request(
            "initialize",
            json!({"protocolVersion": NEWEST_HANDSHAKE, "capabilities": {}, "clientInfo": client}),
        );
        let words = reply.result()["instructions"]
            .as_str()
            .expect("instructions")
            .to_owned();
        let named = ["undo_changes", "execute_command", "follow_command"];
        assert_eq!(
            named.map(|tool| words.contains(tool)),
            [edits, commands, commands],
            "{flags:?}: {words}"
        );
    }
}

#[test]
fn hint_names_flag_without_allowed_directory() {
    let (tree, _) = stage();
    let mut server = Server::open(&tree, NEWEST_HANDSHAKE, &[]);
    for path in ["hello.txt", "/etc/passwd"] {
        let failed = server
            .call("read_file", json!({"path": path}))
            .failure()
            .expect("a refusal");
        assert_eq!(failed.code, Some(-32001));
        let hint = failed.message.lines().last().expect("a hint").to_owned();
        assert_eq!(
            hint,
            "hint: no directory is allowed; the operator can allow one with --allow DIR"
        );
    }
}

#[test]
fn unknown_encoding_is_invalid_argument() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    for (tool, arguments) in [
        (
            "read_file",
            json!({"path": "hello.txt", "encoding": "klingon"}),
        ),
        (
            "write_file",
            json!({"path": "hello.txt", "encoding": "klingon", "content": ""}),
        ),
    ] {
        assert_eq!(
            server
                .call(tool, arguments)
                .failure()
                .and_then(|failure| failure.code),
            Some(-32602),
            "{tool}"
        );
    }
}

#[test]
fn number_with_zero_fraction_is_integer() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let whole = server.call(
        "read_file",
        json!({"path": "hello.txt", "offset": 1.0, "limit": 1.0}),
    );
    assert_eq!(whole.text(), "hello\n");
    assert_eq!(
        server
            .call("read_file", json!({"path": "hello.txt", "limit": 1.5}))
            .failure(),
        Some(refusal(
            "`limit` of read_file is the number 1.5; it must be a whole number"
        )),
    );
}

#[test]
fn missing_array_names_members_of_objects() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    assert_eq!(
        server
            .call("edit_file", json!({"path": "hello.txt"}))
            .failure(),
        Some(refusal(
            "`edits` of edit_file is missing; it must be an array of objects with `oldText` and \
             any of `newText`, `limit`, `isRegex`, `caseInsensitive`"
        )),
    );
}

#[test]
fn parameter_error_names_only_published_parameters() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let edits = json!([{"oldText": "hello", "replacement": "x"}]);
    assert_eq!(
        server
            .call("edit_file", json!({"path": "hello.txt", "edits": edits}))
            .failure(),
        Some(refusal(
            "`edits[0].replacement` is no parameter of edit_file; it takes `oldText`, `newText`, `limit`, `isRegex`, \
             `caseInsensitive`",
        )),
    );
}

#[test]
fn failed_file_of_many_is_named_once() {
    let (tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let edits = json!([{"oldText": "absent", "newText": "x"}]);
    let reply = server.call(
        "edit_files",
        json!({"paths": ["hello.txt"], "edits": edits}),
    );
    let path = tree.text("work/hello.txt");
    assert_eq!(
        reply.all_texts(),
        [
            format!(
                "{path}: [error -32603] oldText not found: the file has no similar text; \
                 `edits[0]` failed and the file is unchanged\nhint: check the path, or read the \
                 file again: it may have changed"
            ),
            "[0 edited, 1 failed]".to_owned(),
        ],
    );
}

#[test]
fn loose_match_reports_line_of_result() {
    let (tree, mut server) = open_server(NEWEST_HANDSHAKE);
    tree.file("work/deep.txt", "a\n    b\n    c\n");
    let edits = json!([{"oldText": "b\nc", "newText": "b"}]);
    let reply = server.call("edit_file", json!({"path": "deep.txt", "edits": edits}));
    assert_eq!(
        reply.texts(),
        [
            format!("Successfully edited {}", tree.text("work/deep.txt")),
            "[edits[0] matched only with indentation ignored; newText was indented to fit (line 2 of the result)]"
                .to_owned(),
        ],
    );
}

#[test]
fn long_listing_names_largest_directory() {
    let tree = Tree::new();
    for number in 0..300 {
        tree.file(
            format!("work/web/node_modules/m{number}/{}.ts", "x".repeat(60)),
            "",
        );
    }
    tree.file("work/web/src/a.ts", "")
        .file("work/.gitignore", "node_modules\n")
        .file("work/web/.git/HEAD", "");
    let work = tree.text("work");
    let mut server = Server::open(&tree, "2025-11-25", &["--allow", &format!("{work}:rw")]);
    let mut said = |tool: &str, arguments: Value| {
        server
            .call(tool, arguments)
            .all_texts()
            .iter()
            .skip(1)
            .map(|text| (*text).clone())
            .collect::<Vec<_>>()
    };
    let leave = "leave it out with excludeGlobs or ignored: false";
    assert_eq!(
        said("directory_tree", json!({"path": work})),
        [format!(
            "[600 of 607 entries are below `web/node_modules`: {leave}, or set depth]"
        )]
    );
    assert_eq!(
        said(
            "search_files",
            json!({"directory": work, "nameContains": ".ts"})
        ),
        [format!(
            "[300 of 301 names are below `web/node_modules`: {leave}]"
        )]
    );
    assert_eq!(
        said(
            "glob_search",
            json!({"directory": work, "globs": ["**/*.ts"]})
        ),
        [format!(
            "[300 of 301 paths are below `web/node_modules`: {leave}]"
        )]
    );
    assert_eq!(
        said("directory_tree", json!({"path": work, "depth": 2})),
        [""; 0]
    );
    // A search reports this only if the reply was cut.
    for number in 0..300 {
        tree.file(
            format!("work/web/node_modules/m{number}/{}.ts", "x".repeat(60)),
            "x\n",
        );
    }
    let grep = |most: u64| json!({"directory": work, "regex": "x", "maxResults": most});
    assert_eq!(
        said("grep_files", grep(250)),
        [format!(
            "[250 of 250 matches are below `web/node_modules`: {leave}]"
        )]
    );
    assert_eq!(said("grep_files", grep(500)), [""; 0]);
    let file = |name: &str| json!({"name": name, "type": "file"});
    let directory = |name: &str, children: Value| json!({"name": name, "type": "directory", "children": children});
    let src = directory("src", json!([file("a.ts")]));
    for (arguments, web) in [
        (
            json!({"path": work, "excludeGlobs": ["node_modules", ".git"]}),
            json!([src]),
        ),
        (
            json!({"path": work, "excludeGlobs": ["web/node_modules/**", "HEAD"]}),
            {
                json!([
                    directory(".git", json!([])),
                    directory("node_modules", json!([])),
                    src
                ])
            },
        ),
    ] {
        let reply = server.call("directory_tree", arguments);
        let expected = directory("work", json!([file(".gitignore"), directory("web", web)]));
        assert_eq!(reply.result()["structuredContent"], expected);
        assert_eq!(reply.all_texts().len(), 1);
    }
    tree.dir("work/.git");
    let reply = server.call("directory_tree", json!({"path": work, "ignored": false}));
    let expected = directory(
        "work",
        json!([file(".gitignore"), directory("web", json!([src]))]),
    );
    assert_eq!(reply.result()["structuredContent"], expected);
}

#[test]
fn empty_search_reports_excluded_files() {
    let tree = Tree::new();
    tree.file("work/.gitignore", "*.log\nout/\n")
        .file("work/a.log", "needle\n")
        .file("work/plain", "hay\n");
    tree.file("work/out/x", "needle\n")
        .file("work/out/y", "needle\n")
        .file("work/.git/HEAD", "needle\n");
    tree.file("work/bin", "needle\0\n").file("work/b.bin", "\0");
    let work = tree.text("work");
    let mut server = Server::open(&tree, "2025-11-25", &["--allow", &work]);
    let mut said = |tool: &str, mut arguments: Value| {
        arguments["directory"] = arguments
            .get("directory")
            .cloned()
            .unwrap_or_else(|| json!(work));
        let reply = server.call(tool, arguments);
        let texts = reply
            .all_texts()
            .iter()
            .map(|text| text.replace(&work, "W"))
            .collect::<Vec<_>>();
        (
            texts,
            reply.result()["structuredContent"]["notSearched"].clone(),
        )
    };
    let left_out = |binary: u64, files: u64, directories: u64| json!({"binaryFiles": binary, "ignoredFiles": files, "ignoredDirectories": directories});
    let texts = |texts: &[&str]| {
        texts
            .iter()
            .map(|&text| text.to_owned())
            .collect::<Vec<_>>()
    };
    let none = "(no matches found)\n[0 matches]";
    assert_eq!(
        said("grep_files", json!({"regex": "needle", "ignored": false})),
        (
            texts(&[
                none,
                "[2 binary files, 1 ignored file and 1 ignored directory were not searched]"
            ]),
            left_out(2, 1, 1)
        )
    );
    assert_eq!(
        said(
            "grep_files",
            json!({"regex": "needle", "ignored": false, "globs": ["*"]})
        ),
        (
            texts(&[
                none,
                "[`*` matches only directly in the directory; `**/*` matches at any depth]",
                "[2 binary and 1 ignored file were not searched]"
            ]),
            left_out(2, 1, 0)
        )
    );
    assert_eq!(
        said("grep_files", json!({"regex": "hay"})),
        (texts(&["W/plain:1:hay\n[1 matches]"]), Value::Null)
    );
    assert_eq!(
        said(
            "grep_files",
            json!({"regex": "hay", "globs": ["**/{plain,bin}"]})
        ),
        (
            texts(&[
                "W/plain:1:hay\n[1 matches]",
                "[1 binary file was not searched]"
            ]),
            left_out(1, 0, 0)
        )
    );
    assert_eq!(
        said(
            "grep_files",
            json!({"regex": "zzz", "directory": tree.text("work/out")})
        ),
        (texts(&[none]), Value::Null)
    );
    // A named file is searched.
    for named in [
        json!({"regex": "needle", "globs": ["bin"]}),
        json!({"regex": "needle", "directory": tree.text("work/bin")}),
    ] {
        assert_eq!(
            said("grep_files", named),
            (texts(&["W/bin:1:needle\0\n[1 matches]"]), Value::Null)
        );
    }
    let (names, ignored) = (
        "(no matches found)",
        "[1 ignored file and 1 ignored directory were not searched]",
    );
    assert_eq!(
        said(
            "search_files",
            json!({"nameContains": "log", "ignored": false})
        ),
        (texts(&[names, ignored]), left_out(0, 1, 1))
    );
    assert_eq!(
        said(
            "glob_search",
            json!({"globs": ["**/*.log"], "ignored": false})
        ),
        (texts(&[names, ignored]), left_out(0, 1, 1))
    );
    assert_eq!(
        said("glob_search", json!({"globs": ["plain"], "ignored": false})),
        (texts(&["W/plain"]), Value::Null)
    );
}

#[test]
fn missing_directory_above_file_is_named() {
    let (tree, allow) = stage();
    let mut server = Server::open(
        &tree,
        NEWEST_HANDSHAKE,
        &["--allow", &allow, "--sandbox", "off"],
    );
    let root = tree.text("work");
    assert_eq!(
        server
            .call("read_file", json!({"path": "none/deep/a.txt"}))
            .failure()
            .unwrap()
            .message,
        format!(
            "`{root}/none/deep/a.txt` does not exist\nhint: `{root}/none` does not exist either; \
             relative paths begin at `{root}`"
        )
    );
}

#[test]
fn lookalike_file_name_is_proposed() {
    let (tree, allow) = stage();
    let mut server = Server::open(
        &tree,
        NEWEST_HANDSHAKE,
        &["--allow", &allow, "--sandbox", "off"],
    );
    let shot = "Screenshot 9.41\u{202F}PM.png.txt";
    let (decomposed, composed) = ("cafe\u{301}", "caf\u{e9}");
    tree.file(format!("work/{shot}"), "shot\n")
        .file(format!("work/{decomposed}/menu.txt"), "menu\n")
        .file("work/src/main.rs", "");
    let mut message = |path: &str| {
        server
            .call("read_file", json!({"path": path}))
            .failure()
            .unwrap()
            .message
    };
    let root = tree.text("work");
    assert_eq!(
        message("Screenshot 9.41 PM.png.txt"),
        format!(
            "`{root}/Screenshot 9.41 PM.png.txt` does not exist\nhint: `{root}/{shot}` exists and looks the same: its name has \
             U+202F (narrow no-break space) where the one asked for has U+0020 (space); copy it as it is"
        )
    );
    assert_eq!(
        message(&format!("{composed}/menu.txt")),
        format!(
            "`{root}/{composed}/menu.txt` does not exist\nhint: `{root}/{decomposed}/menu.txt` exists and looks the same: its name \
             has U+0065 U+0301 (e\u{301}) where the one asked for has U+00E9 (\u{e9}); copy it as it is"
        )
    );
    assert!(message("other.txt").ends_with("hint: list the parent directory to see what is there"));
    let similar = |path: &str| {
        format!(
            "\nhint: `{root}/{path}` exists and has a similar name; else list the parent directory"
        )
    };
    for (path, other) in [
        ("src/Main.rs", "src/main.rs"),
        ("src/main.ts", "src/main.rs"),
        ("scr/main.rs", "src/main.rs"),
    ] {
        let expected = format!("`{root}/{path}` does not exist{}", similar(other));
        assert_eq!(message(path), expected);
    }
    assert!(!message("src/nain/x").contains("similar"));
    let named = server.call(
        "search_files",
        json!({"directory": ".", "nameContains": "9.41 pm"}),
    );
    let note = format!(
        "[no name matches nameContains, but `{shot}` looks alike: it has U+202F (narrow no-break \
         space) where nameContains has U+0020 (space)]"
    );
    assert_eq!(named.all_texts(), ["(no matches found)", &note]);
    assert_eq!(named.result()["structuredContent"]["alike"], json!([shot]));
    let globbed = server.call(
        "glob_search",
        json!({"directory": ".", "globs": ["*9.41 PM*"]}),
    );
    let note = format!(
        "[no name matches globs, but `{root}/{shot}` looks alike: it has U+202F (narrow \
         no-break space) where globs has U+0020 (space)]"
    );
    assert_eq!(globbed.all_texts()[1], note);
    assert_eq!(
        globbed.result()["structuredContent"]["alike"],
        json!([format!("{root}/{shot}")])
    );
}

#[test]
fn grep_reports_file_not_searched() {
    let (tree, allow) = stage();
    let mut server = Server::open(
        &tree,
        NEWEST_HANDSHAKE,
        &["--allow", &allow, "--sandbox", "off"],
    );
    // "한글" in EUC-KR, among words of the same kind.
    let korean: Vec<u8> = b"\xc7\xd1\xb1\xdb \xb9\xae\xbc\xad\n".repeat(20);
    tree.file("work/korean.txt", &korean)
        .file("work/mac.txt", "a\rb\rc\r");
    let mut texts = |tool: &str, arguments: Value| server.call(tool, arguments).all_texts();
    let root = tree.text("work");
    let told = texts("grep_files", json!({"directory": ".", "regex": "한글"}));
    let note = format!(
        "[`{root}/korean.txt` not searched for letters beyond ASCII: the encoding is EUC-KR, and bytes are compared as UTF-8; \
         read_file decodes it]"
    );
    assert_eq!(told, ["(no matches found)\n[0 matches]", &note]);
    let note = format!(
        "[lines of `{root}/mac.txt` that end with CR alone are matched, and count as one line]"
    );
    assert_eq!(
        texts("grep_files", json!({"directory": ".", "regex": "^b"}))[1],
        note
    );
    let note = "[this file ends its lines with CR alone, so it counts as one line]";
    assert_eq!(texts("read_file", json!({"path": "mac.txt"}))[1], note);
}
