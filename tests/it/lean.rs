//! Lean replies: one short text for a model.

use std::fs;
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::Server;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

fn open(tree: &Tree) -> Server {
    let allow = format!("{}:rw", tree.dir("work").path("work").display());
    Server::open(
        tree,
        NEWEST_HANDSHAKE,
        &["--allow", &allow, "--replies", "lean"],
    )
}

/// The text of a reply that has nothing else.
fn text(server: &mut Server, tool: &str, arguments: Value) -> String {
    let result = server.call(tool, arguments).result().clone();
    assert_eq!(result.get("structuredContent"), None, "{result}");
    let content = result["content"].as_array().unwrap();
    assert_eq!(content.len(), 1, "{result}");
    content[0]["text"].as_str().unwrap().to_owned()
}

/// A project with ignored files, a cache and a virtual environment.
fn project() -> Tree {
    let tree = Tree::new();
    tree.file("work/.gitignore", "*.log\nnode_modules\n")
        .file("work/src/a.rs", "one\ntwo\nthree\n")
        .file("work/src/deep/b.rs", "two\n")
        .file("work/debug.log", "two\n")
        .file("work/node_modules/m/index.js", "two\nonly here\n")
        .file(
            "work/target/CACHEDIR.TAG",
            "Signature: 8a477f597d28d172789f06886806bc55\n",
        )
        .file("work/target/out", "two\n")
        .file("work/env/pyvenv.cfg", "home = /usr/bin\n")
        .file("work/env/lib/x.py", "two\n")
        .file("work/not-a-cache/CACHEDIR.TAG", "two\n");
    tree
}

const LEFT_OUT: &str = "1 ignored file and 3 ignored directories left out (ignored: true)";

#[test]
fn search_names_each_path_once() {
    let tree = project();
    let mut server = open(&tree);
    let grep = json!({"regex": "two", "directory": ".", "contextLines": 1});
    assert_eq!(
        text(&mut server, "grep_files", grep),
        format!(
            "not-a-cache/CACHEDIR.TAG\n1: two\nsrc/a.rs\n1- one\n2: two\n3- three\nsrc/deep/b.rs\n1: two\n[{LEFT_OUT}]\n"
        )
    );
    let all = json!({"regex": "two", "directory": ".", "ignored": true, "outputMode": "files"});
    assert_eq!(
        text(&mut server, "grep_files", all),
        "debug.log\nenv/lib/x.py\nnode_modules/m/index.js\nnot-a-cache/CACHEDIR.TAG\nsrc/a.rs\nsrc/deep/b.rs\ntarget/out\n"
    );
}

#[test]
fn search_without_match_names_ignored_files_that_match() {
    let tree = project();
    let mut server = open(&tree);
    let grep = json!({"regex": "only here", "directory": "."});
    assert_eq!(
        text(&mut server, "grep_files", grep),
        format!("[no matches; ignored files match: `node_modules/m/index.js`; {LEFT_OUT}]\n")
    );
    let glob = json!({"directory": ".", "globs": ["**/x.py"]});
    assert_eq!(
        text(&mut server, "glob_search", glob),
        "[no file matches; ignored files match: `env/lib/x.py`; 3 ignored directories left out (ignored: true)]\n"
    );
    // A directory that is named is searched.
    let inside = json!({"regex": "only here", "directory": "node_modules"});
    assert_eq!(
        text(&mut server, "grep_files", inside),
        "node_modules/m/index.js\n2: only here\n"
    );
}

#[test]
fn trees_and_lists_are_indented_names() {
    let tree = project();
    let mut server = open(&tree);
    assert_eq!(
        text(&mut server, "directory_tree", json!({"path": "."})),
        format!(
            ".gitignore\nenv/\nnot-a-cache/\n  CACHEDIR.TAG\nsrc/\n  a.rs\n  deep/\n    b.rs\ntarget/\n[{LEFT_OUT}]\n"
        )
    );
    assert_eq!(
        text(&mut server, "list_directory", json!({"path": "src"})),
        "a.rs\ndeep/\n"
    );
}

#[test]
fn reply_stays_within_budget() {
    let tree = Tree::new();
    let lines: Vec<String> = (0..20_000)
        .map(|line| format!("line {line} of many\n"))
        .collect();
    tree.file("work/long.txt", lines.concat());
    let mut server = open(&tree);
    let long = text(&mut server, "read_file", json!({"path": "long.txt"}));
    assert!(long.ends_with("of 20000; next offset 284]\n"), "{long}");
    let page = json!({"path": "long.txt", "offset": 1, "limit": 20_000});
    let page = text(&mut server, "read_file", page);
    assert!((20_000..40_000).contains(&page.len()), "{}", page.len());
    let grep = json!({"regex": "line", "directory": "long.txt", "maxTokens": 100});
    assert_eq!(
        text(&mut server, "grep_files", grep).lines().last(),
        Some(
            "[500 lines match in 1 file, and more: narrow the search or raise maxResults; 495 of them are not shown, from long.txt:6 on: narrow the search, set outputMode or raise maxTokens]"
        )
    );
    let many =
        "i=0; while [ $i -lt 9000 ]; do i=$((i+1)); echo \"entry $i: $((i * 7919 % 10007))\"; done";
    let many = text(&mut server, "execute_command", json!({"command": many}));
    assert!((10_000..40_000).contains(&many.len()), "{}", many.len());
    assert!(many.starts_with("entry 1: 7919\n"), "{many}");
    assert!(many.contains("entry 9000: "), "{many}");
}

#[test]
fn changes_name_lines_and_undo_number() {
    let tree = project();
    let mut server = open(&tree);
    let edit = json!({"path": "src/a.rs", "edits": [{"oldText": "two\nthree", "newText": "2\n3"}]});
    assert_eq!(
        text(&mut server, "edit_file", edit),
        "edited src/a.rs 2-3 (undo 1)\n"
    );
    let write = json!({"path": "src/c.rs", "content": "1\n2\n"});
    assert_eq!(
        text(&mut server, "write_file", write),
        "wrote src/c.rs, 2 lines (undo 2)\n"
    );
    let rename = json!({"source": "src/c.rs", "destination": "src/d.rs"});
    assert_eq!(
        text(&mut server, "move_file", rename),
        "moved src/c.rs to src/d.rs (undo 3)\n"
    );
    assert_eq!(
        text(&mut server, "delete_file", json!({"path": "src/d.rs"})),
        "deleted src/d.rs (undo 4)\n"
    );
    let undone = [
        ("restored src/d.rs", "call 4, delete_file"),
        ("moved src/d.rs back to src/c.rs", "call 3, move_file"),
        ("removed src/c.rs", "call 2, write_file"),
        ("reverted src/a.rs", "call 1, edit_file"),
    ];
    for (number, (undone, call)) in (5..).zip(undone) {
        assert_eq!(
            text(&mut server, "undo_changes", json!({})),
            format!("{undone}\n[that was {call}] (undo {number})\n")
        );
    }
    let nothing = server.call("undo_changes", json!({})).failure().unwrap();
    assert_eq!(
        nothing.message,
        "no call has changed anything that could be undone, but for ignored files\nhint: list_changes has what calls changed, undone or not; give a number of it"
    );
    assert_eq!(tree.read("work/src/a.rs"), "one\ntwo\nthree\n");
}

#[test]
fn colours_are_removed_from_both_streams() {
    let tree = project();
    let mut server = open(&tree);
    let command = r"printf '\033[31mout\033[0m\n'; printf '\033[1merror\033[0m\n' >&2";
    let shown = text(&mut server, "execute_command", json!({"command": command}));
    assert_eq!(shown, "out\n[stderr]\nerror\n");
}

#[test]
fn undo_of_last_call_takes_commit_back() {
    let tree = project();
    let mut server = open(&tree);
    let git = "git -c user.name=a -c user.email=a@b";
    let mut run =
        |command: String| text(&mut server, "execute_command", json!({"command": command}));
    let made = run(format!(
        "mkdir repo && cd repo && git init -q && echo 1 > f && git add f && {git} commit -qm one"
    ));
    run("echo 2 > repo/f".to_owned());
    let committed = run(format!("cd repo && {git} commit -qam two"));
    for told in [made, committed] {
        assert_eq!(told.matches("committed ").count(), 1, "{told}");
    }
    let undone = text(&mut server, "undo_changes", json!({}));
    assert!(
        undone.contains("\n[that was call 3, execute_command: cd repo && ")
            && undone.ends_with("] (undo 4)\n"),
        "{undone}"
    );
    let look = json!({"command": "cd repo && git log --format=%s && git status --short && cat f"});
    let seen = text(&mut server, "execute_command", look);
    assert!(seen.starts_with("one\n M f\n2\n"), "{seen}");
}

#[test]
fn edits_of_many_files_are_counted() {
    let tree = project();
    let mut server = open(&tree);
    let edits = |dry_run: bool| json!({"paths": ["**/*"], "edits": [{"oldText": "two", "newText": "2"}], "dryRun": dry_run, "atomic": true});
    assert_eq!(
        text(&mut server, "edit_files", edits(true)),
        "not-a-cache/CACHEDIR.TAG\n-1: two\n+1: 2\nsrc/a.rs\n-2: two\n+2: 2\nsrc/deep/b.rs\n-1: two\n+1: 2\n\
         [3 files would be edited, 3 replacements (1 other has no match); 1 ignored file and 3 ignored directories left out (ignored: true)]\n"
    );
    assert_eq!(
        text(&mut server, "edit_files", edits(false)),
        "not-a-cache/CACHEDIR.TAG 1, src/a.rs 1, src/deep/b.rs 1\n\
         [3 files edited, 3 replacements (1 other has no match); 1 ignored file and 3 ignored directories left out (ignored: true); undo 1]\n"
    );
    let files = json!({"files": [
        {"path": "src/a.rs", "edits": [{"oldText": "one", "newText": "1"}]},
        {"path": "src/deep/b.rs", "edits": [{"oldText": "2", "newText": "zwei"}]}]});
    assert_eq!(
        text(&mut server, "edit_files", files),
        "src/a.rs 1, src/deep/b.rs 1\n[2 files edited, 2 replacements; undo 2]\n"
    );
}

#[test]
fn command_ends_with_status_line() {
    let tree = project();
    let mut server = open(&tree);
    let run = |server: &mut Server, command: &str| {
        text(server, "execute_command", json!({"command": command}))
    };
    assert_eq!(
        run(
            &mut server,
            "echo out; echo err >&2; echo x > src/new; echo x > node_modules/y; exit 3"
        ),
        "out\n[stderr]\nerr\n[exit 3; created src/new and 1 ignored file; undo 1]\n"
    );
    // Changes in ignored directories alone are not told.
    assert_eq!(run(&mut server, "touch target/z"), "[exit 0]\n");
    let git = "git init -q -b main && git -c user.name=n -c user.email=m@example.com commit -q --allow-empty -m first";
    let committed = run(&mut server, git);
    let head = fs::read_to_string(tree.path("work/.git/refs/heads/main")).unwrap();
    assert_eq!(
        committed,
        format!("[exit 0; committed {} on main; undo 3]\n", &head[..7])
    );
}

#[test]
fn commits_are_told_with_their_branches() {
    let tree = project();
    let mut server = open(&tree);
    let commit = "git -c user.name=n -c user.email=m@example.com commit -q --allow-empty -m x";
    let line = format!(
        "git init -q -b main && {commit} && git switch -q -c topic && {commit} && git switch -q main"
    );
    let told = text(&mut server, "execute_command", json!({"command": line}));
    let head = |branch: &str| {
        let id = fs::read_to_string(tree.path(format!("work/.git/refs/heads/{branch}")));
        id.unwrap()[..7].to_owned()
    };
    let expected = [
        "exit 0".to_owned(),
        format!("committed {} on main", head("main")),
        "git checkout: moving from main to topic".to_owned(),
        format!("committed {} on topic", head("topic")),
        "git checkout: moving from topic to main".to_owned(),
        "undo 1".to_owned(),
    ];
    assert_eq!(told, format!("[{}]\n", expected.join("; ")));
}

#[test]
fn parts_of_several_files_are_read_at_once() {
    let tree = project();
    let mut server = open(&tree);
    let ranges = json!({"ranges": ["src/a.rs:2-3", "src/deep/b.rs", "none:1-2"], "numbers": true});
    assert_eq!(
        text(&mut server, "read_file", ranges),
        format!(
            "src/a.rs:2-3\n2: two\n3: three\nsrc/deep/b.rs\n1: two\nnone:1-2\n[error: `{}` does not exist]\n",
            tree.text("work/none")
        )
    );
}

#[test]
fn log_of_a_command_is_searched() {
    let tree = Tree::new();
    let mut server = open(&tree);
    let long =
        "i=0; while [ $i -lt 9000 ]; do i=$((i+1)); echo \"entry $i: $((i * 7919 % 10007))\"; done";
    let cut = text(&mut server, "execute_command", json!({"command": long}));
    let log = cut
        .split('`')
        .find(|part| part.starts_with("replay://"))
        .unwrap();
    let grep = json!({"regex": "entry 4321:", "directory": log});
    assert_eq!(
        text(&mut server, "grep_files", grep),
        format!("4321: entry 4321: {}\n", 4321 * 7919 % 10007)
    );
}

#[test]
fn follow_waits_for_a_port() {
    let tree = Tree::new();
    let mut server = open(&tree);
    let serve = json!({"command": "sleep 0.5; exec python3 -m http.server 8123 --bind 127.0.0.1", "background": true});
    let started = text(&mut server, "execute_command", serve);
    assert!(started.contains("\"c1\""), "{started}");
    let waited = json!({"commandId": "c1", "port": 8123, "waitSecs": 20});
    let listens = text(&mut server, "follow_command", waited);
    assert!(
        listens.contains("[something listens on port 8123]"),
        "{listens}"
    );
    let none = json!({"commandId": "c1", "port": 8124, "waitSecs": 1});
    let silent = text(&mut server, "follow_command", none);
    assert!(
        silent.contains("[nothing listens on port 8124 so far]"),
        "{silent}"
    );
    server.call("follow_command", json!({"commandId": "c1", "end": true}));
}

#[test]
fn python_reply_is_output_value_and_files() {
    let tree = Tree::new();
    tree.dir("work");
    let made = std::process::Command::new("/usr/bin/python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(tree.path("work/.venv"))
        .status();
    assert!(made.unwrap().success());
    let allow = format!("{}:rw", tree.path("work").display());
    let flags = [
        "--allow",
        &allow,
        "--replies",
        "lean",
        "--tools",
        "files,python",
    ];
    let mut server = Server::open(&tree, NEWEST_HANDSHAKE, &flags);
    let listed = server.request("tools/list", json!({})).result()["tools"].clone();
    let listed: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .filter(|name| {
            [
                "run_python_code",
                "install_packages",
                "restart_session",
                "list_variables",
            ]
            .contains(name)
        })
        .collect();
    assert_eq!(
        listed,
        ["run_python_code", "restart_session", "install_packages"]
    );
    // The interpreter is that of the project.
    let code =
        "import sys\nprint('out')\nopen('new.txt', 'w').close()\nsys.prefix.rsplit('/', 1)[1]";
    assert_eq!(
        text(&mut server, "run_python_code", json!({"code": code})),
        "out\n=> '.venv'\n[created new.txt; undo 1]\n[new new.txt]\n"
    );
    let failed = text(&mut server, "run_python_code", json!({"code": "1/0"}));
    assert!(
        failed.ends_with("ZeroDivisionError: division by zero\n"),
        "{failed}"
    );
}

#[test]
fn undo_without_number_skips_changes_in_ignored_directories() {
    let tree = project();
    let mut server = open(&tree);
    let edit = json!({"path": "src/a.rs", "edits": [{"oldText": "two", "newText": "2"}]});
    text(&mut server, "edit_file", edit);
    let build = "echo new > target/out; echo x > target/more";
    text(&mut server, "execute_command", json!({"command": build}));
    // A call that failed has a number, and changed nothing.
    let fails = json!({"source": "src/a.rs", "destination": "src/deep/b.rs"});
    assert_eq!(server.call("move_file", fails).code(), -32603);
    let both = "echo more >> target/out; echo x > src/new";
    text(&mut server, "execute_command", json!({"command": both}));
    assert_eq!(
        text(&mut server, "undo_changes", json!({"paths": ["src"]})),
        "removed src/new\n[that was call 4, execute_command: echo more >> target/out; echo x > src/new] (undo 5)\n"
    );
    assert_eq!(
        text(&mut server, "undo_changes", json!({"paths": ["src/a.rs"]})),
        "reverted src/a.rs\n[that was call 1, edit_file] (undo 6)\n"
    );
}

#[test]
fn undo_leaves_files_of_a_cache() {
    let tree = project();
    let mut server = open(&tree);
    let run = |server: &mut Server, command: &str| {
        text(server, "execute_command", json!({"command": command}))
    };
    run(&mut server, "echo x > src/new; echo first > target/out");
    run(&mut server, "echo second > target/out");
    assert_eq!(
        text(&mut server, "undo_changes", json!({"calls": [1]})),
        "removed src/new\n[target stays as it is: a later call changed it, and a program can make it again] (undo 3)\n"
    );
    assert_eq!(tree.read("work/target/out"), "second\n");
}

#[test]
fn file_named_by_a_rule_is_told() {
    let tree = project();
    let mut server = open(&tree);
    let hides = "printf '*.rs\\n' > .gitignore; echo x >> src/a.rs";
    assert_eq!(
        text(&mut server, "execute_command", json!({"command": hides})),
        "[exit 0; edited .gitignore, edited src/a.rs; undo 1]\n"
    );
}

#[test]
fn link_and_target_are_edited_once() {
    let tree = project();
    tree.link("a.rs", "work/src/link.rs");
    let mut server = open(&tree);
    let edits = json!([{"oldText": "two", "newText": "two2"}]);
    let paths = json!({"paths": ["src/a.rs", "src/link.rs", "src/deep/../a.rs"], "edits": edits});
    assert_eq!(
        text(&mut server, "edit_files", paths),
        "src/a.rs 1\n[1 file edited, 1 replacement; undo 1]\n"
    );
}

#[test]
fn files_without_room_are_named() {
    let tree = Tree::new();
    let lines: Vec<String> = (0..5000).map(|line| format!("line {line}\n")).collect();
    tree.file("work/long", lines.concat())
        .file("work/short", "s\n");
    let mut server = open(&tree);
    let read = json!({"paths": ["long", "short", "none"], "maxTokens": 500});
    let read = text(&mut server, "read_multiple_files", read);
    assert!(
        read.ends_with("\n[not shown, since the reply is full: `short`, `none`]\n"),
        "{}",
        &read[read.len().saturating_sub(300)..]
    );
    let ranges = json!({"ranges": ["long:1-4000", "short:1-1"], "maxTokens": 500});
    let ranges = text(&mut server, "read_file", ranges);
    assert!(
        ranges.ends_with("\n[not shown, since the reply is full: `short:1-1`]\n"),
        "{ranges}"
    );
}

#[test]
fn follow_keeps_its_status_within_the_budget() {
    let tree = Tree::new();
    let mut server = open(&tree);
    let writes = json!({"command": "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo \"$i $((i * 7919 % 10007))\"; done; exit 4", "background": true});
    text(&mut server, "execute_command", writes);
    let mut last = String::new();
    while !last.ends_with("[exit 4]\n") {
        let follow = json!({"commandId": "c1", "waitSecs": 30, "maxTokens": 60});
        last = text(&mut server, "follow_command", follow);
        assert!(
            last.ends_with("[exit 4]\n") || last.contains("\n[still running; cursor "),
            "{last}"
        );
    }
}

#[test]
fn colours_are_no_part_of_a_lean_reply() {
    let tree = Tree::new();
    let mut server = open(&tree);
    let colours = json!({"command": "printf '\\033[31mred\\033[0m\\n'"});
    assert_eq!(text(&mut server, "execute_command", colours), "red\n");
}

#[test]
fn rules_above_the_directory_of_a_search_apply() {
    let tree = project();
    tree.file("work/src/deep/x.log", "two\n");
    let mut server = open(&tree);
    let grep = json!({"regex": "two", "directory": "src/deep"});
    assert_eq!(
        text(&mut server, "grep_files", grep),
        "src/deep/b.rs\n1: two\n[1 ignored file left out (ignored: true)]\n"
    );
    assert_eq!(
        text(&mut server, "directory_tree", json!({"path": "src/deep"})),
        "b.rs\n[1 ignored file left out (ignored: true)]\n"
    );
}

#[test]
fn cache_stays_undoable_until_next_change() {
    let tree = project();
    let mut server = open(&tree);
    let write = |server: &mut Server, path: &str, content: &str| {
        let arguments = json!({"path": path, "content": content});
        server.call("write_file", arguments).texts()
    };
    let first = write(&mut server, "target/out", "first\n");
    assert_eq!(first, ["wrote target/out, 1 line (undo 1)\n"]);
    write(&mut server, "src/a.rs", "first\n");
    let second = write(&mut server, "target/out", "second, and longer\n");
    assert_eq!(
        second,
        [
            "wrote target/out, 1 line (undo 3)\n[`target` can be made again, so undo keeps only the \
          last change of it]\n"
        ]
    );
    // The server forgets beside the calls.
    let begun = Instant::now();
    loop {
        let all = json!({"calls": [1, 2, 3], "dryRun": true});
        let planned = text(&mut server, "undo_changes", all);
        if planned.contains("target stays as it is") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "{planned}");
    }
    let undone = text(&mut server, "undo_changes", json!({"calls": [2, 3]}));
    assert!(undone.contains("target/out"), "{undone}");
    assert_eq!(tree.read("work/target/out"), "first\n");
    assert_eq!(tree.read("work/src/a.rs"), "one\ntwo\nthree\n");
}

#[test]
fn until_matches_text_without_colours() {
    let tree = project();
    let mut server = open(&tree);
    let line = "printf '\\033[32mready\\033[0m \\033[1mnow\\033[0m\\n'; sleep 1000";
    let started = json!({"command": line, "background": true});
    server.call("execute_command", started).result();
    let arguments = json!({"commandId": "c1", "until": "^ready now$", "waitSecs": 60});
    assert_eq!(
        text(&mut server, "follow_command", arguments),
        "ready now\n[still running; cursor 27]\n"
    );
}

#[test]
fn range_without_end_is_read_to_last_line() {
    let tree = project();
    let mut server = open(&tree);
    assert_eq!(
        text(&mut server, "read_file", json!({"ranges": ["src/a.rs:2-"]})),
        "src/a.rs:2-\ntwo\nthree\n[lines 2-3 of 3]\n"
    );
}

#[test]
fn cut_list_of_names_tells_parameter() {
    let tree = project();
    let mut server = open(&tree);
    let found = text(
        &mut server,
        "glob_search",
        json!({"directory": ".", "pattern": "**/*.rs", "max": 1}),
    );
    assert!(
        found.contains("the first 1 of 2 files: narrow the search or raise max]")
            || found.contains("the first 1 of 2 files: narrow the search or raise max; "),
        "{found}"
    );
}
