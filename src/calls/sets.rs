//! Mock sets on the disk: directories that hold a `mocks.yaml` each.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use crate::fs::{self, CallWriter, Reader};
use crate::limits::{MAX_CALLS_BODIES_BYTES, MAX_CALLS_FILE_BYTES, SET_ROOM_BYTES};
use crate::policy::{Checked, Kind, Policy, PolicyError, Read, note_refusal};
use crate::record::store::{COMMAND_WITHIN_BYTES, CommandMark};

use super::CallsError;

/// Names of the file of a set, the one that is written first.
pub const MOCK_FILES: [&str; 2] = ["mocks.yaml", "mocks.yml"];
/// Where sets are when nothing else is said, below the project directory.
pub const DEFAULT_DIRECTORY: &str = "./keploy";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// The name of its directory.
    pub name: String,
    /// The path of its file, as the caller spelt the directory.
    pub path: PathBuf,
    /// When its file was last changed.
    pub modified: SystemTime,
}

/// The sets in a directory, the one that was changed last first. A directory that is not there
/// holds none.
pub fn list(policy: &Policy, directory: &str) -> Result<Vec<Set>, CallsError> {
    let opened = match policy.read(directory) {
        Err(PolicyError::NotFound { .. }) => return Ok(Vec::new()),
        opened => opened?,
    };
    if opened.kind() != Kind::Directory {
        return Err(CallsError::NoDirectory {
            path: directory.to_owned(),
        });
    }
    let mut sets = Vec::new();
    for entry in fs::entries(&opened)? {
        let Some(name) = entry.name.to_str() else {
            continue;
        };
        if entry.kind != Kind::Directory {
            continue;
        }
        // What cannot be read as a set is none: it must not hide the others.
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

/// The file of a set, and its path as the caller spelt it; `None` when there is no such set.
pub fn open(
    policy: &Policy,
    directory: &str,
    name: &str,
) -> Result<Option<(PathBuf, Checked<Read>)>, CallsError> {
    for file in MOCK_FILES {
        let path = Path::new(directory).join(name).join(OsStr::new(file));
        match policy.read(&path) {
            Ok(opened) if opened.kind() == Kind::File => return Ok(Some((path, opened))),
            Ok(_) | Err(PolicyError::NotFound { .. } | PolicyError::NotADirectory { .. }) => {}
            Err(error) => return Err(about(directory, error).into()),
        }
    }
    Ok(None)
}

/// The bytes of the file of a set.
pub fn bytes(file: &Checked<Read>) -> Result<Vec<u8>, CallsError> {
    Ok(fs::read_all(file, MAX_CALLS_FILE_BYTES)?)
}

/// Names of everything in a directory: a new set must not be one of them.
pub fn names(policy: &Policy, directory: &str) -> Result<BTreeSet<String>, CallsError> {
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

/// A body that a set keeps in a file of its own, of at most so many bytes; `path` is relative to
/// the set and stays in it. Says in words why there is none.
pub fn open_body(
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
        return Err("it is no path inside the set".to_owned());
    }
    let file = policy
        .read(Path::new(directory).join(name).join(inside))
        .map_err(|error| error.to_string())?;
    if file.kind() == Kind::File && file.size() > most {
        return Err(format!(
            "the bodies of a set may have {MAX_CALLS_BODIES_BYTES} bytes together"
        ));
    }
    Ok(file)
}

/// Writes a file of a set whole, with the directories above it; `file` is relative to the set. Its
/// path as the caller spelt the directory. With secrets in it, it is its owner's alone.
pub fn write(
    policy: &Policy,
    writer: CallWriter<'_>,
    directory: &str,
    name: &str,
    file: &str,
    (bytes, has_secrets): (&[u8], bool),
) -> Result<PathBuf, CallsError> {
    let path = Path::new(directory).join(name).join(file);
    let target = policy.write(&path)?;
    let _locked = writer.lock(&target);
    if has_secrets {
        writer.replace_private(&target, [bytes])?;
    } else {
        writer.replace(&target, [bytes], None)?;
    }
    Ok(path)
}

/// Writes a file of a set anew, with the directories above it, as [`write()`] does. The time of its
/// last change stays: the set is the latest one only if it was before.
pub fn amend(
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
    /// Whether no call was captured in it, as its name says
    /// ([`choose`](crate::record::naming::set_name::choose)).
    pub fn is_empty(&self) -> bool {
        // The time, and a number behind it if the name was taken.
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        self.name
            .strip_prefix("mock-")
            .is_some_and(|rest| rest.split('-').all(is_number))
    }
}

/// The sets that may be meant where none is named: those that hold anything, or all if none does,
/// the latest first.
pub fn candidates(sets: Vec<Set>) -> Vec<Set> {
    if sets.iter().all(Set::is_empty) {
        sets
    } else {
        sets.into_iter().filter(|set| !set.is_empty()).collect()
    }
}

/// The first of these sets that says that it was recorded with this command.
pub fn of_command<'a>(
    policy: &Policy,
    directory: &str,
    sets: &'a [Set],
    command: &str,
) -> Option<&'a Set> {
    let wanted = CommandMark::of(command);
    sets.iter().find(|set| {
        // What cannot be read as a set is none.
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

/// Makes the directory of a new set; `false` if there is one of this name already.
pub fn claim(
    policy: &Policy,
    writer: CallWriter<'_>,
    directory: &str,
    name: &str,
) -> Result<bool, CallsError> {
    let place = policy.create_dir(Path::new(directory).join(name))?;
    Ok(fs::create_dir(writer.changes(), &place)? > 0)
}

/// Makes the directory of the sets and begins a file in it, which is not finished. So it is found
/// out before a program runs for minutes whether a set can be written.
pub fn prepare(policy: &Policy, writer: CallWriter<'_>, directory: &str) -> Result<(), CallsError> {
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
    // What is tried in it leaves nothing behind but the directory.
    drop(policy.create_dir(directory)?);
    let begun = writer.prepare(&target, [vec![b'#'; SET_ROOM_BYTES].as_slice()], None);
    drop(begun.map_err(|source| CallsError::NotWritable {
        path: directory.to_owned(),
        reason: source,
    })?);
    Ok(())
}

/// A denial of the directory itself, which is what the caller has named; what is below it nobody
/// has.
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
