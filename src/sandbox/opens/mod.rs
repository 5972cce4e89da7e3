//! Opens, links and renames of a command from which something is hidden by patterns ([`crate::hide`]).
//!
//! The supervisor makes them itself and hands the descriptor over (`SECCOMP_ADDFD_FLAG_SEND`); the kernel never goes on with the caller's
//! own call, so what another thread changes meanwhile decides nothing. What is opened is looked at as a descriptor: where that is, and
//! which file. Links and renames are made as well, so that no hidden file gets another name and no directory carries one away. Nor does
//! anything get a hidden name: what has one was made by the operator, so no command holds it open or has another name for it.
//!
//! The supervisor is in the mount namespace of the command, has its user and capabilities, and has entered the rules of its Landlock
//! domain ([`crate::sandbox::walls::Walls::hold_supervisor`]).
#![expect(clippy::disallowed_methods, reason = "opens what the command named, in its place")]

mod call;
mod waiting;
mod walk;

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use libc::{O_ACCMODE, O_CLOEXEC, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDWR, O_TMPFILE};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, fcntl_setfl, fstat, linkat, major, minor, openat,
    renameat_with, symlinkat,
};
use rustix::io::Errno;
use rustix::process::umask;

use super::sys::seccomp::{Notification, answer_with, respond, still_valid};
use crate::hide::Hide;
use crate::limits::OPEN_RETRIES;
use call::{Call, Named, are_known, decode};
use waiting::Waiting;
use walk::{Asker, Found, link, place};

/// The device that means the terminal of whoever opens it (tty(4)).
const OWN_TERMINAL: (u32, u32) = (5, 0);

/// Makes the opens of one command.
#[derive(Debug)]
pub struct Opens {
    hide: Arc<Hide>,
    waiting: Waiting,
    /// The places that were refused and that nobody has been told of.
    refused: Vec<PathBuf>,
}

/// What a caller gets.
enum Given {
    Descriptor(OwnedFd),
    /// That it is done.
    Nothing,
    /// Somebody else answers, when it is there.
    Later,
}

impl Opens {
    pub fn new(hide: Arc<Hide>) -> Self {
        Self { hide, waiting: Waiting::default(), refused: Vec::new() }
    }

    /// Answers a call; `None` if it is none of these.
    pub fn serve(&mut self, listener: &Arc<OwnedFd>, asked: &Notification) -> Option<std::io::Result<()>> {
        let call = decode(asked.nr, &asked.args)?;
        let cloexec = matches!(call, Call::Open { flags, .. } if flags & O_CLOEXEC != 0);
        let given = match call {
            Call::Open { at, flags, mode } => self.open(listener, asked, (at, flags, mode)),
            Call::Link { from, to, flags } => self.link(listener, asked, (from, to, flags)),
            Call::Rename { from, to, flags } => self.rename(listener, asked, (from, to, flags)),
            Call::Symlink { text, to } => self.symlink(listener, asked, text, to),
        };
        Some(match given {
            Ok(Given::Later) => Ok(()),
            Ok(Given::Nothing) => respond(listener, asked.id, Ok(0)),
            Ok(Given::Descriptor(given)) => match answer_with(listener, asked.id, given.as_fd(), cloexec) {
                Ok(_) => Ok(()),
                // It has no room for one more, and waits still.
                Err(error) => respond(listener, asked.id, Err(error.raw_os_error().unwrap_or(libc::EMFILE))),
            },
            Err(errno) => respond(listener, asked.id, Err(errno.raw_os_error())),
        })
    }

    /// Places of what was refused since this was asked before, each once.
    pub fn take_refused(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.refused)
    }

    /// Whether [`Opens::look`] has work to do now and then.
    pub fn has_to_look(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Looks after opens that wait.
    pub fn look(&mut self, listener: &OwnedFd) {
        self.waiting.look(listener);
    }

    fn open(
        &mut self,
        listener: &Arc<OwnedFd>,
        asked: &Notification,
        (at, flags, mode): (Named, i32, u32),
    ) -> Result<Given, Errno> {
        let asker = Asker(asked.pid);
        let way = asker.way(at, false)?;
        check(listener, asked)?;
        if flags & O_TMPFILE == O_TMPFILE {
            // As a filesystem without nameless files says: programs fall back.
            return Err(Errno::OPNOTSUPP);
        }
        let creates = flags & O_CREAT != 0;
        let is_exclusive = creates && flags & O_EXCL != 0;
        for _ in 0..OPEN_RETRIES {
            match asker.find(&way, flags & O_NOFOLLOW == 0 && !is_exclusive)? {
                Found::Missing(..) if !creates => return Err(Errno::NOENT),
                Found::Missing(_, _, true) => return Err(Errno::ISDIR),
                Found::Missing(dir, name, false) => {
                    self.may_name(&dir, &name, false)?;
                    // New: whatever takes the name before is not opened by this.
                    let flags = OFlags::from_bits_retain((flags | O_EXCL | O_NOFOLLOW).cast_unsigned());
                    let made = with_umask_of(asker, || openat(&dir, &name, ours(flags), Mode::from_raw_mode(mode)))?;
                    match made {
                        Err(Errno::EXIST) if !is_exclusive => {}
                        made => return Ok(Given::Descriptor(made?)),
                    }
                }
                Found::Object(..) if is_exclusive => return Err(Errno::EXIST),
                Found::Object(object, place) => {
                    let stat = fstat(&object)?;
                    self.allow(place, &stat)?;
                    return self.reopen(listener, asked, object, &stat, flags);
                }
            }
        }
        Err(Errno::AGAIN)
    }

    /// Opens what was found, and is allowed, as it was asked for.
    fn reopen(
        &mut self,
        listener: &Arc<OwnedFd>,
        asked: &Notification,
        object: OwnedFd,
        stat: &Stat,
        flags: i32,
    ) -> Result<Given, Errno> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        if flags & O_DIRECTORY != 0 && kind != FileType::Directory {
            return Err(Errno::NOTDIR);
        }
        if kind == FileType::Symlink {
            return Err(Errno::LOOP);
        }
        if kind == FileType::Directory && flags & O_CREAT != 0 {
            return Err(Errno::ISDIR);
        }
        let object = if kind == FileType::CharacterDevice && (major(stat.st_rdev), minor(stat.st_rdev)) == OWN_TERMINAL
        {
            let own = format!("/dev/pts/{}", Asker(asked.pid).terminal()?);
            openat(CWD, own, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?
        } else {
            object
        };
        let wanted = ours(OFlags::from_bits_retain((flags & !(O_CREAT | O_EXCL | O_NOFOLLOW)).cast_unsigned()));
        let access = flags & O_ACCMODE;
        let may_wait = flags & O_NONBLOCK == 0
            && match kind {
                // With both ends there is nobody to wait for (fifo(7)).
                FileType::Fifo => access != O_RDWR,
                // Somebody may hold a lease of it, that of a writer also against readers (fcntl(2)).
                FileType::RegularFile => true,
                _ => false,
            };
        if !may_wait {
            return Ok(Given::Descriptor(openat(CWD, link(&object), wanted, Mode::empty())?));
        }
        if kind == FileType::RegularFile {
            match openat(CWD, link(&object), wanted | OFlags::NONBLOCK, Mode::empty()) {
                Err(Errno::AGAIN) => {}
                opened => {
                    let opened = opened?;
                    fcntl_setfl(&opened, wanted & (OFlags::APPEND | OFlags::DIRECT | OFlags::NOATIME))?;
                    return Ok(Given::Descriptor(opened));
                }
            }
        }
        self.waiting.begin(listener, asked, object, wanted, flags & O_CLOEXEC != 0)?;
        Ok(Given::Later)
    }

    fn link(
        &mut self,
        listener: &OwnedFd,
        asked: &Notification,
        (from, to, flags): (Named, Named, i32),
    ) -> Result<Given, Errno> {
        if !are_known(flags) {
            return Err(Errno::INVAL);
        }
        let asker = Asker(asked.pid);
        let from = asker.way(from, flags & libc::AT_EMPTY_PATH != 0)?;
        let to = asker.way(to, false)?;
        check(listener, asked)?;
        let Found::Object(object, place) = asker.find(&from, flags & libc::AT_SYMLINK_FOLLOW != 0)? else {
            return Err(Errno::NOENT);
        };
        self.allow(place, &fstat(&object)?)?;
        let (dir, name) = asker.find_above(to)?;
        self.may_name(&dir, &name, false)?;
        // Whatever has the name by now: of what was looked at.
        linkat(CWD, link(&object), &dir, &name, AtFlags::SYMLINK_FOLLOW)?;
        Ok(Given::Nothing)
    }

    fn rename(
        &mut self,
        listener: &OwnedFd,
        asked: &Notification,
        (from, to, flags): (Named, Named, u32),
    ) -> Result<Given, Errno> {
        let asker = Asker(asked.pid);
        let (from, to) = (asker.way(from, false)?, asker.way(to, false)?);
        check(listener, asked)?;
        let (from, to) = (asker.find_above(from)?, asker.find_above(to)?);
        let flags = RenameFlags::from_bits_retain(flags);
        let leads_on = self.may_move(&from)?;
        self.may_name(&to.0, &to.1, leads_on)?;
        if flags.contains(RenameFlags::EXCHANGE) {
            let leads_on = self.may_move(&to)?;
            self.may_name(&from.0, &from.1, leads_on)?;
        }
        renameat_with(&from.0, &from.1, &to.0, &to.1, flags)?;
        Ok(Given::Nothing)
    }

    fn symlink(&mut self, listener: &OwnedFd, asked: &Notification, text: u64, to: Named) -> Result<Given, Errno> {
        let asker = Asker(asked.pid);
        let text = asker.text(text)?;
        let to = asker.way(to, false)?;
        check(listener, asked)?;
        let (dir, name) = asker.find_above(to)?;
        self.may_name(&dir, &name, true)?;
        symlinkat(OsStr::from_bytes(&text), &dir, &name)?;
        Ok(Given::Nothing)
    }

    /// Refuses a hidden name to whatever gets it, and one on the way to a hidden place to what leads on: a directory may hold what would
    /// be hidden there, and a link leads elsewhere.
    fn may_name(&mut self, dir: &OwnedFd, name: &OsStr, leads_on: bool) -> Result<(), Errno> {
        let place = place(dir)?.join(without_slashes(name));
        if self.hide.hides(&place) || leads_on && self.hide.is_on_the_way(&place) {
            return Err(self.refuse(place));
        }
        Ok(())
    }

    /// Refuses what would be seen elsewhere, what holds that, and what is on the way to it. Nobody else moves a hidden file to this name
    /// meanwhile: it would be refused as well. Whether it is a directory or a link.
    fn may_move(&mut self, (dir, name): &(OwnedFd, OsString)) -> Result<bool, Errno> {
        let name = without_slashes(name);
        if matches!(name.as_bytes(), b"." | b"..") {
            // The kernel's own refusal is EBUSY.
            return Ok(false);
        }
        let object = openat(dir, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let stat = fstat(&object)?;
        let place = place(&object)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_directory = kind == FileType::Directory;
        if is_directory && (self.hide.is_on_the_way(&place) || self.hide.holds_hidden(dir, name, &place, true)) {
            return Err(self.refuse(place));
        }
        self.allow(place, &stat)?;
        Ok(is_directory || kind == FileType::Symlink)
    }

    /// Refuses an object that is hidden.
    fn allow(&mut self, place: PathBuf, stat: &Stat) -> Result<(), Errno> {
        let has_other_name = stat.st_nlink > 1 && FileType::from_raw_mode(stat.st_mode) != FileType::Directory;
        let is_known = has_other_name && self.hide.is_known((stat.st_dev, stat.st_ino));
        if is_known || self.hide.hides(&place) || former(&place).is_some_and(|former| self.hide.hides(&former)) {
            return Err(self.refuse(place));
        }
        Ok(())
    }

    fn refuse(&mut self, place: PathBuf) -> Errno {
        if self.refused.len() < crate::limits::MAX_DENIED && !self.refused.contains(&place) {
            self.refused.push(place);
        }
        Errno::ACCESS
    }
}

/// Everything was read by the number of a thread. Only if the caller still waits, it was the caller's.
fn check(listener: &OwnedFd, asked: &Notification) -> Result<(), Errno> {
    if still_valid(listener, asked.id) { Ok(()) } else { Err(Errno::SRCH) }
}

/// A path's last name without what follows it.
fn without_slashes(name: &OsStr) -> &OsStr {
    let end = name.as_bytes().iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    OsStr::from_bytes(&name.as_bytes()[..end])
}

/// Flags for a descriptor of this process, which no terminal shall control.
fn ours(flags: OFlags) -> OFlags {
    flags | OFlags::CLOEXEC | OFlags::NOCTTY
}

/// Where a deleted file was.
fn former(place: &Path) -> Option<PathBuf> {
    let former = place.as_os_str().as_bytes().strip_suffix(b" (deleted)")?;
    Some(OsString::from_vec(former.to_vec()).into())
}

fn with_umask_of<T>(asker: Asker, make: impl FnOnce() -> T) -> Result<T, Errno> {
    let mask = u32::from_str_radix(&asker.status("Umask")?, 8).map_err(|_| Errno::SRCH)?;
    let own = umask(Mode::from_raw_mode(mask));
    let made = make();
    umask(own);
    Ok(made)
}
