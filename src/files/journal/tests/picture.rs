//! Snapshot of a tree, without atime and ctime.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::super::object::attributes;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObjectState {
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
    pub(super) mtime: i128,
    pub(super) content: Vec<u8>,
    pub(super) attributes: String,
    /// All names of the object.
    pub(super) names: Vec<PathBuf>,
}

pub(super) type Picture = BTreeMap<PathBuf, ObjectState>;

pub(super) fn walk(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.to_path_buf()];
    let mut at = 0;
    while at < found.len() {
        if found[at].symlink_metadata().is_ok_and(|stat| stat.is_dir()) {
            let below = fs::read_dir(&found[at])
                .map(|all| all.map(|entry| entry.unwrap().path()).collect::<Vec<_>>());
            found.extend(below.unwrap_or_default());
        }
        at += 1;
    }
    found.sort();
    found
}

pub(super) fn picture(roots: &[PathBuf]) -> Picture {
    let mut all = Picture::new();
    let mut groups: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
    let mut inodes = BTreeMap::new();
    for path in roots.iter().flat_map(|root| walk(root)) {
        let stat = path.symlink_metadata().unwrap();
        let content = if stat.is_file() {
            fs::read(&path).unwrap()
        } else if stat.is_symlink() {
            fs::read_link(&path)
                .unwrap()
                .into_os_string()
                .into_encoded_bytes()
        } else {
            Vec::new()
        };
        let attributes = if stat.is_file() || stat.is_dir() {
            format!("{:?}", attributes(&fs::File::open(&path).unwrap()).unwrap())
        } else {
            String::new()
        };
        if !stat.is_dir() {
            groups.entry(stat.ino()).or_default().push(path.clone());
        }
        inodes.insert(path.clone(), stat.ino());
        let seen = ObjectState {
            mode: stat.mode(),
            owner: (stat.uid(), stat.gid()),
            mtime: i128::from(stat.mtime()) * 1_000_000_000 + i128::from(stat.mtime_nsec()),
            content,
            attributes,
            names: Vec::new(),
        };
        all.insert(path, seen);
    }
    for (path, seen) in &mut all {
        seen.names = groups.get(&inodes[path]).cloned().unwrap_or_default();
    }
    all
}

/// Returns the number of hard links in the store.
pub(super) fn kept_links(roots: &[PathBuf]) -> u64 {
    let all = picture(roots);
    let files = all.iter().filter(|(_, seen)| !seen.names.is_empty());
    files
        .map(|(path, seen)| path.symlink_metadata().unwrap().nlink() - seen.names.len() as u64)
        .sum()
}

/// Returns the differences by path; empty if there are none.
pub(super) fn differences(was: &Picture, now: &Picture) -> Vec<String> {
    let mut found = Vec::new();
    for path in was
        .keys()
        .chain(now.keys().filter(|path| !was.contains_key(*path)))
    {
        let told = match (was.get(path), now.get(path)) {
            (Some(was), Some(now)) if was == now => continue,
            (Some(was), Some(now)) => {
                let content = (was.content != now.content)
                    .then(|| format!("content {} {}", was.content.len(), now.content.len()));
                let shown = |seen: &ObjectState| {
                    format!(
                        "{:o} {:?} {} {} {:?}",
                        seen.mode, seen.owner, seen.mtime, seen.attributes, seen.names
                    )
                };
                format!("{}\n    {}\n    {content:?}", shown(was), shown(now))
            }
            (Some(_), None) => "missing".into(),
            (None, _) => "too much".into(),
        };
        found.push(format!("{}: {told}", path.display()));
    }
    found
}
