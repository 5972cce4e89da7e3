//! Downloads of the operator that commands see only when asked for: where they are, and which entries
//! of them may be private.
#![expect(
    clippy::disallowed_methods,
    reason = "directories of the operator's, read before any agent speaks"
)]

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use replay_base::text::escape::hex;
use serde::Deserialize;

use crate::definitions::{Definitions, Download};
use crate::glob;
use crate::toolchains::Surroundings;

/// Longest index entry of npm's cache that is read, in bytes.
const MAX_INDEX_BYTES: u64 = 1024 * 1024;
/// Directories of npm's cache (cacache): the index and the content, with its hashes.
const INDEX: &str = "index-v5";
const CONTENT: &str = "content-v2";
/// Levels of directories below [`INDEX`], and below each hash of [`CONTENT`].
const INDEX_LEVELS: usize = 2;
/// Names of request headers that say nothing of a user, in lower case. The index has those that the
/// response varies by.
const HARMLESS_HEADERS: [&str; 4] = ["accept", "accept-encoding", "accept-language", "user-agent"];

/// A directory of downloads, which may not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorDownload {
    /// Name in the table, and for `--downloads`.
    pub name: String,
    pub title: String,
    /// Set of --allow-hosts with the registry of its packages.
    pub hosts: Option<String>,
    /// The operator's directory: absolute.
    pub place: PathBuf,
    /// Path below HOME of commands.
    pub below: String,
    /// Variables that commands need with it.
    pub variables: Vec<(OsString, OsString)>,
    /// Variable of the operator that names the place, and its value for commands: a path below HOME.
    pub named_by: Option<(String, String)>,
}

impl Definitions {
    /// Names of the downloads that commands see only when asked for.
    pub fn download_names(&self) -> impl Iterator<Item = &str> {
        let downloads = self.document().download.iter();
        downloads
            .filter(|(_, download)| download.asked)
            .map(|(name, _)| name.as_str())
    }
}

/// Returns the downloads that commands see only when asked for, whether they exist or not.
pub fn find_downloads(
    surroundings: Surroundings<'_>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Vec<OperatorDownload> {
    let downloads = surroundings.definitions.document().download.iter();
    let asked = downloads.filter(|(_, download)| download.asked);
    asked
        .map(|(name, download)| {
            let sets = download.sets.iter();
            let named = surroundings.named_place(download, &variable);
            let named_by = named.and_then(|(name, below, _)| {
                let value = download.place.strip_suffix(below)?.trim_end_matches('/');
                Some((name.to_owned(), value.to_owned()))
            });
            OperatorDownload {
                name: name.clone(),
                title: download.title.clone(),
                hosts: download.hosts.clone(),
                place: surroundings.place_of(download, &variable),
                below: download.place.clone(),
                variables: sets
                    .map(|(name, value)| (name.into(), value.into()))
                    .collect(),
                named_by,
            }
        })
        .collect()
}

impl OperatorDownload {
    /// Returns the paths in it that commands must not see: what is private, and what is not
    /// understood. Fails if a directory cannot be read.
    pub fn private_entries(&self, definitions: &Definitions) -> io::Result<Vec<PathBuf>> {
        let downloads = &definitions.document().download;
        let Some((_, download)) = downloads.iter().find(|(name, _)| *name == self.name) else {
            return Ok(Vec::new());
        };
        if !download.registries.is_empty() {
            return private_npm_entries(&self.place, &download.registries);
        }
        if !download.never.is_empty() {
            return named_entries(&self.place, &download.never);
        }
        if download.keep.is_empty() {
            return Ok(Vec::new());
        }
        unlisted_entries(&self.place, download)
    }
}

/// Returns the paths at any depth whose names match one of the globs.
fn named_entries(place: &Path, names: &[String]) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut left) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(below) = left.pop() {
        for entry in fs::read_dir(place.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if glob::any_matches(names, entry.file_name().as_bytes()) {
                found.push(path);
            } else if entry.file_type()?.is_dir() {
                left.push(path);
            }
        }
    }
    Ok(found)
}

/// Returns the paths that no glob of `keep` matches, nor one of `linked` that a kept link leads to.
fn unlisted_entries(place: &Path, download: &Download) -> io::Result<Vec<PathBuf>> {
    let keep: Vec<Vec<&str>> = components(&download.keep);
    let linked: Vec<Vec<&str>> = components(&download.linked);
    let mut sorted = Sorted::default();
    sort(place, Path::new(""), &keep, &linked, &mut sorted)?;
    let mut targets = HashSet::new();
    let real = fs::canonicalize(place)?;
    for kept in sorted.kept.iter().filter(|_| !linked.is_empty()) {
        add_link_targets(&place.join(kept), &mut targets)?;
    }
    let is_target = |path: &PathBuf| targets.contains(&real.join(path));
    let unlinked = sorted.linked.into_iter().filter(|path| !is_target(path));
    sorted.others.extend(unlinked);
    Ok(sorted.others)
}

fn components(globs: &[String]) -> Vec<Vec<&str>> {
    globs.iter().map(|glob| glob.split('/').collect()).collect()
}

/// Paths below a download.
#[derive(Default)]
struct Sorted {
    kept: Vec<PathBuf>,
    linked: Vec<PathBuf>,
    others: Vec<PathBuf>,
}

/// Sorts the entries of a directory, and of those in it that a glob leads through.
fn sort(
    place: &Path,
    below: &Path,
    keep: &[Vec<&str>],
    linked: &[Vec<&str>],
    sorted: &mut Sorted,
) -> io::Result<()> {
    for entry in fs::read_dir(place.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        let depth = path.components().count();
        let fits = |glob: &&Vec<&str>| {
            let mut parts = path.iter().zip(&glob[..]);
            glob.len() >= depth && parts.all(|(name, glob)| glob::matches(glob, name.as_bytes()))
        };
        let is_whole =
            |globs: &[Vec<&str>]| globs.iter().filter(fits).any(|glob| glob.len() == depth);
        if is_whole(keep) {
            sorted.kept.push(path);
        } else if is_whole(linked) {
            sorted.linked.push(path);
        } else if entry.file_type()?.is_dir() && keep.iter().chain(linked).any(|glob| fits(&glob)) {
            sort(place, &path, keep, linked, sorted)?;
        } else {
            sorted.others.push(path);
        }
    }
    Ok(())
}

/// Adds what the links at and below a path lead to.
fn add_link_targets(path: &Path, targets: &mut HashSet<PathBuf>) -> io::Result<()> {
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        let kind = fs::symlink_metadata(&path)?.file_type();
        if kind.is_symlink() {
            targets.extend(fs::canonicalize(&path));
        } else if kind.is_dir() {
            for entry in fs::read_dir(&path)? {
                left.push(entry?.path());
            }
        }
    }
    Ok(())
}

/// Line of an index file of cacache, after its checksum.
#[derive(Deserialize)]
struct IndexEntry {
    key: String,
    /// Hashes of the content (Subresource Integrity); `null` for an entry that was deleted.
    integrity: Option<String>,
    metadata: Option<IndexMetadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IndexMetadata {
    url: String,
    #[serde(default)]
    req_headers: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    res_headers: serde_json::Map<String, serde_json::Value>,
}

/// Returns the entries of npm's cache that are not known to come from one of the registries for
/// everybody, and the content that no other entry names.
fn private_npm_entries(place: &Path, registries: &[String]) -> io::Result<Vec<PathBuf>> {
    let (mut private, mut public_content) = (Vec::new(), HashSet::new());
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        let name = entry.file_name();
        // A link could lead to names elsewhere.
        if !(name == INDEX || name == CONTENT) || !entry.file_type()?.is_dir() {
            private.push(name.into());
        }
    }
    for path in files_below(place, Path::new(INDEX), INDEX_LEVELS)? {
        match public_hashes(&place.join(&path), registries) {
            Some(hashes) => public_content.extend(hashes),
            None => private.push(path),
        }
    }
    for path in files_below(place, Path::new(CONTENT), INDEX_LEVELS + 1)? {
        if !public_content.contains(&path) {
            private.push(path);
        }
    }
    Ok(private)
}

/// Returns the paths of all entries at this depth below a directory, unless that is missing or a link.
/// An entry above the depth that is no directory is one of them.
fn files_below(place: &Path, below: &Path, levels: usize) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut left) = (Vec::new(), Vec::new());
    if fs::symlink_metadata(place.join(below)).is_ok_and(|stat| stat.is_dir()) {
        left.push((below.to_owned(), levels));
    }
    while let Some((below, levels)) = left.pop() {
        for entry in fs::read_dir(place.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            match levels.checked_sub(1) {
                Some(levels) if entry.file_type()?.is_dir() => left.push((path, levels)),
                _ => found.push(path),
            }
        }
    }
    Ok(found)
}

/// Returns the paths of the content that an index file names, if all of its entries are public.
fn public_hashes(file: &Path, registries: &[String]) -> Option<Vec<PathBuf>> {
    let mut text = String::new();
    let file = fs::symlink_metadata(file)
        .is_ok_and(|stat| stat.is_file())
        .then(|| fs::File::open(file).ok())??;
    let read = file.take(MAX_INDEX_BYTES).read_to_string(&mut text).ok()?;
    if read as u64 == MAX_INDEX_BYTES {
        return None;
    }
    let mut hashes = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (_, json) = line.split_once('\t')?;
        let entry: IndexEntry = serde_json::from_str(json).ok()?;
        if !entry.is_public(registries) {
            return None;
        }
        let integrity = entry.integrity.iter();
        for hash in integrity.flat_map(|hashes| hashes.split_ascii_whitespace()) {
            hashes.push(content_path(hash)?);
        }
    }
    Some(hashes)
}

impl IndexEntry {
    fn is_public(&self, registries: &[String]) -> bool {
        let Some(metadata) = &self.metadata else {
            return false;
        };
        let mut registries = registries.iter();
        let is_registry = |registry: &String| {
            let is_of = metadata.url.starts_with(registry) && !metadata.url.contains('?');
            is_of && self.key.ends_with(&metadata.url)
        };
        let is_harmless = |name: &String| HARMLESS_HEADERS.contains(&&*name.to_lowercase());
        let is_for_one = metadata.res_headers.iter().any(|(name, value)| {
            let (name, value) = (name.to_lowercase(), value.to_string().to_lowercase());
            name == "set-cookie"
                || name == "cache-control"
                    && (value.contains("private") || value.contains("no-store"))
        });
        registries.any(is_registry) && metadata.req_headers.keys().all(is_harmless) && !is_for_one
    }
}

/// Returns the path of the content with this hash, such as `sha512-…`.
fn content_path(integrity: &str) -> Option<PathBuf> {
    let (algorithm, hash) = integrity.split_once('-')?;
    let hash = hash.split_once('?').map_or(hash, |(hash, _)| hash);
    let bytes = BASE64_STANDARD.decode(hash).ok()?;
    let hex = hex(&bytes);
    let (first, second, rest) = (hex.get(..2)?, hex.get(2..4)?, hex.get(4..)?);
    let parts: [&OsStr; 5] = [CONTENT, algorithm, first, second, rest].map(OsStr::new);
    Some(parts.iter().collect())
}

#[cfg(test)]
mod tests;
