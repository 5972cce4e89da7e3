//! Private directory of one server's commands, with their HOME and TMPDIR.
#![expect(
    clippy::disallowed_methods,
    reason = "the directory is the program's own, made and removed here"
)]

use std::ffi::{CStr, CString};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use replay_base::limits::SWEEP_MS;
use replay_base::removal::{DIRECTORY, PRIVATE, remove};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, flock, mkdirat, openat, renameat,
    symlinkat,
};
use rustix::io::Errno;

use super::fault::{Fault, StepContext};
use super::raw_string::RawString;
use super::shared_directory::SharedDirectory;

/// Name prefix of the directory that holds all private directories of a user; the user ID follows.
const DEPOT_PREFIX: &str = "replay-";
/// Name prefix of every private directory.
const PREFIX: &str = "replay-scratch-";
/// Name suffix of a directory under removal: no server uses it, whatever it contains.
const GONE: &str = ".gone";

/// Private directory of a running server. A lock on it marks it as used.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    handle: OwnedFd,
}

/// Returns the directory below `parent` that holds the private directories of all servers of this
/// user. So only this directory has to be hidden if `parent` is allowed. It is created if missing
/// and never removed: removal would also remove mounts over it for commands of another server
/// (`rmdir(2)` in another mount namespace).
///
/// Fails with EPERM if it belongs to another user, or others may use it.
pub fn depot(parent: &Path) -> Result<PathBuf, Fault> {
    let parent = std::fs::canonicalize(parent)
        .step_with(|| format!("the temporary directory `{}`", parent.display()))?;
    let user = rustix::process::geteuid().as_raw();
    let path = parent.join(format!("{DEPOT_PREFIX}{user}"));
    let made = || format!("make `{}`", path.display());
    match mkdirat(CWD, &path, PRIVATE) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno).step_with(made),
    }
    let stat = rustix::fs::lstat(&path).step_with(made)?;
    let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    if !is_directory || stat.st_uid != user || stat.st_mode & 0o077 != 0 {
        let step = format!(
            "use `{}`, which is not a directory, belongs to another user or is open to others",
            path.display()
        );
        return Err(Fault {
            step,
            cause: Errno::PERM.into(),
        });
    }
    Ok(path)
}

impl Scratch {
    /// Creates a private directory below `parent`, with `home` and `tmp` in it, and removes those
    /// of servers that are gone.
    pub fn create(parent: &Path) -> Result<Self, Fault> {
        let parent = std::fs::canonicalize(parent)
            .step_with(|| format!("the temporary directory `{}`", parent.display()))?;
        sweep(&parent);
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .step("getrandom")?;
        let path = parent.join(format!("{PREFIX}{:016x}", u64::from_ne_bytes(random)));
        let made = || format!("make `{}`", path.display());
        mkdirat(CWD, &path, PRIVATE).step_with(made)?;
        let handle = openat(CWD, &path, DIRECTORY, Mode::empty()).step_with(made)?;
        flock(&handle, FlockOperation::NonBlockingLockExclusive).step_with(made)?;
        for name in ["home", "tmp"] {
            mkdirat(&handle, name, PRIVATE).step_with(made)?;
        }
        Ok(Self { path, handle })
    }

    /// Creates symlinks in the home, each from a path below it to an absolute path.
    pub fn link_in_home(&self, links: &[(PathBuf, PathBuf)]) -> Result<(), Fault> {
        for (name, target) in links {
            let fault = || format!("link `{}` in the private home", name.display());
            let place = self.place_in_home(name).step_with(fault)?;
            symlinkat(target, &self.handle, &place).step_with(fault)?;
        }
        Ok(())
    }

    /// Creates a file in the home, given by its path below it, unless something is there.
    pub fn write_in_home(&self, name: &str, content: &str) -> Result<(), Fault> {
        let fault = || format!("write `{name}` in the private home");
        let place = self.place_in_home(Path::new(name)).step_with(fault)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&self.handle, &place, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => std::fs::File::from(file)
                .write_all(content.as_bytes())
                .step_with(fault),
            Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno).step_with(fault),
        }
    }

    /// Returns the place of a path below the home, whose parents it creates.
    fn place_in_home(&self, name: &Path) -> rustix::io::Result<PathBuf> {
        let mut made = PathBuf::from("home");
        for part in name.parent().unwrap_or(Path::new("")).components() {
            made.push(part);
            match mkdirat(&self.handle, &made, PRIVATE) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(Path::new("home").join(name))
    }

    /// Creates a directory in the home.
    pub fn make_in_home(&self, name: &str) -> io::Result<OwnedFd> {
        let place = Path::new("home").join(name);
        mkdirat(&self.handle, &place, PRIVATE)?;
        Ok(openat(&self.handle, &place, DIRECTORY, Mode::empty())?)
    }

    /// Creates a directory below the commands' TMPDIR, through which the server and a command
    /// exchange files. `kind` is its name prefix.
    pub fn lend(&self, kind: &str) -> io::Result<SharedDirectory> {
        SharedDirectory::make(&self.handle, kind)
    }

    /// Absolute path, without symlinks.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for Scratch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// Handle for removal of the private directory, independent of the mounts that this process sees by
/// then.
#[derive(Debug)]
pub struct ScratchHold {
    parent: OwnedFd,
    name: CString,
}

impl ScratchHold {
    /// Opens the directory's parent.
    pub fn hold(scratch: &RawString) -> Result<Self, Fault> {
        let path = scratch.as_path();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Fault::because("the private directory", "it has no parent"));
        };
        let parent = openat(CWD, parent, DIRECTORY, Mode::empty())
            .step("open the private directory's parent")?;
        let name = CString::new(name.as_bytes()).step("the private directory's name")?;
        Ok(Self { parent, name })
    }

    /// Marks the directory as unused: if this process is interrupted, the next server removes it.
    pub fn give_up(&mut self) {
        self.name = marked(&self.parent, &self.name);
    }

    /// Removes the directory with its contents, as far as possible.
    pub fn remove(mut self) {
        self.give_up();
        remove(&self.parent, &self.name, None);
    }
}

/// Removes unlocked directories below `parent`: their servers were killed. The server's start waits
/// for this, so long removals are left to the next start.
fn sweep(parent: &Path) {
    let until = Instant::now() + Duration::from_millis(SWEEP_MS);
    let Ok(handle) = openat(CWD, parent, DIRECTORY, Mode::empty()) else {
        return;
    };
    let Ok(entries) = Dir::read_from(&handle) else {
        return;
    };
    for entry in entries.flatten() {
        if !entry.file_name().to_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Ok(scratch) = openat(&handle, entry.file_name(), DIRECTORY, Mode::empty()) else {
            continue;
        };
        // A directory of another user cannot be locked or removed, and a new one is locked in a
        // moment.
        let own = rustix::fs::fstat(&scratch)
            .is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw());
        let made = entry.file_name().to_bytes().ends_with(GONE.as_bytes())
            || rustix::fs::statat(&scratch, "tmp", AtFlags::SYMLINK_NOFOLLOW).is_ok();
        if own && made && flock(&scratch, FlockOperation::NonBlockingLockExclusive).is_ok() {
            remove(&handle, &marked(&handle, entry.file_name()), Some(until));
        }
    }
}

/// Marks a directory as under removal, so that another server can resume an interrupted one.
/// Returns its new name.
fn marked(parent: &OwnedFd, name: &CStr) -> CString {
    let gone = CString::new([name.to_bytes(), GONE.as_bytes()].concat()).unwrap_or_default();
    let marked = name.to_bytes().ends_with(GONE.as_bytes());
    if !marked && renameat(parent, name, parent, &gone).is_ok() {
        gone
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn start_removes_only_unlocked_directories() {
        let parent = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("file"), "stays").unwrap();
        let used = Scratch::create(parent.path()).unwrap();
        let left = Scratch::create(parent.path()).unwrap().path().to_path_buf();
        fs::create_dir_all(left.join("home/a/b")).unwrap();
        fs::write(left.join("home/a/b/file"), "x").unwrap();
        symlink(outside.path(), left.join("home/a/link")).unwrap();
        fs::set_permissions(left.join("home/a"), fs::Permissions::from_mode(0o000)).unwrap();
        // An interrupted removal.
        let interrupted = parent.path().join("replay-scratch-0.gone");
        fs::create_dir(&interrupted).unwrap();
        let other = Scratch::create(parent.path()).unwrap();
        assert!(!left.try_exists().unwrap() && !interrupted.try_exists().unwrap());
        assert!(used.path().join("home").is_dir() && other.path().join("tmp").is_dir());
        assert_eq!(
            fs::read_to_string(outside.path().join("file")).unwrap(),
            "stays"
        );
        ScratchHold::hold(&used.path().into()).unwrap().remove();
        assert!(!used.path().try_exists().unwrap());
    }

    #[test]
    fn depot_is_private_to_user() {
        let parent = tempfile::tempdir().unwrap();
        let made = depot(parent.path()).unwrap();
        assert_eq!(
            fs::metadata(&made).unwrap().permissions().mode() & 0o7777,
            0o700
        );
        assert_eq!(depot(parent.path()).unwrap(), made);
        fs::set_permissions(&made, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(depot(parent.path()).unwrap_err().errno(), libc::EPERM);
        fs::remove_dir(&made).unwrap();
        symlink("/", &made).unwrap();
        assert_eq!(depot(parent.path()).unwrap_err().errno(), libc::EPERM);
    }
}
