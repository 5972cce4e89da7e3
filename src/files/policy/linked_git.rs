//! Git repositories that lie elsewhere: `.git` of an allowed directory is a file, as `git worktree
//! add` and `git submodule` make it (gitrepository-layout(5)), and names a directory outside.
//!
//! An agent may have written that file. So what it names is taken only if it names the allowed
//! directory in turn, which the agent cannot have brought about: it could not write there.
#![expect(
    clippy::disallowed_methods,
    reason = "policy is where paths become handles"
)]

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use replay_base::limits::MAX_PATH_BYTES;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Statx, StatxFlags, fstat, openat2,
    readlinkat, statat, statx,
};
use rustix::io::Errno;

use super::defaults::{CONFIG, DOT_GIT};
use super::root::Root;

/// Largest git file that points to a directory, in bytes: a path and its prefix.
const MAX_GIT_POINTER_BYTES: usize = MAX_PATH_BYTES + 16;
/// Largest configuration of a submodule that is looked into, in bytes.
const MAX_GIT_CONFIG_BYTES: usize = 256 * 1024;

/// A directory outside the allowed ones, open.
#[derive(Debug, Clone)]
pub struct GitDirectory {
    /// Absolute, without links.
    pub path: PathBuf,
    pub handle: Arc<OwnedFd>,
}

/// The repository of an allowed directory whose `.git` is a file.
#[derive(Debug)]
pub struct LinkedRepository {
    /// The allowed directory.
    pub work_tree: PathBuf,
    /// `true` if the allowed directory is read-write.
    pub writable: bool,
    /// Git directory of this work tree: `.git/worktrees/NAME`, or for a submodule
    /// `.git/modules/NAME`.
    pub own: GitDirectory,
    /// Git directory shared with other work trees, and its `worktrees` directory, in which `own`
    /// lies.
    pub common: Option<(GitDirectory, GitDirectory)>,
}

impl LinkedRepository {
    /// The outermost directory that git needs.
    pub fn outermost(&self) -> &Path {
        self.common
            .as_ref()
            .map_or(&self.own.path, |(common, _)| &common.path)
    }
}

type Id = (u64, u64);

/// Returns the repository that a `.git` file of an allowed directory points to, if it lies outside
/// of all of them. Fails with the reason if the pointer is rejected.
pub(super) fn find(root: &Root, all: &[Root]) -> Result<Option<LinkedRepository>, String> {
    match statat(root, DOT_GIT, AtFlags::SYMLINK_NOFOLLOW)
        .map(|stat| FileType::from_raw_mode(stat.st_mode))
    {
        Err(Errno::NOENT) | Ok(FileType::Directory) => return Ok(None),
        _ => {}
    }
    let (id, owner) = id_and_owner(root).map_err(|errno| errno.to_string())?;
    let (pointer, of_pointer) = small_file(root, DOT_GIT, MAX_GIT_POINTER_BYTES)?;
    if of_pointer != owner {
        return Err("it belongs to another user than the directory it is in".to_owned());
    }
    let pointer = pointer
        .strip_prefix(b"gitdir: ")
        .ok_or("the file does not begin with `gitdir: `")?;
    let own = directory(root, line(pointer))?;
    let is_inside = |path: &Path| all.iter().any(|root| path.starts_with(&root.path));
    // The allowed directory itself gives the access, so the pointer adds none.
    if is_inside(&own.path) {
        return Ok(None);
    }
    belongs_to(&own, owner)?;
    let (work_tree, writable) = (root.path.clone(), root.writable);
    let common = match small_file(&own.handle, "commondir", MAX_GIT_POINTER_BYTES) {
        Ok((text, _)) => Some(common_of(&own, line(&text), owner)?),
        Err(_) => None,
    };
    if common
        .as_ref()
        .is_some_and(|(common, _)| is_inside(&common.path))
    {
        return Ok(None);
    }
    let back = match common {
        Some(_) => {
            let (text, _) = small_file(&own.handle, "gitdir", MAX_GIT_POINTER_BYTES)?;
            let back = Path::new(OsStr::from_bytes(line(&text)));
            back.file_name()
                .filter(|name| *name == DOT_GIT)
                .and_then(|_| back.parent())
                .map(Path::to_owned)
        }
        None => work_tree_of(&small_file(&own.handle, CONFIG, MAX_GIT_CONFIG_BYTES)?.0),
    };
    let back =
        back.ok_or_else(|| format!("`{}` does not name its work tree", own.path.display()))?;
    let back = directory(&own.handle, back.as_os_str().as_bytes());
    if !back.is_ok_and(|back| id_and_owner(&back.handle).is_ok_and(|(back, _)| back == id)) {
        return Err(format!(
            "`{}` belongs to another work tree",
            own.path.display()
        ));
    }
    is_older(root, &own, if common.is_some() { "gitdir" } else { CONFIG })?;
    Ok(Some(LinkedRepository {
        work_tree,
        writable,
        own,
        common,
    }))
}

/// Fails for a directory that is younger than the file that names it (`witness`). The file then
/// belonged to a deleted work tree at the same path.
fn is_older(root: &Root, own: &GitDirectory, witness: &str) -> Result<(), String> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
    let look = |dir: &OwnedFd, name: &str| {
        statx(dir, name, flags, StatxFlags::BTIME | StatxFlags::CTIME)
            .map_err(|errno| errno.to_string())
    };
    let is_told = |stat: &Statx, what: StatxFlags| stat.stx_mask & what.bits() != 0;
    let (made, written) = (look(&root.handle, "")?, look(&own.handle, witness)?);
    let path = own.path.join(witness);
    if !is_told(&made, StatxFlags::BTIME) || !is_told(&written, StatxFlags::CTIME) {
        return Err(format!(
            "the filesystem has no creation times, so its age against `{}` is unknown",
            path.display()
        ));
    }
    let time = |at: rustix::fs::StatxTimestamp| (at.tv_sec, at.tv_nsec);
    if time(made.stx_btime) > time(written.stx_ctime) {
        return Err(format!(
            "the directory is newer than `{0}`, which may belong to an earlier directory of this \
             name; if it is the same work tree, run `touch {0}`",
            path.display()
        ));
    }
    Ok(())
}

/// Returns the directory that `own` shares with other work trees. It must be a repository whose
/// `worktrees` contains `own`.
fn common_of(
    own: &GitDirectory,
    text: &[u8],
    owner: u32,
) -> Result<(GitDirectory, GitDirectory), String> {
    let common = directory(&own.handle, text)?;
    belongs_to(&common, owner)?;
    let is_directory = |name: &str| directory(&common.handle, name.as_bytes()).is_ok();
    let worktrees = directory(&common.handle, b"worktrees");
    // As git judges (`is_git_directory` of its setup.c).
    if !(is_directory("objects")
        && is_directory("refs")
        && small_file(&common.handle, "HEAD", MAX_GIT_POINTER_BYTES).is_ok())
    {
        return Err(format!(
            "`{}` is not a git repository",
            common.path.display()
        ));
    }
    let above = directory(&own.handle, b"..")?;
    let id = |found: &GitDirectory| id_and_owner(&found.handle).map(|(id, _)| id).ok();
    match worktrees {
        Ok(worktrees) if id(&worktrees) == id(&above) => Ok((common, worktrees)),
        _ => Err(format!(
            "`{}` is not a work tree of `{}`",
            own.path.display(),
            common.path.display()
        )),
    }
}

/// Opens the directory of this path. Fails if a part is a link.
fn directory(from: impl AsFd, path: &[u8]) -> Result<GitDirectory, String> {
    let shown = OsStr::from_bytes(path).display();
    let failed = |reason: &dyn Display| {
        format!("`{shown}` cannot be opened without following links: {reason}")
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let handle =
        openat2(from, path, flags, Mode::empty(), resolve).map_err(|errno| failed(&errno))?;
    let path = readlinkat(
        CWD,
        format!("/proc/self/fd/{}", handle.as_raw_fd()),
        Vec::new(),
    );
    let path = PathBuf::from(OsString::from_vec(
        path.map_err(|errno| failed(&errno))?.into_bytes(),
    ));
    if path.parent().is_none() {
        return Err(failed(&"it is the root directory"));
    }
    Ok(GitDirectory {
        path,
        handle: Arc::new(handle),
    })
}

fn id_and_owner(dir: impl AsFd) -> Result<(Id, u32), Errno> {
    fstat(dir).map(|stat| ((stat.st_dev, stat.st_ino), stat.st_uid))
}

fn belongs_to(dir: &GitDirectory, owner: u32) -> Result<(), String> {
    match id_and_owner(&dir.handle) {
        Ok((_, found)) if found == owner => Ok(()),
        _ => Err(format!("`{}` belongs to another user", dir.path.display())),
    }
}

/// Returns the content and the owner of a regular file.
fn small_file(dir: impl AsFd, name: &str, most: usize) -> Result<(Vec<u8>, u32), String> {
    let failed = |errno: Errno| format!("`{name}` cannot be read: {errno}");
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = openat2(dir, name, flags, Mode::empty(), resolve).map_err(failed)?;
    let stat = fstat(&file).map_err(failed)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(format!("`{name}` is not a regular file"));
    }
    let mut bytes = Vec::new();
    let read = File::from(file)
        .take(most as u64 + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| format!("`{name}` cannot be read: {error}"))?;
    if bytes.len() > most {
        Err(format!("`{name}` is larger than {most} bytes"))
    } else {
        Ok((bytes, stat.st_uid))
    }
}

/// Returns the text without its line ending.
fn line(text: &[u8]) -> &[u8] {
    let end = text
        .iter()
        .rposition(|byte| !matches!(byte, b'\n' | b'\r'))
        .map_or(0, |last| last + 1);
    &text[..end]
}

/// `core.worktree`, as git writes it: unquoted, or in quotes with backslashes before quotes and
/// backslashes.
fn work_tree_of(config: &[u8]) -> Option<PathBuf> {
    let mut found = None;
    let mut is_core = false;
    for line in config.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        if line.starts_with(b"[") {
            is_core = line.eq_ignore_ascii_case(b"[core]");
        } else if is_core
            && let Some(at) = memchr::memchr(b'=', line)
            && line[..at].trim_ascii().eq_ignore_ascii_case(b"worktree")
        {
            found = Some(unquoted(line[at + 1..].trim_ascii()));
        }
    }
    found.map(|path| PathBuf::from(OsString::from_vec(path)))
}

fn unquoted(value: &[u8]) -> Vec<u8> {
    let Some(inner) = value
        .strip_prefix(b"\"")
        .and_then(|value| value.strip_suffix(b"\""))
    else {
        return value.to_vec();
    };
    let mut is_escaped = false;
    let kept = |byte: &&u8| {
        is_escaped = **byte == b'\\' && !is_escaped;
        !is_escaped
    };
    inner.iter().filter(kept).copied().collect()
}

#[cfg(test)]
mod tests;
