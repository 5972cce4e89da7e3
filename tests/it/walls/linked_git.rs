//! Git in allowed directories that are linked worktrees, or submodules, of repositories outside.

use std::time::Instant;

use pretty_assertions::assert_eq;

use super::*;
use crate::harness::DEADLINE;

/// Shell script: `work` becomes a worktree of `far/main`, beside `far/other`. `far/bare.git/inner`
/// is a worktree of the bare repository around it, and `far/super/sub` a submodule.
const LAY_OUT: &str = "set -e; git init -q -b main docs/up; git -C docs/up commit -q --allow-empty -m up; mkdir far; cd far; git init -q -b main main; cd main; echo 1 > f; git add f; git commit -qm 1; \
    git -c protocol.file.allow=always submodule --quiet add ../../docs/up lib; git commit -qm lib; git worktree add -q -b linked ../../work; git worktree add -q -b beside ../other; echo staged > s; git add s; \
    touch -d '3 days ago' .git/worktrees/work/gitdir; mkdir -p .git/hooks; echo exit > .git/hooks/pre-commit.sample; cd ..; \
    git clone -q --bare main bare.git; git -C bare.git worktree add -q inner; git init -q -b main super; cd super; \
    git -c protocol.file.allow=always submodule --quiet add ../main sub; git commit -qm sub; mkdir -p .git/modules/sub/hooks";

fn make_tree(setting: Setting) -> Tree {
    make_tree_below(setting, "/var/tmp")
}

fn make_tree_below(setting: Setting, place: &str) -> Tree {
    let tree = Tree::below(Path::new(place));
    tree.file("docs/read.txt", "readme\n")
        .dir("tmp")
        .file("outside/secret", SECRET);
    git(&tree, LAY_OUT);
    if let Some(owner) = setting.owner {
        give(tree.root(), owner);
    }
    tree
}

/// Runs a shell command outside the sandbox.
fn git(tree: &Tree, line: &str) -> String {
    let identity = ["AUTHOR", "COMMITTER"].map(|who| {
        [
            (format!("GIT_{who}_NAME"), "a"),
            (format!("GIT_{who}_EMAIL"), "a@b"),
        ]
    });
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .current_dir(tree.root())
        .envs(identity.into_iter().flatten());
    let trusted = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "safe.directory"),
        ("GIT_CONFIG_VALUE_0", "*"),
    ];
    let done = command.envs(trusted).output().unwrap();
    assert!(done.status.success(), "{line}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

fn is_held(setting: Setting) -> bool {
    setting.tier == Tier::Namespaces
}

const FLAGS: [&str; 2] = ["--git-identity", "a <a@b>"];

fn on(setting: Setting, more: &[&str]) -> Walls {
    Walls::on(make_tree(setting), setting, &[&FLAGS, more].concat(), &[])
}

/// Returns the standard error of the server after its last start-up line, which is about the
/// sandbox.
fn startup_messages(walls: &mut Walls) -> String {
    let until = Instant::now() + DEADLINE;
    while !walls.server.stderr().contains("walls around commands: ") {
        assert!(Instant::now() < until, "{}", walls.server.stderr());
        walls.server.settle();
    }
    walls.server.stderr()
}

#[test]
fn git_works_in_linked_worktree() {
    everywhere(|setting| {
        let mut walls = on(setting, &[]);
        let (tree, main) = (walls.tree.text("work"), walls.tree.text("far/main"));
        let (main_git, said) = (format!("{main}/.git"), startup_messages(&mut walls));
        if !is_held(setting) {
            let words = format!(
                "git does not work in `{tree}`: only a part of `{main_git}` may be written"
            );
            assert!(said.contains(&words), "{said}");
            assert!(
                said.contains(&format!("`--allow {main_git}:rw` allows all of it")),
                "{said}"
            );
            walls.fails("git status");
            return walls.end();
        }
        let words = format!(
            "git in `{tree}` uses `{main_git}`: commands may write what worktrees share and `{main_git}/worktrees/work`, and read the rest"
        );
        assert!(said.contains(&words), "{said}");
        let explained = Command::new(program())
            .args(["sandbox", "explain", "--allow", &format!("{tree}:rw")])
            .output()
            .unwrap();
        let explained = String::from_utf8(explained.stdout).unwrap();
        let rows: Vec<&str> = explained
            .lines()
            .skip_while(|line| !line.starts_with("linked git"))
            .take_while(|line| !line.is_empty())
            .collect();
        let row = |rights: &str, what: &str| format!("  {rights:<24} {main_git}{what}");
        let expected = [
            "linked git repositories, for commands only (--git none: nothing)".to_owned(),
            row(
                "read-write",
                ": objects, refs, logs, rr-cache, packed-refs, shallow, gc.pid, gc.log",
            ),
            row("read-only", ": the rest"),
            row("read-only", "/worktrees"),
            row("read-write", "/worktrees/work"),
        ];
        assert_eq!(rows, expected);
        for work in [
            "git status && git log --oneline && git diff && git fsck",
            "echo 2 > f && git commit -qam 2 && git branch topic && git switch -q topic && echo 3 > f && git commit -qam 3",
            "git switch -q linked && git merge -q topic && git branch -d topic && git reflog",
            "git switch -qc r HEAD~1 && git commit -q --allow-empty -m e && git rebase -q linked && git switch -q linked && git branch -D r",
            "echo 4 > f && git stash -q && git stash pop -q && git stash -q && git stash drop -q",
            "git pack-refs --all && git tag v1 && git pack-refs --all && git tag -d v1 && git gc -q --prune=now && git gc -q --auto",
            "git worktree list | grep -F '[beside]' && git bisect start && git bisect reset",
            "git -c protocol.file.allow=always submodule update && test -d .git || git -C lib log --oneline | grep up",
            "ssh-keygen -q -t ed25519 -N '' -f key && git -c gpg.format=ssh -c user.signingKey=key.pub commit -qS --allow-empty -m s",
            "git cat-file commit HEAD | grep 'BEGIN SSH SIGNATURE'",
        ] {
            walls.works(work);
        }
        // git refuses it outside too.
        walls.fails("git switch main");
        let tip = walls.works("git rev-parse HEAD");
        let outside = "cd far/main && git rev-parse linked && git fsck --no-dangling && git diff --cached --name-only";
        assert_eq!(
            git(&walls.tree, outside),
            format!("{tip}s\n"),
            "{setting:?}"
        );
        walls.end();
    });
}

#[test]
fn git_files_of_other_worktrees_are_read_only() {
    everywhere(|setting| {
        let mut walls = on(setting, &[]);
        let parts = [
            "hooks",
            "config",
            "HEAD",
            "index",
            "logs/HEAD",
            "info",
            "worktrees/other",
            "description",
        ]
        .map(|part| format!("far/main/.git/{part}"));
        let before = parts.each_ref().map(|part| walls.tree.fingerprint(part));
        let git = walls.tree.text("far/main/.git");
        for part in [
            "hooks/pre-commit",
            "config",
            "HEAD",
            "index",
            "logs/HEAD",
            "info/attributes",
            "worktrees/other/HEAD",
        ] {
            walls.fails(&format!("echo evil >> '{git}/{part}'"));
            walls.fails(&format!(
                "mv work-of-mine '{git}/{part}' || mv -f f '{git}/{part}'"
            ));
            walls.sh("git checkout -q f");
        }
        for attempt in [
            "mv hooks h",
            "rm -r hooks",
            "mv worktrees w",
            "mv objects o",
            "rm HEAD",
            "ln -s /tmp rebase-merge",
            "mkdir rebase-merge",
            "mkdir worktrees/new",
            "chmod 777 config",
            "touch -d '1 day ago' index",
            "rm worktrees/other/index",
            "mkfifo MERGE_HEAD",
            "cp -r objects sequencer",
            "mv objects/info sequencer",
            "echo x > worktrees/work/hooks/x",
        ] {
            walls.fails(&format!("cd '{git}' && {attempt}"));
        }
        // The kernel cannot deny the creation of one name, so a new file is moved aside.
        for name in [
            "commondir",
            "config.worktree",
            "worktrees/work/config.worktree",
        ] {
            walls.sh(&format!("echo evil > '{git}/{name}'"));
            walls.sh("true");
            assert!(
                !walls.tree.has(format!("far/main/.git/{name}").as_str()),
                "{setting:?}: {name}"
            );
        }
        walls.fails(&format!(
            "echo ../../../../work > '{git}/worktrees/work/commondir'"
        ));
        if is_held(setting) {
            walls.fails("rm .git; mv .git x; echo 'gitdir: /etc' > .git");
        }
        assert_eq!(
            before,
            parts.each_ref().map(|part| walls.tree.fingerprint(part)),
            "{setting:?}"
        );
        let denied = walls
            .server
            .call("read_file", json!({"path": format!("{git}/HEAD")}));
        assert_eq!(
            denied.code(),
            -32001,
            "{setting:?}: the tools for files get nothing of it"
        );
        walls.end();
    });
}

/// Below /tmp, the rules for a private /tmp give commands full access.
#[test]
fn worktree_below_tmp_has_no_repository() {
    everywhere(|setting| {
        let mut walls = Walls::on(make_tree_below(setting, "/tmp"), setting, &[], &[]);
        let git = walls.tree.text("far/main/.git");
        let said = startup_messages(&mut walls);
        let why = if is_held(setting) {
            "cannot be held below /tmp and /dev/shm"
        } else {
            "needs the namespaces tier"
        };
        assert!(
            said.contains(&format!("which {why}; `--allow {git}:rw` allows all of it")),
            "{said}"
        );
        walls.fails("git status");
        walls.fails(&format!("ls '{git}'"));
        walls.end();
    });
}

#[test]
fn operator_can_disable_linked_repositories() {
    everywhere(|setting| {
        let mut walls = on(setting, &["--git", "none"]);
        let said = startup_messages(&mut walls);
        assert!(!said.contains("far/main"), "{said}");
        walls.fails("git status");
        walls.fails(&format!("ls '{}'", walls.tree.text("far/main/.git")));
        walls.end();
    });
}

#[test]
fn git_works_in_submodule_and_bare_worktree() {
    everywhere(|setting| {
        let tree = make_tree(setting);
        let (sub, inner) = (tree.text("far/super/sub"), tree.text("far/bare.git/inner"));
        let allowed = [format!("{sub}:rw"), format!("{inner}:rw")];
        let mut walls = Walls::on(
            tree,
            setting,
            &[
                &FLAGS[..],
                &["--allow", &allowed[0], "--allow", &allowed[1]],
            ]
            .concat(),
            &[],
        );
        if !is_held(setting) {
            return walls.end();
        }
        for dir in [&sub, &inner] {
            walls.works(&format!("cd '{dir}' && echo 2 > f && git commit -qam 2 && git switch -qc x && git gc -q && git branch -d x || git status"));
            walls.works(&format!("cd '{dir}' && git switch -qc y && git commit -q --allow-empty -m y && git stash list && git pack-refs --all"));
        }
        let tip = walls.works(&format!("cd '{sub}' && git rev-parse y"));
        assert_eq!(git(&walls.tree, "git -C far/super/sub rev-parse y"), tip);
        for part in [
            "far/super/.git/modules/sub/hooks/x",
            "far/super/.git/modules/sub/config",
            "far/super/.git/config",
            "far/bare.git/hooks/x",
            "far/bare.git/config",
        ] {
            let at = walls.tree.text(part);
            walls.fails(&format!("echo evil >> '{at}'"));
        }
        walls.end();
    });
}

#[test]
fn read_only_worktree_cannot_change_repository() {
    everywhere(|setting| {
        let tree = make_tree(setting);
        let inner = tree.text("far/bare.git/inner");
        let before = tree.fingerprint("far/bare.git");
        let mut walls = Walls::on(tree, setting, &["--allow", &inner], &[]);
        walls.works(&format!("cd '{inner}' && git status && git log --oneline"));
        walls.fails(&format!("cd '{inner}' && git branch x"));
        walls.fails(&format!("cd '{inner}' && git commit --allow-empty -m x"));
        assert_eq!(
            before,
            walls.tree.fingerprint("far/bare.git"),
            "{setting:?}"
        );
        walls.end();
    });
}

#[test]
fn forged_git_pointer_is_reported_and_ignored() {
    everywhere(|setting| {
        let tree = make_tree(setting);
        let own = tree.text("far/main/.git/worktrees/other");
        fs::write(tree.path("work/.git"), format!("gitdir: {own}\n")).unwrap();
        let mut walls = Walls::on(tree, setting, &[], &[]);
        let said = startup_messages(&mut walls);
        let words = format!(
            "`{}` is not followed, since `{own}` belongs to another work tree",
            walls.tree.text("work/.git")
        );
        assert!(said.contains(&words), "{said}");
        walls.fails("git status");
        walls.fails(&format!("ls '{own}'"));
        walls.end();
    });
}
