//! Tests of `.git` files that point to a linked repository.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};

use pretty_assertions::assert_eq;
use rustix::fs::{chownat, mknodat, open};

use super::*;
use crate::policy::{Access, Grant, Policy};

/// A repository `main` with a worktree `wt` and a superproject with a submodule `sub`, as far as it
/// is looked at.
fn stage() -> tempfile::TempDir {
    let stage = tempfile::tempdir().unwrap();
    let at = |path: &str| stage.path().join(path);
    let own = "main/.git/worktrees/wt";
    for dir in [
        "main/.git/objects",
        "main/.git/refs",
        own,
        "wt",
        "super/.git/modules/sub",
        "super/sub",
    ] {
        fs::create_dir_all(at(dir)).unwrap();
    }
    fs::write(at("main/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(at(&format!("{own}/commondir")), "../..\n").unwrap();
    fs::write(
        at(&format!("{own}/gitdir")),
        format!("{}\n", at("wt/.git").display()),
    )
    .unwrap();
    fs::write(at("wt/.git"), format!("gitdir: {}\n", at(own).display())).unwrap();
    fs::write(at("super/sub/.git"), "gitdir: ../.git/modules/sub\n").unwrap();
    fs::write(
        at("super/.git/modules/sub/config"),
        "[core]\n\tbare = false\n\tworktree = ../../../sub\n",
    )
    .unwrap();
    stage
}

/// Returns the result for these allowed directories of a stage: the outermost directories, or the
/// reason for none.
fn find_outermost(stage: &Path, allowed: &[&str]) -> Vec<Result<String, String>> {
    let grants: Vec<Grant> = allowed
        .iter()
        .map(|dir| Grant {
            path: stage.join(dir),
            access: Access::ReadWrite,
        })
        .collect();
    let policy = Policy::open(&grants, &[]).unwrap();
    let below = |text: &str| text.replace(&format!("{}/", stage.display()), "");
    let found = policy
        .roots()
        .iter()
        .filter_map(|root| find(root, policy.roots()).transpose());
    found
        .map(|found| {
            found
                .map(|linked| below(linked.outermost().to_str().unwrap()))
                .map_err(|why| below(&why))
        })
        .collect()
}

#[test]
fn worktree_and_submodule_need_mutual_pointers() {
    let stage = stage();
    assert_eq!(
        find_outermost(stage.path(), &["wt", "super/sub"]),
        [Ok("main/.git".into()), Ok("super/.git/modules/sub".into())]
    );
}

#[test]
fn directory_created_after_repository_is_refused() {
    let stage = stage();
    let at = |path: &str| stage.path().join(path);
    for (dir, own, witness) in [
        ("wt", "main/.git/worktrees/wt", "gitdir"),
        ("super/sub", "super/.git/modules/sub", "config"),
    ] {
        let pointer = fs::read(at(dir).join(".git")).unwrap();
        let remake = || {
            // Times of the kernel have steps of up to 10 ms.
            let written = fs::metadata(at(own).join(witness)).unwrap();
            loop {
                fs::remove_dir_all(at(dir)).unwrap();
                fs::create_dir(at(dir)).unwrap();
                let made = fs::metadata(at(dir)).unwrap();
                if (made.ctime(), made.ctime_nsec()) > (written.ctime(), written.ctime_nsec()) {
                    break;
                }
            }
            fs::write(at(dir).join(".git"), &pointer).unwrap();
        };
        remake();
        let why = find_outermost(stage.path(), &[dir]).remove(0).unwrap_err();
        let path = format!("{own}/{witness}");
        let said = format!(
            "the directory is newer than `{path}`, which may belong to an earlier directory of \
             this name; if it is the same work tree, run `touch {path}`"
        );
        assert_eq!(why, said);
        // Acts as the operator: makes the change that the line describes.
        let file = fs::File::options().append(true).open(at(&path)).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH)
            .unwrap();
        assert!(
            find_outermost(stage.path(), &[dir]).remove(0).is_ok(),
            "{dir}"
        );
    }
}

#[test]
fn pointer_into_allowed_directory_adds_no_access() {
    let stage = stage();
    assert_eq!(find_outermost(stage.path(), &["wt", "main", "super"]), []);
}

#[test]
fn forged_pointer_adds_no_access() {
    let stage = stage();
    let at = |path: &str| stage.path().join(path);
    fs::create_dir(at("evil")).unwrap();
    fs::write(at("evil/HEAD"), "").unwrap();
    let own = at("main/.git/worktrees/wt");
    symlink(at("main/.git"), at("link")).unwrap();
    let pointer = |to: String| format!("gitdir: {to}\n");
    let why = |text: &[u8]| {
        fs::write(at("evil/.git"), text).unwrap();
        find_outermost(stage.path(), &["evil"])
            .remove(0)
            .unwrap_err()
    };
    assert_eq!(
        why(pointer(own.display().to_string()).as_bytes()),
        "`main/.git/worktrees/wt` belongs to another work tree"
    );
    assert_eq!(
        why(pointer("../super/.git/modules/sub".into()).as_bytes()),
        "`super/.git/modules/sub` belongs to another work tree"
    );
    assert_eq!(
        why(pointer("../main/.git".into()).as_bytes()),
        "`config` cannot be read: No such file or directory (os error 2)"
    );
    assert_eq!(
        why(pointer("../link/worktrees/wt".into()).as_bytes()),
        "`../link/worktrees/wt` cannot be opened without following links: Too many levels of symbolic links (os error 40)"
    );
    assert_eq!(
        why(pointer("/".into()).as_bytes()),
        "`/` cannot be opened without following links: it is the root directory"
    );
    assert!(
        why(pointer("/etc".into()).as_bytes()).ends_with("No such file or directory (os error 2)")
    );
    assert_eq!(why(b"main"), "the file does not begin with `gitdir: `");
    assert_eq!(
        why(&[b'x'; MAX_GIT_POINTER_BYTES + 1]),
        "`.git` is larger than 4111 bytes"
    );
    for (loops, to) in [(0, "."), (0, ".git")] {
        fs::write(at("evil/.git"), pointer(to.into())).unwrap();
        assert_eq!(
            find_outermost(stage.path(), &["evil"])
                .iter()
                .filter(|found| found.is_ok())
                .count(),
            loops,
            "{to}"
        );
    }
}

#[test]
fn special_pointer_file_does_not_block() {
    let stage = stage();
    let at = |path: &str| stage.path().join(path);
    fs::remove_file(at("wt/.git")).unwrap();
    let wt = open(at("wt"), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
    mknodat(&wt, ".git", FileType::Fifo, Mode::RWXU, 0).unwrap();
    assert_eq!(
        find_outermost(stage.path(), &["wt"]),
        [Err("`.git` is not a regular file".into())]
    );
    fs::remove_file(at("wt/.git")).unwrap();
    symlink(at("super/sub/.git"), at("wt/.git")).unwrap();
    let why = "`.git` cannot be read: Too many levels of symbolic links (os error 40)";
    assert_eq!(find_outermost(stage.path(), &["wt"]), [Err(why.into())]);
}

#[test]
fn common_directory_must_contain_worktree() {
    let stage = stage();
    let at = |path: &str| stage.path().join(path);
    fs::write(
        at("main/.git/worktrees/wt/commondir"),
        "../../../../super\n",
    )
    .unwrap();
    assert_eq!(
        find_outermost(stage.path(), &["wt"]),
        [Err("`super` is not a git repository".into())]
    );
    for dir in ["super/objects", "super/refs", "super/worktrees"] {
        fs::create_dir(at(dir)).unwrap();
    }
    fs::write(at("super/HEAD"), "").unwrap();
    assert_eq!(
        find_outermost(stage.path(), &["wt"]),
        [Err(
            "`main/.git/worktrees/wt` is not a work tree of `super`".into()
        )]
    );
}

#[test]
fn hard_linked_pointer_is_no_worktree() {
    let stage = stage();
    let at = |path: &str| stage.path().join(path);
    fs::create_dir(at("evil")).unwrap();
    fs::hard_link(at("wt/.git"), at("evil/.git")).unwrap();
    assert_eq!(
        find_outermost(stage.path(), &["evil"]),
        [Err(
            "`main/.git/worktrees/wt` belongs to another work tree".into()
        )]
    );
}

#[test]
fn pointer_of_other_user_is_rejected() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let stage = stage();
    for (path, why) in [
        ("main/.git", "`main/.git` belongs to another user"),
        (
            "main/.git/worktrees/wt",
            "`main/.git/worktrees/wt` belongs to another user",
        ),
        (
            "wt/.git",
            "it belongs to another user than the directory it is in",
        ),
    ] {
        let own = |user: u32| {
            let user = Some(rustix::fs::Uid::from_raw(user));
            chownat(CWD, stage.path().join(path), user, None, AtFlags::empty()).unwrap();
        };
        own(1001);
        assert_eq!(find_outermost(stage.path(), &["wt"]), [Err(why.into())]);
        own(0);
    }
}

#[test]
fn worktree_pointer_of_git_is_parsed() {
    let read = |config: &[u8]| work_tree_of(config).map(|path| path.into_os_string().into_vec());
    assert_eq!(
        read(b"[core]\n\tworktree = ../../a b\n").as_deref(),
        Some(&b"../../a b"[..])
    );
    assert_eq!(
        read(b"[core]\n\tworktree = \"../a \\\"#\\\\\"\n").as_deref(),
        Some(&b"../a \"#\\"[..])
    );
    assert_eq!(read(b"[other]\n\tworktree = x\n"), None);
}
