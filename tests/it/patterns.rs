//! File names with brackets, braces and backslashes in path and glob parameters, and globs that
//! match too little.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::Server;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

const NAMES: [&str; 5] = ["[slug]", "[...all]", "[[...x]]", "{a,b}", "back\\slash"];

/// Makes a directory of each name, with `page.ts` in it, and directories that the names match as
/// patterns.
fn tree() -> Tree {
    let tree = Tree::new();
    for name in NAMES.into_iter().chain(["s", "a", "x", "backslash"]) {
        tree.file(format!("work/app/{name}/page.ts"), "needle\n");
    }
    tree
}

fn server(tree: &Tree, more: &[&str]) -> Server {
    let allowed = format!("{}:rw", tree.text("work"));
    Server::open(
        tree,
        NEWEST_HANDSHAKE,
        &[&["--allow", &allowed, "--tools", "files"], more].concat(),
    )
}

/// Returns the paths in the structured reply of a search, relative to `work`.
fn found_paths(server: &mut Server, tree: &Tree, tool: &str, arguments: Value) -> Vec<String> {
    let reply = server.call(tool, arguments);
    let matches = reply.result()["structuredContent"]["matches"]
        .as_array()
        .unwrap()
        .clone();
    let path = |found: &Value| {
        found
            .as_str()
            .or_else(|| found["path"].as_str())
            .unwrap()
            .to_owned()
    };
    let prefix = format!("{}/", tree.text("work"));
    matches
        .iter()
        .map(|found| path(found).replace(&prefix, ""))
        .collect()
}

#[test]
fn existing_name_in_globs_is_literal() {
    let tree = tree();
    let mut server = server(&tree, &[]);
    let work = tree.text("work");
    for name in NAMES {
        let page = format!("app/{name}/page.ts");
        for glob in [
            &format!("app/{name}/**"),
            &page,
            &format!("app/{name}/*.ts"),
            &format!("{work}/app/{name}/**"),
        ] {
            let grep = json!({"regex": "needle", "globs": [glob]});
            assert_eq!(
                found_paths(&mut server, &tree, "grep_files", grep),
                [page.as_str()],
                "{glob}"
            );
            let search = json!({"directory": work, "globs": [glob]});
            assert_eq!(
                found_paths(&mut server, &tree, "glob_search", search),
                [page.as_str()],
                "{glob}"
            );
        }
        let below = json!({"directory": work, "globs": [format!("**/{name}/*.ts")]});
        assert!(
            found_paths(&mut server, &tree, "glob_search", below).contains(&page),
            "{name}"
        );
    }
}

#[test]
fn existing_name_in_exclude_globs_is_left_out() {
    let tree = tree();
    let mut server = server(&tree, &[]);
    let work = tree.text("work");
    let absolute = format!("{work}/app/[slug]/**");
    for (exclude, keeps_s) in [
        ("app/[slug]/**", true),
        ("app/[slug]", true),
        (&absolute, true),
        ("[slug]", false),
    ] {
        for globs in ["**", "app/**"] {
            let search = json!({"directory": work, "globs": [globs], "excludeGlobs": [exclude]});
            let left = found_paths(&mut server, &tree, "glob_search", search);
            let has = |path: &str| left.iter().any(|found| found == path);
            assert_eq!(
                [has("app/[slug]/page.ts"), has("app/s/page.ts")],
                [false, keeps_s],
                "{exclude} {globs}: {left:?}"
            );
        }
    }
    for (tool, mut arguments) in [
        ("directory_tree", json!({"path": tree.text("work/app")})),
        (
            "search_files",
            json!({"directory": tree.text("work/app"), "nameContains": "s"}),
        ),
    ] {
        arguments["excludeGlobs"] = json!(["[slug]", "[slug]/**"]);
        let whole = server.call(tool, arguments).whole();
        assert!(
            !whole.contains("[slug]") && whole.contains("slash"),
            "{whole}"
        );
    }
}

/// Removes the note of a search in no file at all, which only `grep_files` has.
fn without_empty_note(mut notes: Value) -> Value {
    const EMPTY: &str =
        "no file was searched: directory, globs and fileTypes together match no file";
    if let Some(notes) = notes.as_array_mut() {
        notes.retain(|note| note != EMPTY);
    }
    notes
}

#[test]
fn glob_without_match_explains_bracket_meaning() {
    let tree = tree();
    let mut server = server(&tree, &[]);
    let work = tree.text("work");
    let mut notes = |globs: Value| {
        let said = ["grep_files", "glob_search"].map(|tool| {
            let mut arguments = json!({"directory": work, "globs": globs});
            if tool == "grep_files" {
                arguments["regex"] = json!("needle");
            }
            let reply = server.call(tool, arguments);
            let notes = reply.result()["structuredContent"]["notes"].clone();
            for note in notes.as_array().into_iter().flatten() {
                assert!(
                    reply
                        .all_texts()
                        .iter()
                        .any(|text| *text == format!("[{}]", note.as_str().unwrap())),
                    "{note}"
                );
            }
            without_empty_note(notes)
        });
        assert_eq!(said[0], said[1]);
        said[0].clone()
    };
    let read = |glob: &str, part: &str| {
        json!([format!(
            "`{glob}` matches nothing, whether `{part}` is read as a name or as a pattern"
        )])
    };
    assert_eq!(notes(json!(["app/[uv]/**"])), read("app/[uv]/**", "[uv]"));
    assert_eq!(
        notes(json!(["app/s/*", "**/{prod}.ts"])),
        read("**/{prod}.ts", "{prod}.ts")
    );
    let name = json!([
        "`app/[slug]/no.ts` matches nothing: a file `[slug]` exists, so its brackets are read as \
         part of the name, not as a pattern"
    ]);
    assert_eq!(notes(json!(["app/[slug]/no.ts"])), name);
    assert_eq!(notes(json!(["app/[rst]/*"])), Value::Null);
    assert_eq!(notes(json!(["app/[slug]/*", "**/*.{ts,js}"])), Value::Null);
}

#[test]
fn shallow_glob_without_match_names_deeper_match() {
    let tree = Tree::new();
    tree.file("work/a.ts", "x\n")
        .file("work/sub/deep/b.ts", "x\n")
        .file("work/sub/c.rs", "x\n")
        .file("work/d.py", "x\n");
    let mut server = server(&tree, &[]);
    let work = tree.text("work");
    let mut notes = |globs: Value, exclude: Value| {
        let said = ["grep_files", "glob_search"].map(|tool| {
            let mut arguments = json!({"directory": work, "globs": globs, "excludeGlobs": exclude});
            if tool == "grep_files" {
                arguments["regex"] = json!("x");
            }
            let reply = server.call(tool, arguments);
            without_empty_note(reply.result()["structuredContent"]["notes"].clone())
        });
        assert_eq!(said[0], said[1]);
        said[0].clone()
    };
    let none = json!([]);
    let more = json!([format!(
        "`*.ts` matches only directly in the directory and leaves out more below, such as `{work}/sub/deep/b.ts`; `**/*.ts` matches \
         at any depth"
    )]);
    assert_eq!(notes(json!(["*.ts"]), none.clone()), more);
    assert_eq!(notes(json!(["*.ts"]), json!(["deep"])), Value::Null);
    assert_eq!(notes(json!(["*.py"]), none.clone()), Value::Null);
    assert_eq!(notes(json!(["**/*.ts"]), none.clone()), Value::Null);
    assert_eq!(notes(json!(["a.ts"]), none.clone()), Value::Null);
    let shallow = |glob: &str, deep: &str| {
        json!([format!(
            "`{glob}` matches only directly in the directory; `{deep}` matches at any depth"
        )])
    };
    assert_eq!(
        notes(json!(["b.ts"]), none.clone()),
        shallow("b.ts", "**/b.ts")
    );
    assert_eq!(
        notes(json!(["sub/*.ts"]), none),
        shallow("sub/*.ts", "sub/**/*.ts")
    );
}

#[test]
fn exclamation_mark_in_globs_is_refused() {
    let tree = Tree::new();
    tree.file("work/a.ts", "x\n")
        .file("work/sub/b.ts", "x\n")
        .file("work/!c.ts", "x\n");
    let mut server = server(&tree, &[]);
    let work = tree.text("work");
    let hint = "hint: exclude files with `excludeGlobs`, where a tool has it, without `!`; write \
        `\\!` for a name that begins with `!`";
    let bad = |parameter: &str, glob: &str| {
        format!(
            "`{parameter}` has an invalid glob: glob `{glob}` begins with `!`, which does not \
             exclude files here\n{hint}"
        )
    };
    let edits = json!([{"oldText": "x", "newText": "y"}]);
    for (tool, arguments, said) in [
        (
            "glob_search",
            json!({"directory": work, "globs": ["**/*.ts", "!sub/**"]}),
            bad("globs[1]", "!sub/**"),
        ),
        (
            "grep_files",
            json!({"regex": "x", "globs": ["!sub/b.ts"]}),
            bad("globs[0]", "!sub/b.ts"),
        ),
        (
            "search_files",
            json!({"directory": work, "nameContains": "b", "excludeGlobs": ["!b.ts"]}),
            bad("excludeGlobs[0]", "!b.ts"),
        ),
        (
            "edit_files",
            json!({"paths": ["a.ts", "!sub/b.ts"], "edits": edits}),
            bad("paths[1]", "!sub/b.ts"),
        ),
    ] {
        assert_eq!(
            server
                .call(tool, arguments)
                .failure()
                .map(|failure| failure.message),
            Some(said),
            "{tool}"
        );
    }
    assert_eq!(tree.read("work/a.ts"), "x\n");
    for glob in ["!c.ts", "\\!c*"] {
        let search = json!({"directory": work, "globs": [glob]});
        assert_eq!(
            found_paths(&mut server, &tree, "glob_search", search),
            ["!c.ts"],
            "{glob}"
        );
    }
    let said = server
        .call("glob_search", json!({"directory": work, "globs": ["sub/"]}))
        .failure()
        .unwrap()
        .message;
    assert_eq!(
        said,
        "`globs[0]` has an invalid glob: glob `sub/` ends with a slash, so it matches no \
         file\nhint: write `**` behind the slash for all files below the directory"
    );
}

#[test]
fn edit_files_takes_bracketed_names_literally() {
    let tree = Tree::new();
    for name in ["i/page.ts", "[k]/page.ts", "k/page.ts", "prod.key", "ab.ts"] {
        tree.file(format!("work/app/{name}"), "old\n");
    }
    let mut server = server(&tree, &[]);
    let mut edit = |path: &str| {
        let edits = json!([{"oldText": "old", "newText": "new"}]);
        let reply = server.call(
            "edit_files",
            json!({"paths": [path], "edits": edits, "atomic": false}),
        );
        let changed: Vec<&str> = ["i/page.ts", "[k]/page.ts", "k/page.ts", "prod.key", "ab.ts"]
            .into_iter()
            .filter(|name| tree.read(&format!("work/app/{name}")) == "new\n")
            .collect();
        for name in &changed {
            tree.file(format!("work/app/{name}"), "old\n");
        }
        (changed, reply.whole())
    };
    for path in [
        "app/[id]/page.ts",
        "app/[id]/*.ts",
        "app/{prod}.key",
        "app/[a]b.ts",
        "**/[id]/*",
        "app/a\\b.ts",
    ] {
        let (changed, whole) = edit(path);
        assert_eq!(changed, [""; 0], "{path}: {whole}");
    }
    let (_, whole) = edit("app/[id]/*.ts");
    let said = "no file matches the glob `app/[id]/*.ts` (`paths[0]`; its brackets are taken literally, \
         as parts of names)";
    assert!(whole.contains(said), "{whole}");
    for path in [
        "app/[k]/page.ts",
        "app/[k]/*.ts",
        "**/[k]/*",
        "app/\\[k\\]/page.ts",
        "app/[[]k]/*",
    ] {
        assert_eq!(edit(path).0, ["[k]/page.ts"], "{path}");
    }
    assert_eq!(edit("app/{i,k}/page.ts").0, ["i/page.ts", "k/page.ts"]);
}

#[test]
fn undo_skip_of_existing_name_is_literal() {
    let tree = tree();
    let skip = [
        "--undo-skip",
        "app/[slug]/",
        "--undo-skip",
        "./app/{a,b}/**",
    ];
    let mut server = server(&tree, &skip);
    for (path, is_skipped) in [
        ("app/[slug]/page.ts", true),
        ("app/s/page.ts", false),
        ("app/{a,b}/page.ts", true),
        ("app/a/page.ts", false),
    ] {
        let whole = server
            .call("write_file", json!({"path": path, "content": "new\n"}))
            .whole();
        assert_eq!(
            whole.contains("[not kept for undo: what matches --undo-skip]"),
            is_skipped,
            "{path}: {whole}"
        );
    }
}

#[test]
fn undo_skip_without_match_fails_start() {
    let tree = tree();
    let allowed = format!("{}:rw", tree.text("work"));
    let absolute = tree.text("work/app/x");
    for (pattern, said) in [
        (absolute.as_str(), "write `app/x`"),
        (
            "/etc/**",
            "is not a path below an allowed directory: write a path below an allowed directory",
        ),
        ("app//x", "write `app/x`"),
        ("../x", "has a `..`"),
        ("!app/x", "begins with `!`"),
        ("app/[x", "has a `[` without its `]`"),
        ("", "names nothing"),
    ] {
        let mut server = Server::start(
            &tree,
            &[
                "--allow",
                &allowed,
                "--tools",
                "files",
                "--undo-skip",
                pattern,
            ],
        );
        assert!(!server.wait_exit().success(), "{pattern}");
        let told = server.stderr();
        assert!(
            told.contains("--undo-skip: ") && told.contains(said),
            "{pattern}: {told}"
        );
    }
}
