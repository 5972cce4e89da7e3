//! 2. Symbolic links.

use serde_json::json;

use super::{Stage, readers, walkers, writers};

#[test]
fn e23_symlink_to_outside_file_is_denied() {
    let mut stage = Stage::new(|tree| {
        for side in ["work", "docs"] {
            tree.link(tree.path("outside/secret"), format!("{side}/l-secret"));
            tree.link(tree.path("outside/absent"), format!("{side}/l-absent"));
        }
    });
    for side in ["work", "docs"] {
        let path = stage.tree.text(&format!("{side}/l-secret"));
        stage.denied("read_file", json!({"path": path}));
        stage.denied("read_multiple_files", json!({"paths": [path]}));
        stage.denied("get_file_info", json!({"path": path}));
        stage.denied("grep_files", json!({"directory": path, "regex": "E"}));
    }
    let path = stage.tree.text("work/l-secret");
    stage.denied(
        "edit_file",
        json!({"path": path, "edits": [{"oldText": "T", "newText": "t"}]}),
    );
    stage.denied(
        "edit_file",
        json!({"path": path, "edits": [{"oldText": "T", "newText": "t"}], "dryRun": true}),
    );
    stage.end();
}

#[test]
fn e24_symlink_to_outside_directory_is_denied() {
    let mut stage = Stage::new(|tree| {
        tree.link(tree.path("outside"), "work/d-secret")
            .link(tree.path("nowhere"), "work/d-absent");
    });
    for name in [
        "work/d-secret/secret",
        "work/d-secret/sub/secret",
        "work/d-secret/sub/../secret",
    ] {
        let (path, inside) = (stage.tree.text(name), stage.tree.text("work"));
        for (tool, arguments) in [readers(&path), walkers(&path), writers(&path, &inside)].concat()
        {
            stage.denied(tool, arguments);
        }
    }
    let path = stage.tree.text("work/d-secret");
    for (tool, arguments) in walkers(&path) {
        stage.denied(tool, arguments);
    }
    // Path from inside through the outside back to the inside: denied, because it leaves the
    // directory.
    let path = stage.tree.text("work/d-secret/../work/ok.txt");
    stage.denied("read_file", json!({"path": path}));
    stage.end();
}

#[test]
fn e25_relative_and_chained_symlinks_are_denied() {
    let mut stage = Stage::new(|tree| {
        tree.dir("work/sub").link("sub/..", "work/turn");
        for word in ["secret", "absent"] {
            tree.link(format!("../outside/{word}"), format!("work/rel-{word}"));
            tree.link(format!("rel-{word}"), format!("work/chain-{word}-1"));
            for step in 2..=38 {
                tree.link(
                    format!("chain-{word}-{}", step - 1),
                    format!("work/chain-{word}-{step}"),
                );
            }
            tree.link(
                format!("turn/../outside/{word}"),
                format!("work/turned-{word}"),
            );
        }
    });
    for name in [
        "rel-secret",
        "chain-secret-1",
        "chain-secret-2",
        "chain-secret-20",
        "chain-secret-38",
        "turned-secret",
    ] {
        let path = stage.tree.text(&format!("work/{name}"));
        stage.denied("read_file", json!({"path": path}));
    }
    stage.end();
}

#[test]
fn e25_symlinks_inside_are_followed() {
    let mut stage = Stage::new(|tree| {
        tree.dir("work/sub")
            .link("../ok.txt", "work/sub/rel")
            .link(tree.path("work/ok.txt"), "work/abs");
        tree.link(tree.path("docs/read.txt"), "work/across")
            .link("sub/../sub/rel", "work/winding");
    });
    for (name, text) in [
        ("sub/rel", "fine\n"),
        ("abs", "fine\n"),
        ("winding", "fine\n"),
        ("across", "readme\n"),
    ] {
        let path = stage.tree.text(&format!("work/{name}"));
        assert_eq!(
            stage.works("read_file", json!({"path": path})),
            text,
            "{name}"
        );
    }
    // The access right is that of the target, not that of the symlink.
    let path = stage.tree.text("work/across");
    stage.denied(
        "edit_file",
        json!({"path": path, "edits": [{"oldText": "readme", "newText": "x"}]}),
    );
    assert_eq!(stage.tree.read("docs/read.txt"), "readme\n");
    stage.end();
}

#[test]
fn e26_symlink_loops_fail() {
    let mut stage = Stage::new(|tree| {
        tree.link("b", "work/a")
            .link("a", "work/b")
            .link("self", "work/self")
            .dir("work/d")
            .link("../d", "work/d/in");
        tree.link(".", "work/dot");
    });
    for name in ["a", "self", "a/x", "self/x"] {
        let path = stage.tree.text(&format!("work/{name}"));
        let inside = stage.tree.text("work");
        for (tool, arguments) in [readers(&path), walkers(&path)].concat() {
            stage.fails(tool, arguments);
        }
        for (tool, arguments) in writers(&path, &inside) {
            // Delete, move and replace operate on a final symlink itself.
            if name.ends_with('x') {
                stage.fails(tool, arguments);
            }
        }
    }
    let path = stage.tree.text("work");
    for (tool, arguments) in walkers(&path) {
        let text = stage.works(tool, arguments);
        assert!(text.matches("ok.txt").count() <= 1, "{tool}: {text}");
    }
    stage.end();
}

#[test]
fn e27_write_through_dangling_symlink_is_denied() {
    let mut stage = Stage::new(|tree| {
        tree.link(tree.path("outside/created"), "work/dang");
    });
    let path = stage.tree.text("work/dang");
    stage.call("write_file", json!({"path": path, "content": "x"}));
    stage.call(
        "edit_file",
        json!({"path": path, "edits": [{"oldText": "", "newText": "x"}]}),
    );
    assert!(!stage.tree.has("outside/created"));
    stage.end();
}

#[test]
fn e28_mkdir_through_dangling_symlink_is_denied() {
    let mut stage = Stage::new(|tree| {
        tree.link(tree.path("outside/newdir"), "work/dd");
    });
    for name in ["dd", "dd/sub", "dd/sub/sub", "dd/"] {
        let path = stage.tree.text(&format!("work/{name}"));
        assert_eq!(
            stage.fails("create_directory", json!({"path": path})).code,
            Some(-32001),
            "{name}"
        );
    }
    stage.end();
}

#[test]
fn e30_create_with_parents_below_symlink_is_denied() {
    let mut stage = Stage::new(|tree| {
        tree.link(tree.path("outside"), "work/ln");
    });
    let path = stage.tree.text("work/ln/n3/secret.txt");
    stage.denied("write_file", json!({"path": path, "content": "x"}));
    stage.denied("create_directory", json!({"path": path}));
    assert!(!stage.tree.has("outside/n3"));
    stage.end();
}

#[test]
fn e31_delete_of_symlink_keeps_target() {
    let mut stage = Stage::new(|tree| {
        tree.link(tree.path("outside"), "work/ln")
            .link(tree.path("outside/secret"), "work/lf");
        tree.link(tree.path("outside/none"), "work/dangling");
    });
    for name in ["ln", "lf", "dangling"] {
        let path = stage.tree.text(&format!("work/{name}"));
        stage.works("delete_file", json!({"path": path}));
        assert!(!stage.tree.has(&format!("work/{name}")), "{name}");
    }
    stage.end();
}

#[test]
fn e32_recursive_delete_does_not_follow_symlinks() {
    let mut stage = Stage::new(|tree| {
        tree.file("work/t/sub/f", "x")
            .link(tree.path("outside"), "work/t/ln")
            .link("../..", "work/t/sub/up");
        tree.link(tree.path("outside/secret"), "work/t/sub/lf")
            .fifo("work/t/fifo");
    });
    let path = stage.tree.text("work/t");
    stage.works("delete_file", json!({"path": path}));
    assert!(!stage.tree.has("work/t") && stage.tree.has("work/ok.txt"));
    stage.end();
}

#[test]
fn e33_delete_through_trailing_slash_is_denied() {
    let mut stage = Stage::new(|tree| {
        tree.link(tree.path("outside"), "work/ln");
    });
    for name in [
        "work/ln/",
        "work/ln/.",
        "work/ln//",
        "work/ln/./",
        "work/ln/sub/..",
    ] {
        let path = stage.tree.text(name);
        assert_eq!(
            stage.fails("delete_file", json!({"path": path})).code,
            Some(-32001),
            "{name}"
        );
    }
    let path = stage.tree.text("work/.");
    stage.fails("delete_file", json!({"path": path}));
    let path = stage.tree.text("work");
    stage.fails("delete_file", json!({"path": path}));
    assert!(stage.tree.has("work/ok.txt"));
    stage.end();
}

#[test]
fn e34_move_of_symlink_keeps_target() {
    let mut stage = Stage::new(|tree| {
        tree.link(tree.path("outside/secret"), "work/ln")
            .link(tree.path("outside"), "work/ld");
    });
    for (from, to) in [("work/ln", "work/x"), ("work/ld", "work/y")] {
        let (source, destination) = (stage.tree.text(from), stage.tree.text(to));
        let moved = stage
            .call(
                "move_file",
                json!({"source": source, "destination": destination}),
            )
            .failure()
            .is_none();
        assert!(stage.tree.is_link(if moved { to } else { from }), "{from}");
        assert!(!stage.tree.has(if moved { from } else { to }), "{from}");
    }
    stage.end();
}

#[test]
fn e36_move_below_outside_symlink_is_denied() {
    let mut stage = Stage::new(|tree| {
        tree.link(tree.path("outside"), "work/ln");
    });
    for name in [
        "work/ln/secret-f",
        "work/ln/",
        "work/ln/sub/secret-f",
        "work/ln/deep/deeper/f",
    ] {
        let (source, destination) = (stage.tree.text("work/ok.txt"), stage.tree.text(name));
        let failure = stage.fails(
            "move_file",
            json!({"source": source, "destination": destination}),
        );
        assert_eq!(failure.code, Some(-32001), "{name}: {}", failure.message);
        assert!(stage.tree.has("work/ok.txt"));
    }
    stage.end();
}

#[test]
fn e38_directory_walk_does_not_follow_symlinks_out() {
    let mut stage = Stage::new(|tree| {
        tree.link(tree.path("outside"), "work/ln")
            .link(tree.path("outside/secret"), "work/lf");
        tree.link(tree.path("sized"), "work/lsize")
            .file("sized", vec![b'E'; 31_415]);
    });
    let path = stage.tree.text("work");
    for (tool, arguments) in walkers(&path) {
        let text = stage.works(tool, arguments);
        assert!(
            !text.contains("31415"),
            "{tool} tells the size of a link's target: {text}"
        );
        assert!(!text.contains("ln/"), "{tool} walked below a link: {text}");
    }
    stage.end();
}

#[test]
fn e39_globs_do_not_follow_symlinks_out() {
    let mut stage = Stage::new(|tree| {
        tree.link(tree.path("outside"), "work/ln")
            .link(tree.path("outside/secret"), "work/secret");
        tree.link("..", "work/up");
    });
    let (work, before) = (stage.tree.text("work"), stage.tree.fingerprint("work"));
    let globs = [
        "ln/**",
        "ln/*",
        "*/secret",
        "ln/../ln/*",
        "up/outside/*",
        "../outside/*",
        "**/secret",
        "{ln,up}/**/*",
        "[l]n/s*",
    ];
    for glob in globs {
        let absolute = format!("{work}/{glob}");
        for glob in [glob, &absolute] {
            stage.call(
                "grep_files",
                json!({"regex": "TOP|E", "directory": work, "globs": [glob]}),
            );
            stage.call("grep_files", json!({"regex": "TOP|E", "globs": [glob]}));
            stage.call("glob_search", json!({"directory": work, "globs": [glob]}));
            stage.call(
                "glob_search",
                json!({"directory": work, "globs": ["**"], "excludeGlobs": [glob]}),
            );
        }
        let edits = json!([{"oldText": "TOP", "newText": "x", "limit": 0}]);
        let reply = stage.call("edit_files", json!({"paths": [absolute], "edits": edits}));
        assert!(
            !reply.whole().contains("uccessfully"),
            "{glob}: {}",
            reply.whole()
        );
    }
    assert_eq!(before, stage.tree.fingerprint("work"));
    stage.end();
}

#[test]
fn e40_symlink_to_parent_does_not_loop_walk() {
    let mut stage = Stage::new(|tree| {
        tree.link("..", "work/up")
            .link("../..", "work/upup")
            .link(".", "work/here");
        tree.dir("work/sub").link("..", "work/sub/parent");
    });
    let path = stage.tree.text("work");
    for (tool, arguments) in walkers(&path) {
        let text = stage.works(tool, arguments);
        assert!(
            text.matches("ok.txt").count() <= 1 && !text.contains("read.txt"),
            "{tool}: {text}"
        );
    }
    stage.end();
}

#[test]
fn e42_edit_through_inside_symlink_keeps_symlink() {
    let mut stage = Stage::new(|tree| {
        tree.file("work/real", "old text\n")
            .link("real", "work/l")
            .link(tree.path("work/real"), "work/labs");
    });
    for (name, from, to) in [("l", "old", "new"), ("labs", "new", "newer")] {
        let path = stage.tree.text(&format!("work/{name}"));
        stage.works(
            "edit_file",
            json!({"path": path, "edits": [{"oldText": from, "newText": to}]}),
        );
        assert!(stage.tree.is_link(&format!("work/{name}")));
    }
    assert_eq!(stage.tree.read("work/real"), "newer text\n");
    assert!(!stage.tree.is_link("work/real"));
    stage.end();
}

#[test]
fn e109_bad_symlink_fails_only_its_own_entry() {
    const COUNT: usize = 1000;
    let mut stage = Stage::new(|tree| {
        for number in 0..COUNT {
            tree.file(format!("work/many/file-{number:04}.txt"), "findme\n");
        }
        tree.link(tree.path("outside"), "work/many/ln")
            .link(tree.path("nowhere"), "work/many/file-gone.txt");
    });
    let path = stage.tree.text("work/many");
    let calls = [
        ("list_directory", json!({"path": path})),
        ("directory_tree", json!({"path": path})),
        (
            "search_files",
            json!({"directory": path, "nameContains": "file-0"}),
        ),
        (
            "glob_search",
            json!({"directory": path, "globs": ["**/file-0*"]}),
        ),
        (
            "grep_files",
            json!({"directory": path, "regex": "findme", "maxResults": 5000}),
        ),
    ];
    for (tool, arguments) in calls {
        let text = stage.works(tool, arguments);
        let found = (0..COUNT)
            .filter(|number| text.contains(&format!("file-{number:04}.txt")))
            .count();
        assert_eq!(found, COUNT, "{tool}");
    }
    stage.end();
}
