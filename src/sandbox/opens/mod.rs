//! Links and renames of a command, and its opens if something is hidden by patterns
//! ([`replay_files::hide`]).
//!
//! The supervisor makes these calls itself and passes the descriptor (`SECCOMP_ADDFD_FLAG_SEND`).
//! The kernel never continues the caller's own call, so changes by other threads have no effect. An
//! opened file is checked by its descriptor: its path and its identity. The supervisor also makes
//! links and renames, so that no hidden file gets another name and no directory moves one away. No
//! file gets a hidden name either. So the operator made each hidden file, and no command has it
//! open or has another name for it.
//!
//! No symlink appears in a git directory, and no directory above a protected path moves (`places`).
//! Meanwhile no other command of the server moves anything. A command of another server may: so a
//! place is looked at before and after the change, which is taken back then.
//!
//! The supervisor is in the mount namespace of the command, has its user and capabilities, and has
//! entered the rules of its Landlock domain ([`crate::walls::Walls::hold_supervisor`]).
#![expect(
    clippy::disallowed_methods,
    reason = "opens what the command named, in its place"
)]

mod places;
mod removal;
mod shared_lock;
pub(super) mod waiting;

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use libc::{
    O_ACCMODE, O_CLOEXEC, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDWR, O_TMPFILE,
};
use removal::Removals;
use replay_files::hide::Hide;
use replay_sys::seccomp::{Notification, answer_with, let_go_on, respond, still_valid};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, fcntl_setfl, fstat, linkat, major,
    minor, openat, readlinkat, renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::umask;
use waiting::{Completed, Waiting};

use super::caller::{Caller, LookupResult, NameIn, link, path_of, without_slashes};
use super::denied::{Denied, display_path};
use super::raw_string::RawString;
use super::supervisor_table::SupervisorLine;
use super::system_call::{PathArgument, SystemCall, are_link_flags};
use super::thread_names::ThreadNames;

pub(crate) use places::Places;
pub(crate) use shared_lock::SharedLock;

/// Retries of an open whose name comes and goes.
const OPEN_RETRIES: usize = 16;

/// The device that means the terminal of whoever opens it (tty(4)).
const OWN_TERMINAL: (u32, u32) = (5, 0);

/// Makes the links and renames of one command, and its opens.
#[derive(Debug)]
pub(crate) struct Opens {
    /// Without it, the kernel opens.
    hide: Option<Arc<Hide>>,
    places: Rc<Places>,
    waiting: Waiting,
    removals: Removals,
    /// Opens the names of the caller's threads, if that is needed.
    thread_names: Option<ThreadNames>,
    /// The places that were refused and that nobody has been told of.
    refused: Vec<Denied>,
}

/// The answer to a caller.
enum CallAnswer {
    Descriptor(OwnedFd),
    /// Success without a value.
    Nothing,
    /// The kernel carries out the call.
    Kernel,
    /// Somebody else answers, when it is there.
    Later,
}

impl Opens {
    pub(crate) fn new(
        hide: Option<Arc<Hide>>,
        places: Places,
        line: Option<Rc<SupervisorLine>>,
    ) -> Self {
        Self {
            hide,
            places: Rc::new(places),
            waiting: Waiting::default(),
            removals: Removals::new(line),
            thread_names: None,
            refused: Vec::new(),
        }
    }

    /// Also opens the names of the caller's threads.
    pub(crate) fn naming_threads(self, thread_names: Option<ThreadNames>) -> Self {
        Self {
            thread_names,
            ..self
        }
    }

    /// Returns true if the removal of a protected path was answered here.
    pub(crate) fn has_answered(&self, place: &Path) -> bool {
        self.removals.has_answered(place)
    }

    /// Returns the protected paths that a program removed without their whole repository: they are
    /// still there.
    pub(crate) fn remaining(&self) -> impl Iterator<Item = Denied> {
        self.removals
            .remaining_paths()
            .map(|place| Denied::Kept(display_path(place.to_owned())))
    }

    /// Answers a call; `None` if it is none of these.
    pub(crate) fn serve(
        &mut self,
        listener: &Arc<OwnedFd>,
        asked: &Notification,
        call: SystemCall,
    ) -> Option<std::io::Result<()>> {
        let cloexec = matches!(call, SystemCall::Open { flags, .. } if flags & O_CLOEXEC != 0);
        let given = match call {
            SystemCall::Open { at, flags, mode } => {
                match self.thread_name(listener, asked, at, flags) {
                    Some(name) => Ok(CallAnswer::Descriptor(name)),
                    None if self.hide.is_some() => self.open(listener, asked, at, flags, mode),
                    None => {
                        self.thread_names.as_ref()?;
                        Ok(CallAnswer::Kernel)
                    }
                }
            }
            SystemCall::Remove { at, is_dir } => self.remove(listener, asked, at, is_dir),
            SystemCall::Link { from, to, flags } => self.link(listener, asked, from, to, flags),
            SystemCall::Rename { from, to, flags } => self.rename(listener, asked, from, to, flags),
            SystemCall::Symlink { text, to } => self.symlink(listener, asked, text, to),
            _ => return None,
        };
        Some(match given {
            Ok(CallAnswer::Later) => Ok(()),
            Ok(CallAnswer::Kernel) => let_go_on(listener, asked.id),
            Ok(CallAnswer::Nothing) => respond(listener, asked.id, Ok(0)),
            Ok(CallAnswer::Descriptor(given)) => {
                match answer_with(listener, asked.id, given.as_fd(), cloexec) {
                    Ok(_) => Ok(()),
                    // It has no room for one more, and waits still.
                    Err(error) => respond(
                        listener,
                        asked.id,
                        Err(error.raw_os_error().unwrap_or(libc::EMFILE)),
                    ),
                }
            }
            Err(errno) => respond(listener, asked.id, Err(errno.raw_os_error())),
        })
    }

    /// Takes the refusals since the last call, each once.
    pub(crate) fn take_refused(&mut self) -> Vec<Denied> {
        std::mem::take(&mut self.refused)
    }

    /// Returns true if [`Opens::look`] must be called periodically.
    pub(crate) fn has_to_look(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Looks after opens that wait.
    pub(crate) fn look(&mut self, listener: &OwnedFd) {
        self.waiting.look(listener);
    }

    /// Opens the name of a thread of the caller's process for writing. `None` for any other file.
    fn thread_name(
        &self,
        listener: &OwnedFd,
        asked: &Notification,
        at: PathArgument,
        flags: i32,
    ) -> Option<OwnedFd> {
        let names = self.thread_names.as_ref()?;
        let name = names.open(&Caller::new(asked.pid), at, flags)?;
        check(listener, asked).ok()?;
        Some(name)
    }

    fn open(
        &mut self,
        listener: &Arc<OwnedFd>,
        asked: &Notification,
        at: PathArgument,
        flags: i32,
        mode: u32,
    ) -> Result<CallAnswer, Errno> {
        let caller = Caller::new(asked.pid);
        let path = caller.path(at, false)?;
        check(listener, asked)?;
        if flags & O_TMPFILE == O_TMPFILE {
            // As a filesystem without nameless files says: programs fall back.
            return Err(Errno::OPNOTSUPP);
        }
        let creates = flags & O_CREAT != 0;
        let is_exclusive = creates && flags & O_EXCL != 0;
        for _ in 0..OPEN_RETRIES {
            match caller.find(&path, flags & O_NOFOLLOW == 0 && !is_exclusive)? {
                LookupResult::Missing(..) if !creates => return Err(Errno::NOENT),
                LookupResult::Missing(_, _, true) => return Err(Errno::ISDIR),
                LookupResult::Missing(dir, name, false) => {
                    let new = NameIn { dir, name };
                    self.may_name(&new, false)?;
                    // New: whatever takes the name before is not opened by this.
                    let flags =
                        OFlags::from_bits_retain((flags | O_EXCL | O_NOFOLLOW).cast_unsigned());
                    let made = with_umask_of(&caller, || {
                        openat(&new.dir, &new.name, ours(flags), Mode::from_raw_mode(mode))
                    })?;
                    match made {
                        Err(Errno::EXIST) if !is_exclusive => {}
                        made => return Ok(CallAnswer::Descriptor(made?)),
                    }
                }
                LookupResult::Object(..) if is_exclusive => return Err(Errno::EXIST),
                LookupResult::Object(object) => {
                    let stat = fstat(&object)?;
                    self.allow(path_of(&object)?, &stat)?;
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
    ) -> Result<CallAnswer, Errno> {
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
        let object = if kind == FileType::CharacterDevice
            && (major(stat.st_rdev), minor(stat.st_rdev)) == OWN_TERMINAL
        {
            let own = format!("/dev/pts/{}", Caller::new(asked.pid).terminal()?);
            openat(CWD, own, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?
        } else {
            object
        };
        let wanted = ours(OFlags::from_bits_retain(
            (flags & !(O_CREAT | O_EXCL | O_NOFOLLOW)).cast_unsigned(),
        ));
        let access = flags & O_ACCMODE;
        let may_wait = flags & O_NONBLOCK == 0
            && match kind {
                // With both ends there is nobody to wait for (fifo(7)).
                FileType::Fifo => access != O_RDWR,
                // Somebody may hold a lease of it, that of a writer also against readers
                // (fcntl(2)).
                FileType::RegularFile => true,
                _ => false,
            };
        if !may_wait {
            return Ok(CallAnswer::Descriptor(openat(
                CWD,
                link(&object),
                wanted,
                Mode::empty(),
            )?));
        }
        if kind == FileType::RegularFile {
            match openat(CWD, link(&object), wanted | OFlags::NONBLOCK, Mode::empty()) {
                Err(Errno::AGAIN) => {}
                opened => {
                    let opened = opened?;
                    fcntl_setfl(
                        &opened,
                        wanted & (OFlags::APPEND | OFlags::DIRECT | OFlags::NOATIME),
                    )?;
                    return Ok(CallAnswer::Descriptor(opened));
                }
            }
        }
        let reopen = move || {
            let opened = openat(CWD, link(&object), wanted, Mode::empty())?;
            Ok(Completed::Descriptor(opened, flags & O_CLOEXEC != 0))
        };
        self.waiting.begin(listener, asked, reopen)?;
        Ok(CallAnswer::Later)
    }

    fn link(
        &mut self,
        listener: &OwnedFd,
        asked: &Notification,
        from: PathArgument,
        to: PathArgument,
        flags: i32,
    ) -> Result<CallAnswer, Errno> {
        if !are_link_flags(flags) {
            return Err(Errno::INVAL);
        }
        let caller = Caller::new(asked.pid);
        let from = caller.path(from, flags & libc::AT_EMPTY_PATH != 0)?;
        let to = caller.path(to, false)?;
        check(listener, asked)?;
        let follow = flags & libc::AT_SYMLINK_FOLLOW != 0;
        let object = caller.find(&from, follow)?.object()?;
        let (stat, place) = (fstat(&object)?, path_of(&object)?);
        let is_writable = self.places.is_writable(&place);
        self.allow(place, &stat)?;
        let to = caller.find_above(&to)?;
        self.may_name(&to, false)?;
        if !is_writable {
            return Err(Errno::XDEV);
        }
        let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        let places = Rc::clone(&self.places);
        let _still = places.hold_still()?;
        let text = if is_link {
            Some(readlinkat(&object, "", Vec::new())?.into_bytes())
        } else {
            None
        };
        text.as_ref()
            .map_or(Ok(()), |text| self.may_link(&to, text))?;
        // Links the checked object, even if its name belongs to another one by now.
        linkat(
            CWD,
            link(&object),
            &to.dir,
            &to.name,
            AtFlags::SYMLINK_FOLLOW,
        )?;
        text.map_or(Ok(CallAnswer::Nothing), |text| self.settle_link(&to, &text))
    }

    fn rename(
        &mut self,
        listener: &OwnedFd,
        asked: &Notification,
        from: PathArgument,
        to: PathArgument,
        flags: u32,
    ) -> Result<CallAnswer, Errno> {
        let caller = Caller::new(asked.pid);
        let (from, to) = (caller.path(from, false)?, caller.path(to, false)?);
        check(listener, asked)?;
        let (from, to) = (caller.find_above(&from)?, caller.find_above(&to)?);
        let places = Rc::clone(&self.places);
        let _still = places.hold_still()?;
        let flags = RenameFlags::from_bits_retain(flags);
        let exchanges = flags.contains(RenameFlags::EXCHANGE);
        let leads_on = self.may_move(&from)?;
        self.may_name(&to, leads_on)?;
        if exchanges {
            let leads_on = self.may_move(&to)?;
            self.may_name(&from, leads_on)?;
        }
        self.may_bring(&from, &to)?;
        if exchanges {
            self.may_bring(&to, &from)?;
        }
        renameat_with(&from.dir, &from.name, &to.dir, &to.name, flags)?;
        // Either may lie elsewhere by now, or be another object.
        let settled = self.may_bring(&to, &to).and_then(|()| {
            if exchanges {
                self.may_bring(&from, &from)
            } else {
                Ok(())
            }
        });
        // Somebody else has taken it away already.
        let settled = settled.or_else(|errno| {
            if errno == Errno::NOENT {
                Ok(())
            } else {
                Err(errno)
            }
        });
        settled.inspect_err(|_| {
            let back = if exchanges {
                RenameFlags::EXCHANGE
            } else {
                RenameFlags::NOREPLACE
            };
            // It fails where another command has taken the name meanwhile; then nothing is known of
            // what is there.
            let _ = renameat_with(&to.dir, &to.name, &from.dir, &from.name, back);
        })?;
        Ok(CallAnswer::Nothing)
    }

    fn symlink(
        &mut self,
        listener: &OwnedFd,
        asked: &Notification,
        text: u64,
        to: PathArgument,
    ) -> Result<CallAnswer, Errno> {
        let caller = Caller::new(asked.pid);
        let text = caller.text(text)?;
        let to = caller.path(to, false)?;
        check(listener, asked)?;
        let to = caller.find_above(&to)?;
        self.may_name(&to, true)?;
        let places = Rc::clone(&self.places);
        let _still = places.hold_still()?;
        self.may_link(&to, &text)?;
        symlinkat(OsStr::from_bytes(&text), &to.dir, &to.name)?;
        self.settle_link(&to, &text)
    }

    /// Refuses a hidden name. With `leads_on` it also refuses names above hidden places: a
    /// directory may hold hidden files, and a link leads elsewhere.
    fn may_name(&mut self, to: &NameIn, leads_on: bool) -> Result<(), Errno> {
        if self.hide.is_none() && !self.places.is_bounded() {
            return Ok(());
        }
        let place = place_of(to)?;
        if !self.places.is_writable(&place) {
            return Err(Errno::ACCESS);
        }
        let Some(hide) = &self.hide else {
            return Ok(());
        };
        if hide.hides(&place) || leads_on && hide.is_on_the_way(&place) {
            return Err(self.refuse(Denied::Hidden, place));
        }
        Ok(())
    }

    /// Refuses a symlink in a git directory.
    fn may_link(&mut self, to: &NameIn, text: &[u8]) -> Result<(), Errno> {
        let place = place_of(to)?;
        if self.places.refuses_link(&to.dir, &place, text) {
            Err(self.refuse(Denied::GitLink, place))
        } else {
            Ok(())
        }
    }

    /// Takes a new symlink away if its directory has become a part of a git directory meanwhile.
    fn settle_link(&mut self, to: &NameIn, text: &[u8]) -> Result<CallAnswer, Errno> {
        if let Err(errno) = self.may_link(to, text) {
            if kind_of(to)? == FileType::Symlink {
                unlinkat(&to.dir, &to.name, AtFlags::empty())?;
            }
            return Err(errno);
        }
        Ok(CallAnswer::Nothing)
    }

    /// Refuses a move that brings a symlink into a git directory.
    fn may_bring(&mut self, object: &NameIn, to: &NameIn) -> Result<(), Errno> {
        match kind_of(object)? {
            FileType::Symlink => {
                let text = readlinkat(&object.dir, without_slashes(&object.name), Vec::new())?;
                self.may_link(to, text.as_bytes())
            }
            FileType::Directory => {
                let place = place_of(to)?;
                let dir = openat(
                    &object.dir,
                    without_slashes(&object.name),
                    DIRECTORY,
                    Mode::empty(),
                )?;
                if self.places.refuses_directory(&dir, &place)? {
                    return Err(self.refuse(Denied::GitLink, place));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Refuses what would be seen elsewhere, what holds that, and what is on the way to it. Nobody
    /// else moves a hidden file to this name meanwhile: it would be refused as well. Refuses a
    /// directory above a protected path. Whether it is a directory or a link.
    fn may_move(&mut self, from: &NameIn) -> Result<bool, Errno> {
        let (dir, name) = (&from.dir, without_slashes(&from.name));
        if matches!(name.as_bytes(), b"." | b"..") {
            // The kernel's own refusal is EBUSY.
            return Ok(false);
        }
        if self.places.is_bounded() && !self.places.is_writable(&place_of(from)?) {
            return Err(Errno::ACCESS);
        }
        let Some(hide) = self.hide.clone() else {
            let kind = kind_of(from)?;
            if kind == FileType::Directory && self.places.is_fixed(&place_of(from)?) {
                return Err(self.refuse_move(place_of(from)?));
            }
            return Ok(matches!(kind, FileType::Directory | FileType::Symlink));
        };
        let object = openat(
            dir,
            name,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let stat = fstat(&object)?;
        let place = path_of(&object)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_directory = kind == FileType::Directory;
        if is_directory && self.places.is_fixed(&place) {
            return Err(self.refuse_move(place));
        }
        if is_directory
            && (hide.is_on_the_way(&place) || hide.holds_hidden(dir, name, &place, true))
        {
            return Err(self.refuse(Denied::Hidden, place));
        }
        self.allow(place, &stat)?;
        Ok(is_directory || kind == FileType::Symlink)
    }

    /// Refuses an object that is hidden.
    fn allow(&mut self, place: PathBuf, stat: &Stat) -> Result<(), Errno> {
        let Some(hide) = &self.hide else {
            return Ok(());
        };
        let has_other_name =
            stat.st_nlink > 1 && FileType::from_raw_mode(stat.st_mode) != FileType::Directory;
        let is_known = has_other_name && hide.is_known((stat.st_dev, stat.st_ino));
        if is_known
            || hide.hides(&place)
            || former(&place).is_some_and(|former| hide.hides(&former))
        {
            return Err(self.refuse(Denied::Hidden, place));
        }
        Ok(())
    }

    fn refuse_move(&mut self, place: PathBuf) -> Errno {
        self.refuse(Denied::Move, place);
        // As for a directory on which something is mounted (rename(2)).
        Errno::BUSY
    }

    fn refuse(&mut self, why: fn(RawString) -> Denied, place: PathBuf) -> Errno {
        let denied = why(display_path(place));
        if self.refused.len() < replay_base::limits::MAX_DENIED && !self.refused.contains(&denied) {
            self.refused.push(denied);
        }
        Errno::ACCESS
    }
}

const DIRECTORY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The place of a name.
fn place_of(NameIn { dir, name }: &NameIn) -> Result<PathBuf, Errno> {
    Ok(path_of(dir)?.join(without_slashes(name)))
}

fn kind_of(NameIn { dir, name }: &NameIn) -> Result<FileType, Errno> {
    let stat = statat(dir, without_slashes(name), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode))
}

/// Everything was read by the number of a thread. Only if the caller still waits, it was the
/// caller's.
fn check(listener: &OwnedFd, asked: &Notification) -> Result<(), Errno> {
    if still_valid(listener, asked.id) {
        Ok(())
    } else {
        Err(Errno::SRCH)
    }
}

/// Flags for a descriptor of this process, which no terminal shall control.
fn ours(flags: OFlags) -> OFlags {
    flags | OFlags::CLOEXEC | OFlags::NOCTTY
}

/// Returns the former path of a deleted file.
fn former(place: &Path) -> Option<PathBuf> {
    let former = place.as_os_str().as_bytes().strip_suffix(b" (deleted)")?;
    Some(OsString::from_vec(former.to_vec()).into())
}

fn with_umask_of<T>(caller: &Caller, make: impl FnOnce() -> T) -> Result<T, Errno> {
    let mask = u32::from_str_radix(&caller.status("Umask")?, 8).map_err(|_| Errno::SRCH)?;
    let own = umask(Mode::from_raw_mode(mask));
    let made = make();
    umask(own);
    Ok(made)
}
