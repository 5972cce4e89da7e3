//! 1. Path strings, without symlinks.

use std::process::Command;

use rustix::fs::{Mode, OFlags};
use serde_json::json;

use super::{Stage, readers, walkers, writers};
use crate::harness::Server;

#[test]
fn e01_dot_dot_out_of_directory_is_denied() {
    let mut stage = Stage::new(|_| {});
    for path in [
        stage.tree.text("work/../outside/secret"),
        stage.tree.text("outside/secret"),
    ] {
        let inside = stage.tree.text("work");
        for (tool, arguments) in [readers(&path), walkers(&path), writers(&path, &inside)].concat()
        {
            stage.denied(tool, arguments);
        }
    }
    stage.end();
}

#[test]
fn e02_dot_and_slash_spellings_are_normalized() {
    let mut stage = Stage::new(|tree| {
        tree.dir("work/x");
    });
    let out = [
        "work/./x/../../outside/secret",
        "work//..//outside//secret",
        "work/x/../../outside/./secret",
        "work/../outside/secret/.",
        "work/../outside/secret/",
        "work/x/../..//./outside/secret",
    ];
    for path in out {
        let path = stage.tree.text(path);
        stage.denied("read_file", json!({"path": path}));
    }
    for path in [
        "work/./ok.txt",
        "work//ok.txt",
        "work/x/../ok.txt",
        "work/x/./.././ok.txt",
        "docs/../work/ok.txt",
    ] {
        let path = stage.tree.text(path);
        assert_eq!(stage.works("read_file", json!({"path": path})), "fine\n");
    }
    // A regular file is not a directory.
    for path in ["work/ok.txt/", "work/ok.txt/.", "work/ok.txt/x"] {
        let path = stage.tree.text(path);
        stage.fails("read_file", json!({"path": path}));
    }
    stage.end();
}

#[test]
fn e03_sibling_with_shared_prefix_is_denied() {
    let mut stage = Stage::new(|tree| {
        tree.file("work-evil/secret", super::SECRET);
    });
    let (path, inside) = (stage.tree.text("work-evil/secret"), stage.tree.text("work"));
    for (tool, arguments) in [readers(&path), writers(&path, &inside)].concat() {
        stage.denied(tool, arguments);
    }
    stage.end();
}

#[test]
fn e04_sibling_with_trailing_space_is_denied() {
    let mut stage = Stage::new(|tree| {
        tree.file("work /secret", super::SECRET);
    });
    for path in [stage.tree.text("work "), stage.tree.text("work /secret")] {
        stage.denied("list_directory", json!({"path": path}));
        let destination = stage.tree.text("work/got");
        stage.denied(
            "move_file",
            json!({"source": path, "destination": destination}),
        );
    }
    stage.end();
}

#[test]
fn e06_sibling_in_other_case_is_denied() {
    let mut stage = Stage::new(|tree| {
        tree.file("Work/secret", super::SECRET).dir("WORK");
    });
    for (tool, arguments) in [
        ("read_file", json!({"path": stage.tree.text("Work/secret")})),
        (
            "write_file",
            json!({"path": stage.tree.text("Work/new"), "content": "x"}),
        ),
        (
            "write_file",
            json!({"path": stage.tree.text("WORK/new"), "content": "x"}),
        ),
    ] {
        stage.denied(tool, arguments);
    }
    assert!(!stage.tree.has("Work/new") && !stage.tree.has("WORK/new"));
    stage.end();
}

#[test]
fn e08_special_names_are_literal() {
    let mut stage = Stage::new(|_| {});
    for name in [
        "%2e%2e/outside/secret",
        "..%2foutside%2fsecret",
        "..\\outside\\secret",
        "\u{ff0e}\u{ff0e}/outside/secret",
    ] {
        let path = stage.tree.text(&format!("work/{name}"));
        assert_eq!(
            stage.fails("read_file", json!({"path": path})).code,
            Some(-32002),
            "{name}"
        );
    }
    let path = stage.tree.text("work/..\\new");
    stage.works("write_file", json!({"path": path, "content": "literal"}));
    assert_eq!(stage.tree.read("work/..\\new"), "literal");
    stage.end();
}

#[test]
fn e10_nul_byte_in_path_is_refused() {
    let mut stage = Stage::new(|_| {});
    let inside = stage.tree.text("work");
    for path in [
        stage.tree.text("work/ok.txt\0/../../outside/secret"),
        stage.tree.text("work/ok.txt\0"),
    ] {
        for (tool, arguments) in [readers(&path), walkers(&path), writers(&path, &inside)].concat()
        {
            let code = stage.fails(tool, arguments).code;
            assert!(matches!(code, Some(-32602 | -32001)), "{tool}: {code:?}");
        }
    }
    assert_eq!(stage.tree.read("work/ok.txt"), "fine\n");
    stage.end();
}

#[test]
fn e12_tilde_and_variables_are_not_expanded() {
    let mut stage = Stage::new(|_| {});
    for path in [
        "",
        ".",
        "..",
        "/",
        "//",
        "~",
        "~root/.ssh/id_rsa",
        "$HOME/x",
        "*",
        "/*",
        "../outside/secret",
        "/etc/passwd",
    ] {
        let reply = stage.call("read_file", json!({"path": path}));
        assert!(reply.failure().is_some(), "`{path}` was read");
        assert!(!reply.whole().contains("root:"), "{}", reply.whole());
    }
    for path in ["..", "/", "//", "/etc", "../outside"] {
        for (tool, arguments) in walkers(path) {
            stage.denied(tool, arguments);
        }
    }
    stage.end();
}

#[test]
fn e13_relative_path_resolves_in_project_directory() {
    // The working directory of the server is the parent of `work` and `outside`.
    let mut stage = Stage::new(|tree| {
        tree.file("work/sub/f", "below the project")
            .file("sub/f", super::SECRET);
    });
    assert_eq!(
        stage.works("read_file", json!({"path": "sub/f"})),
        "below the project"
    );
    assert_eq!(
        stage
            .fails("read_file", json!({"path": "outside/secret"}))
            .code,
        Some(-32002)
    );
    stage.works("write_file", json!({"path": "outside/new", "content": "x"}));
    assert!(stage.tree.has("work/outside/new") && !stage.tree.has("outside/new"));
    stage.end();
}

#[test]
fn e14_long_names_and_deep_trees_are_bounded() {
    let mut stage = Stage::new(|_| {});
    let inside = stage.tree.text("work");
    let names = [
        format!("{inside}/{}", "x".repeat(5000)),
        format!("{inside}/{}", "y/".repeat(35_000)),
        format!("{inside}/{}outside/secret", "../".repeat(20_000)),
    ];
    for path in &names {
        for (tool, arguments) in [readers(path), walkers(path), writers(path, &inside)].concat() {
            stage.fails(tool, arguments);
        }
    }
    let mut dir =
        rustix::fs::open(stage.tree.path("work"), OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..2000 {
        rustix::fs::mkdirat(&dir, "deep", Mode::RWXU).unwrap();
        dir = rustix::fs::openat(
            &dir,
            "deep",
            OFlags::DIRECTORY | OFlags::NOFOLLOW,
            Mode::empty(),
        )
        .unwrap();
    }
    drop(dir);
    // Each call succeeds or fails, within the deadline and without a crash.
    for (tool, arguments) in walkers(&inside) {
        // A search that matches every level would print 2,000 paths of up to 10 KB.
        let arguments = if tool == "search_files" {
            json!({"directory": inside, "nameContains": "ok"})
        } else {
            arguments
        };
        stage.call(tool, arguments);
    }
    let path = stage.tree.text("work/deep");
    let deleted = stage
        .call("delete_file", json!({"path": path}))
        .failure()
        .is_none();
    assert_eq!(deleted, !stage.tree.has("work/deep"));
    // `remove_dir_all` of the standard library holds a descriptor per level and fails.
    Command::new("rm")
        .arg("-rf")
        .arg(stage.tree.path("work/deep"))
        .status()
        .unwrap();
    stage.end();
}

#[test]
fn e15_missing_component_before_dot_dot_is_denied() {
    let mut stage = Stage::new(|_| {});
    let path = stage.tree.text("work/nope/../../outside/secret-new.txt");
    stage.denied("write_file", json!({"path": path, "content": "x"}));
    assert!(!stage.tree.has("work/nope"));
    stage.end();
}

#[test]
fn e16_creating_tools_deny_missing_component_escape() {
    let mut stage = Stage::new(|_| {});
    let (path, inside) = (
        stage.tree.text("work/nope/../../outside/secret-new"),
        stage.tree.text("work"),
    );
    for (tool, arguments) in writers(&path, &inside) {
        stage.denied(tool, arguments);
        assert!(!stage.tree.has("work/nope"), "{tool}");
    }
    assert_eq!(stage.tree.read("work/ok.txt"), "fine\n");
    stage.end();
}

#[test]
fn e17_unnormalized_allow_flag_is_accepted() {
    for spelling in [
        "work/",
        "work//",
        "./work",
        "docs/../work",
        "work/.",
        "work/sub/..",
    ] {
        let tree = Stage::layout(|tree| {
            tree.dir("work/sub");
        });
        let allow = format!("{}:rw", tree.text(spelling));
        let mut stage = Stage::on(tree, &["--allow", &allow]);
        let (good, bad) = (
            stage.tree.text("work/ok.txt"),
            stage.tree.text("outside/secret"),
        );
        assert_eq!(
            stage.works("read_file", json!({"path": good})),
            "fine\n",
            "{spelling}"
        );
        stage.denied("read_file", json!({"path": bad}));
        let sibling = stage.tree.text("work/../docs/read.txt");
        stage.denied("read_file", json!({"path": sibling}));
        stage.end();
    }
}

#[test]
fn e18_root_or_empty_allow_is_refused() {
    for allow in ["/", "", "//", "/.", "/:rw", ":rw", "/usr/.."] {
        let tree = Stage::layout(|_| {});
        let mut server = Server::start(&tree, &["--allow", allow]);
        let status = server.wait_exit();
        assert!(
            !status.success() && status.code().is_some(),
            "`{allow}`: {status:?}"
        );
        assert!(
            !server.stderr().is_empty(),
            "`{allow}` was refused without a word"
        );
    }
}

#[test]
fn e20_symlink_in_allow_is_resolved_at_start() {
    let tree = Stage::layout(|tree| {
        tree.link(tree.path("work"), "by-link");
    });
    let allow = format!("{}:rw", tree.text("by-link"));
    let mut stage = Stage::on(tree, &["--allow", &allow]);
    let (by_link, by_name) = (
        stage.tree.text("by-link/ok.txt"),
        stage.tree.text("work/ok.txt"),
    );
    assert_eq!(stage.works("read_file", json!({"path": by_link})), "fine\n");
    assert_eq!(stage.works("read_file", json!({"path": by_name})), "fine\n");

    std::fs::remove_file(stage.tree.path("by-link")).unwrap();
    stage.tree.link(stage.tree.path("outside"), "by-link");
    assert_eq!(stage.works("read_file", json!({"path": by_link})), "fine\n");
    let secret = stage.tree.text("by-link/secret");
    stage.fails("read_file", json!({"path": secret}));
    let new = stage.tree.text("by-link/new");
    stage.works("write_file", json!({"path": new, "content": "x"}));
    assert!(stage.tree.has("work/new"));
    stage.end();
}

#[test]
fn e22_most_specific_directory_decides() {
    let tree = Stage::layout(|tree| {
        tree.file("work/ro/f", "inner\n")
            .file("work/ro/rw/f", "innermost\n");
    });
    let flags = [
        format!("{}:rw", tree.text("work")),
        tree.text("work/ro"),
        format!("{}:rw", tree.text("work/ro/rw")),
    ];
    let mut stage = Stage::on(
        tree,
        &[
            "--allow", &flags[0], "--allow", &flags[1], "--allow", &flags[2],
        ],
    );
    let write = |path: String| json!({"path": path, "content": "x"});
    let (inner, innermost) = (
        stage.tree.text("work/ro/new"),
        stage.tree.text("work/ro/rw/new"),
    );
    stage.denied("write_file", write(inner));
    let around = stage.tree.text("work/ro/rw/../new");
    stage.denied("write_file", write(around));
    stage.works("write_file", write(innermost));
    let outer = stage.tree.text("work/ro/../new");
    stage.works("write_file", write(outer));
    assert!(
        stage.tree.has("work/new")
            && stage.tree.has("work/ro/rw/new")
            && !stage.tree.has("work/ro/new")
    );
    // A directory that contains a read-only one cannot be removed or moved through its parent.
    let (ro, away) = (stage.tree.text("work/ro"), stage.tree.text("work/away"));
    stage.fails("delete_file", json!({"path": ro}));
    stage.fails("move_file", json!({"source": ro, "destination": away}));
    assert_eq!(stage.tree.read("work/ro/f"), "inner\n");
    stage.end();
}
