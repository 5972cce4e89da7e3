//! Properties of every log in an undo journal, including forged ones.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use replay_files::journal::{At, Bounds, Id, Options, Recorder, Root, Store};

use super::Source;

/// Reads or refuses a log. Listing, undoing, repairing and removing it change nothing outside the
/// roots.
///
/// # Panics
/// If the property is violated.
pub fn a_log_is_read_or_refused(bytes: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    let [root, outside] = ["root", "outside"].map(|name| dir.path().join(name));
    fs::create_dir_all(root.join("d")).unwrap();
    fs::create_dir(&outside).unwrap();
    for path in [root.join("d/f"), root.join("g"), outside.join("f")] {
        fs::write(path, "text").unwrap();
    }
    symlink("../outside", root.join("l")).unwrap();
    let handle = File::open(&root).unwrap();
    let roots: Arc<[Root]> = Arc::new([Root {
        handle: handle.try_clone().unwrap().into(),
        shown: root.clone(),
    }]);
    let store = Store::open(
        File::open(dir.path()).unwrap().as_fd(),
        "store".as_ref(),
        Path::new("store"),
        roots,
    )
    .unwrap();
    // A genuine entry with saved content.
    let mut recorder: Recorder = store.begin("honest").unwrap();
    recorder
        .before_remove(At {
            dir: handle.as_fd(),
            name: "g".as_ref(),
            root: 0,
            path: Path::new(""),
            seen: None,
        })
        .unwrap();
    fs::remove_file(root.join("g")).unwrap();
    store.end(recorder).unwrap();
    let ids: Vec<Id> = [
        &root,
        &root.join("d"),
        &root.join("d/f"),
        &outside,
        &outside.join("f"),
    ]
    .map(|path| Id::of(File::open(path).unwrap()).unwrap())
    .to_vec();
    fs::write(dir.path().join("store/log/2"), forged_log(bytes, &ids)).unwrap();
    let seen = || {
        let all = [outside.clone(), outside.join("f")].map(|path| {
            let stat = fs::symlink_metadata(path).unwrap();
            (
                stat.ino(),
                stat.mode(),
                stat.nlink(),
                stat.ctime(),
                stat.ctime_nsec(),
            )
        });
        let mut names: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        (all, names, fs::read_dir(&outside).unwrap().count())
    };
    let before = seen();
    if let Ok(entry) = store.entry(2) {
        store.not_kept(&entry);
        let versions = store.versions(2).unwrap();
        for (place, _) in store.changes(&entry) {
            let _ = (versions.before(&place), versions.after(&place));
        }
    }
    for options in [
        Options {
            dry_run: true,
            ..Options::default()
        },
        Options::default(),
    ] {
        let _ = store.undo(&[2], "undo", options);
    }
    let _ = store.recover();
    let _ = store.undo(
        &[2],
        "undo",
        Options {
            force: true,
            ..Options::default()
        },
    );
    let _ = store.keep_within(Bounds {
        bytes: 0,
        age: Duration::ZERO,
    });
    assert_eq!(seen(), before);
}

/// Returns any bytes, or lines that look like those of a real log.
fn forged_log(bytes: &[u8], ids: &[Id]) -> Vec<u8> {
    let mut source = Source(bytes);
    if source.flag() {
        return source.0.to_vec();
    }
    let start = if source.flag() { 0 } else { i64::MAX };
    let undoes = source.choice(&["", "1", "2", "1,2"]);
    let mut log = format!(
        "{{\"Begin\":{{\"version\":1,\"start\":{start},\"title\":\"t\",\"undoes\":[{undoes}],\"kind\":\"Undo\"}}}}\n"
    );
    if source.flag() {
        for (Id(_, inode, born), mode) in ids
            .iter()
            .zip([0o040_755, 0o040_755, 0o100_644, 0o040_755, 0o100_644])
        {
            let _ = writeln!(
                log,
                "{{\"Object\":{{\"id\":[0,{inode},{born}],\"mode\":{mode},\"uid\":0,\"gid\":0,\"size\":4,\"links\":1,\"mtime\":0,\
                 \"ctime\":0,\"bytes\":0}}}}"
            );
        }
    }
    while !source.is_empty() {
        let mut id = || {
            let Id(_, inode, born) = source.choice(ids);
            format!(
                "[{},{inode},{born}]",
                source.choice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, u64::MAX])
            )
        };
        let (one, other) = (id(), id());
        let name = source.choice(&[
            "d",
            "f",
            "g",
            "l",
            "new",
            "d",
            "f",
            "g",
            "l",
            "new",
            "d",
            "f",
            "..",
            "../outside",
            "%00",
            "",
        ]);
        let file = source.choice(&[0, 1, u32::MAX]);
        let (flag, also) = (source.flag(), source.flag());
        let mode = source.choice(&[
            0o100_644,
            0o040_755,
            0o120_777,
            0o010_644,
            0o060_644,
            u32::MAX,
        ]);
        let time = source.choice(&[0, 1, i64::MIN, i64::MAX]);
        let stat = format!(
            "{{\"id\":{one},\"mode\":{mode},\"uid\":0,\"gid\":0,\"size\":{file},\"links\":1,\"mtime\":{time},\"ctime\":{time},\"bytes\":0}}"
        );
        let line = match source.byte() % 12 {
            0 => format!("{{\"Name\":{{\"dir\":{one},\"name\":\"{name}\",\"before\":{other}}}}}"),
            1 => format!("{{\"Name\":{{\"dir\":{one},\"name\":\"{name}\",\"before\":null}}}}"),
            2 => format!("{{\"Object\":{stat}}}"),
            3 => format!("{{\"Attributes\":{{\"id\":{one},\"all\":[[\"user.{name}\",\"v\"]]}}}}"),
            4 => format!("{{\"Content\":{{\"id\":{one},\"content\":{{\"Copy\":{file}}}}}}}"),
            5 => format!("{{\"Content\":{{\"id\":{one},\"content\":\"Grew\"}}}}"),
            6 => format!("{{\"Kept\":{{\"id\":{one},\"file\":{file},\"is_copy\":{flag}}}}}"),
            7 => format!("{{\"Left\":{{\"dir\":{one},\"name\":\"{name}\",\"after\":{other}}}}}"),
            8 => {
                format!("{{\"State\":{{\"stat\":{stat},\"content\":{flag},\"metadata\":{also}}}}}")
            }
            9 => format!(
                "{{\"Inside\":{{\"id\":{one},\"root\":{},\"path\":\"{name}\"}}}}",
                u8::from(flag)
            ),
            10 => format!("{{\"Same\":{{\"new\":[{one},{time}],\"old\":[{other},{time}]}}}}"),
            _ => format!(
                "{{\"End\":{{\"time\":{time},\"interrupted\":{flag},\"bytes\":{}}}}}",
                u64::MAX
            ),
        };
        let _ = writeln!(log, "{line}");
    }
    log.into_bytes()
}
