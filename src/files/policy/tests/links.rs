use super::*;

#[test]
fn links_inside_are_followed() {
    let tree = Tree::new();
    for (name, target) in [
        ("A/rel", "sub/deep/f"),
        ("A/abs", "$A/sub/deep/f"),
        ("A/to_r", "../R/sub"),
        ("A/to_r_abs", "$R/sub"),
        ("A/up", ".."),
        ("A/here", "."),
        ("A/through", "to_r/../../A/rel"),
        ("R/back", "$A/rel"),
        ("R/to_rw", "../A/sub"),
        ("A/to_ro", "ro"),
    ] {
        tree.link(name, target);
    }
    assert_eq!(
        [
            "A/rel",
            "A/abs",
            "A/to_r",
            "A/to_r/f",
            "A/to_r_abs/f",
            "A/to_r/../f",
            "A/up/R/f",
            "A/up",
            "A/here/here/f",
            "A/through",
            "R/back",
            "A/up/O/secret",
            "A/to_r/../../O/secret",
            "R/to_rw/deep/f",
            "A/to_ro/f",
            "A/rel/",
            "A/rel/../f",
            "A/to_r/none",
            "A/up/none"
        ]
        .map(|p| tree.read(p)),
        [
            "A-deep rw",
            "A-deep rw",
            "dir ro",
            "R-sub ro",
            "R-sub ro",
            "R-f ro",
            "R-f ro",
            "Denied",
            "A-f rw",
            "A-deep rw",
            "A-deep rw",
            "Denied",
            "Denied",
            "A-deep rw",
            "ro ro",
            "NotADirectory",
            "A-deep rw",
            "NotFound",
            "Denied"
        ]
    );
    assert_eq!(
        [
            "A/rel",
            "A/to_r/new",
            "R/to_rw/new",
            "A/to_ro/new",
            "A/up/A/new",
            "A/here/x/y"
        ]
        .map(|p| tree.write(p)),
        [
            "A/sub/deep/f",
            "ReadOnly",
            "A/sub/new",
            "ReadOnly",
            "A/new",
            "A/x/y"
        ]
    );
}

#[test]
fn links_to_outside_give_same_denial() {
    let tree = Tree::new();
    for (name, target) in [
        ("A/l", "$O/secret"),
        ("A/d", "$O"),
        ("A/rel", "../O/secret"),
        ("A/gone", "$O/none"),
        ("A/gone_dir", "$O/none/x"),
        ("A/magic", "/proc/self/root/etc/passwd"),
        ("A/cwd", "/proc/self/cwd/.."),
        ("A/fd", "/dev/fd/0"),
        ("A/via", "d/../O/secret"),
        ("A/parent", "../A-evil/secret"),
    ] {
        tree.link(name, target);
    }
    let mut last = "l".to_string();
    for i in 0..38 {
        tree.link(&format!("A/chain{i}"), &last);
        last = format!("chain{i}");
    }
    let chain = format!("A/{last}");
    for path in [
        "A/l",
        "A/d",
        "A/d/secret",
        "A/d/none",
        "A/rel",
        "A/gone",
        "A/gone_dir",
        "A/magic",
        "A/magic/x",
        "A/cwd",
        "A/fd",
        "A/via",
        "A/parent",
        chain.as_str(),
        "A/d/../f",
        "A/none/../d/secret",
        "A/l/",
        "A/d/",
        "A/d/.",
    ] {
        assert_eq!(tree.read(path), "Denied", "{path}");
        assert_eq!(tree.write(path), "Denied", "{path}");
        assert_eq!(
            name(&tree.policy.create_dir(tree.at(path)).unwrap_err()),
            "Denied",
            "{path}"
        );
        assert!(tree.policy.leads_to(tree.at(path)).is_none(), "{path}");
    }
    for path in ["A/d/n3/f", "A/d/f", "A/d/", "A/d/.", "A/l/"] {
        assert_eq!(tree.entry(path), "Denied", "{path}");
        assert_eq!(
            tree.target(tree.policy.destination(tree.at(path))),
            "Denied",
            "{path}"
        );
    }
    // The link itself is inside.
    assert_eq!(
        ["A/d", "A/l", "A/gone"].map(|p| tree.entry(p)),
        ["A/d", "A/l", "A/gone"]
    );
}

#[test]
fn link_loops_end() {
    let tree = Tree::new();
    tree.link("A/a", "b");
    tree.link("A/b", "a");
    tree.link("A/own", "own");
    tree.link("A/grow", "grow/grow");
    assert_eq!(
        ["A/a", "A/own/x", "A/grow"].map(|p| tree.read(p)),
        ["TooManyLinks", "TooManyLinks", "TooManyLinks"]
    );
    assert_eq!(tree.write("A/a"), "TooManyLinks");
    assert_eq!(tree.entry("A/a"), "A/a");
    // Forty links, each a long way down and up again: bounded work, not forty times forever.
    let mut way = "sub/../".repeat(500);
    for i in 0..38 {
        tree.link(&format!("A/way{i}"), &format!("{way}f"));
        way = format!("{}way{i}/../", "sub/deep/../../".repeat(260));
    }
    assert_eq!(tree.read("A/way37"), "TooManyLinks");
}

#[test]
fn dangling_link_resolves_to_future_target() {
    let tree = Tree::new();
    tree.link("A/dangling", "sub/new");
    tree.link("A/dangling_dir", "$R/rw/x/");
    tree.link("A/dangling_ro", "ro/new");
    assert_eq!(
        [
            "A/dangling",
            "A/dangling_dir/y",
            "A/dangling_dir",
            "A/dangling_ro"
        ]
        .map(|p| tree.write(p)),
        ["A/sub/new", "R/rw/x/y", "IsDirectory", "ReadOnly"]
    );
    assert_eq!(
        ["A/dangling", "A/dangling_dir"].map(|p| tree.read(p)),
        ["NotFound", "NotFound"]
    );
    let made = tree.policy.create_dir(tree.at("A/dangling_dir/y")).unwrap();
    assert_eq!(
        (true_path(made.dir()), made.missing()),
        (tree.at("R/rw"), &["x".into(), "y".into()][..])
    );
}

#[test]
fn delete_and_move_act_on_link() {
    let tree = Tree::new();
    tree.link("A/in", "sub");
    tree.link("A/sub/up", "../ro");
    assert_eq!(
        [
            "A/in",
            "A/in/deep",
            "A/in/",
            "A/in/.",
            "A/in/deep/..",
            "A/in/up",
            "A/in/up/f"
        ]
        .map(|p| tree.entry(p)),
        [
            "A/in",
            "A/sub/deep",
            "NotADirectory",
            "NotADirectory",
            "A/sub",
            "A/sub/up",
            "ReadOnly"
        ]
    );
    assert_eq!(
        ["A/in", "A/in/new", "A/in/new/", "A/new/x/y"]
            .map(|p| tree.target(tree.policy.destination(tree.at(p)))),
        ["A/in", "A/sub/new", "A/sub/new", "A/new/x/y"]
    );
}
