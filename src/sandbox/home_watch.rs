//! Watch of files in the private HOME that stand for the operator's: which of them commands opened.
#![expect(
    clippy::disallowed_methods,
    reason = "the private directory is the program's own"
)]

use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

use super::scratch::Scratch;

/// Length of the buffer for events, in bytes.
const EVENT_BYTES: usize = 4096;

/// A watch of the directories of the files: inotify tells no lookups, only opens (inotify(7)).
#[derive(Debug)]
pub struct HomeWatch {
    inotify: OwnedFd,
    home: OwnedFd,
    /// Watch descriptor and name of each file.
    files: Vec<(i32, OsString)>,
}

impl HomeWatch {
    /// Watches files that exist, given by their paths below HOME.
    pub fn start<'a>(scratch: &Scratch, paths: impl Iterator<Item = &'a str>) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let home = openat(scratch.as_fd(), "home", directory, Mode::empty())?;
        let mut files = Vec::new();
        for path in paths {
            let place = scratch.path().join("home").join(path);
            let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
                continue;
            };
            let flags = WatchFlags::OPEN | WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW;
            let descriptor = inotify::add_watch(&inotify, parent, flags)?;
            files.push((descriptor, name.to_owned()));
        }
        Ok(Self {
            inotify,
            home,
            files,
        })
    }

    /// Takes the files that were opened since the last call, by their place in the list; nothing if
    /// the kernel lost events.
    pub fn take_opened(&self) -> Vec<usize> {
        let mut opened = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); EVENT_BYTES];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let mut has_lost = false;
        while let Ok(event) = reader.next() {
            has_lost |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let Some(name) = event.file_name() else {
                continue;
            };
            let name = OsStr::from_bytes(name.to_bytes());
            let is_it =
                |(descriptor, known): &(i32, OsString)| *descriptor == event.wd() && known == name;
            if let Some(index) = self.files.iter().position(is_it)
                && !opened.contains(&index)
            {
                opened.push(index);
            }
        }
        if has_lost { Vec::new() } else { opened }
    }

    /// Returns true if HOME surely lacks this path below it.
    pub fn lacks(&self, below: &Path) -> bool {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let found = openat2(self.home.as_fd(), below, flags, Mode::empty(), inside);
        found.is_err_and(|errno| errno == Errno::NOENT)
    }
}
