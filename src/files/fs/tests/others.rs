//! Concurrent changes of the same files: by other writers (like other servers), and by programs
//! without locks.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::*;
use crate::fs::commit::{Prepared, commit_all};
use crate::fs::current;

/// Duration of a race.
const RACE: Duration = Duration::from_millis(500);

fn prepared(tree: &Fixture, path: &str, content: &str) -> Prepared<'static> {
    let target = write(tree, path);
    let stamp = current(&target, 100, None).unwrap().stamp;
    Box::leak(Box::<Writer>::default())
        .telling(&UNRECORDED)
        .prepare(&target, [content.as_bytes()], Some(&stamp))
        .unwrap()
}

/// Renames another program's file over an existing one.
fn rename_over(path: &Path, content: &str) {
    let own = path.with_extension("own");
    std::fs::write(&own, content).unwrap();
    std::fs::rename(own, path).unwrap();
}

fn time(tree: &Fixture, path: &str) -> (i64, i64) {
    let meta = std::fs::metadata(tree.at(path)).unwrap();
    (meta.mtime(), meta.mtime_nsec())
}

#[test]
fn concurrent_writers_lose_no_confirmed_write() {
    let tree = Fixture::new();
    let (writers, rounds) = (4, 300);
    std::fs::write(tree.at("A/f"), vec!["0"; writers].join("\n")).unwrap();
    let number = |bytes: &[u8], line: usize| -> usize {
        String::from_utf8(bytes.to_vec())
            .unwrap()
            .lines()
            .nth(line)
            .unwrap()
            .parse()
            .unwrap()
    };
    std::thread::scope(|scope| {
        for line in 0..writers {
            let tree = &tree;
            scope.spawn(move || {
                let writer = Writer::new(Durability::Kernel);
                let target = write(tree, "A/f");
                let mut told = 0;
                while told < rounds {
                    let read = current(&target, 100, None).unwrap();
                    assert_eq!(number(&read.bytes, line), told, "line {line}");
                    let text = String::from_utf8(read.bytes).unwrap();
                    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                    lines[line] = (told + 1).to_string();
                    match writer.telling(&UNRECORDED).replace(
                        &target,
                        [lines.join("\n").as_bytes()],
                        Some(&read.stamp),
                    ) {
                        Ok(_) => told += 1,
                        Err(FsError::Changed { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert_eq!(
        (text(&tree, "A/f"), names(&tree, "A").len()),
        (vec!["300"; writers].join("\n"), 4)
    );
}

#[test]
fn replacement_has_later_mtime() {
    let tree = Fixture::new();
    let writer = Writer::new(Durability::Kernel);
    let target = write(&tree, "A/f");
    let mut before = time(&tree, "A/f");
    for round in 0..400 {
        let stamp = (round % 2 == 0).then(|| current(&target, 100, None).unwrap().stamp);
        writer
            .telling(&UNRECORDED)
            .replace(&target, [&b"new"[..]], stamp.as_ref())
            .unwrap();
        let now = time(&tree, "A/f");
        assert!(now > before, "{now:?} after {before:?}");
        before = now;
    }
    let future = SystemTime::now() + Duration::from_secs(1000);
    let file = std::fs::File::options()
        .write(true)
        .open(tree.at("A/f"))
        .unwrap();
    file.set_modified(future).unwrap();
    drop(file);
    let before = time(&tree, "A/f");
    writer
        .telling(&UNRECORDED)
        .replace_undated(&target, [&b"kept"[..]])
        .unwrap();
    assert_eq!(time(&tree, "A/f"), before);
    writer
        .telling(&UNRECORDED)
        .replace(&target, [&b"later"[..]], None)
        .unwrap();
    assert_eq!(time(&tree, "A/f"), (before.0, before.1 + 1));
}

#[test]
fn give_back_restores_newest_file_of_others() {
    let tree = Fixture::new();
    let path = tree.at("A/f");
    let exchange = |prepared: &Prepared| {
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(prepared.temp.dir(), prepared.temp.name(), CWD, &path, flags)
            .unwrap();
    };
    // Their file came out.
    let mut ours = prepared(&tree, "A/f", "ours");
    rename_over(&path, "theirs");
    exchange(&ours);
    assert!(ours.give_back(true).unwrap());
    drop(ours);
    assert_eq!(text(&tree, "A/f"), "theirs");
    // Their file came out, and meanwhile a newer one replaced ours.
    let mut ours = prepared(&tree, "A/f", "ours");
    rename_over(&path, "theirs");
    exchange(&ours);
    rename_over(&path, "newer");
    assert!(!ours.give_back(true).unwrap());
    drop(ours);
    assert_eq!(text(&tree, "A/f"), "newer");
    // Their file came out, and meanwhile the name was moved away.
    let mut ours = prepared(&tree, "A/f", "ours");
    rename_over(&path, "theirs");
    exchange(&ours);
    std::fs::remove_file(&path).unwrap();
    assert!(ours.give_back(true).unwrap());
    drop(ours);
    assert_eq!(
        (text(&tree, "A/f").as_str(), names(&tree, "A").len()),
        ("theirs", 4)
    );
}

#[test]
fn hard_links_of_file_change_together() {
    let tree = Fixture::new();
    std::fs::hard_link(tree.at("A/f"), tree.at("A/g")).unwrap();
    commit_all(
        vec![prepared(&tree, "A/f", "one"), prepared(&tree, "A/g", "two")],
        None,
    )
    .unwrap();
    assert_eq!(["A/f", "A/g"].map(|path| text(&tree, path)), ["one", "two"]);
}

/// Simulates a filesystem that gives both changes the same time.
#[test]
fn change_in_same_clock_tick_is_detected() {
    let tree = Fixture::new();
    let target = write(&tree, "A/f");
    std::fs::write(tree.at("A/f"), "one").unwrap();
    let read = current(&target, 100, None).unwrap();
    assert!(read.stamp.content.is_some());
    std::fs::write(tree.at("A/f"), "two").unwrap();
    let mut stamp = current(&target, 100, None).unwrap().stamp;
    stamp.content = read.stamp.content;
    let error = Writer::default()
        .telling(&UNRECORDED)
        .replace(&target, [&b"ours"[..]], Some(&stamp))
        .unwrap_err();
    assert!(matches!(error, FsError::Changed { .. }), "{error}");
    assert_eq!(text(&tree, "A/f"), "two");
}

#[test]
fn take_back_keeps_newer_file_of_others() {
    let tree = Fixture::new();
    std::fs::write(tree.at("A/g"), "g").unwrap();
    let committed = prepared(&tree, "A/f", "ours").commit().unwrap();
    rename_over(&tree.at("A/f"), "theirs");
    assert!(!committed.take_back().unwrap());
    assert_eq!(text(&tree, "A/f"), "theirs");
    let both = vec![
        prepared(&tree, "A/f", "ours"),
        prepared(&tree, "A/g", "ours"),
    ];
    rename_over(&tree.at("A/g"), "theirs");
    let error = commit_all(both, None).unwrap_err();
    let told = format!(
        "`{}` was changed by another process meanwhile; it was not written",
        tree.at("A/g").display()
    );
    assert_eq!(error.to_string(), told);
    assert_eq!(
        ["A/f", "A/g"].map(|path| text(&tree, path)),
        ["theirs", "theirs"]
    );
    assert_eq!(names(&tree, "A"), ["f", "g", "keys", "ro", "sub"]);
}

/// Replaces the first line of the file while `other`, called with increasing numbers, writes each
/// into the second line. Returns the number of lost writes and of own changes.
fn race(tree: &Fixture, other: impl Fn(&Path, &str) + Sync) -> (usize, usize) {
    let path = tree.at("A/f");
    std::fs::write(&path, "0\n0\n").unwrap();
    let stop = AtomicBool::new(false);
    let mut changes = 0;
    let lost = std::thread::scope(|scope| {
        let others = scope.spawn(|| {
            let (mut written, mut lost) = (0, 0);
            while !stop.load(Ordering::Relaxed) {
                let text = std::fs::read_to_string(&path).unwrap();
                let Some((first, second)) = text.split_once('\n') else {
                    panic!("{text:?}")
                };
                let there: u64 = second.trim_end().parse().unwrap();
                // The file may have been moved aside for a moment.
                if there != written && !is_soon(&path, written) {
                    lost += 1;
                }
                written += 1;
                other(&path, &format!("{first}\n{written}\n"));
            }
            lost
        });
        let writer = Writer::new(Durability::Kernel);
        let end = Instant::now() + RACE;
        let latest = end + Duration::from_mins(1);
        // On a busy machine the first change can come late.
        while Instant::now() < end || changes == 0 && Instant::now() < latest {
            let target = write(tree, "A/f");
            let Ok(read) = current(&target, 100, None) else {
                continue;
            };
            // A partially written file does not have two lines.
            let text = String::from_utf8(read.bytes).unwrap();
            let [_, second] = text.lines().collect::<Vec<_>>()[..] else {
                continue;
            };
            let new = format!("{changes}\n{second}\n");
            match writer
                .telling(&UNRECORDED)
                .replace(&target, [new.as_bytes()], Some(&read.stamp))
            {
                Ok(_) => changes += 1,
                Err(FsError::Changed { .. } | FsError::OpenForWriting { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
        others.join().unwrap()
    });
    (lost, changes)
}

fn is_soon(path: &Path, number: u64) -> bool {
    // The restoring thread may wait for a processor.
    let end = Instant::now() + Duration::from_secs(10);
    let is_there =
        || std::fs::read_to_string(path).is_ok_and(|text| text.ends_with(&format!("\n{number}\n")));
    std::iter::repeat_with(is_there)
        .take_while(|_| Instant::now() < end)
        .any(|there| there)
}

#[test]
fn edits_beside_renaming_editor_lose_no_change() {
    let tree = Fixture::new();
    let (lost, changes) = race(&tree, rename_over);
    assert_eq!(lost, 0, "beside {changes} changes");
    assert!(changes > 0);
    assert_eq!(names(&tree, "A"), ["f", "keys", "ro", "sub"]);
}

/// The program waits for the lease of an edit. The kernel reports that to the server by a signal,
/// which must not end the tests.
#[test]
fn edit_during_in_place_writes_keeps_changes() {
    let tree = Fixture::new();
    let (lost, changes) = race(&tree, |path, text| std::fs::write(path, text).unwrap());
    assert_eq!(lost, 0, "beside {changes} changes");
    assert!(changes > 0);
    assert_eq!(names(&tree, "A"), ["f", "keys", "ro", "sub"]);
}

#[test]
fn edit_of_open_file_is_refused() {
    let tree = Fixture::new();
    let mut log = std::fs::File::options()
        .append(true)
        .open(tree.at("A/f"))
        .unwrap();
    let error = commit_all(vec![prepared(&tree, "A/f", "ours")], None).unwrap_err();
    let told = format!(
        "`{}` was not written: another program has it open for writing",
        tree.at("A/f").display()
    );
    assert_eq!(error.to_string(), told);
    log.write_all(b"+more").unwrap();
    assert_eq!(
        (text(&tree, "A/f").as_str(), names(&tree, "A").len()),
        ("A-f+more", 4)
    );
    drop(log);
    commit_all(vec![prepared(&tree, "A/f", "ours")], None).unwrap();
    assert_eq!(text(&tree, "A/f"), "ours");
}

#[test]
fn waiting_writer_gets_original_file() {
    let tree = Fixture::new();
    let path = tree.at("A/f");
    let mut ours = prepared(&tree, "A/f", "ours");
    ours.keep_writers_out().unwrap();
    let at_once = std::fs::File::options()
        .append(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(&path);
    assert_eq!(at_once.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    let committed = ours.commit().unwrap();
    assert_eq!(
        (text(&tree, "A/f").as_str(), committed.is_wanted()),
        ("ours", true)
    );
    assert!(committed.take_back().unwrap());
    assert_eq!(
        (text(&tree, "A/f").as_str(), names(&tree, "A").len()),
        ("A-f", 4)
    );
}
