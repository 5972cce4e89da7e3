use super::*;
use crate::policy::error::StartError;

fn open(grants: &[(&Path, Access)]) -> Result<Policy, StartError> {
    let grants: Vec<_> = grants
        .iter()
        .map(|(path, access)| Grant {
            path: path.to_path_buf(),
            access: *access,
        })
        .collect();
    Policy::open(&grants, &[])
}

#[test]
fn invalid_allowed_directory_is_refused_at_start() {
    let tree = Tree::new();
    let error = |path: &str| open(&[(Path::new(path), Access::ReadOnly)]).unwrap_err();
    assert!(matches!(error(""), StartError::Empty));
    assert!(matches!(error("/"), StartError::WholeDisk));
    assert!(matches!(error("/tmp/../"), StartError::WholeDisk));
    for kernel in ["/proc", "/proc/self", "/sys", "/dev", "/dev/shm"] {
        assert!(
            matches!(error(kernel), StartError::Kernel { .. }),
            "{kernel}"
        );
    }
    assert!(matches!(error("work"), StartError::NotAbsolute { .. }));
    assert!(matches!(
        error(tree.at("none").to_str().unwrap()),
        StartError::Missing { .. }
    ));
    assert!(matches!(
        error(tree.at("A/f").to_str().unwrap()),
        StartError::NotADirectory { .. }
    ));
}

#[test]
fn duplicate_directory_becomes_read_write() {
    let tree = Tree::new();
    tree.link("alias", "A");
    let (a, alias, again) = (tree.at("A"), tree.at("alias"), tree.at("R/..//A/"));
    let policy = open(&[
        (&a, Access::ReadOnly),
        (&tree.at("R"), Access::ReadOnly),
        (&again, Access::ReadWrite),
        (&alias, Access::ReadOnly),
    ])
    .unwrap();
    let roots: Vec<_> = policy
        .roots()
        .iter()
        .map(|r| (r.path(), r.writable()))
        .collect();
    assert_eq!(
        roots,
        [(a.as_path(), true), (tree.at("R").as_path(), false)]
    );
    assert_eq!(policy.project().unwrap().path(), a);
}

#[test]
fn allowed_directory_given_by_link_has_both_names() {
    let tree = Tree::new();
    tree.link("alias", "A/sub");
    let alias = tree.at("alias");
    let policy = open(&[(&alias, Access::ReadWrite)]).unwrap();
    let look = |path: PathBuf| {
        policy
            .read(path)
            .map(|c| true_path(&c.how.handle))
            .map_err(|e| name(&e))
    };
    assert_eq!(look(tree.at("alias/deep/f")), Ok(tree.at("A/sub/deep/f")));
    assert_eq!(look(tree.at("A/sub/deep/f")), Ok(tree.at("A/sub/deep/f")));
    assert_eq!(
        look(tree.at("alias/deep/../deep/f")),
        Ok(tree.at("A/sub/deep/f"))
    );
    std::fs::remove_file(&alias).unwrap();
    tree.link("alias", "$O");
    assert_eq!(look(tree.at("alias/secret")), Err("NotFound".into()));
    assert_eq!(look(tree.at("alias/deep/f")), Ok(tree.at("A/sub/deep/f")));
    // The directory itself replaced by a link out.
    std::fs::rename(tree.at("A/sub"), tree.at("A/moved")).unwrap();
    tree.link("A/sub", "$O");
    assert_eq!(look(tree.at("A/sub/secret")), Err("NotFound".into()));
    assert_eq!(
        look(tree.at("A/sub/deep/../deep/f")),
        Ok(tree.at("A/moved/deep/f"))
    );
}

#[test]
fn dot_dot_spelling_never_leads_out() {
    let tree = Tree::new();
    let read = |path: &str| tree.read(path);
    for outside in [
        "A/../O/secret",
        "A/./x/../../O/secret",
        "A//..//O/secret",
        "A/../O/secret/.",
        "A/../O/secret/",
        "A-evil/secret",
        "A /secret",
        "a/secret",
        "",
        ".",
        "A/..",
        "A/../..",
        "A/f/../../O/secret",
        "A/none/../../O/none",
        "none",
        "O",
        "O/secret/x",
    ] {
        assert_eq!(read(outside), "Denied", "{outside}");
        assert_eq!(tree.write(outside), "Denied", "{outside}");
        assert_eq!(tree.entry(outside), "Denied", "{outside}");
        assert_eq!(
            tree.target(tree.policy.destination(tree.at(outside))),
            "Denied",
            "{outside}"
        );
        assert_eq!(
            name(&tree.policy.create_dir(tree.at(outside)).unwrap_err()),
            "Denied",
            "{outside}"
        );
        assert_eq!(
            name(&tree.policy.look(tree.at(outside)).unwrap_err()),
            "Denied",
            "{outside}"
        );
    }
    for inside in [
        "A/f",
        "A/./sub/../f",
        "A//f",
        "A/x/../f",
        "A/../A/f",
        "A/../R/../A/f",
        "R/../A/sub/deep/../../f",
        "A/ro/../f",
    ] {
        assert_eq!(read(inside), "A-f rw", "{inside}");
        assert_eq!(tree.write(inside), "A/f", "{inside}");
    }
    for missing in [
        "A/%2e%2e/O/secret",
        "A/..%2fO/secret",
        "A/..\\O/secret",
        "A/~",
        "A/$HOME",
        "A/*",
        "A/F",
        "A/f ",
        "A/none/f",
    ] {
        assert_eq!(read(missing), "NotFound", "{missing}");
    }
    assert_eq!(read("A/f/"), "NotADirectory");
    assert_eq!(read("A/f/."), "NotADirectory");
    assert_eq!(read("A/f/x"), "NotADirectory");
    assert_eq!(read("A/sub/."), "dir rw");
    assert_eq!(read(&format!("A/{}", "n".repeat(300))), "NameTooLong");
    assert_eq!(read(&format!("A/{}/../f", "n".repeat(300))), "A-f rw");
    assert_eq!(read(&format!("A/{}", "n/".repeat(3000))), "PathTooLong");
}

#[test]
fn relative_path_is_below_project_directory() {
    let tree = Tree::new();
    let read = |path: &str| {
        tree.policy
            .read(path)
            .map(|c| true_path(&c.how.handle))
            .map_err(|e| name(&e))
    };
    assert_eq!(read("f"), Ok(tree.at("A/f")));
    assert_eq!(read("."), Ok(tree.at("A")));
    assert_eq!(read("../R/f"), Ok(tree.at("R/f")));
    assert_eq!(read(".."), Err("Denied".into()));
    assert_eq!(read("~root/.ssh/id_rsa"), Err("NotFound".into()));
    assert_eq!(read("x\0/../../O"), Err("Nul".into()));
    assert_eq!(
        tree.policy.absolute("sub//./../f").unwrap(),
        tree.at("A/sub/../f")
    );
    assert_eq!(
        name(&open(&[]).unwrap().read("x").unwrap_err()),
        "NoProject"
    );
    assert_eq!(name(&open(&[]).unwrap().read("/").unwrap_err()), "Denied");
}

#[test]
fn most_specific_directory_decides_access() {
    let tree = Tree::new();
    assert_eq!(
        [
            "A/f",
            "A/ro/f",
            "R/f",
            "R/rw/f",
            "A/sub/../ro/f",
            "R/sub/../rw/f"
        ]
        .map(|p| tree.read(p)),
        ["A-f rw", "ro ro", "R-f ro", "rw rw", "ro ro", "rw rw"]
    );
    assert_eq!(
        [
            "A/new",
            "A/ro/new",
            "R/new",
            "R/rw/new",
            "A/sub/../ro/new",
            "R/sub/../rw/new"
        ]
        .map(|p| tree.write(p)),
        [
            "A/new", "ReadOnly", "ReadOnly", "R/rw/new", "ReadOnly", "R/rw/new"
        ]
    );
    assert_eq!(
        ["A/ro/f", "R/f", "R/rw/f"].map(|p| tree.entry(p)),
        ["ReadOnly", "ReadOnly", "R/rw/f"]
    );
    assert_eq!(
        name(&tree.policy.create_dir(tree.at("R/sub")).unwrap_err()),
        "ReadOnly"
    );
}

#[test]
fn missing_parents_become_names() {
    let tree = Tree::new();
    let checked = tree.policy.write(tree.at("A/x/y/z")).unwrap();
    assert_eq!(
        (true_path(checked.dir()), checked.parents(), checked.name()),
        (tree.at("A"), &["x".into(), "y".into()][..], OsStr::new("z"))
    );
    let made = tree.policy.create_dir(tree.at("A/sub/x/y/")).unwrap();
    assert_eq!(
        (true_path(made.dir()), made.missing()),
        (tree.at("A/sub"), &["x".into(), "y".into()][..])
    );
    assert_eq!(
        tree.policy
            .create_dir(tree.at("A/sub/"))
            .unwrap()
            .missing()
            .len(),
        0
    );
    assert_eq!(
        name(&tree.policy.create_dir(tree.at("A/f")).unwrap_err()),
        "NotADirectory"
    );
    assert_eq!(
        name(&tree.policy.create_dir(tree.at("A/f/x")).unwrap_err()),
        "NotADirectory"
    );
    assert_eq!(
        ["A/sub", "A/x/", "A/f/x", "A/f/", "A"].map(|p| tree.write(p)),
        [
            "IsDirectory",
            "IsDirectory",
            "NotADirectory",
            "IsDirectory",
            "IsDirectory"
        ]
    );
}

#[test]
fn allowed_directories_and_parents_cannot_be_removed() {
    let tree = Tree::new();
    assert_eq!(
        [
            "A", "A/", "A/sub/..", "A/ro", "A/ro/", "R/rw", "R/sub", "A/sub", "A/sub/", "A/sub/.",
            "A/none"
        ]
        .map(|p| tree.entry(p)),
        [
            "AllowedDirectory",
            "AllowedDirectory",
            "AllowedDirectory",
            "AllowedDirectory",
            "AllowedDirectory",
            "AllowedDirectory",
            "ReadOnly",
            "A/sub",
            "A/sub",
            "A/sub",
            "NotFound"
        ]
    );
    assert_eq!(
        tree.target(tree.policy.destination(tree.at("A/ro"))),
        "AllowedDirectory"
    );
    let nested = open(&[
        (&tree.at("A"), Access::ReadWrite),
        (&tree.at("A/sub/deep"), Access::ReadWrite),
    ])
    .unwrap();
    assert_eq!(
        name(&nested.entry(tree.at("A/sub")).unwrap_err()),
        "AllowedDirectory"
    );
}

#[test]
fn protected_paths_are_read_only() {
    let tree = Tree::new();
    std::fs::create_dir_all(tree.at("A/.git/objects")).unwrap();
    assert_eq!(tree.read("A/keys/k"), "key rw");
    assert_eq!(
        [
            "A/keys/k",
            "A/keys/new/x",
            "A/sub/../keys/k",
            "A/.mcp.json",
            "A/.git/hooks/x",
            "A/.GIT/HOOKS/x",
            "A/.claude/settings.json",
            "A/.git",
            "A/.claude",
            "A/.claude/other",
            "R/rw/.codex/x",
            "A/sub/.mcp.json"
        ]
        .map(|p| tree.write(p)),
        [
            "Protected",
            "Protected",
            "Protected",
            "Protected",
            "Protected",
            "Protected",
            "Protected",
            "IsDirectory",
            "Protected",
            "A/.claude/other",
            "Protected",
            "A/sub/.mcp.json"
        ]
    );
    assert_eq!(
        ["A/keys", "A/keys/k", "A/.git"].map(|p| tree.entry(p)),
        ["Protected", "Protected", "A/.git"]
    );
    std::fs::create_dir(tree.at("A/.git/hooks")).unwrap();
    assert_eq!(tree.entry("A/.git"), "Protected");
    assert_eq!(
        name(&tree.policy.create_dir(tree.at("A/.codex")).unwrap_err()),
        "Protected"
    );
    assert_eq!(
        tree.policy
            .create_dir(tree.at("A/.claude"))
            .unwrap()
            .missing(),
        ["claude"].map(|n| OsString::from(format!(".{n}")))
    );
    assert_eq!(
        tree.target(tree.policy.destination(tree.at("A/.codex"))),
        "Protected"
    );
}

#[test]
fn protected_path_behind_link_is_protected_at_target() {
    let tree = Tree::new();
    std::fs::create_dir_all(tree.at("A/real/hooks")).unwrap();
    tree.link("A/.git", "real");
    let policy = open(&[(&tree.at("A"), Access::ReadWrite)]).unwrap();
    let write = |path: &str| {
        policy
            .write(tree.at(path))
            .map(|_| ())
            .map_err(|e| name(&e))
    };
    assert_eq!(write("A/.git/hooks/x"), Err("Protected".into()));
    assert_eq!(write("A/real/hooks/x"), Err("Protected".into()));
    assert_eq!(write("A/real/config"), Ok(()));
    assert_eq!(
        name(&policy.entry(tree.at("A/.git")).unwrap_err()),
        "Protected"
    );
}

#[test]
fn special_files_are_refused_without_blocking() {
    let tree = Tree::new();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        tree.at("A/fifo"),
        FileType::Fifo,
        Mode::RWXU,
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(tree.at("A/socket")).unwrap();
    tree.link("A/to_fifo", "fifo");
    assert_eq!(
        ["A/fifo", "A/socket", "A/to_fifo"].map(|p| tree.read(p)),
        ["Special", "Special", "Special"]
    );
    assert_eq!(
        tree.policy.look(tree.at("A/to_fifo")).unwrap().kind(),
        FileKind::Fifo
    );
    assert_eq!(
        tree.policy.look(tree.at("A/sub")).unwrap().kind(),
        FileKind::Directory
    );
}

#[test]
fn denial_hint_of_token_names_own_flag() {
    let tree = Tree::new();
    let grant = Grant {
        path: tree.at("R"),
        access: Access::ReadOnly,
    };
    let restrictions = Restrictions {
        flag: GrantFlag::Own,
        ..Restrictions::default()
    };
    let policy = Policy::open_with(&[grant], &restrictions).unwrap();
    let root = tree.at("R").display().to_string();
    assert_eq!(
        policy.read(tree.at("A/f")).unwrap_err().hint().unwrap(),
        format!(
            "allowed directories: {root} (read-only); the operator can give this token more (--own \
             DIR)"
        )
    );
    assert_eq!(
        policy.write(tree.at("R/f")).unwrap_err().hint().unwrap(),
        format!(
            "write in a read-write directory; allowed: {root} (read-only); the operator can allow \
             it with --own {root}:rw, or with a smaller directory in it"
        )
    );
}

#[test]
fn denial_text_is_independent_of_existence() {
    let tree = Tree::new();
    tree.link("A/there", "$O/secret");
    let before = tree.policy.read(tree.at("A/there")).unwrap_err();
    std::fs::remove_file(tree.at("O/secret")).unwrap();
    let after = tree.policy.read(tree.at("A/there")).unwrap_err();
    assert_eq!(
        before.to_string(),
        format!(
            "`{}` is outside the allowed directories",
            tree.at("A/there").display()
        )
    );
    assert_eq!(
        (before.to_string(), before.hint()),
        (after.to_string(), after.hint())
    );
    assert_eq!(
        before.hint().unwrap(),
        format!(
            "allowed directories: {0}/A (read-write), {0}/R (read-only), {0}/A/ro (read-only), {0}/R/rw (read-write); the \
             operator can allow more with --allow DIR",
            tree.base.display()
        )
    );
}
