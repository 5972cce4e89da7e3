//! Tests of the cache file between sessions.

use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

use pretty_assertions::assert_eq;
use replay_base::limits::{
    FORGOTTEN_PATTERNS, MAX_SEARCH_CACHE_AGE, REMEMBERED_PATTERNS, SEARCH_CACHE_DRIFT_NANOS,
};
use replay_files::policy::Hidden;
use rustix::fs::{Mode as Bits, OFlags, open};

use super::*;

pub(super) fn place(dir: &Path) -> CacheLocation {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    CacheLocation {
        dir: open(dir, flags, Bits::empty()).unwrap(),
        name: "trees".to_owned(),
        identity: [7; 32],
    }
}

impl Tree {
    fn file(&self) -> PathBuf {
        self.cache.path().join("trees")
    }

    fn inner(&self) -> &Inner {
        self.memory.inner.as_ref().unwrap()
    }

    /// A session that begins now, beside those that there are.
    fn session(&self) -> Memory {
        self.session_at(place(self.cache.path()))
    }

    fn session_at(&self, place: CacheLocation) -> Memory {
        let any_filesystem = self.inner().any_filesystem;
        let new = Inner::new(
            self.store().cap_bytes(),
            Box::new(Arc::clone(&self.clock)),
            Some(place),
        );
        Memory {
            learner: Learner::default(),
            inner: Some(Arc::new(Inner {
                any_filesystem,
                ..new
            })),
        }
    }

    /// This session ends, and the next one begins.
    pub(super) fn next_session(&mut self) {
        self.memory.learner.end();
        self.inner().save(|| ()).unwrap();
        self.memory = self.session();
    }

    /// The same of sessions that write nothing by themselves.
    fn begin(&mut self) {
        self.memory.learner.end();
        self.memory = self.session();
        self.memory.learner.end();
    }
}

/// Returns a tree with a false record: that `d/a` does not contain "two". A search that misses
/// "two" has used the record.
fn with_a_lie() -> Tree {
    let mut tree = Tree::new(true, 1 << 20);
    tree.write("ticks", "");
    for dir in ["d", "other"] {
        fs::create_dir(tree.at(dir)).unwrap();
        tree.write(&format!("{dir}/a"), "two\n");
        tree.write(&format!("{dir}/b"), "one\ntwo\n");
    }
    tick(&tree.at("ticks"));
    tree.search("two");
    tree.pretend_absent("d/a", "two");
    tree.next_session();
    tree.memory.learner.end();
    tree
}

const LIED: [(&str, u64); 3] = [("d/b", 2), ("other/a", 1), ("other/b", 2)];
const TRUE: [(&str, u64); 4] = [("d/a", 1), ("d/b", 2), ("other/a", 1), ("other/b", 2)];

#[test]
fn next_session_uses_cached_records() {
    let mut tree = with_a_lie();
    assert_eq!(
        (tree.store().bytes(), tree.search("two")),
        (0, lines(&LIED))
    );
    assert!(["", "d", "other"].iter().all(|dir| tree.knows_entries(dir)));
    tree.next_session();
    // This one goes nowhere, and loses nothing of it.
    drop(tree.memory.recall(b"/other", || None));
    tree.next_session();
    assert_eq!(
        (tree.search("two"), tree.search("tw[o]")),
        (lines(&LIED), lines(&TRUE))
    );
    let inner = tree.memory.inner.as_ref().unwrap();
    learner::learn_now(inner, &tree.policy.read(tree.dir.path()).unwrap());
    tree.next_session();
    assert_eq!(tree.search("one"), lines(&[("d/b", 1), ("other/b", 1)]));
    tree.each_file(&tree.memory.recall_entries().unwrap(), &|found, notes| {
        let is_spared = notes
            .known_without(found.place(), 0, &Query::of("xyz"))
            .is_some();
        assert!(is_spared, "{:?}", found.name());
    });
}

#[test]
fn search_for_names_leaves_file_records_to_later_searches() {
    let mut tree = with_a_lie();
    let names = |tree: &Tree| {
        let unread = std::sync::atomic::AtomicUsize::new(0);
        let recall = tree.memory.recall_entries().unwrap();
        tree.each_file(&recall, &|_, notes| {
            unread.fetch_add(usize::from(notes.is_unread()), Ordering::SeqCst);
        });
        unread.into_inner()
    };
    assert_eq!((names(&tree), tree.knows_entries("d")), (5, true));
    // The file keeps what this session has not read.
    tree.next_session();
    assert_eq!(names(&tree), 5);
    assert_eq!((tree.search("two"), names(&tree)), (lines(&LIED), 0));
    // Nor does a new file in the directory lose it.
    tree.begin();
    assert_eq!(names(&tree), 5);
    tree.write("d/c", "two\n");
    assert_eq!(names(&tree), 3);
    let with_new = [("d/b", 2), ("d/c", 1), ("other/a", 1), ("other/b", 2)];
    assert_eq!(tree.search("two"), lines(&with_new));
}

#[test]
fn change_between_sessions_is_noticed() {
    type Change = fn(&Path);
    let changes: [Change; 8] = [
        // Of the same length, with the old time of change.
        |d| {
            let modified = fs::metadata(d.join("a")).unwrap().modified().unwrap();
            fs::write(d.join("a"), "owt\n").unwrap();
            fs::write(d.join("a"), "two\n").unwrap();
            fs::File::options()
                .write(true)
                .open(d.join("a"))
                .unwrap()
                .set_modified(modified)
                .unwrap();
        },
        |d| fs::set_permissions(d.join("a"), fs::Permissions::from_mode(0o640)).unwrap(),
        |d| fs::rename(d.join("b"), d.join("a")).unwrap(),
        |d| fs::rename(d.join("../other/a"), d.join("a")).unwrap(),
        |d| {
            fs::remove_file(d.join("a")).unwrap();
            fs::write(d.join("a"), "two\n").unwrap();
        },
        |d| fs::rename(d.join("a"), d.join("../other/c")).unwrap(),
        |d| fs::hard_link(d.join("a"), d.join("c")).unwrap(),
        |d| {
            fs::rename(d, d.with_file_name("was")).unwrap();
            fs::rename(d.with_file_name("other"), d).unwrap();
            fs::remove_dir_all(d.with_file_name("was")).unwrap();
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let tree = with_a_lie();
        tick(&tree.at("ticks"));
        change(&tree.at("d"));
        assert_eq!(tree.search("two"), tree.naive("two"), "{number}");
    }
}

#[test]
fn cache_is_ignored_after_clock_change_or_reboot() {
    let mut tree = with_a_lie();
    let drift = SEARCH_CACHE_DRIFT_NANOS.cast_signed();
    for (ahead, expected) in [
        (drift + 1, &TRUE[..]),
        (-drift - 1, &TRUE),
        (drift, &LIED),
        (-drift, &LIED),
        (0, &LIED),
    ] {
        tree.clock.offset.store(ahead, Ordering::SeqCst);
        tree.begin();
        assert_eq!(tree.search("two"), lines(expected), "{ahead}");
    }
    tree.memory = tree.session_at(CacheLocation {
        identity: [8; 32],
        ..place(tree.cache.path())
    });
    assert_eq!(tree.search("two"), lines(&TRUE));
    // A later write does not tell that the clock was different when it began.
    tree.begin();
    tree.clock.offset.store(drift, Ordering::SeqCst);
    assert_eq!(tree.search("two"), lines(&LIED));
    tree.next_session();
    tree.clock.offset.store(drift + 1, Ordering::SeqCst);
    assert_eq!(tree.search("two"), lines(&TRUE));
}

#[test]
fn clock_change_invalidates_cache_file() {
    let mut tree = with_a_lie();
    assert_eq!(tree.search("two"), lines(&LIED));
    tree.clock.set.store(true, Ordering::SeqCst);
    let before = fs::read(tree.file()).unwrap();
    assert_eq!(tree.search("two"), lines(&TRUE));
    tree.inner().save(|| ()).unwrap();
    assert!(
        fs::read(tree.file()).unwrap() == before,
        "written while nobody can tell ages"
    );
    tree.clock
        .running
        .store(SETTLED_SECS.unsigned_abs(), Ordering::SeqCst);
    assert_eq!(tree.search("two"), lines(&TRUE));
    tree.next_session();
    assert_eq!(tree.search("two"), lines(&TRUE));
    // Set while it is written.
    tree.pretend_absent("d/a", "two");
    let set = || tree.clock.set.store(true, Ordering::SeqCst);
    assert_eq!(
        tree.inner().save(set).unwrap_err().to_string(),
        "the clock was set"
    );
    tree.begin();
    assert_eq!(
        (
            tree.search("two"),
            fs::read_dir(tree.cache.path()).unwrap().count()
        ),
        (lines(&TRUE), 1)
    );
}

#[test]
fn torn_cache_file_changes_no_result() {
    let mut tree = with_a_lie();
    tree.search("zero");
    learner::learn_now(
        tree.memory.inner.as_ref().unwrap(),
        &tree.policy.read(tree.dir.path()).unwrap(),
    );
    tree.next_session();
    let whole = fs::read(tree.file()).unwrap();
    let torn = |bytes: &[u8], tree: &mut Tree| {
        fs::write(tree.file(), bytes).unwrap();
        tree.begin();
        let (two, one) = (tree.search("two"), tree.search("one"));
        assert!(two == lines(&LIED) || two == lines(&TRUE), "{two:?}");
        assert_eq!(one, lines(&[("d/b", 1), ("other/b", 1)]));
        two == lines(&LIED)
    };
    assert!(torn(&whole, &mut tree));
    let believed = (0..whole.len()).step_by(13).filter(|&at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        torn(&bytes, &mut tree)
    });
    // Of one part that is torn the others are still good.
    let believed = believed.count();
    assert!(
        believed > 0 && believed < whole.len() / 13,
        "{believed} of {}",
        whole.len() / 13
    );
    for length in (0..whole.len()).step_by(whole.len() / 20) {
        assert!(!torn(&whole[..length], &mut tree), "{length}");
    }
}

#[test]
fn untrusted_cache_file_is_replaced() {
    type Change = fn(&Path);
    let changes: [Change; 6] = [
        |file| fs::set_permissions(file, fs::Permissions::from_mode(0o640)).unwrap(),
        |file| fs::set_permissions(file, fs::Permissions::from_mode(0o602)).unwrap(),
        |file| fs::hard_link(file, file.with_file_name("link")).unwrap(),
        |file| {
            fs::rename(file, file.with_file_name("link")).unwrap();
            symlink(file.with_file_name("link"), file).unwrap();
        },
        |file| {
            fs::remove_file(file).unwrap();
            rustix::fs::mknodat(
                rustix::fs::CWD,
                file,
                rustix::fs::FileType::Fifo,
                Bits::RUSR | Bits::WUSR,
                0,
            )
            .unwrap();
        },
        // Only root can, and elsewhere the file is still good.
        |file| {
            if chown(file, Some(1), None).is_err() {
                fs::remove_file(file).unwrap();
            }
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut tree = with_a_lie();
        change(&tree.file());
        assert_eq!(tree.search("two"), lines(&TRUE), "{number}");
        tree.pretend_absent("d/a", "two");
        tree.next_session();
        let of = fs::symlink_metadata(tree.file()).unwrap();
        assert!(
            of.is_file() && of.mode() & 0o777 == 0o600,
            "{number}: {of:?}"
        );
        assert_eq!(tree.search("two"), lines(&LIED), "{number}");
    }
}

#[test]
fn two_servers_merge_records_in_cache_file() {
    let mut tree = Tree::new(true, 1 << 20);
    fs::create_dir(tree.at("d")).unwrap();
    tree.write("d/a", "two\n");
    tree.write("b", "two\n");
    tick(&tree.at("b"));
    let other = tree.session();
    tree.search("two");
    let version = version_of(&tree.at("d"));
    tree.inner().save(|| ()).unwrap();
    // It began before there was a file, and has not been in `d`.
    drop(other.recall(b"/else", || None));
    other.inner.as_ref().unwrap().save(|| ()).unwrap();
    tree.begin();
    tree.search("zero");
    assert!(tree.store().find(&version, 0, || true).is_some());
    // Both write at once, as often as they can.
    std::thread::scope(|scope| {
        for memory in [&tree.memory, &other] {
            scope.spawn(|| (0..50).for_each(|_| drop(memory.inner.as_ref().unwrap().save(|| ()))));
        }
    });
    tree.begin();
    assert_eq!(
        (tree.search("two"), tree.knows_entries("d")),
        (lines(&[("b", 1), ("d/a", 1)]), true)
    );
}

#[test]
fn reused_pattern_bit_is_not_taken_from_cache() {
    let mut tree = with_a_lie();
    for number in 0..REMEMBERED_PATTERNS {
        drop(tree.memory.recall(&number.to_ne_bytes(), || None));
    }
    // One of these has the bit of "two".
    for number in 0..FORGOTTEN_PATTERNS {
        let key = (REMEMBERED_PATTERNS + number).to_ne_bytes();
        let recall = tree.memory.recall(&key, || None).unwrap();
        tree.each_file(&recall, &|found, notes| {
            assert_eq!(recall.rules_out(found, notes), None, "{number}");
        });
    }
    tree.next_session();
    assert_eq!(tree.search("two"), lines(&TRUE));
}

#[test]
fn cache_reveals_no_hidden_or_disallowed_entries() {
    let mut tree = with_a_lie();
    let grant = |path| Grant {
        path,
        access: Access::ReadOnly,
    };
    let of = fs::metadata(tree.at("other/a")).unwrap();
    tree.policy = Policy::open(&[grant(tree.at(""))], &[]).unwrap();
    tree.policy
        .hide(&[Hidden {
            path: tree.at("other/a"),
            id: (of.dev(), of.ino()),
        }])
        .unwrap();
    assert_eq!(tree.search("two"), lines(&[("d/b", 2), ("other/b", 2)]));
    tree.next_session();
    fs::set_permissions(tree.at("other"), fs::Permissions::from_mode(0o000)).unwrap();
    tree.policy = Policy::open(&[grant(tree.at("d"))], &[]).unwrap();
    let directory = Some(tree.policy.read(tree.at("d")).unwrap());
    assert_eq!(tree.hits_in(directory, "two").files.len(), 1);
    assert!(tree.policy.read(tree.at("other")).is_err());
    assert!(!tree.knows_entries("other") && tree.knows_entries("d"));
    fs::set_permissions(tree.at("other"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn unused_records_are_dropped_eventually() {
    let mut tree = with_a_lie();
    for age in 0..=MAX_SEARCH_CACHE_AGE {
        drop(tree.memory.recall(b"/other", || None));
        tree.next_session();
        let knows = tree.session();
        let inner = knows.inner.as_ref().unwrap();
        drop(knows.recall(b"/other", || None));
        let of = version_of(&tree.at("d"));
        assert_eq!(
            inner.cache.read((of.device, of.inode)).is_some(),
            age < MAX_SEARCH_CACHE_AGE,
            "{age}"
        );
    }
}
