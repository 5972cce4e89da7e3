#![expect(
    clippy::disallowed_methods,
    reason = "the tests make the trees that they look at"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};

use pretty_assertions::assert_eq;

mod cache;

use replay_base::cancel::CancelToken;
use replay_files::fs::{
    Entries, Listing, OpenDir, OpenFile, Order, Version, Visitor, WalkEntry, WalkOptions, walk,
};
use replay_files::policy::{Access, FileKind, Grant, Policy};
use replay_pattern::{Options, Pattern};

use super::*;
use crate::{Call, GrepOptions, Hits, Mode, Scope, SearchRequest, grep};

/// The true clock, so many seconds ahead: whatever was changed before now looks old.
#[derive(Default)]
struct Ahead {
    seconds: AtomicI64,
    running: AtomicU64,
    set: AtomicBool,
    /// Result of [`Clock::ahead`].
    offset: AtomicI64,
}

impl Clock for Arc<Ahead> {
    fn now(&self) -> i64 {
        SystemClock::new().unwrap().now() + self.seconds.load(Ordering::SeqCst)
    }

    fn running(&self) -> Duration {
        Duration::from_secs(self.running.load(Ordering::SeqCst))
    }

    fn was_set(&self) -> bool {
        self.set.swap(false, Ordering::SeqCst)
    }

    fn ahead(&self) -> i64 {
        self.offset.load(Ordering::SeqCst)
    }
}

struct Tree {
    dir: tempfile::TempDir,
    policy: Policy,
    memory: Memory,
    clock: Arc<Ahead>,
    /// Directory of the sessions' cache file.
    cache: tempfile::TempDir,
}

impl Tree {
    fn new(any_filesystem: bool, cap_bytes: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let grant = Grant {
            path: dir.path().to_owned(),
            access: Access::ReadOnly,
        };
        let policy = Policy::open(&[grant], &[]).unwrap();
        let clock = Arc::new(Ahead::default());
        clock.seconds.store(120, Ordering::SeqCst);
        let cache = tempfile::tempdir().unwrap();
        let place = cache::place(cache.path());
        let inner = Inner {
            any_filesystem,
            ..Inner::new(cap_bytes, Box::new(Arc::clone(&clock)), Some(place))
        };
        let memory = Memory {
            learner: Learner::default(),
            inner: Some(Arc::new(inner)),
        };
        Self {
            dir,
            policy,
            memory,
            clock,
            cache,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn hits(&self, pattern: &str) -> Hits {
        self.hits_in(Some(self.policy.read(self.dir.path()).unwrap()), pattern)
    }

    fn hits_in(&self, directory: Option<Checked<Read>>, pattern: &str) -> Hits {
        let pattern = Pattern::new(pattern, Options::default()).unwrap();
        let cancel = CancelToken::new();
        let call = Call {
            policy: &self.policy,
            memory: &self.memory,
            cancel: &cancel,
            account: None,
            progress: &|_| (),
        };
        let asked = SearchRequest {
            directory,
            globs: None,
            exclude: &[],
            types: &[],
            skip_ignored: false,
            room: None,
        };
        let scope = Scope::new(&self.policy, asked).unwrap();
        let wanted = GrepOptions {
            mode: Mode::Lines,
            context: 0,
            multiline: false,
            most: 10_000,
            bytes: 1 << 20,
        };
        grep(call, scope, &pattern, wanted).unwrap()
    }

    /// Paths below the tree and line numbers.
    fn search(&self, pattern: &str) -> Vec<(String, u64)> {
        let found = self.hits(pattern);
        let lines = found.files.iter().flat_map(|file| {
            let path = file
                .path
                .strip_prefix(self.dir.path())
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            file.hits.iter().map(move |hit| (path.clone(), hit.line))
        });
        lines.collect()
    }

    /// The same, without a memory or anything else of the server.
    fn naive(&self, word: &str) -> Vec<(String, u64)> {
        let texts = gather(self.dir.path());
        let lines = texts.iter().flat_map(|(path, text)| {
            let hits = text
                .lines()
                .zip(1..)
                .filter(|(line, _)| line.contains(word));
            hits.map(|(_, number)| (path.clone(), number))
                .collect::<Vec<_>>()
        });
        lines.collect()
    }

    /// Records that a file does not match, possibly falsely. The next search then shows if it uses
    /// the record.
    fn pretend_absent(&self, name: &str, pattern: &str) {
        self.pretend(name, pattern, Finding::NoMatch);
    }

    fn pretend(&self, name: &str, pattern: &str, finding: Finding) {
        let recall = self
            .memory
            .recall(format!("/{pattern}").as_bytes(), || None)
            .unwrap();
        self.each_file(&recall, &|found, notes| {
            if found.rel() == name.as_bytes()
                && let Some(version) = recall.settled(&found.open().unwrap(), notes)
            {
                recall.learn(notes, found.place(), &version, finding);
            }
        });
    }

    /// Records falsely that a directory is empty.
    fn pretend_empty(&self, name: &str) {
        let version = version_of(&self.at(name));
        self.store()
            .keep(version, true, Listing::default(), 0, || true);
    }

    fn store(&self) -> &Store {
        &self.memory.inner.as_ref().unwrap().store
    }

    /// Returns true if the directory, as it is now, would not be listed again.
    fn knows_entries(&self, name: &str) -> bool {
        self.store()
            .find(&version_of(&self.at(name)), 0, || true)
            .is_some()
    }

    fn each_file(&self, recall: &Recall, act: &(dyn Fn(&WalkEntry<'_>, &Notes) + Sync)) {
        let options = WalkOptions {
            threads: Some(1),
            order: Order::Paths,
            max_depth: 9,
            skip_ignored: false,
            above: &[],
            account: None,
            cancel: &CancelToken::new(),
        };
        let start = self.policy.read(self.dir.path()).unwrap();
        walk(&start, &options, &Each { recall, act }, |()| {
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    }

    fn write(&self, name: &str, text: &str) {
        write_synced(&self.at(name), text);
    }

    /// Files that are known not to match the first pattern, as they are now.
    fn known_misses(&self) -> usize {
        let count = std::sync::atomic::AtomicUsize::new(0);
        self.each_file(&self.memory.recall_entries().unwrap(), &|found, notes| {
            let known = notes.known_without(found.place(), 1, &Query::Any);
            let is_known = known.is_some_and(|(known, _)| found.version() == Some(known));
            count.fetch_add(usize::from(is_known), Ordering::SeqCst);
        });
        count.into_inner()
    }
}

/// Does something with each file that a search comes upon.
struct Each<'a> {
    recall: &'a Recall,
    act: &'a (dyn Fn(&WalkEntry<'_>, &Notes) + Sync),
}

impl Visitor for Each<'_> {
    type Local = ();
    type Out = ();
    type Notes = Notes;

    fn local(&self) {}

    fn entries(&self, dir: &mut OpenDir<'_>) -> std::io::Result<Arc<Entries<Notes>>> {
        self.recall.entries(dir)
    }

    fn visit(&self, (): &mut (), (): &mut (), found: &WalkEntry<'_>, notes: &Notes) {
        if found.kind() == FileKind::File {
            (self.act)(found, notes);
        }
    }

    fn unreadable(&self, (): &mut (), _: &[u8]) {}

    fn weight((): &()) -> usize {
        0
    }
}

fn version_of(path: &Path) -> Version {
    let of = fs::metadata(path).unwrap();
    Version {
        device: of.dev(),
        inode: of.ino(),
        size: of.len(),
        modified: (of.mtime(), u32::try_from(of.mtime_nsec()).unwrap()),
        changed: (of.ctime(), u32::try_from(of.ctime_nsec()).unwrap()),
    }
}

fn write_synced(path: &Path, text: &str) {
    let mut file = fs::File::create(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.sync_all().unwrap();
}

fn gather(root: &Path) -> BTreeMap<String, String> {
    let entries = walkdir::WalkDir::new(root)
        .follow_links(true)
        .into_iter()
        .map(Result::unwrap);
    let texts = entries
        .filter_map(|entry| Some((fs::read_to_string(entry.path()).ok()?, entry.into_path())));
    texts
        .map(|(text, path)| {
            (
                path.strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned(),
                text,
            )
        })
        .collect()
}

fn lines(list: &[(&str, u64)]) -> Vec<(String, u64)> {
    list.iter()
        .map(|&(path, line)| (path.to_owned(), line))
        .collect()
}

#[test]
fn changed_file_is_searched_again() {
    let tree = Tree::new(true, 1 << 20);
    tree.write("a", "one\ntwo\n");
    tree.write("b", "two\n");
    assert_eq!(tree.search("two"), lines(&[("a", 2), ("b", 1)]));
    tree.pretend_absent("a", "two");
    assert_eq!(tree.search("two"), lines(&[("b", 1)]));
    assert_eq!(tree.search("tw[o]"), lines(&[("a", 2), ("b", 1)]));
    tick(&tree.at("b"));
    // Another name is the same file; the same name can be another file.
    fs::hard_link(tree.at("a"), tree.at("c")).unwrap();
    assert_eq!(tree.search("two"), lines(&[("a", 2), ("b", 1), ("c", 2)]));
    tree.pretend_absent("a", "two");
    // Records are found by name, and apply to the file that had the name.
    assert_eq!(tree.search("two"), lines(&[("b", 1), ("c", 2)]));
    tick(&tree.at("b"));
    fs::rename(tree.at("b"), tree.at("a")).unwrap();
    assert_eq!(tree.search("two"), lines(&[("a", 1), ("c", 2)]));
}

#[test]
fn write_through_outside_hard_link_is_noticed() {
    let tree = Tree::new(true, 1 << 20);
    tree.write("a", "one\n");
    let outside = tree.cache.path().join("other");
    fs::hard_link(tree.at("a"), &outside).unwrap();
    assert_eq!((tree.search("two"), tree.known_misses()), (vec![], 1));
    tick(&outside);
    assert_eq!((tree.search("two"), tree.known_misses()), (vec![], 1));
    tick(&outside);
    fs::write(&outside, "two\n").unwrap();
    fs::File::options()
        .write(true)
        .open(&outside)
        .unwrap()
        .set_modified(std::time::UNIX_EPOCH)
        .unwrap();
    assert_eq!(
        (version_of(&outside).size, tree.search("two")),
        (4, lines(&[("a", 1)]))
    );
}

#[test]
fn binary_file_is_remembered_until_change() {
    let tree = Tree::new(true, 1 << 20);
    tree.write("a", "two\n");
    tree.write("b", "two\n\0");
    let searched = |pattern| {
        (
            tree.search(pattern),
            tree.hits(pattern).left_out.binary_files,
        )
    };
    assert_eq!(searched("two"), (lines(&[("a", 1)]), 1));
    assert_eq!(searched("one"), (vec![], 1));
    tree.pretend("a", "two", Finding::Binary);
    assert_eq!(searched("tw[o]"), (vec![], 2));
    tick(&tree.at("a"));
    assert_eq!(searched("tw[o]"), (lines(&[("a", 1)]), 1));
}

#[test]
fn directory_entries_are_remembered_until_change() {
    type Change = fn(&Path);
    let changes: [Change; 7] = [
        |d| fs::write(d.join("new"), "two\n").unwrap(),
        |d| fs::remove_file(d.join("a")).unwrap(),
        |d| fs::rename(d.join("a"), d.join("c")).unwrap(),
        |d| fs::rename(d.join("a"), d.join("b")).unwrap(),
        |d| fs::rename(d.join("a"), d.join("../c")).unwrap(),
        |d| fs::rename(d.join("../other"), d.join("inner")).unwrap(),
        |d| {
            // Another directory of the same name, with an entry of the same name.
            fs::rename(d, d.with_file_name("was")).unwrap();
            fs::rename(d.with_file_name("other"), d).unwrap();
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let tree = Tree::new(true, 1 << 20);
        tree.write("ticks", "");
        for dir in ["d", "other"] {
            fs::create_dir(tree.at(dir)).unwrap();
            tree.write(&format!("{dir}/a"), "two\n");
            tree.write(&format!("{dir}/b"), "one\ntwo\n");
        }
        tick(&tree.at("ticks"));
        assert_eq!(tree.search("two").len(), 4);
        assert!(
            ["", "d", "other"].iter().all(|dir| tree.knows_entries(dir)),
            "{number}"
        );
        tree.pretend_empty("d");
        assert_eq!(
            tree.search("two"),
            lines(&[("other/a", 1), ("other/b", 2)]),
            "{number}"
        );
        change(&tree.at("d"));
        assert_eq!(tree.search("two"), tree.naive("two"), "{number}");
    }
}

#[test]
fn recently_changed_directory_keeps_file_records() {
    let tree = Tree::new(true, 1 << 20);
    tree.write("a", "two\n");
    tree.write("b", "two\n");
    tree.clock.seconds.store(SETTLED_SECS - 5, Ordering::SeqCst);
    assert_eq!(
        (tree.search("two").len(), tree.knows_entries("")),
        (2, false)
    );
    tree.clock.seconds.store(120, Ordering::SeqCst);
    tree.pretend_absent("b", "two");
    assert_eq!(
        (tree.search("two"), tree.knows_entries("")),
        (lines(&[("a", 1)]), true)
    );
    tick(&tree.at("a"));
    tree.write("a1", "two\n");
    tree.write("c", "two\n");
    assert_eq!(tree.search("two"), lines(&[("a", 1), ("a1", 1), ("c", 1)]));
    tick(&tree.at("a"));
    fs::remove_file(tree.at("a1")).unwrap();
    tree.clock.set.store(true, Ordering::SeqCst);
    assert_eq!(
        (tree.search("two").len(), tree.knows_entries("")),
        (3, false)
    );
}

#[test]
fn young_file_is_not_remembered() {
    let tree = Tree::new(true, 1 << 20);
    tree.write("a", "two\n");
    tree.clock.seconds.store(SETTLED_SECS - 5, Ordering::SeqCst);
    tree.pretend_absent("a", "two");
    assert_eq!(
        (tree.search("two"), tree.known_misses()),
        (lines(&[("a", 1)]), 0)
    );
    tree.clock.seconds.store(120, Ordering::SeqCst);
    tree.pretend_absent("a", "two");
    assert_eq!(tree.search("two"), []);
    tree.clock.set.store(true, Ordering::SeqCst);
    assert_eq!(tree.search("two"), lines(&[("a", 1)]));
    tree.pretend_absent("a", "two");
    assert_eq!(tree.search("two"), lines(&[("a", 1)]));
    tree.clock
        .running
        .store(SETTLED_SECS.unsigned_abs(), Ordering::SeqCst);
    tree.pretend_absent("a", "two");
    assert_eq!(tree.search("two"), []);
}

#[test]
fn search_begun_before_clock_change_is_not_learned() {
    let tree = Tree::new(true, 1 << 20);
    tree.write("a", "two\n");
    let recall = tree.memory.recall(b"/two", || None).unwrap();
    tree.each_file(&recall, &|found, notes| {
        let version = recall.settled(&found.open().unwrap(), notes).unwrap();
        tree.clock.set.store(true, Ordering::SeqCst);
        assert_eq!(tree.search("two"), lines(&[("a", 1)]));
        recall.learn(notes, found.place(), &version, Finding::NoMatch);
    });
    tree.each_file(&recall, &|found, notes| {
        assert_eq!(recall.settled(&found.open().unwrap(), notes), None);
    });
    assert_eq!((recall.has_news(), tree.store().bytes()), (false, 0));
}

#[test]
fn signatures_skip_files_for_new_patterns() {
    let tree = Tree::new(true, 1 << 20);
    tree.write("a", "some words here\n");
    tree.write("b", "other words there\n");
    fs::write(tree.at("wide"), b"\xff\xfeo\0t\0h\0e\0r\0\n\0").unwrap();
    fs::File::open(tree.at("wide")).unwrap().sync_all().unwrap();
    assert_eq!(tree.search("words"), lines(&[("a", 1), ("b", 1)]));
    let inner = tree.memory.inner.as_ref().unwrap();
    learner::learn_now(inner, &tree.policy.read(tree.dir.path()).unwrap());
    assert_eq!(tree.search("other"), lines(&[("b", 1), ("wide", 1)]));
    let known = Mutex::new(Vec::new());
    tree.each_file(&tree.memory.recall_entries().unwrap(), &|found, notes| {
        if notes
            .known_without(found.place(), 0, &Query::of("other"))
            .is_some()
        {
            known
                .lock()
                .unwrap()
                .push(String::from_utf8_lossy(found.rel()).into_owned());
        }
    });
    assert_eq!(known.into_inner().unwrap(), ["a"]);
}

#[test]
fn memory_stays_below_cap() {
    let tree = Tree::new(true, 64 * 1024);
    let store = tree.store();
    let version = |inode| Version {
        device: 1,
        inode,
        size: 1,
        modified: (0, 0),
        changed: (0, 0),
    };
    let keep =
        |inode, search| store.keep(version(inode), true, Listing::default(), search, || true);
    for inode in 0..2_000 {
        keep(inode, 1);
    }
    let known = |inode| store.find(&version(inode), 1, || true).is_some();
    assert!(
        known(0) && !known(1_999) && store.bytes() <= 64 * 1024,
        "{}",
        store.bytes()
    );
    // A later search pushes out what it did not ask for.
    for inode in 2_000..4_000 {
        keep(inode, 9);
    }
    let kept = |from: u64| (from..from + 2_000).filter(|&inode| known(inode)).count();
    assert!(
        kept(0) < kept(2_000) && store.bytes() <= 64 * 1024,
        "{} {}",
        kept(0),
        kept(2_000)
    );
    store.clear();
    assert_eq!(store.bytes(), 0);
    assert!(
        Memory::off().recall(b"", || None).is_none()
            && Memory::new(0, None).recall(b"", || None).is_none()
    );
    assert!(Memory::new(1, None).recall(b"", || None).is_some());
}

/// Waits until the file timestamp advances, since two changes in one tick have one stamp and the
/// test's clock makes files look settled. Changes only the times of `path`.
fn tick(path: &Path) {
    let stamp = || {
        let metadata = fs::metadata(path).unwrap();
        (metadata.ctime(), metadata.ctime_nsec())
    };
    let touch = || {
        fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH)
            .unwrap();
    };
    touch();
    let first = stamp();
    while stamp() == first {
        touch();
    }
}

/// A small generator, so that a failure can be repeated (xorshift64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn text(&mut self) -> String {
        (0..=self.roll(3))
            .flat_map(|_| [WORDS[self.roll(6)], " ", WORDS[self.roll(6)], "\n"])
            .collect()
    }

    /// Half of what is written waits in memory, as it does in life.
    fn write(&mut self, path: &Path, text: &str) {
        if self.roll(2) == 0 {
            write_synced(path, text);
        } else {
            fs::write(path, text).unwrap();
        }
    }
}

const WORDS: [&str; 6] = ["alpha", "bravo", "gamma", "delta", "omega", "sigma"];

/// One change of some file, in ways that leave as little trace as they can.
fn change(root: &Path, dice: &mut Dice) {
    let name =
        |dice: &mut Dice| root.join(format!("{}/f{}", ["x", "y"][dice.roll(2)], dice.roll(8)));
    let (path, other) = (name(dice), name(dice));
    let ticks = root.join("ticks");
    tick(&ticks);
    match dice.roll(10) {
        0 | 1 => {
            let text = dice.text();
            dice.write(&path, &text);
        }
        2 | 3 => {
            // One word for another of the same length, and the old time of change.
            let Ok(metadata) = fs::metadata(&path) else {
                return;
            };
            let Ok(text) = fs::read_to_string(&path) else {
                return;
            };
            let (old, new) = (WORDS[dice.roll(6)], WORDS[dice.roll(6)]);
            dice.write(&path, &text.replace(old, new));
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(metadata.modified().unwrap()).unwrap();
        }
        4 => {
            let text = dice.text();
            dice.write(&root.join("new"), &text);
            tick(&ticks);
            let _ = fs::rename(root.join("new"), &path);
        }
        5 => {
            // The number of the old file may be given to the new one.
            let _ = fs::remove_file(&path);
            tick(&ticks);
            let text = dice.text();
            dice.write(&path, &text);
        }
        6 => {
            let _ = fs::remove_file(&other);
            tick(&ticks);
            let _ = fs::hard_link(&path, &other);
        }
        7 => {
            // Both directories are called like the other.
            for (from, to) in [("x", "z"), ("y", "x"), ("z", "y")] {
                fs::rename(root.join(from), root.join(to)).unwrap();
                tick(&ticks);
            }
        }
        8 => {
            // A directory in the place of another one.
            fs::rename(root.join("x"), root.join("old")).unwrap();
            tick(&ticks);
            fs::create_dir(root.join("x")).unwrap();
            dice.write(&path, "alpha omega\n");
            tick(&ticks);
            fs::remove_dir_all(root.join("old")).unwrap();
        }
        _ => {
            let _ = fs::rename(&path, &other);
        }
    }
}

#[test]
fn remembered_search_equals_fresh_search_under_changes() {
    let mut tree = Tree::new(true, 1 << 20);
    let root = tree.dir.path().to_owned();
    fs::create_dir(tree.at("x")).unwrap();
    fs::create_dir(tree.at("y")).unwrap();
    tree.write("ticks", "");
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    for number in 0..8 {
        tree.write(&format!("x/f{number}"), &dice.text());
        tree.write(&format!("y/f{number}"), &dice.text());
    }
    let (mut used, mut unlisted) = (0, 0);
    for round in 0..60 {
        std::thread::scope(|scope| {
            let seed = dice.roll(usize::MAX) as u64 | 1;
            let root = &root;
            let changes = scope.spawn(move || {
                let mut dice = Dice(seed);
                (0..=dice.roll(5)).for_each(|_| change(root, &mut dice));
            });
            for _ in 0..4 {
                let _ = tree.search(WORDS[dice.roll(6)]);
            }
            changes.join().unwrap();
        });
        if round % 7 == 0 {
            learner::learn_now(
                tree.memory.inner.as_ref().unwrap(),
                &tree.policy.read(&root).unwrap(),
            );
        }
        if round % 5 == 0 {
            tree.next_session();
        }
        for _ in 0..2 {
            for word in WORDS {
                assert_eq!(
                    tree.search(word),
                    tree.naive(word),
                    "{word} in round {round}"
                );
            }
        }
        used += tree.known_misses();
        unlisted += ["", "x", "y"]
            .into_iter()
            .filter(|name| tree.knows_entries(name))
            .count();
    }
    assert!(
        used > 100 && unlisted > 100,
        "hardly anything was remembered: {used}, {unlisted}"
    );
}

#[test]
fn store_to_mapped_page_is_noticed() {
    let mut tree = Tree::new(false, 1 << 20);
    tree.write("a", "aaa\n");
    let file = OpenFile::of(&tree.policy.read(tree.at("a")).unwrap()).unwrap();
    tree.search("aaa");
    let is_honest = tree.store().bytes() > 0;
    if !is_honest || file.is_written_back().is_none() {
        tree.pretend_absent("a", "aaa");
        // On such a filesystem nothing is remembered; without cachestat(2) age alone decides, which
        // this clock feigns.
        assert!(is_honest || tree.search("aaa") == lines(&[("a", 1)]));
        return;
    }
    let script = "import mmap, sys\nf = open(sys.argv[1], 'r+b')\nm = mmap.mmap(f.fileno(), 0)\nfor line in sys.stdin:\n \
                  if line == 'flush\\n':\n  m.flush()\n else:\n  m[0:3] = line[0:3].encode()\n print('done', flush=True)\n";
    // No safe Rust maps a file.
    let mut child = Command::new("python3");
    child
        .args(["-c", script])
        .arg(tree.at("a"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let Ok(mut child) = child.spawn() else { return };
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut tell = |word: &str| {
        writeln!(input, "{word}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        assert_eq!(answer, "done\n");
    };
    let found = lines(&[("a", 1)]);
    tell("bbb");
    let version = || {
        OpenFile::of(&tree.policy.read(tree.at("a")).unwrap())
            .unwrap()
            .version()
    };
    let before = version();
    // The page waits to be written, so the next store leaves no trace, and the file cannot be
    // trusted.
    assert_eq!((tree.search("aaa"), tree.search("ccc")), (vec![], vec![]));
    tell("ccc");
    assert_eq!((version(), tree.search("ccc")), (before, found.clone()));
    tell("flush");
    assert_eq!(
        (tree.search("aaa"), tree.search("ddd"), tree.known_misses()),
        (vec![], vec![], 1)
    );
    tree.next_session();
    assert_eq!((tree.search("aaa"), tree.known_misses()), (vec![], 1));
    tell("ddd");
    assert_eq!(tree.search("ddd"), found);
    drop(input);
    child.wait().unwrap();
}
