//! Both versions of changed objects.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::super::{At, Recorder, Store, Version, Writing};
use super::entries::{edit, place, tell, undo};
use super::property::World;

fn describe_version(version: Option<Version>) -> String {
    match version {
        None => "nothing".into(),
        Some(Version::File { content, size, .. }) => {
            let mut text = String::new();
            fs::File::from(content)
                .take(size)
                .read_to_string(&mut text)
                .unwrap();
            text
        }
        Some(Version::Link(target)) => format!("-> {}", target.name().display()),
        Some(other) => format!("{other:?}"),
    }
}

/// Returns the versions before and after.
fn sides(store: &Store, number: u64, path: &str) -> (String, String) {
    let versions = store.versions(number).unwrap();
    let [before, after] = [versions.before(&place(path)), versions.after(&place(path))];
    (
        describe_version(before.unwrap()),
        describe_version(after.unwrap()),
    )
}

fn is(before: &str, after: &str) -> (String, String) {
    (before.into(), after.into())
}

#[test]
fn versions_are_found_in_any_saved_copy() {
    let world = World::new();
    let root = &world.roots[0];
    fs::create_dir(root.join("dir")).unwrap();
    for path in ["edited", "gone", "dir/moved", "grown", "mode"] {
        fs::write(root.join(path), format!("{path} before")).unwrap();
    }
    symlink("elsewhere", root.join("link")).unwrap();
    let store = world.store();
    let mut recorder = store.begin("call").unwrap();
    edit(&world, &mut recorder, "edited", "first");
    edit(&world, &mut recorder, "new", "created");
    tell(&world, &mut recorder, "grown", |recorder, at| {
        recorder.content(at, Writing::Appends)
    });
    fs::OpenOptions::new()
        .append(true)
        .open(root.join("grown"))
        .unwrap()
        .write_all(b", and more")
        .unwrap();
    for name in ["gone", "link"] {
        tell(&world, &mut recorder, name, Recorder::before_remove);
        fs::remove_file(root.join(name)).unwrap();
    }
    tell(&world, &mut recorder, "mode", Recorder::metadata);
    let [above, dir] = [root.clone(), root.join("dir")].map(|path| fs::File::open(path).unwrap());
    let from = At {
        dir: dir.as_fd(),
        name: "moved".as_ref(),
        root: 0,
        path: Path::new("dir"),
        seen: None,
    };
    let to = At {
        dir: above.as_fd(),
        name: "there".as_ref(),
        root: 0,
        path: Path::new(""),
        seen: None,
    };
    recorder.before_rename(from, to, false).unwrap();
    fs::rename(root.join("dir/moved"), root.join("there")).unwrap();
    assert_eq!(store.end(recorder).unwrap().number, 1);
    let first = [
        ("edited", is("edited before", "first")),
        ("new", is("nothing", "created")),
        ("grown", is("grown before", "grown before, and more")),
        ("gone", is("gone before", "nothing")),
        ("link", is("-> elsewhere", "nothing")),
        ("dir/moved", is("dir/moved before", "nothing")),
        ("there", is("nothing", "dir/moved before")),
        ("mode", is("mode before", "mode before")),
        ("dir", is("Directory", "Directory")),
        ("never", is("nothing", "nothing")),
    ];
    for (path, sides_are) in &first {
        assert_eq!(&sides(&store, 1, path), sides_are, "{path}");
    }
    // Later calls saved the result of this one.
    let mut recorder = store.begin("later").unwrap();
    edit(&world, &mut recorder, "edited", "second");
    edit(&world, &mut recorder, "grown", "short");
    for name in ["new", "there"] {
        tell(&world, &mut recorder, name, Recorder::before_remove);
        fs::remove_file(root.join(name)).unwrap();
    }
    assert_eq!(store.end(recorder).unwrap().number, 2);
    for (path, sides_are) in &first {
        assert_eq!(&sides(&store, 1, path), sides_are, "{path}, later");
    }
    assert_eq!(sides(&store, 2, "edited"), is("first", "second"));
    // An undo saves it too, and restores an equal version.
    assert_eq!(undo(&store, &[2]).conflicts, []);
    assert_eq!(undo(&store, &[1]).conflicts, []);
    for (path, sides_are) in &first {
        assert_eq!(&sides(&store, 1, path), sides_are, "{path}, undone");
    }
    // Content written by somebody else is not the entry's.
    edit_unseen(root, "edited");
    assert_eq!(sides(&store, 4, "edited"), is("first", "Unknown"));
}

fn edit_unseen(root: &Path, name: &str) {
    fs::write(root.join(name), "by somebody else").unwrap();
}

#[test]
fn version_overwritten_before_later_call_is_unknown() {
    let world = World::new();
    let root = &world.roots[0];
    fs::write(root.join("file"), "before").unwrap();
    let store = world.store();
    let mut recorder = store.begin("call").unwrap();
    edit(&world, &mut recorder, "file", "first");
    assert_eq!(store.end(recorder).unwrap().number, 1);
    fs::write(root.join("file"), "a person's").unwrap();
    let mut recorder = store.begin("later").unwrap();
    edit(&world, &mut recorder, "file", "second");
    assert_eq!(store.end(recorder).unwrap().number, 2);
    assert_eq!(sides(&store, 1, "file"), is("before", "Unknown"));
    assert_eq!(sides(&store, 2, "file"), is("a person's", "second"));
}
