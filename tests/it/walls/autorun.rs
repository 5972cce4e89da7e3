//! Autorun files in a project: attempts to change or create them, by the file tools and by
//! commands.

use std::path::Path;

use pretty_assertions::assert_eq;
use replay_sandbox::Tier;
use serde_json::{Value, json};

use super::{Setting, Tree, Walls, everywhere, give};

/// Content of files that exist before the server starts.
const CONTENT: &str = "good\n";

/// Paths directly in the read-write directory, protected even if they do not exist.
const PROTECTED: [&str; 29] = [
    ".git/hooks/pre-commit",
    ".git/config.worktree",
    ".git/commondir",
    ".gitmodules",
    ".gitconfig",
    ".mcp.json",
    ".claude.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/commands/x.md",
    ".claude/agents/x.md",
    ".claude/hooks/x.sh",
    ".claude/skills/x/SKILL.md",
    ".codex/config.toml",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".vscode/mcp.json",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".vscode/launch.json",
    ".zed/tasks.json",
    ".idea/workspace.xml",
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
    ".envrc",
    ".ssh/authorized_keys",
    ".bashrc",
    ".profile",
    ".zshrc",
];

/// Paths in repositories that exist before the server starts.
const REPOSITORIES: [&str; 11] = [
    ".git/config",
    ".git/modules/lib/config",
    ".git/modules/lib/hooks/post-checkout",
    ".git/worktrees/w/commondir",
    "deep/er/sub/.git/config",
    "deep/er/sub/.git/hooks/post-checkout",
    "deep/er/sub/.git/config.worktree",
    "w/.git",
    "bare/config",
    "bare/hooks/post-update",
    "bare/commondir",
];

/// Unprotected paths: the project's own programs and instructions, which an agent is meant to
/// change.
const UNPROTECTED: [&str; 8] = [
    "Makefile",
    "package.json",
    "build.rs",
    "conftest.py",
    "CLAUDE.md",
    ".github/workflows/ci.yml",
    ".husky/pre-commit",
    ".pre-commit-config.yaml",
];

const REPOSITORY_PARENTS: [&str; 4] = [".git", "deep", "w", "bare"];

/// Git directories.
const GIT_DIRECTORIES: [&str; 4] = [".git", ".git/modules/lib", "deep/er/sub/.git", "bare"];

fn namespaces(setting: Setting) -> bool {
    setting.tier == Tier::Namespaces
}

/// Makes `work` with a repository, and with all of these files if `full`.
fn tree(setting: Setting, full: bool) -> Tree {
    let tree = Tree::new();
    tree.file("docs/read.txt", "readme\n")
        .dir("tmp")
        .file("outside/secret", "x")
        .dir("work");
    for dir in GIT_DIRECTORIES {
        for name in ["objects", "refs"] {
            tree.dir(format!("work/{dir}/{name}"));
        }
        tree.file(format!("work/{dir}/HEAD"), "ref: refs/heads/main\n");
    }
    tree.file("work/.git/worktrees/w/HEAD", "ref: refs/heads/w\n");
    if full {
        for path in PROTECTED.iter().chain(&REPOSITORIES).chain(&UNPROTECTED) {
            // With `commondir`, the directory belongs to another repository.
            tree.file(format!("work/{path}"), CONTENT);
        }
    } else {
        tree.file("work/.git/worktrees/w/commondir", "../..\n");
    }
    if let Some(owner) = setting.owner {
        give(tree.root(), owner);
    }
    tree
}

fn is_good(walls: &Walls, path: &str) -> bool {
    let path = walls.tree.path(format!("work/{path}"));
    std::fs::read_to_string(path).is_ok_and(|text| text == CONTENT)
}

/// Returns true if a call of a file tool was refused.
fn refuses(walls: &mut Walls, tool: &str, arguments: Value) -> bool {
    walls.server.call(tool, arguments).failure().is_some()
}

/// Tries all ways of the file tools to replace or remove a path. Returns those that were not
/// refused.
fn succeeding_file_tools(walls: &mut Walls, path: &str, exists: bool) -> Vec<&'static str> {
    let at = walls.tree.text(&format!("work/{path}"));
    let evil = walls.tree.text("work/evil");
    std::fs::write(&evil, "evil\n").unwrap();
    let mut open = Vec::new();
    let mut attempt = |name, tool: &str, arguments| {
        if !refuses(walls, tool, arguments) {
            open.push(name);
        }
    };
    if exists {
        attempt(
            "edit",
            "edit_file",
            json!({"path": at, "edits": [{"oldText": "good", "newText": "evil"}]}),
        );
    }
    attempt(
        "write",
        "write_file",
        json!({"path": at, "content": "evil\n"}),
    );
    if exists {
        attempt("delete", "delete_file", json!({"path": at}));
        attempt(
            "move away",
            "move_file",
            json!({"source": at, "destination": format!("{evil}.moved")}),
        );
    } else {
        attempt(
            "move there",
            "move_file",
            json!({"source": evil, "destination": at}),
        );
        attempt("a directory there", "create_directory", json!({"path": at}));
    }
    open
}

#[test]
fn existing_autorun_files_cannot_be_changed() {
    everywhere(|setting: Setting| {
        if !namespaces(setting) {
            return;
        }
        let mut walls = Walls::on(tree(setting, true), setting, &[], &[]);
        let mut open = Vec::new();
        for path in PROTECTED.iter().chain(&REPOSITORIES) {
            let left = succeeding_file_tools(&mut walls, path, true);
            let top = Path::new(path)
                .components()
                .next()
                .unwrap()
                .as_os_str()
                .to_str()
                .unwrap();
            // A repository can be removed as a whole.
            let removes = if REPOSITORY_PARENTS.contains(&top) {
                "true"
            } else {
                "rm -rf"
            };
            walls.sh(&format!(
                "echo evil >> {path}; echo evil > e; mv -f e {path}; ln -f e {path}; rm -f {path}; mv {top} away; {removes} {top}; \
                 mkdir -p $(dirname {path}); echo evil > {path}"
            ));
            if !left.is_empty() || !is_good(&walls, path) {
                open.push((*path, left));
            }
        }
        assert_eq!(open, [], "{setting:?}");
        for path in UNPROTECTED {
            assert_eq!(
                succeeding_file_tools(&mut walls, path, true),
                ["edit", "write", "delete"],
                "{path}: {setting:?}"
            );
        }
        walls.end();
    });
}

#[test]
fn removed_repository_leaves_its_path_protected() {
    everywhere(|setting: Setting| {
        if !namespaces(setting) {
            return;
        }
        let mut walls = Walls::on(tree(setting, true), setting, &[], &[]);
        for top in REPOSITORY_PARENTS {
            walls.works(&format!("rm -rf {top} && ! test -e {top}"));
        }
        let is_removed = |path: &&&str| {
            REPOSITORY_PARENTS
                .iter()
                .any(|top| Path::new(path).starts_with(top))
        };
        for path in PROTECTED.iter().chain(&REPOSITORIES).filter(is_removed) {
            // The command may be ended, since so many files appear at protected paths.
            walls.try_run(
                json!({"command": format!("mkdir -p $(dirname {path}); echo evil > {path}")}),
            );
        }
        walls.works("true");
        let there: Vec<&&str> = PROTECTED
            .iter()
            .chain(&REPOSITORIES)
            .filter(|path| walls.tree.has(&format!("work/{path}")))
            .collect();
        assert_eq!(
            there.iter().filter(|path| is_removed(path)).count(),
            0,
            "{setting:?}: {there:?}"
        );
        walls.end();
    });
}

#[test]
fn new_autorun_files_do_not_stay() {
    everywhere(|setting: Setting| {
        if !namespaces(setting) {
            return;
        }
        let missing = [
            "deep/er/sub/.git/hooks/post-checkout",
            "deep/er/sub/.git/commondir",
            "bare/hooks/post-update",
        ];
        let mut walls = Walls::on(tree(setting, false), setting, &[], &[]);
        let mut open = Vec::new();
        for path in PROTECTED.iter().chain(&missing) {
            let left = succeeding_file_tools(&mut walls, path, false);
            walls.sh(&format!("mkdir -p $(dirname {path}); echo evil > {path}"));
            if !left.is_empty() || walls.tree.has(&format!("work/{path}")) {
                open.push((*path, left));
            }
        }
        assert_eq!(open, [], "{setting:?}");
        for path in UNPROTECTED {
            walls.works(&format!("mkdir -p $(dirname {path}); echo mine > {path}"));
            assert_eq!(
                succeeding_file_tools(&mut walls, path, false),
                ["write"],
                "{path}: {setting:?}"
            );
        }
        walls.end();
    });
}

#[test]
fn allowed_git_directory_itself_is_protected() {
    everywhere(|setting: Setting| {
        if !namespaces(setting) {
            return;
        }
        let tree = tree(setting, true);
        std::fs::rename(tree.path("work"), tree.path("main")).unwrap();
        tree.dir("work");
        let (git, bare) = (
            format!("{}:rw", tree.text("main/.git")),
            format!("{}:rw", tree.text("main/bare")),
        );
        let mut walls = Walls::on(tree, setting, &["--allow", &git, "--allow", &bare], &[]);
        for (dir, name) in [
            (".git", "config"),
            (".git", "hooks/pre-commit"),
            (".git", "commondir"),
            (".git", "modules/lib/config"),
            (".git", "worktrees/w/commondir"),
            ("bare", "config"),
            ("bare", "hooks/post-update"),
        ] {
            let at = walls.tree.text(&format!("main/{dir}/{name}"));
            assert_eq!(
                succeeding_file_tools(&mut walls, &format!("../main/{dir}/{name}"), true),
                [""; 0],
                "{at}"
            );
            walls.sh(&format!(
                "echo evil >> {at}; echo evil > {at}.new; mv -f {at}.new {at}; rm -f {at}; echo evil > {at}"
            ));
            assert_eq!(
                std::fs::read_to_string(&at).unwrap(),
                CONTENT,
                "{at}: {setting:?}"
            );
        }
        let head = walls.tree.text("main/.git/HEAD");
        walls.works(&format!("echo 'ref: refs/heads/other' > {head}"));
        walls.end();
    });
}

#[test]
fn repository_unreadable_at_start_is_protected() {
    everywhere(|setting: Setting| {
        if !namespaces(setting) {
            return;
        }
        let tree = tree(setting, true);
        for (path, mode) in [
            ("work/deep", 0o000),
            ("work/bare", 0o300),
            ("work/.git/modules", 0o400),
        ] {
            std::fs::set_permissions(
                tree.path(path),
                std::os::unix::fs::PermissionsExt::from_mode(mode),
            )
            .unwrap();
        }
        let mut walls = Walls::on(tree, setting, &[], &[]);
        for path in [
            "deep/er/sub/.git/config",
            "bare/config",
            ".git/modules/lib/config",
        ] {
            walls.sh(&format!(
                "chmod -R u+rwx deep bare .git/modules; echo evil > {path}; rm {path}; echo evil > {path}"
            ));
        }
        let files = [
            "deep/er/sub/.git/config",
            "bare/config",
            ".git/modules/lib/config",
        ];
        assert_eq!(
            files.map(|path| is_good(&walls, path)),
            [true; 3],
            "{setting:?}"
        );
        walls.end();
    });
}

#[test]
fn unprotect_frees_default_protected_paths() {
    everywhere(|setting: Setting| {
        if !namespaces(setting) {
            return;
        }
        let tree = tree(setting, true);
        let free = [".vscode", ".git/config", "deep/er/sub/.git", "bare/config"]
            .map(|path| tree.text(&format!("work/{path}")));
        let flags: Vec<&str> = free
            .iter()
            .flat_map(|path| ["--unprotect", path.as_str()])
            .collect();
        let mut walls = Walls::on(tree, setting, &flags, &[]);
        for path in [
            ".vscode/tasks.json",
            ".git/config",
            "deep/er/sub/.git/config",
            "deep/er/sub/.git/hooks/x",
            "bare/config",
        ] {
            let at = walls.tree.text(&format!("work/{path}"));
            walls
                .server
                .call("write_file", json!({"path": at, "content": "mine\n"}))
                .result();
            walls.works(&format!(
                "echo theirs > {path}.new && mv -f {path}.new {path}"
            ));
            assert_eq!(
                walls.tree.read(&format!("work/{path}")),
                "theirs\n",
                "{path}: {setting:?}"
            );
        }
        for path in [
            ".mcp.json",
            ".git/hooks/pre-commit",
            "bare/hooks/post-update",
            ".git/modules/lib/config",
        ] {
            assert_eq!(
                succeeding_file_tools(&mut walls, path, true),
                [""; 0],
                "{path}: {setting:?}"
            );
            walls.fails(&format!("echo evil > {path}"));
            assert!(is_good(&walls, path), "{path}: {setting:?}");
        }
        let (at, hooks) = (
            walls.tree.text("work/.git/hooks/x"),
            walls.tree.text("work/.git/hooks"),
        );
        let refused = walls
            .server
            .call("write_file", json!({"path": at, "content": "x"}))
            .failure()
            .unwrap();
        let said = format!("{refused:?}");
        assert!(said.contains(&format!("--unprotect `{hooks}`")), "{said}");
        walls.end();
    });
}

#[test]
fn server_configuration_file_is_read_only() {
    everywhere(|setting: Setting| {
        let tree = Tree::new();
        let profile = r#"{"limits": {"max_commands": 8}}"#;
        tree.file("work/conf/profile.json", profile)
            .file("docs/read.txt", "readme\n")
            .dir("tmp")
            .file("outside/secret", "x");
        if let Some(owner) = setting.owner {
            give(tree.root(), owner);
        }
        let at = tree.text("work/conf/profile.json");
        // Named through a link that an agent cannot reach.
        tree.link(&at, "outside/profile.json");
        let link = tree.text("outside/profile.json");
        let mut walls = Walls::on(tree, setting, &["--sandbox-profile", &link], &[]);
        assert!(
            refuses(
                &mut walls,
                "write_file",
                json!({"path": at, "content": "{}"})
            ),
            "{setting:?}"
        );
        let above = walls.tree.text("work/conf");
        assert!(
            refuses(
                &mut walls,
                "delete_file",
                json!({"path": above, "recursive": true})
            ),
            "{setting:?}"
        );
        if namespaces(setting) {
            walls.sh("echo '{}' > conf/profile.json; mv conf away; rm -rf conf");
            walls.end();
        } else {
            let refused = walls.try_run(json!({"command": "true"})).failure().unwrap();
            let why =
                format!("`{at}` cannot be kept read-only (--protect, or it configures the server)");
            assert!(format!("{refused:?}").contains(&why), "{refused:?}");
        }
        assert_eq!(
            walls.tree.read("work/conf/profile.json"),
            profile,
            "{setting:?}"
        );
    });
}

/// Only git commands that write the configuration fail.
#[test]
fn git_works_with_read_only_configuration() {
    everywhere(|setting: Setting| {
        if !namespaces(setting) {
            return;
        }
        let tree = Tree::new();
        tree.file("docs/read.txt", "readme\n")
            .dir("tmp")
            .file("outside/secret", "x")
            .dir("work");
        let lay_out = "set -e; git init -q -b main up; cd up; echo 1 > f; git add f; git commit -qm 1; git checkout -qb feature; \
                       echo 2 > f; git commit -qam 2; git checkout -q main; cd ..; git clone -q up w; cd w; git checkout -qb old; \
                       git worktree add -q ../linked";
        let identity = ["AUTHOR", "COMMITTER"].map(|who| {
            [
                (format!("GIT_{who}_NAME"), "a"),
                (format!("GIT_{who}_EMAIL"), "a@b"),
            ]
        });
        let laid = std::process::Command::new("sh")
            .args(["-c", lay_out])
            .current_dir(tree.path("work"))
            .envs(identity.into_iter().flatten())
            .output()
            .unwrap();
        assert!(laid.status.success(), "{laid:?}");
        if let Some(owner) = setting.owner {
            give(tree.root(), owner);
        }
        let mut walls = Walls::on(tree, setting, &["--git-identity", "a <a@b>"], &[]);
        let before = walls.tree.read("work/w/.git/config");
        for work in [
            "git status && git switch -q main && git fetch -q && git pull -q && git log --oneline",
            // Without an upstream branch.
            "git checkout feature && test $(cat f) = 2 && test $(git branch --show-current) = feature",
            "git checkout -qb mine && echo 3 > f && git commit -qam 3 && git push -q origin mine && git push -u origin mine",
            "git checkout -q main && git merge -q mine && git stash list && git tag v1 && git branch -d mine && git gc -q",
            "git worktree add -q ../fresh && cd ../fresh && git commit -q --allow-empty -m x && cd ../w && git worktree remove ../fresh",
            "cd ../linked && git status && git commit -q --allow-empty -m x",
            "cd .. && git clone -q w copy && cd copy && git config user.name x && rm -rf ../copy",
            "cd .. && git init -q new && cd new && git config user.name x && git commit -q --allow-empty -m x",
        ] {
            walls.works(&format!("cd w && {work}"));
        }
        for work in [
            "git config user.name x",
            "git remote add other ../up",
            "git branch -m main trunk",
        ] {
            walls.fails(&format!("cd w && {work}"));
        }
        walls.works("cd w && git worktree remove ../linked && ! test -e ../linked && ! test -e .git/worktrees/linked");
        assert_eq!(walls.tree.read("work/w/.git/config"), before, "{setting:?}");
        walls.end();
    });
}
