//! Undo by the operator puts nothing at a protected path that a call made.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::Stage;
use super::commands::{TIERS, run, start};
use super::people::changes;
use crate::harness::Server;
use crate::tree::Tree;

fn refused_for(tree: &Tree, args: &[&str], path: &str) {
    let (status, text) = changes(tree, "work", args);
    let path = tree.text(&format!("work/{path}"));
    assert_eq!(status, 2, "{text}");
    assert!(
        text.contains("a call made what would come there, and `") && text.contains("is protected"),
        "{text}"
    );
    assert!(
        text.ends_with(&format!("leave it out (--except {path})")),
        "{text}"
    );
}

#[test]
fn partial_undo_puts_no_hook_of_a_call() {
    for tier in TIERS {
        let tree = Tree::new();
        tree.dir("work");
        let mut server = start(&tree, tier);
        run(
            &mut server,
            "mkdir -p x/hooks; echo evil >x/hooks/pre-commit",
        )
        .unwrap();
        run(&mut server, "rm x/hooks/pre-commit; mv x .git").unwrap();
        assert!(tree.has("work/.git/hooks"), "{tier}");
        refused_for(
            &tree,
            &["undo", "2", "--path", ".git/hooks"],
            ".git/hooks/pre-commit",
        );
        assert!(!tree.has("work/.git/hooks/pre-commit"), "{tier}");
        // As a whole it goes back to where it is not protected.
        assert_eq!(changes(&tree, "work", &["undo", "2"]).0, 0, "{tier}");
        assert_eq!(tree.read("work/x/hooks/pre-commit"), "evil\n");
    }
}

#[test]
fn undo_of_move_brings_no_hook_of_a_call() {
    let mut stage = Stage::new(|tree| tree.file("work/.git/HEAD", "ref: refs/heads/main"));
    stage.call_text("move_file", json!({"source": ".git", "destination": "x"}));
    stage.call_text(
        "write_file",
        json!({"path": "x/hooks/pre-commit", "content": "evil"}),
    );
    let tree = &stage.tree;
    refused_for(tree, &["undo", "1"], ".git/hooks/pre-commit");
    assert!(!tree.has("work/.git") && tree.has("work/x/hooks/pre-commit"));
    assert_eq!(changes(tree, "work", &["undo", "1", "2"]).0, 0);
    assert!(tree.has("work/.git/HEAD") && !tree.has("work/.git/hooks"));
}

#[test]
fn undo_restores_protected_file_older_than_calls() {
    let stage = Stage::new(|tree| {
        tree.file("work/repo/.git/HEAD", "ref: refs/heads/main")
            .file("work/repo/.git/config", "[core]\n")
            .file("work/repo/.git/hooks/pre-commit", "mine")
            .file("work/a", "")
    });
    let mut server = start(&stage.tree, TIERS[0]);
    run(&mut server, "echo 1 >a").unwrap();
    run(&mut server, "rm -rf repo");
    assert!(!stage.tree.has("work/repo"));
    // A running Python session would move aside what the undo restores.
    drop(server);
    assert_eq!(changes(&stage.tree, "work", &["undo", "2"]).0, 0);
    for (path, content) in [("config", "[core]\n"), ("hooks/pre-commit", "mine")] {
        assert_eq!(stage.tree.read(&format!("work/repo/.git/{path}")), content);
    }
}

/// Starts a server of which the first call made a repository.
fn with_repository(tier: &str) -> (Tree, Server) {
    let tree = Tree::new();
    tree.dir("work");
    let mut server = start(&tree, tier);
    run(&mut server, "git init -q repo; echo 1 >repo/a").unwrap();
    (tree, server)
}

#[test]
fn undo_restores_repository_of_earlier_call() {
    for tier in TIERS {
        let (tree, mut server) = with_repository(tier);
        let config = tree.read("work/repo/.git/config");
        run(&mut server, "rm -rf repo").unwrap();
        drop(server);
        assert_eq!(changes(&tree, "work", &["undo", "2"]).0, 0, "{tier}");
        assert_eq!(tree.read("work/repo/.git/config"), config, "{tier}");
    }
}

#[test]
fn undo_moves_repository_of_earlier_call_back() {
    for tier in TIERS {
        let (tree, mut server) = with_repository(tier);
        run(&mut server, "mv repo other").unwrap();
        drop(server);
        assert_eq!(changes(&tree, "work", &["undo", "2"]).0, 0, "{tier}");
        assert!(tree.has("work/repo/.git/config"), "{tier}");
    }
}

#[test]
fn undo_moves_restored_repository_back() {
    for tier in TIERS {
        let (tree, mut server) = with_repository(tier);
        run(&mut server, "mv repo other").unwrap();
        run(&mut server, "rm -rf other").unwrap();
        drop(server);
        assert_eq!(changes(&tree, "work", &["undo", "3"]).0, 0, "{tier}");
        assert_eq!(changes(&tree, "work", &["undo", "2"]).0, 0, "{tier}");
        assert!(tree.has("work/repo/.git/config"), "{tier}");
    }
}
