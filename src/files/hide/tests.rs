use std::fs;
use std::os::fd::AsFd as _;

use super::*;
use pretty_assertions::assert_eq;

/// Compiles globs with one `*`, of names, whole paths, or paths at any depth.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the function that compiles globs may fail"
)]
fn globs_of(globs: &[String]) -> Result<Globs, String> {
    let globs = globs.to_vec();
    Ok(Arc::new(move |path| {
        globs.iter().any(
            |glob| match (glob.strip_prefix("**/"), glob.split_once('*')) {
                (Some(glob), _) => {
                    path == glob.as_bytes() || path.ends_with(format!("/{glob}").as_bytes())
                }
                (None, Some((head, tail))) => {
                    path.starts_with(head.as_bytes()) && path.ends_with(tail.as_bytes())
                }
                (None, None) => path == glob.as_bytes(),
            },
        )
    }))
}

fn hide(patterns: &[&str]) -> Result<Hide, String> {
    let patterns: Vec<String> = patterns
        .iter()
        .map(|pattern| (*pattern).to_owned())
        .collect();
    Hide::new(&patterns, vec!["/w".into(), "/w/in/ner".into()], globs_of)
}

#[test]
fn pattern_with_slash_is_path_else_name() {
    let hide = hide(&[
        ".env",
        "*.pem",
        "a/b",
        "**/keys/",
        "./top",
        "/w/x/y",
        "deep/er/**",
        "**/any/where/",
    ])
    .unwrap();
    let hidden = [
        "/w/.env",
        "/w/s/.env",
        "/w/.env/x",
        "/w/k.pem/z",
        "/w/a/b",
        "/w/in/ner/a/b/c",
        "/w/q/keys/k",
        "/w/top",
        "/w/x/y",
        "/w/any/where",
        "/w/s/any/where/k",
    ];
    assert_eq!(hidden.map(|place| hide.hides(Path::new(place))), [true; 11]);
    assert!(hide.hides(Path::new("/w/deep/er")));
    let seen = [
        "/w", "/w/env", "/w/s/a/b", "/w/s/top", "/x/.env", "/w/s/x/y", "/w/deep", "/w/a",
    ];
    assert_eq!(seen.map(|place| hide.hides(Path::new(place))), [false; 8]);
    assert_eq!(
        ["/w/.env", "/w/a/b"].map(|place| hide.hides_by_place(Path::new(place))),
        [false, true]
    );
    let ways = [
        "/w/a",
        "/w/in/ner/a",
        "/w/any",
        "/w/s/any",
        "/w/x",
        "/w/deep",
    ];
    assert_eq!(
        ways.map(|place| hide.is_on_the_way(Path::new(place))),
        [true; 6]
    );
    let others = ["/w", "/w/s", "/w/s/a", "/w/a/b", "/w/keys", "/x/any"];
    assert_eq!(
        others.map(|place| hide.is_on_the_way(Path::new(place))),
        [false; 6]
    );
}

#[test]
fn invalid_pattern_error_suggests_spelling() {
    let refused = [
        (
            " .env\n",
            "` .env\\n` has a blank at an end: write `.env`, and `?` for a blank in a name",
        ),
        (
            "~/.env",
            "`~/.env` has a `~`, which only a shell replaces: write the whole path",
        ),
        (
            ".env,b",
            "`.env,b` has a comma: give each pattern by itself, and write `?` for a comma in a name",
        ),
        (
            "{a/b,c}",
            "`{a/b,c}` has a slash in braces: give each path by itself",
        ),
        (
            "x[a/b]",
            "`x[a/b]` has a slash in brackets: write `\\[` for a bracket in a name",
        ),
        (
            "!.env",
            "`!.env` begins with `!`, which makes no exception: write `\\!.env` for that name",
        ),
        (
            "a/../b",
            "`a/../b` has a `..`, which no name is: write the path that it leads to",
        ),
        (
            "..",
            "`..` has a `..`, which no name is: write the path that it leads to",
        ),
        (
            "",
            "`` names nothing: write a name, or a path below an allowed directory",
        ),
        (
            ".",
            "`.` names nothing: write a name, or a path below an allowed directory",
        ),
        (
            "//",
            "`//` names nothing: write a name, or a path below an allowed directory",
        ),
        (
            "a//b/",
            "`a//b/` has an empty name or a `.` in it: write `a/b`",
        ),
        (
            "/w/./a",
            "`/w/./a` has an empty name or a `.` in it: write `/w/a`",
        ),
        (
            "././a",
            "`././a` has an empty name or a `.` in it: write `./a`",
        ),
    ];
    for (pattern, said) in refused {
        assert_eq!(hide(&[pattern]).unwrap_err(), said);
    }
    assert!(
        hide(&[
            "./a",
            "/w/b/",
            ".{env,npmrc}",
            "c/*",
            "\\{a/b\\}",
            "a\\,b",
            "x\\[a/b]"
        ])
        .is_ok()
    );
}

#[test]
fn pattern_over_allowed_directory_is_refused() {
    let refused = |pattern| hide(&[pattern]).unwrap_err();
    let whole = |root| {
        format!(
            "it would hide `{root}`, an allowed directory; name what is in it, or do not allow it"
        )
    };
    assert_eq!(
        ["w", "in", "in/ner", "*"].map(refused),
        ["/w", "/w/in/ner", "/w/in/ner", "/w"].map(whole)
    );
    assert_eq!(
        refused("/etc/passwd"),
        "`/etc/passwd` is a path in no allowed directory"
    );
}

#[test]
fn directory_mounted_twice_is_hidden_twice() {
    let mut hide = hide(&["a/b", "keys"]).unwrap();
    let table =
        b"1 0 8:1 / / rw - ext4 a rw\n2 1 8:1 /w/a /w/again rw - ext4 a rw\n3 1 8:1 /w/keys /w/in/ner rw - ext4 a rw\n";
    hide.found.aliases = aliases(&hide.roots, &mounts::parse(table).unwrap());
    let places = ["/w/again/b", "/w/again/c", "/w/in/ner/k", "/w/a/b"];
    assert_eq!(
        places.map(|place| hide.hides(Path::new(place))),
        [true, false, true, true]
    );
}

#[test]
fn survey_finds_hard_links_and_symlink_targets() {
    let tree = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(tree.path()).unwrap();
    fs::create_dir_all(root.join("keys/d")).unwrap();
    fs::create_dir_all(root.join(".git")).unwrap();
    for name in [".env", "keys/d/k", "real", "plain"] {
        fs::write(root.join(name), "x").unwrap();
    }
    fs::hard_link(root.join("keys/d/k"), root.join("other")).unwrap();
    std::os::unix::fs::symlink("../real", root.join("keys/link")).unwrap();
    fs::write(root.join(".git/index"), b"DIRC\0.env\0src/x\0").unwrap();
    let patterns = [".env".to_owned(), "keys".to_owned()];
    let mut hide = Hide::new(&patterns, vec![root.clone()], globs_of).unwrap();
    let open = fs::File::open(&root).unwrap();
    hide.survey([(&*root, open.as_fd())].into_iter()).unwrap();
    let id = rustix::fs::stat(root.join("other")).unwrap();
    let found = SurveyResult {
        aliases: Vec::new(),
        targets: vec![root.join("real"), root.join("other")],
        ids: [(id.st_ino, id.st_dev)].into(),
        tracked: vec![root.join(".env")],
    };
    assert_eq!(hide.found, found);
    assert!(hide.is_known((id.st_dev, id.st_ino)) && !hide.is_known((id.st_dev + 1, id.st_ino)));
    let holds = |name: &str, by_place| {
        hide.holds_hidden(&open, OsStr::new(name), &root.join(name), by_place)
    };
    assert_eq!(
        [
            holds("keys", false),
            holds(".git", false),
            holds("keys", true)
        ],
        [true, false, false]
    );
}

#[test]
fn pattern_through_symlink_hides_target() {
    let tree = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(tree.path()).unwrap();
    fs::create_dir_all(root.join("real/in")).unwrap();
    std::os::unix::fs::symlink("real", root.join("linked")).unwrap();
    let open = fs::File::open(&root).unwrap();
    let surveyed = |pattern: &str| {
        let mut hide = Hide::new(&[pattern.to_owned()], vec![root.clone()], globs_of).unwrap();
        hide.survey([(&*root, open.as_fd())].into_iter())
            .map(|()| hide.found.targets)
    };
    assert_eq!(
        surveyed("linked/in/new").unwrap(),
        [root.join("real/in/new")]
    );
    assert_eq!(surveyed("real/in").unwrap(), [""; 0].map(PathBuf::from));
    let right = format!(
        "`linked/*.key` leads through a link: write `{}`",
        root.join("real/*.key").display()
    );
    assert_eq!(surveyed("linked/*.key").unwrap_err(), right);
}

#[test]
fn link_with_brackets_hides_its_target() {
    let tree = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(tree.path()).unwrap();
    fs::create_dir(root.join("real")).unwrap();
    std::os::unix::fs::symlink("real", root.join("[slug]")).unwrap();
    let open = fs::File::open(&root).unwrap();
    for pattern in ["[slug]/in/.env", "\\[slug\\]/in/.env"] {
        let mut hide = Hide::new(&[pattern.to_owned()], vec![root.clone()], globs_of).unwrap();
        hide.survey([(&*root, open.as_fd())].into_iter()).unwrap();
        assert_eq!(hide.found.targets, [root.join("real/in/.env")], "{pattern}");
    }
}
