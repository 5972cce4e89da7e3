//! Changes while others change the same files: other writers, as other servers are, and programs
//! that know no lock.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::*;
use crate::fs::commit::{Prepared, commit_all};
use crate::fs::current;

/// How long a race lasts.
const RACE: Duration = Duration::from_millis(500);

fn prepared(tree: &Fixture, path: &str, content: &str) -> Prepared<'static> {
    let target = write(tree, path);
    let stamp = current(&target, 100, None).unwrap().stamp;
    Box::leak(Box::<Writer>::default())
        .telling(&UNTOLD)
        .prepare(&target, [content.as_bytes()], Some(&stamp))
        .unwrap()
}

/// Another program's file under the name of one that is there.
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
fn what_several_writers_were_told_is_written_stays() {
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
                    match writer.telling(&UNTOLD).replace(
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
fn a_replaced_file_is_later_than_the_one_before() {
    let tree = Fixture::new();
    let writer = Writer::new(Durability::Kernel);
    let target = write(&tree, "A/f");
    let mut before = time(&tree, "A/f");
    for round in 0..400 {
        let stamp = (round % 2 == 0).then(|| current(&target, 100, None).unwrap().stamp);
        writer
            .telling(&UNTOLD)
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
        .telling(&UNTOLD)
        .replace_undated(&target, [&b"kept"[..]])
        .unwrap();
    assert_eq!(time(&tree, "A/f"), before);
    writer
        .telling(&UNTOLD)
        .replace(&target, [&b"later"[..]], None)
        .unwrap();
    assert_eq!(time(&tree, "A/f"), (before.0, before.1 + 1));
}

#[test]
fn a_name_goes_back_to_the_newest_that_others_put_there() {
    let tree = Fixture::new();
    let path = tree.at("A/f");
    let exchange = |prepared: &Prepared| {
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(prepared.temp.dir(), prepared.temp.name(), CWD, &path, flags)
            .unwrap();
    };
    // Theirs came out.
    let mut ours = prepared(&tree, "A/f", "ours");
    rename_over(&path, "theirs");
    exchange(&ours);
    assert!(ours.give_back(true).unwrap());
    drop(ours);
    assert_eq!(text(&tree, "A/f"), "theirs");
    // Theirs came out, and meanwhile ours was replaced by something newer.
    let mut ours = prepared(&tree, "A/f", "ours");
    rename_over(&path, "theirs");
    exchange(&ours);
    rename_over(&path, "newer");
    assert!(!ours.give_back(true).unwrap());
    drop(ours);
    assert_eq!(text(&tree, "A/f"), "newer");
    // Theirs came out, and meanwhile the name went elsewhere.
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
fn two_names_of_one_file_are_changed_together() {
    let tree = Fixture::new();
    std::fs::hard_link(tree.at("A/f"), tree.at("A/g")).unwrap();
    commit_all(
        vec![prepared(&tree, "A/f", "one"), prepared(&tree, "A/g", "two")],
        None,
    )
    .unwrap();
    assert_eq!(["A/f", "A/g"].map(|path| text(&tree, path)), ["one", "two"]);
}

/// As on a filesystem that gives both changes one time.
#[test]
fn a_change_in_the_same_tick_of_the_clock_is_noticed() {
    let tree = Fixture::new();
    let target = write(&tree, "A/f");
    std::fs::write(tree.at("A/f"), "one").unwrap();
    let read = current(&target, 100, None).unwrap();
    assert!(read.stamp.content.is_some());
    std::fs::write(tree.at("A/f"), "two").unwrap();
    let mut stamp = current(&target, 100, None).unwrap().stamp;
    stamp.content = read.stamp.content;
    let error = Writer::default()
        .telling(&UNTOLD)
        .replace(&target, [&b"ours"[..]], Some(&stamp))
        .unwrap_err();
    assert!(matches!(error, FsError::Changed { .. }), "{error}");
    assert_eq!(text(&tree, "A/f"), "two");
}

#[test]
fn what_is_taken_back_is_ours_alone() {
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

/// Replaces the file's first line by its own while `other`, called with the numbers from 1 on, puts
/// each into the second. Whether each number that was written was still there when the next one
/// came; and how many changes were made.
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
                // It may have been put aside for a moment.
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
            // What a program is just writing is no text of two lines.
            let text = String::from_utf8(read.bytes).unwrap();
            let [_, second] = text.lines().collect::<Vec<_>>()[..] else {
                continue;
            };
            let new = format!("{changes}\n{second}\n");
            match writer
                .telling(&UNTOLD)
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
    // Who puts it back may wait for a processor.
    let end = Instant::now() + Duration::from_secs(10);
    let is_there =
        || std::fs::read_to_string(path).is_ok_and(|text| text.ends_with(&format!("\n{number}\n")));
    std::iter::repeat_with(is_there)
        .take_while(|_| Instant::now() < end)
        .any(|there| there)
}

#[test]
fn nothing_is_lost_of_an_editor_that_renames() {
    let tree = Fixture::new();
    let (lost, changes) = race(&tree, rename_over);
    assert_eq!(lost, 0, "beside {changes} changes");
    assert!(changes > 0);
    assert_eq!(names(&tree, "A"), ["f", "keys", "ro", "sub"]);
}

/// The program waits for the lease of an edit, of which the server hears by a signal; it would end
/// the tests, too.
#[test]
fn nothing_is_lost_of_a_formatter_that_writes_in_place() {
    let tree = Fixture::new();
    let (lost, changes) = race(&tree, |path, text| std::fs::write(path, text).unwrap());
    assert_eq!(lost, 0, "beside {changes} changes");
    assert!(changes > 0);
    assert_eq!(names(&tree, "A"), ["f", "keys", "ro", "sub"]);
}

#[test]
fn a_file_that_a_program_is_writing_is_left_to_it() {
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
fn a_program_that_waits_to_write_gets_the_file_back() {
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
