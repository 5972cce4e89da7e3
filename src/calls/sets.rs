//! Mock sets on disk: directories that contain a `mocks.yaml` each.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use replay_base::limits::{MAX_CALLS_BODIES_BYTES, MAX_CALLS_FILE_BYTES};
use replay_files::fs::{self, CallWriter, Reader};
use replay_files::policy::{Checked, FileKind, Policy, PolicyError, Read, note_refusal};

use replay_record::store::{COMMAND_WITHIN_BYTES, CommandMark};

use super::CallsError;

/// Room that there must be for a set of recorded calls before a program is run, in bytes.
const SET_ROOM_BYTES: usize = 64 * 1024;

/// File names of a set; new sets use the first.
pub(crate) const MOCK_FILES: [&str; 2] = ["mocks.yaml", "mocks.yml"];
/// File of a set that assigns its calls to tests.
pub(crate) const MAPPINGS_FILE: &str = "mappings.yaml";
/// Default directory of mock sets, relative to the project directory.
pub(crate) const DEFAULT_DIRECTORY: &str = "./keploy";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    /// Name of the set's directory.
    pub name: String,
    /// Path of its file, with the directory as the caller spelt it.
    pub path: PathBuf,
    /// Modification time of its file.
    pub modified: SystemTime,
}

/// Lists the sets in a directory, most recently changed first. A missing directory contains none.
pub(crate) fn list(policy: &Policy, directory: &str) -> Result<Vec<Set>, CallsError> {
    let opened = match policy.read(directory) {
        Err(PolicyError::NotFound { .. }) => return Ok(Vec::new()),
        opened => opened?,
    };
    if opened.kind() != FileKind::Directory {
        return Err(CallsError::NoDirectory {
            path: directory.to_owned(),
        });
    }
    let mut sets = Vec::new();
    for entry in fs::entries(&opened)? {
        let Some(name) = entry.name.to_str() else {
            continue;
        };
        if entry.kind != FileKind::Directory {
            continue;
        }
        // Skip unreadable sets, so that they do not hide the others.
        let Ok(Some((path, file))) = open(policy, directory, name) else {
            continue;
        };
        let modified = fs::info_of_open(&file)?.modified;
        sets.push(Set {
            name: name.to_owned(),
            path,
            modified,
        });
    }
    sets.sort_by(|a, b| (Reverse(a.modified), &a.name).cmp(&(Reverse(b.modified), &b.name)));
    Ok(sets)
}

/// Opens the file of a set, and returns its path with the directory as the caller spelt it. `None`
/// if there is no such set.
pub(crate) fn open(
    policy: &Policy,
    directory: &str,
    name: &str,
) -> Result<Option<(PathBuf, Checked<Read>)>, CallsError> {
    for file in MOCK_FILES {
        let path = Path::new(directory).join(name).join(OsStr::new(file));
        match policy.read(&path) {
            Ok(opened) if opened.kind() == FileKind::File => return Ok(Some((path, opened))),
            Ok(_) | Err(PolicyError::NotFound { .. } | PolicyError::NotADirectory { .. }) => {}
            Err(error) => return Err(about(directory, error).into()),
        }
    }
    Ok(None)
}

/// Reads the file of a set.
pub(crate) fn bytes(file: &Checked<Read>) -> Result<Vec<u8>, CallsError> {
    Ok(fs::read_all(file, MAX_CALLS_FILE_BYTES)?)
}

/// Names of all entries in a directory, which a new set cannot take.
pub(crate) fn names(policy: &Policy, directory: &str) -> Result<BTreeSet<String>, CallsError> {
    let opened = match policy.read(directory) {
        Err(PolicyError::NotFound { .. }) => return Ok(BTreeSet::new()),
        opened => opened?,
    };
    let entries = fs::entries(&opened)?;
    Ok(entries
        .into_iter()
        .map(|entry| entry.name.to_string_lossy().into_owned())
        .collect())
}

/// Opens a body in a separate file of at most `most` bytes. `path` is relative to the set and must
/// not leave it. The error is a text for the caller.
pub(crate) fn open_body(
    policy: &Policy,
    directory: &str,
    name: &str,
    path: &str,
    most: u64,
) -> Result<Checked<Read>, String> {
    let inside = Path::new(path);
    if !inside
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
    {
        return Err("it is not a path inside the set".to_owned());
    }
    let file = policy
        .read(Path::new(directory).join(name).join(inside))
        .map_err(|error| error.to_string())?;
    if file.kind() == FileKind::File && file.size() > most {
        return Err(format!(
            "the bodies of a set must not exceed {MAX_CALLS_BODIES_BYTES} bytes together"
        ));
    }
    Ok(file)
}

/// A file of a set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetFile<'a> {
    /// Path relative to the set.
    pub path: &'a str,
    pub bytes: &'a [u8],
    /// `true` if only the owner may access it.
    pub has_secrets: bool,
}

/// Writes a file of a set atomically, and creates the directories above it. Returns the path, with
/// the directory as the caller spelt it.
pub(crate) fn write(
    policy: &Policy,
    writer: CallWriter<'_>,
    directory: &str,
    name: &str,
    file: SetFile<'_>,
) -> Result<PathBuf, CallsError> {
    let path = Path::new(directory).join(name).join(file.path);
    let target = policy.write(&path)?;
    let _locked = writer.lock(&target);
    if file.has_secrets {
        writer.replace_private(&target, [file.bytes])?;
    } else {
        writer.replace(&target, [file.bytes], None)?;
    }
    Ok(path)
}

/// Rewrites a file of a set as [`write()`] does, but keeps its modification time. The order of the
/// sets stays the same.
pub(crate) fn amend(
    policy: &Policy,
    writer: CallWriter<'_>,
    directory: &str,
    name: &str,
    file: &str,
    bytes: &[u8],
) -> Result<PathBuf, CallsError> {
    let path = Path::new(directory).join(name).join(file);
    let target = policy.write(&path)?;
    let _locked = writer.lock(&target);
    writer.replace_undated(&target, [bytes])?;
    Ok(path)
}

impl Set {
    /// Returns true if the set's name says that no call was captured
    /// ([`choose`](replay_record::naming::set_name::choose)).
    pub(crate) fn is_empty(&self) -> bool {
        // A time, and possibly a number against name clashes.
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        self.name
            .strip_prefix("mock-")
            .is_some_and(|rest| rest.split('-').all(is_number))
    }
}

/// Sets to choose from if the caller names none: the non-empty ones, or all if all are empty.
/// Latest first.
pub(crate) fn candidates(sets: Vec<Set>) -> Vec<Set> {
    if sets.iter().all(Set::is_empty) {
        sets
    } else {
        sets.into_iter().filter(|set| !set.is_empty()).collect()
    }
}

/// Returns the first set that was recorded with this command.
pub(crate) fn of_command<'a>(
    policy: &Policy,
    directory: &str,
    sets: &'a [Set],
    command: &str,
) -> Option<&'a Set> {
    let wanted = CommandMark::of(command);
    sets.iter().find(|set| {
        // Skip unreadable sets.
        let Ok(Some((_, file))) = open(policy, directory, &set.name) else {
            return false;
        };
        let mut begin = Vec::new();
        let read = Reader::new(&file, 0)
            .take(COMMAND_WITHIN_BYTES as u64)
            .read_to_end(&mut begin);
        read.is_ok() && CommandMark::read(&begin).as_ref() == Some(&wanted)
    })
}

/// Creates the directory of a new set. Returns false if the name exists.
pub(crate) fn claim(
    policy: &Policy,
    writer: CallWriter<'_>,
    directory: &str,
    name: &str,
) -> Result<bool, CallsError> {
    let place = policy.create_dir(Path::new(directory).join(name))?;
    Ok(fs::create_dir(writer.changes(), &place)? > 0)
}

/// Creates the directory of the sets and starts a file in it, which is discarded. A program may run
/// for minutes, so this reports an unwritable directory before the run.
pub(crate) fn prepare(
    policy: &Policy,
    writer: CallWriter<'_>,
    directory: &str,
) -> Result<(), CallsError> {
    let may_write = |path: PathBuf| {
        policy
            .try_write(path)
            .map_err(|error| about(directory, error))
            .inspect_err(note_refusal)
    };
    drop(may_write(
        Path::new(directory).join("any").join(MOCK_FILES[0]),
    )?);
    let target = may_write(Path::new(directory).join(MOCK_FILES[0]))?;
    // The test file is discarded; only the directory stays.
    drop(policy.create_dir(directory)?);
    let begun = writer.prepare(&target, [vec![b'#'; SET_ROOM_BYTES].as_slice()], None);
    drop(begun.map_err(|source| CallsError::NotWritable {
        path: directory.to_owned(),
        reason: source,
    })?);
    Ok(())
}

/// Reports a denial for the directory that the caller named, not for a path below it.
fn about(directory: &str, error: PolicyError) -> PolicyError {
    let path = PathBuf::from(directory);
    match error {
        PolicyError::Denied { allowed, .. } => PolicyError::Denied { path, allowed },
        PolicyError::ReadOnly { allowed, root, .. } => PolicyError::ReadOnly {
            path,
            root,
            allowed,
        },
        other => other,
    }
}
