//! Temporary directories for the tests, and fingerprints that detect changes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode};

/// Temporary directory, removed on drop. Every helper panics with the path that it was given.
pub struct Tree {
    dir: tempfile::TempDir,
    state: tempfile::TempDir,
    root: PathBuf,
}

/// Writes an executable file.
pub fn write_program(path: &Path, contents: impl AsRef<[u8]>) {
    let source = path.with_extension("text");
    fs::write(&source, contents).unwrap();
    copy_program(&source, path);
    fs::remove_file(&source).unwrap();
}

/// Copies a file as an executable one. Another program writes the copy: a program that a test
/// starts meanwhile inherits no descriptor of it, with which execve(2) fails (ETXTBSY).
pub fn copy_program(from: &Path, to: &Path) {
    let copied = std::process::Command::new("install")
        .args(["-m", "755", "--"])
        .args([from, to])
        .status();
    assert!(copied.unwrap().success(), "{}", to.display());
}

impl Tree {
    /// Makes an empty tree.
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// Makes an empty tree in this directory.
    pub fn below(place: &Path) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("replay-it-")
            .tempdir_in(place)
            .expect("a temporary directory");
        let root = dir.path().canonicalize().expect("its real name");
        let state = tempfile::Builder::new()
            .prefix("replay-it-state-")
            .tempdir()
            .expect("a temporary directory");
        Self { dir, state, root }
    }

    /// Returns the absolute path of an entry of the tree, which need not exist. The path is not
    /// normalised.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Returns the absolute path as text, for a parameter.
    pub fn text(&self, relative: &str) -> String {
        // `join` would drop a trailing slash, which some cases are about.
        format!("{}/{relative}", self.root.display())
    }

    /// Makes a directory and its parents.
    pub fn dir(&self, relative: impl AsRef<Path>) -> &Self {
        let path = self.path(relative);
        fs::create_dir_all(&path)
            .unwrap_or_else(|error| panic!("mkdir {}: {error}", path.display()));
        self
    }

    /// Writes a file, making its parents.
    pub fn file(&self, relative: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> &Self {
        let path = self.path(relative);
        self.dir(path.parent().expect("a parent"));
        fs::write(&path, contents)
            .unwrap_or_else(|error| panic!("write {}: {error}", path.display()));
        self
    }

    /// Writes an executable file, making its parents.
    pub fn program(&self, relative: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> &Self {
        let path = self.path(relative);
        self.dir(path.parent().expect("a parent"));
        write_program(&path, contents);
        self
    }

    /// Makes a symbolic link with this target.
    pub fn link(&self, target: impl AsRef<Path>, relative: impl AsRef<Path>) -> &Self {
        let path = self.path(relative);
        std::os::unix::fs::symlink(target, &path)
            .unwrap_or_else(|error| panic!("link {}: {error}", path.display()));
        self
    }

    /// Makes a hard link to a file of the tree.
    pub fn hard_link(&self, existing: &str, relative: &str) -> &Self {
        let path = self.path(relative);
        fs::hard_link(self.path(existing), &path)
            .unwrap_or_else(|error| panic!("hard link {}: {error}", path.display()));
        self
    }

    /// Makes a FIFO, which no process has open.
    pub fn fifo(&self, relative: &str) -> &Self {
        let path = self.path(relative);
        rustix::fs::mkfifoat(CWD, &path, Mode::from_raw_mode(0o644))
            .unwrap_or_else(|error| panic!("mkfifo {}: {error}", path.display()));
        self
    }

    /// Returns the contents of a file.
    pub fn read(&self, relative: &str) -> String {
        let path = self.path(relative);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()))
    }

    /// Returns the private directories of commands below a temporary directory that holds nothing
    /// else.
    pub fn private_directories(&self, temporary: &str) -> Vec<PathBuf> {
        let depots = fs::read_dir(self.path(temporary)).expect("the temporary directory");
        let depots =
            depots.map(|depot| fs::read_dir(depot.expect("an entry").path()).expect("a directory"));
        depots
            .flatten()
            .map(|entry| entry.expect("an entry").path())
            .collect()
    }

    /// Returns true if there is an entry with this name, a dangling link included.
    pub fn has(&self, relative: &str) -> bool {
        fs::symlink_metadata(self.path(relative)).is_ok()
    }

    /// Returns true if the entry is a symbolic link.
    pub fn is_link(&self, relative: &str) -> bool {
        fs::symlink_metadata(self.path(relative)).is_ok_and(|metadata| metadata.is_symlink())
    }

    /// Returns the fingerprint of a directory of the tree, itself included.
    pub fn fingerprint(&self, relative: &str) -> Fingerprint {
        let mut found = BTreeMap::new();
        collect(&self.path(relative), Path::new("."), &mut found);
        Fingerprint(found)
    }

    /// Returns the state directory of programs, which is outside the tree.
    pub fn state(&self) -> &Path {
        self.state.path()
    }

    /// Returns the root directory.
    pub fn root(&self) -> &Path {
        debug_assert!(self.dir.path().is_dir());
        &self.root
    }
}

/// Returns one line per entry below a directory, for failure reports.
pub fn listing(root: &Path) -> String {
    let mut found = BTreeMap::new();
    collect(root, Path::new("."), &mut found);
    let mut text = String::new();
    for (path, entry) in found.iter().take(100) {
        let _ = writeln!(
            text,
            "{:6o} {:>9} {}",
            entry.mode,
            entry.size,
            path.display()
        );
    }
    if found.len() > 100 {
        let _ = writeln!(text, "and {} more", found.len() - 100);
    }
    text
}

/// Observable state of a tree: kinds, modes, owners, sizes, modification times, link counts,
/// contents and extended attributes of all entries.
#[derive(Debug, PartialEq, Eq)]
pub struct Fingerprint(BTreeMap<PathBuf, Entry>);

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    mode: u32,
    owner: (u32, u32),
    size: u64,
    links: u64,
    changed: (i64, i64),
    inode: u64,
    contents: Option<Vec<u8>>,
    attributes: BTreeMap<Vec<u8>, Vec<u8>>,
}

fn collect(root: &Path, relative: &Path, found: &mut BTreeMap<PathBuf, Entry>) {
    let path = root.join(relative);
    // Something else may be changing the tree while it is listed for a report.
    let Ok(metadata) = fs::symlink_metadata(&path) else {
        return;
    };
    let contents = if metadata.is_symlink() {
        fs::read_link(&path)
            .ok()
            .map(|target| target.as_os_str().as_bytes().to_vec())
    } else if metadata.is_file() && metadata.len() < 1 << 20 {
        fs::read(&path).ok()
    } else {
        None
    };
    found.insert(
        relative.to_owned(),
        Entry {
            mode: metadata.mode(),
            owner: (metadata.uid(), metadata.gid()),
            size: metadata.size(),
            links: metadata.nlink(),
            changed: (metadata.mtime(), metadata.mtime_nsec()),
            inode: metadata.ino(),
            contents,
            attributes: attributes(&path),
        },
    );
    if metadata.is_dir() && relative.components().count() < 64 {
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            collect(root, &relative.join(entry.file_name()), found);
        }
    }
}

fn attributes(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut names = vec![0; 4096];
    let Ok(length) = rustix::fs::llistxattr(path, &mut names[..]) else {
        return BTreeMap::new();
    };
    let names = names[..length]
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    names
        .map(|name| {
            let mut value = vec![0; 4096];
            let length = rustix::fs::lgetxattr(path, name, &mut value[..]).unwrap_or(0);
            value.truncate(length);
            (name.to_vec(), value)
        })
        .collect()
}

#[test]
fn fingerprint_detects_every_change() {
    let tree = Tree::new();
    tree.file("d/f", "one").link("f", "d/l").fifo("d/p");
    let before = tree.fingerprint("d");
    assert_eq!(before, tree.fingerprint("d"));
    let changes: [(&str, &dyn Fn()); 4] = [
        ("contents", &|| fs::write(tree.path("d/f"), "two").unwrap()),
        ("name", &|| {
            fs::rename(tree.path("d/l"), tree.path("d/m")).unwrap();
        }),
        ("link count", &|| {
            fs::hard_link(tree.path("d/f"), tree.path("other")).unwrap();
        }),
        ("mode", &|| {
            fs::set_permissions(
                tree.path("d/f"),
                std::os::unix::fs::PermissionsExt::from_mode(0o600),
            )
            .unwrap();
        }),
    ];
    let mut last = before;
    for (what, change) in changes {
        change();
        let now = tree.fingerprint("d");
        assert_ne!(last, now, "{what}");
        last = now;
    }
}
