//! Compares overlays with their lower directories.
//!
//! Upper directories only tell where to look. A path in none of them is unchanged, unless an opaque
//! directory above hides it. The current state is read from the overlay itself, so only the kernel
//! interprets its records of deleted and replaced files. All files are opened by handle, and no
//! link, pipe or device is opened for reading.
#![expect(
    clippy::disallowed_methods,
    reason = "everything starts at a handle of an overlay"
)]

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use replay_base::limits::{MAX_DRY_RUN_CONTENT_BYTES, MAX_NAMED_CHANGES, MAX_SHOWN_FILE_BYTES};
use replay_files::journal::Change;
use rustix::fs::{
    Dir, FileType, Mode, OFlags, SeekFrom, Stat, chmod, fgetxattr, fstat, fstatvfs, open, openat,
    readlinkat, seek,
};
use rustix::io::{Errno, pread};

use super::attributes::attributes;
use super::overlay::Overlay;
use super::report::{Content, DryRunReport, ReportedChange};

/// Time limit for finding the changes of a dry run, in milliseconds: less than
/// [`KILL_WAIT_MS`](replay_base::limits::KILL_WAIT_MS).
const DRY_RUN_LOOK_MS: u64 = 2000;
/// Piece in which contents are compared, in bytes.
const DRY_RUN_READ_BYTES: usize = 64 * 1024;
/// Names that are searched for the changes of a dry run, and the deepest level below a read-write
/// directory.
const MAX_DRY_RUN_NAMES: usize = 200_000;
const MAX_DRY_RUN_LEVELS: usize = 128;

/// Has an upper directory that was made in the place of a removed one ("opaque" in overlayfs.rst);
/// not those that were made in it.
const HIDES_LOWER: &str = "user.overlay.opaque";

/// Something found in a directory.
struct FoundEntry {
    fd: OwnedFd,
    stat: Stat,
    /// In an overlay: what the command left, and nobody needs any more. Else it is what the user
    /// has.
    is_left: bool,
}

impl FoundEntry {
    fn in_dir(dir: &OwnedFd, name: &OsStr, is_left: bool) -> Result<Option<Self>, Errno> {
        match openat(
            dir,
            name,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        ) {
            Err(Errno::NOENT) => Ok(None),
            found => Self::new(found?, is_left).map(Some),
        }
    }

    fn new(fd: OwnedFd, is_left: bool) -> Result<Self, Errno> {
        Ok(Self {
            stat: fstat(&fd)?,
            fd,
            is_left,
        })
    }

    fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    fn is_directory(&self) -> bool {
        self.kind() == FileType::Directory
    }

    /// To be read. A command may have taken the right to from itself.
    fn opened(&self) -> Result<OwnedFd, Errno> {
        let path = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
        let open = || {
            open(
                &path,
                OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC,
                Mode::empty(),
            )
        };
        match open() {
            Err(Errno::ACCESS) if self.is_left => chmod(&path, Mode::RWXU).and_then(|()| open()),
            opened => opened,
        }
    }

    fn target(&self) -> Result<OsString, Errno> {
        Ok(OsString::from_vec(
            readlinkat(&self.fd, "", Vec::new())?.into_bytes(),
        ))
    }

    /// Returns true if mode, owner, modification time and attributes are equal. The time of
    /// directories is ignored, since each change of an entry sets it.
    fn is_like(&self, other: &Self) -> Result<bool, Errno> {
        let plain = |Self { stat, .. }: &Self| {
            let time = (!self.is_directory()).then_some((stat.st_mtime, stat.st_mtime_nsec));
            (stat.st_mode, stat.st_uid, stat.st_gid, time)
        };
        if plain(self) != plain(other) {
            return Ok(false);
        }
        let has_attributes = matches!(self.kind(), FileType::Directory | FileType::RegularFile);
        Ok(!has_attributes || attributes(&self.opened()?)? == attributes(&other.opened()?)?)
    }
}

/// Position of an entry in the tree.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    /// Number of directories above the entry.
    levels: usize,
    /// `true` if a directory above replaced a deleted one, so that all old entries are gone.
    is_hidden: bool,
}

/// Collects what has changed.
pub(super) struct Comparison {
    report: DryRunReport,
    until: Instant,
    /// Number of names that may still be read.
    names_left: usize,
    unread: usize,
    is_cut: bool,
    is_full: bool,
}

impl Comparison {
    pub(super) fn new() -> Self {
        Self {
            report: DryRunReport::default(),
            until: Instant::now() + Duration::from_millis(DRY_RUN_LOOK_MS),
            names_left: MAX_DRY_RUN_NAMES,
            unread: 0,
            is_cut: false,
            is_full: false,
        }
    }

    pub(super) fn add(&mut self, overlay: Overlay) {
        let Overlay {
            place,
            lower,
            upper,
            merged,
        } = overlay;
        self.is_full |= fstatvfs(&upper).is_ok_and(|room| room.f_bfree == 0 || room.f_ffree == 0);
        let compared = FoundEntry::new(upper, true).and_then(|upper| {
            let (merged, lower) = (
                FoundEntry::new(merged, true)?,
                FoundEntry::new(lower, false)?,
            );
            self.both(&place, &lower, &merged, Some(upper), Below::default())
        });
        self.unread += usize::from(compared.is_err());
    }

    pub(super) fn end(mut self) -> DryRunReport {
        let full = "the space for the writes of a dry run was used up";
        let cut = "there are too many files to compare";
        let unread = format!("{} could not be read", self.unread);
        let gaps = [
            (self.is_full, full.to_owned()),
            (self.is_cut, cut.to_owned()),
            (self.unread > 0, unread),
        ];
        self.report.gaps = gaps
            .into_iter()
            .filter_map(|(is_so, gap)| is_so.then_some(gap))
            .collect();
        self.report
    }

    /// A directory of which there is an upper one.
    fn directory(
        &mut self,
        place: &Path,
        [lower, merged, upper]: [&FoundEntry; 3],
        mut at: Below,
    ) -> Result<(), Errno> {
        if at.levels >= MAX_DRY_RUN_LEVELS {
            self.is_cut = true;
            return Ok(());
        }
        at.levels += 1;
        let [lower, merged, upper] = [lower.opened()?, merged.opened()?, upper.opened()?];
        let mut names = self.names(&upper)?;
        at.is_hidden |= fgetxattr(&upper, HIDES_LOWER, &mut [0; 1]).is_ok();
        if at.is_hidden {
            names.append(&mut self.names(&lower)?);
        }
        for name in names {
            if self.is_late() {
                break;
            }
            let compared = self.name(&place.join(&name), &name, [&lower, &merged, &upper], at);
            self.unread += usize::from(compared.is_err());
        }
        Ok(())
    }

    fn name(
        &mut self,
        place: &Path,
        name: &OsStr,
        [lower, merged, upper]: [&OwnedFd; 3],
        at: Below,
    ) -> Result<(), Errno> {
        match (
            FoundEntry::in_dir(lower, name, false)?,
            FoundEntry::in_dir(merged, name, true)?,
        ) {
            (None, None) => Ok(()),
            (None, Some(merged)) => {
                self.tell(place, Change::Created, None, Some(&merged));
                Ok(())
            }
            (Some(lower), None) => {
                self.tell(place, Change::Deleted, Some(&lower), None);
                self.deleted_below(place, &lower, at.levels)
            }
            (Some(lower), Some(merged)) if lower.kind() != merged.kind() => {
                self.tell(place, Change::Edited, Some(&lower), Some(&merged));
                self.deleted_below(place, &lower, at.levels)
            }
            (Some(lower), Some(merged)) => self.both(
                place,
                &lower,
                &merged,
                FoundEntry::in_dir(upper, name, true)?,
                at,
            ),
        }
    }

    /// Something of the same kind as before.
    fn both(
        &mut self,
        place: &Path,
        lower: &FoundEntry,
        merged: &FoundEntry,
        upper: Option<FoundEntry>,
        at: Below,
    ) -> Result<(), Errno> {
        let is_same = match lower.kind() {
            FileType::Directory => true,
            FileType::RegularFile => self.has_same_bytes(lower, merged)?,
            FileType::Symlink => lower.target()? == merged.target()?,
            _ => lower.stat.st_rdev == merged.stat.st_rdev,
        };
        if !is_same {
            self.tell(place, Change::Edited, Some(lower), Some(merged));
        } else if !merged.is_like(lower)? {
            self.tell(place, Change::Metadata, Some(lower), Some(merged));
        }
        match upper.filter(|upper| lower.is_directory() && upper.is_directory()) {
            Some(upper) => self.directory(place, [lower, merged, &upper], at),
            None => Ok(()),
        }
    }

    fn deleted_below(
        &mut self,
        place: &Path,
        lower: &FoundEntry,
        level: usize,
    ) -> Result<(), Errno> {
        if !lower.is_directory() {
            return Ok(());
        }
        if level >= MAX_DRY_RUN_LEVELS {
            self.is_cut = true;
            return Ok(());
        }
        let dir = lower.opened()?;
        for name in self.names(&dir)? {
            if self.is_late() {
                break;
            }
            if let Some(found) = FoundEntry::in_dir(&dir, &name, false)? {
                let place = place.join(&name);
                self.tell(&place, Change::Deleted, Some(&found), None);
                self.deleted_below(&place, &found, level + 1)?;
            }
        }
        Ok(())
    }

    /// Reads the names in a directory, within the limits of time and number.
    fn names(&mut self, dir: &OwnedFd) -> Result<BTreeSet<OsString>, Errno> {
        let mut names = BTreeSet::new();
        for entry in Dir::read_from(dir)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name == b"." || name == b".." {
                continue;
            }
            if self.names_left == 0 || self.is_late() {
                self.is_cut = true;
                break;
            }
            self.names_left -= 1;
            names.insert(OsString::from_vec(name));
        }
        Ok(names)
    }

    fn is_late(&mut self) -> bool {
        let is_late = Instant::now() >= self.until;
        self.is_cut |= is_late;
        is_late
    }

    fn has_same_bytes(&mut self, lower: &FoundEntry, merged: &FoundEntry) -> Result<bool, Errno> {
        if lower.stat.st_size != merged.stat.st_size {
            return Ok(false);
        }
        let (lower, merged) = (lower.opened()?, merged.opened()?);
        let [mut one, mut other] = [(); 2].map(|()| vec![0; DRY_RUN_READ_BYTES]);
        let mut at = 0;
        loop {
            at = next_data(&lower, at)?.min(next_data(&merged, at)?);
            let got = read(&lower, &mut one, at)?;
            if read(&merged, &mut other, at)? != got
                || one[..got].cmp(&other[..got]) != Ordering::Equal
            {
                return Ok(false);
            }
            at += got as u64;
            // A file that cannot be compared in time counts as changed.
            if got == 0 || self.is_late() {
                return Ok(got == 0);
            }
        }
    }

    fn tell(
        &mut self,
        place: &Path,
        change: Change,
        lower: Option<&FoundEntry>,
        merged: Option<&FoundEntry>,
    ) {
        let report = &mut self.report;
        match report.counts.iter_mut().find(|(known, _)| *known == change) {
            Some((_, count)) => *count += 1,
            None => report.counts.push((change.clone(), 1)),
        }
        if report.told.len() < MAX_NAMED_CHANGES {
            let is_shown = change != Change::Metadata;
            let [before, after] = [lower, merged].map(|found| self.content(found, is_shown));
            self.report.told.push(ReportedChange {
                path: place.into(),
                change,
                before,
                after,
            });
        }
    }

    fn content(&mut self, found: Option<&FoundEntry>, is_shown: bool) -> Content {
        let Some(found) = found else {
            return Content::Nothing;
        };
        match found.kind() {
            FileType::Directory => Content::Directory,
            FileType::Symlink => found
                .target()
                .map_or(Content::Special, |target| Content::Link(target.into())),
            FileType::RegularFile => {
                let size = u64::try_from(found.stat.st_size).unwrap_or(0);
                let has_room = is_shown
                    && size <= MAX_SHOWN_FILE_BYTES
                    && size + self.report.contents.len() as u64 <= MAX_DRY_RUN_CONTENT_BYTES;
                let at = self.report.contents.len();
                let at = (has_room && self.take_in(found, size).is_ok()).then_some(at);
                Content::File { size, at }
            }
            _ => Content::Special,
        }
    }

    /// Appends exactly `size` bytes of a file, or none.
    fn take_in(&mut self, found: &FoundEntry, size: u64) -> Result<(), Errno> {
        let mut bytes = vec![0; size as usize];
        if read(&found.opened()?, &mut bytes, 0)? != bytes.len() {
            return Err(Errno::IO);
        }
        self.report.contents.append(&mut bytes);
        Ok(())
    }
}

/// Returns the offset of the next data outside holes, or of the end of the file.
fn next_data(file: &OwnedFd, at: u64) -> Result<u64, Errno> {
    match seek(file, SeekFrom::Data(at)) {
        Err(Errno::NXIO) => seek(file, SeekFrom::End(0)),
        found => found,
    }
}

/// Fills the buffer as far as the file goes.
fn read(file: &OwnedFd, buffer: &mut [u8], at: u64) -> Result<usize, Errno> {
    let mut done = 0;
    while done < buffer.len() {
        match pread(file, &mut buffer[done..], at + done as u64) {
            Ok(0) => break,
            Ok(got) => done += got,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(done)
}
