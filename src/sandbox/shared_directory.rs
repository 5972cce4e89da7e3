//! Directory below the commands' TMPDIR through which the server and one command exchange files.
#![expect(
    clippy::disallowed_methods,
    reason = "the directory is the program's own, made and removed here"
)]

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use replay_base::limits::SWEEP_MS;
use replay_base::removal::{DIRECTORY, PRIVATE, remove};
use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat2};
use rustix::io::{Errno, pread};

/// Commands own the directory: one of them could put a symlink or a FIFO there.
const INSIDE: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);

/// Created by [`super::Scratch::lend`]; removed with its contents on drop.
#[derive(Debug)]
pub struct SharedDirectory {
    name: String,
    tmp: OwnedFd,
    directory: OwnedFd,
}

impl SharedDirectory {
    /// Creates a directory below `scratch`'s `tmp` with the name prefix `kind`.
    pub(super) fn make(scratch: &OwnedFd, kind: &str) -> io::Result<Self> {
        Self::beside(
            openat2(scratch, "tmp", DIRECTORY, Mode::empty(), INSIDE)?,
            kind,
        )
    }

    fn beside(tmp: OwnedFd, kind: &str) -> io::Result<Self> {
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        let name = format!("{kind}-{:016x}", u64::from_ne_bytes(random));
        mkdirat(&tmp, &name, PRIVATE)?;
        let directory = openat2(&tmp, &name, DIRECTORY, Mode::empty(), INSIDE)?;
        Ok(Self {
            name,
            tmp,
            directory,
        })
    }

    /// Name of the directory below the commands' TMPDIR.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Creates another directory beside it.
    pub fn another(&self, kind: &str) -> io::Result<Self> {
        Self::beside(self.tmp.try_clone()?, kind)
    }

    /// Creates a directory in it.
    pub fn make_directory(&self, name: &str) -> io::Result<()> {
        Ok(mkdirat(&self.directory, name, PRIVATE)?)
    }

    /// Writes a new file.
    pub fn put(&self, file: &str, bytes: &[u8]) -> io::Result<()> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat2(
            &self.directory,
            file,
            flags,
            Mode::RUSR | Mode::WUSR,
            INSIDE,
        )?;
        File::from(file).write_all(bytes)
    }

    /// Returns the names of its entries.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let entries = Dir::read_from(&self.directory)?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names
            .filter(|name| !matches!(name.as_deref(), Ok("." | "..")))
            .collect()
    }

    /// Reads a file that a command wrote, from `offset` on, at most `most` bytes. Empty if it is
    /// missing or no regular file.
    pub fn read(&self, file: &str, offset: u64, most: usize) -> io::Result<Vec<u8>> {
        let flags =
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match openat2(&self.directory, file, flags, Mode::empty(), INSIDE) {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::XDEV) => return Ok(Vec::new()),
            Err(errno) => return Err(errno.into()),
        };
        let stat = fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(Vec::new());
        }
        let length = u64::try_from(stat.st_size)
            .unwrap_or(0)
            .saturating_sub(offset);
        let mut bytes = vec![0; most.min(usize::try_from(length).unwrap_or(usize::MAX))];
        let mut done = 0;
        while done < bytes.len() {
            match pread(&file, &mut bytes[done..], offset + done as u64) {
                // The file was truncated meanwhile.
                Ok(0) => break,
                Ok(got) => done += got,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        bytes.truncate(done);
        Ok(bytes)
    }
}

impl Drop for SharedDirectory {
    fn drop(&mut self) {
        // The rest is removed with the private directory.
        if let Ok(name) = CString::new(self.name.as_str()) {
            remove(
                &self.tmp,
                &name,
                Some(Instant::now() + Duration::from_millis(SWEEP_MS)),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::Scratch;

    #[test]
    fn read_follows_no_symlink_or_fifo() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(parent.path()).unwrap();
        let lent = scratch.lend("run").unwrap();
        let place = scratch.path().join("tmp").join(lent.name());
        lent.put("plugin.py", b"pass\n").unwrap();
        assert_eq!(lent.read("plugin.py", 1, 3).unwrap(), b"ass");
        assert_eq!(lent.read("plugin.py", 9, 3).unwrap(), b"");
        assert_eq!(
            lent.put("plugin.py", b"again").unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        std::fs::write(parent.path().join("secret"), "no").unwrap();
        symlink(parent.path().join("secret"), place.join("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, place.join("pipe"), PRIVATE).unwrap();
        std::fs::create_dir(place.join("directory")).unwrap();
        for file in ["link", "pipe", "directory", "absent", "../../home"] {
            assert_eq!(lent.read(file, 0, 9).unwrap(), b"", "{file}");
        }
        drop(lent);
        assert!(!place.try_exists().unwrap());
        assert_eq!(
            std::fs::read_to_string(parent.path().join("secret")).unwrap(),
            "no"
        );
    }
}
