//! Properties of path handling: calls, mixed with symlink attacks in a small tree, never read or
//! change the outside.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use replay_base::cancel::CancelToken;
use replay_files::fs::{self as disk, TreeOptions, Writer};
use replay_files::journal::Changes;
use replay_files::policy::{Access, FileKind, Grant, Policy};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use super::Source;

/// Content of every file outside, and of no file inside.
const SECRET: &[u8] = b"the secret of the outside";
/// Name that exists in every directory outside and that no call can create inside.
const OUTSIDE_NAME: &str = "private";
/// Content that the calls write.
const WRITTEN: &[u8] = b"written by a call";
const MAX_STEPS: usize = 40;

/// Test tree: `base/in` is writable, `base/in/kept` and `base/ro` are read-only, `base/out` is
/// outside.
struct Stage {
    base: TempDir,
    policy: Policy,
    writer: Writer,
    before: Vec<(PathBuf, Vec<u8>)>,
}

impl Stage {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        let at = |path: &str| base.path().join(path);
        for dir in ["in/a", "in/kept", "ro/a", "out/a"] {
            fs::create_dir_all(at(dir)).unwrap();
        }
        for file in ["in/a/b", "in/kept/b", "ro/b", "ro/a/b"] {
            fs::write(at(file), "an allowed file").unwrap();
        }
        for file in [
            "out/b",
            "out/a/b",
            "b",
            "out/private",
            "out/a/private",
            "private",
        ] {
            fs::write(at(file), SECRET).unwrap();
        }
        let grant = |path: &str, access| Grant {
            path: at(path),
            access,
        };
        let grants = [
            grant("in", Access::ReadWrite),
            grant("in/kept", Access::ReadOnly),
            grant("ro", Access::ReadOnly),
        ];
        let policy = Policy::open(&grants, &[]).unwrap();
        let mut stage = Self {
            policy,
            writer: Writer::default(),
            before: Vec::new(),
            base,
        };
        stage.before = stage.unchangeable();
        stage
    }

    /// Returns the files that no plan may change, with their content: all except those below `in`
    /// but not below `in/kept`.
    fn unchangeable(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut waiting = vec![self.base.path().to_path_buf()];
        while let Some(dir) = waiting.pop() {
            for entry in fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                let place = path.strip_prefix(self.base.path()).unwrap().to_path_buf();
                let free = place.starts_with("in")
                    && place != Path::new("in")
                    && !place.starts_with("in/kept");
                if free {
                    continue;
                }
                let kind = fs::symlink_metadata(&path).unwrap().file_type();
                if kind.is_dir() {
                    waiting.push(path);
                    found.push((place, b"directory".to_vec()));
                } else if kind.is_file() {
                    found.push((place, fs::read(&path).unwrap()));
                } else {
                    found.push((place, b"something else".to_vec()));
                }
            }
        }
        // A plan may have moved `in/kept` away, which the comparison then shows.
        found.sort();
        found
    }

    /// Returns a path as an agent may spell it.
    fn path(&self, source: &mut Source<'_>) -> PathBuf {
        const PARTS: [&[u8]; 14] = [
            b"a", b"b", b"c", b"..", b".", b"", b"in", b"out", b"ro", b"kept", b"link", b"\xff",
            b"a\n", b"c/c/c",
        ];
        let start: [&[u8]; 5] = [b"", b"/in", b"/out", b"/ro", b"/"];
        let start = source.choice(&start);
        let mut path = Vec::new();
        if !start.is_empty() {
            path.extend_from_slice(self.base.path().as_os_str().as_bytes());
            path.extend_from_slice(start);
        }
        for index in 0..source.byte() % 6 {
            if index > 0 || !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(source.choice(&PARTS));
        }
        OsString::from_vec(path).into()
    }

    fn step(&self, source: &mut Source<'_>) {
        let (cancel, changes) = (CancelToken::new(), Changes::none());
        match source.byte() % 11 {
            0 | 1 => self.read(&self.path(source)),
            2 | 3 => {
                if let Ok(target) = self.policy.write(self.path(source)) {
                    let _lock = self.writer.lock(&target);
                    let _ = self
                        .writer
                        .telling(&changes)
                        .replace(&target, [WRITTEN], None);
                }
            }
            4 => {
                if let Ok(place) = self.policy.create_dir(self.path(source)) {
                    let _ = disk::create_dir(&changes, &place);
                }
            }
            5 => {
                if let Ok(entry) = self.policy.entry(self.path(source)) {
                    let _ = disk::remove(&changes, &entry, source.flag(), &cancel);
                }
            }
            6 => {
                if let (Ok(from), Ok(to)) = (
                    self.policy.entry(self.path(source)),
                    self.policy.destination(self.path(source)),
                ) {
                    let _ = disk::move_no_clobber(&changes, &from, &to);
                }
            }
            7 => {
                if let Ok(place) = self.policy.look(self.path(source)) {
                    let info = disk::info(&place).unwrap();
                    assert!(
                        info.kind != FileKind::File || info.size != SECRET.len() as u64,
                        "metadata from outside"
                    );
                }
            }
            8 | 9 => {
                // An agent's shell can link any name below `in` to any path. The parent is not a
                // link.
                let name = source.choice(&["a", "b", "c", "link"]);
                let parent = self.base.path().join(source.choice(&["in", "in/a"]));
                if fs::symlink_metadata(&parent).is_ok_and(|it| it.is_dir()) {
                    let _ = symlink(self.path(source), parent.join(name));
                }
            }
            _ => {
                let mut name = || {
                    self.base
                        .path()
                        .join("in")
                        .join(source.choice(&["a", "b", "c", "link"]))
                };
                let (from, to) = (name(), name());
                if source.flag() {
                    let _ = fs::rename(from, to);
                } else {
                    let _ = mknodat(CWD, &to, FileType::Fifo, Mode::RWXU, 0);
                }
            }
        }
    }

    /// Reads a file, and lists a directory and its tree. No content from outside may appear.
    fn read(&self, path: &Path) {
        let Ok(opened) = self.policy.read(path) else {
            return;
        };
        if opened.kind() == FileKind::Directory {
            let entries = disk::entries(&opened).unwrap();
            assert!(
                entries.iter().all(|entry| entry.name != OUTSIDE_NAME),
                "{} lists the outside",
                path.display()
            );
            let cancel = CancelToken::new();
            let keep = |rel: &[u8], _| {
                assert!(
                    !rel.ends_with(OUTSIDE_NAME.as_bytes()),
                    "the tree of {} holds the outside",
                    path.display()
                );
                true
            };
            let options = TreeOptions {
                max_depth: 64,
                max_entries: 10_000,
                skip_ignored: false,
                above: &[],
                account: None,
                keep: &keep,
                closed: &[],
                cancel: &cancel,
            };
            disk::tree(&opened, &options).unwrap();
            return;
        }
        let bytes = disk::read_all(&opened, 1 << 20).unwrap();
        assert_ne!(
            bytes,
            SECRET,
            "{} was read from the outside",
            path.display()
        );
    }
}

/// Runs the plan that the bytes encode.
///
/// # Panics
/// When something outside was read or changed.
pub fn a_plan_stays_inside(bytes: &[u8]) {
    let stage = Stage::new();
    let mut source = Source(bytes);
    for _ in 0..MAX_STEPS {
        if source.is_empty() {
            break;
        }
        stage.step(&mut source);
    }
    assert_eq!(stage.unchangeable(), stage.before);
}
