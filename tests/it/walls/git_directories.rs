//! Git directories: commands can create no symlink in one. Directories above one are unrestricted.

use std::fs;

use pretty_assertions::assert_eq;
use replay_sandbox::Tier;
use serde_json::json;
use walkdir::WalkDir;

use super::{Setting, Tree, Walls, everywhere, give, installed};

/// Makes the parts of a repository that the server looks at.
fn repository(tree: &Tree, at: &str) {
    tree.file(format!("{at}/HEAD"), "ref: refs/heads/main\n")
        .file(format!("{at}/config"), "[core]\n\tbare = false\n")
        .file(format!("{at}/hooks/pre-commit.sample"), "")
        .dir(format!("{at}/objects/ab"))
        .dir(format!("{at}/refs/heads"))
        .dir(format!("{at}/logs/refs"));
}

/// Makes `work` a repository with a bare one, a nested one, and a directory with an empty file
/// called `.git`.
fn with_repositories(flags: &[&str], test: impl Fn(&mut Walls)) {
    everywhere(|setting: Setting| {
        let tree = Tree::new();
        repository(&tree, "work/.git");
        repository(&tree, "work/bare.git");
        repository(&tree, "work/packages/lib/.git");
        tree.file("work/packages/lib/code", "")
            .file("work/c/sub/.git", "");
        tree.file("docs/read.txt", "readme\n")
            .dir("tmp")
            .file("outside/secret", "x");
        if let Some(owner) = setting.owner {
            give(tree.root(), owner);
        }
        let mut walls = Walls::on(tree, setting, flags, &[]);
        test(&mut walls);
        walls.end();
    });
}

/// Returns the symlinks below a directory.
fn links(walls: &Walls, dir: &str) -> Vec<String> {
    let entries = WalkDir::new(walls.tree.path(dir))
        .into_iter()
        .map(Result::unwrap);
    let links = entries.filter(|entry| entry.file_type().is_symlink());
    links
        .map(|entry| {
            entry
                .path()
                .strip_prefix(walls.tree.root())
                .unwrap()
                .display()
                .to_string()
        })
        .collect()
}

const RENAMES: &str = "import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2) == 0)
";

fn refuses_links(walls: &mut Walls) {
    walls.works("mkdir evil && ln -s /etc/passwd evil/COMMIT_EDITMSG && ln -s /etc/passwd link && : > plain");
    for attempt in [
        "ln -s ~/.bashrc .git/COMMIT_EDITMSG",
        "ln -s ../../x .git/logs/refs/y",
        "ln -s config .git/COMMIT_EDITMSG",
        "ln -s hooks .git/logs2",
        "cd .git/logs && ln -s /etc/passwd HEAD",
        "ln -s /etc/passwd bare.git/logs/HEAD",
        "ln -s /etc/passwd packages/lib/.git/ORIG_HEAD",
        "mv link .git/COMMIT_EDITMSG",
        "ln -P link .git/COMMIT_EDITMSG",
        "mv -T evil .git/rebase-merge",
        "mkdir new && mv -T evil new/.git",
        "ln -s evil new/.git",
        "ln -s .git git && ln -s /etc/passwd git/COMMIT_EDITMSG",
        "ln -s /etc/passwd .git/../.git/./COMMIT_EDITMSG",
        "exec 3<.git; ln -s /etc/passwd /proc/self/fd/3/COMMIT_EDITMSG",
    ] {
        let ran = walls.sh(attempt);
        assert_ne!(ran.code, 0, "{:?}: {attempt}: {ran:?}", walls.setting);
        let told = ran.text.contains("commands cannot create the symlink `");
        // A magic link of procfs that resolves differently in the supervisor is refused earlier.
        assert!(
            told || attempt.contains("/proc/self"),
            "{:?}: {attempt}: {ran:?}",
            walls.setting
        );
    }
    if installed("python3") {
        walls.tree.file("work/renames.py", RENAMES);
        walls.fails("python3 renames.py link .git/HEAD && exit 1 || ! test -L .git/HEAD && false");
    }
    for dir in ["work/.git", "work/bare.git", "work/packages", "work/new"] {
        assert_eq!(
            links(walls, dir),
            Vec::<String>::new(),
            "{:?}",
            walls.setting
        );
    }
    // The note appears after success too, and links elsewhere are unrestricted.
    let ran = walls
        .sh("ln -s /x .git/x; ln -s link one && ln -P one two && mv two three && readlink three");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "link\n"), "{ran:?}");
    assert!(
        ran.text
            .contains(".git/x` or move one there: git would write through it"),
        "{ran:?}"
    );
    walls
        .works("mv -T evil elsewhere && test -L elsewhere/COMMIT_EDITMSG && mv plain .git/plain && ln .git/plain hard");
}

#[test]
fn symlink_below_git_directory_is_refused() {
    with_repositories(&[], refuses_links);
}

#[test]
fn symlink_below_git_directory_is_refused_without_undo() {
    with_repositories(&["--undo", "off"], refuses_links);
}

#[test]
fn symlink_of_operator_below_git_directory_stays() {
    everywhere(|setting: Setting| {
        let tree = Tree::new();
        repository(&tree, "work/.git");
        tree.dir("work/shared")
            .link("../shared", "work/.git/rr-cache");
        tree.file("docs/read.txt", "readme\n")
            .dir("tmp")
            .file("outside/secret", "x");
        if let Some(owner) = setting.owner {
            give(tree.root(), owner);
        }
        let mut walls = Walls::on(tree, setting, &[], &[]);
        walls.works("echo x > .git/rr-cache/file && test -e shared/file && test -L .git/rr-cache");
        walls.end();
    });
}

#[test]
fn git_init_detects_symlink_support() {
    if !installed("git") {
        return;
    }
    with_repositories(&["--git-identity", "a <a@b>"], |walls| {
        let made = walls.works(
            "git init -q -b main one && cd one && ln -s target link && git add link && git commit -qm 1 && cd .. && \
             git clone -q one two && readlink two/link && git -C two config core.symlinks || echo unset",
        );
        assert_eq!(made, "target\nunset\n", "{:?}", walls.setting);
    });
}

#[test]
fn symlink_moved_into_git_directory_is_refused() {
    with_repositories(&[], |walls| {
        walls.works("ln -s /etc/passwd link && mkdir dir && ln -s /etc/passwd dir/COMMIT_EDITMSG && mkdir new");
        for (from, to) in [
            ("link", ".git/ORIG_HEAD"),
            ("link", "bare.git/x"),
            ("dir", "new/.git"),
            ("dir", ".git/x"),
        ] {
            let [from, to] = [from, to].map(|name| walls.tree.text(&format!("work/{name}")));
            let reply = walls
                .server
                .call("move_file", json!({"source": from, "destination": to}));
            assert!(
                reply
                    .failure()
                    .is_some_and(|failure| failure.message.contains("protected")),
                "{}",
                reply.whole()
            );
        }
        assert!(walls.tree.has("work/link") || fs::read_link(walls.tree.path("work/link")).is_ok());
    });
}

#[test]
fn rename_and_link_into_directory_above_repository_work() {
    with_repositories(&[], |walls| {
        walls.works("echo x > f && mv f c/sub/f && mkdir d && mv -T d packages/d && mv packages/d packages/lib/d");
        if installed("python3") {
            walls.works(
                "echo x > f; python3 -c \"import os; os.rename('f', 'c/sub/g'); os.link('c/sub/g', 'packages/lib/h'); \
                 os.rename('packages/lib/h', 'h')\"",
            );
        }
    });
}

#[test]
fn directory_above_repository_moves_whole_or_fails() {
    with_repositories(&[], |walls| {
        for (from, to) in [
            ("packages", "pk"),
            ("packages/lib/.git", "git"),
            ("c/sub", "c/other"),
        ] {
            let ran = walls.sh(&format!("mv {from} {to}; true"));
            if walls.setting.tier == Tier::Landlock {
                walls.works(&format!("mv {to} {from}"));
                continue;
            }
            let told = format!(
                "commands cannot move `{}`: it contains a protected path",
                walls.tree.text(&format!("work/{from}"))
            );
            assert!(ran.text.contains(&told), "{:?}: {ran:?}", walls.setting);
            assert!(
                !walls.tree.has(&format!("work/{to}")),
                "{:?}",
                walls.setting
            );
        }
        assert!(
            walls.tree.has("work/packages/lib/.git/objects/ab")
                && walls.tree.has("work/c/sub/.git")
        );
    });
}

#[test]
fn repository_is_removed_with_its_tree() {
    for flags in [&[][..], &["--undo", "off"]] {
        with_repositories(flags, |walls| {
            walls.works("rm -rf packages && ! test -e packages");
            if installed("python3") {
                walls.works("python3 -c \"import shutil; shutil.rmtree('c')\" && ! test -e c");
            }
            if walls.setting.tier == Tier::Landlock {
                return;
            }
            // Entries created there later do not belong to the operator.
            let ran = walls
                .sh("mkdir -p packages/lib/.git/hooks; echo evil > packages/lib/.git/config; true");
            assert!(
                ran.text.contains(
                    "config` is protected: the file or directory that the command \
                        created there was renamed"
                ),
                "{ran:?}"
            );
            walls.sh("echo evil > packages/lib/.git/hooks/pre-commit");
            for part in ["config", "hooks/pre-commit"] {
                let at = format!("work/packages/lib/.git/{part}");
                assert!(!walls.tree.has(&at), "{:?}: {part}", walls.setting);
            }
        });
    }
}

/// A `.git` file there would give the person's repository the hooks of another one.
#[test]
fn git_file_replacing_repository_is_set_aside() {
    with_repositories(&[], |walls| {
        if walls.setting.tier == Tier::Landlock {
            return;
        }
        for make in [
            "echo x > .git",
            "echo x > f; mv f .git",
            "echo x > f; ln f .git",
            "mkdir .git; rmdir .git; echo x > .git",
        ] {
            let ran = walls.sh(&format!(
                "cd packages/lib; rm -rf .git .git.set-aside; {make}"
            ));
            assert!(
                !walls.tree.has("work/packages/lib/.git"),
                "{make}: {}",
                ran.text
            );
            assert!(
                ran.text.contains(
                    "/.git` is protected: the file or directory that the command \
                        created there was renamed"
                ),
                "{}",
                ran.text
            );
        }
        walls.works("mkdir packages/lib/.git");
        walls.works("test -d packages/lib/.git && touch packages/lib/.git/x");
    });
}

#[test]
fn protected_path_removed_without_its_repository_stays() {
    with_repositories(&[], |walls| {
        if walls.setting.tier == Tier::Landlock {
            return;
        }
        walls.fails("rm packages/lib/.git/config");
        walls.fails("rm -r packages/lib/.git/hooks && ! test -e packages/lib/.git/hooks");
        let ran = walls.sh("find packages/lib/.git -name config -delete; true");
        assert!(
            ran.text
                .contains("packages/lib/.git/config` is protected and was not deleted"),
            "{ran:?}"
        );
        walls.fails("rm -rf packages/lib/.git/hooks; rmdir packages/lib/.git");
        walls.fails("echo evil > packages/lib/.git/config");
        assert!(
            walls.tree.has("work/packages/lib/.git/config")
                && walls.tree.has("work/packages/lib/.git/HEAD")
        );
        assert!(
            walls
                .tree
                .has("work/packages/lib/.git/hooks/pre-commit.sample")
        );
    });
}

#[test]
fn dry_run_refuses_symlinks_in_git_directory() {
    with_repositories(&[], |walls| {
        if walls.setting.tier == Tier::Landlock {
            return;
        }
        let reply = walls
            .try_run(json!({"command": "ln -s /x .git/x; rm -rf packages; true", "dryRun": true}));
        assert!(
            reply
                .all_texts()
                .join("\n")
                .contains("cannot create the symlink"),
            "{}",
            reply.whole()
        );
        assert!(
            walls.tree.has("work/packages/lib/.git/config")
                && walls.tree.has("work/packages/lib/code")
        );
    });
}
