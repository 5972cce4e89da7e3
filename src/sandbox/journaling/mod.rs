//! The journal of what commands change, as their supervisor writes it.
//!
//! The filter suspends each call that can change the object behind a name, or that opens an
//! existing file for writing (`seccomp/table.rs`). The supervisor records the state that would be
//! lost, then the kernel carries out the call. Meanwhile another thread of the command can change
//! the arguments of the call. That spoils only the undo of its own call.

mod held;
mod mutation;
mod note;
mod place;

use std::collections::HashMap;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use replay_files::journal::{
    Id, JournalError, Recorder, Root, SKIPPED, Skips, Stat, Store, WhenFull, Writing,
};
use replay_sys::seccomp::Notification;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use super::broker::Witness;
use super::caller::Caller;
use super::denied::Denied;
use super::fault::{Fault, StepContext};
use super::plan::{CanonicalPath, PlannedJournal};
use super::system_call::{Object, PathArgument, SystemCall};
use super::wire::Changed;
use mutation::Mutation;
use note::Note;
use place::{Places, Spot, Target, Unplaced, stat_of};

/// Read-only places that a command wanted to change, of those that are told of it.
const MAX_READ_ONLY_TOLD: usize = 3;

/// Compiler of `--undo-skip` globs; an error is the reason that they are invalid.
pub(crate) type SkipsOf = fn(&[String]) -> Result<Skips, String>;

/// The store and the roots, by handles of the outer mounts.
#[derive(Debug)]
pub(crate) struct Journal {
    store: Store,
    roots: Arc<[Root]>,
    /// `true` if changes that cannot be journaled are made nevertheless, and reported.
    drops: bool,
    /// Maximum memory of the records of one command, in bytes.
    most_bytes: Option<u64>,
}

impl Journal {
    /// Opens the store and the roots. Call it before the launcher has its own mounts.
    pub(crate) fn open(
        planned: &PlannedJournal,
        skips_of: SkipsOf,
        most_bytes: Option<u64>,
    ) -> Result<Self, Fault> {
        let step = || {
            format!(
                "open the journal of changes, `{}`",
                planned.store.path.as_path().display()
            )
        };
        let path = planned.store.path.as_path();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::INVAL).step_with(step);
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        #[expect(clippy::disallowed_methods, reason = "a directory of the server's own")]
        let parent = open(parent, flags, Mode::empty()).step_with(step)?;
        let roots = planned
            .roots
            .iter()
            .map(root)
            .collect::<Result<Arc<[Root]>, _>>()?;
        let store = Store::open(parent.as_fd(), name, path, Arc::clone(&roots));
        let mut store = store.map_err(|error| Fault::because(step(), &error.to_string()))?;
        if planned.drops {
            store.keeping.when_full = WhenFull::Drop;
        }
        if !planned.skip.is_empty() {
            let skips =
                skips_of(&planned.skip).map_err(|reason| Fault::because("--undo-skip", &reason))?;
            store.keeping.skips = Some(skips);
        }
        Ok(Self {
            store,
            roots,
            drops: planned.drops,
            most_bytes,
        })
    }

    /// The directory of the store.
    pub(crate) fn store(&self) -> BorrowedFd<'_> {
        self.store.handle()
    }

    /// Creates the journal of one command. Its entry begins with the first change.
    pub(crate) fn command(&self, title: String, call: Option<u64>) -> CommandJournal<'_> {
        let places = Places::new(Arc::clone(&self.roots));
        let outside_calls = title.clone();
        CommandJournal {
            journal: self,
            title,
            outside_calls,
            call,
            places,
            recorder: None,
            caller: None,
            gaining: HashMap::new(),
            last_unrecorded: None,
            is_session: false,
            opened: HashMap::new(),
            fault: None,
            read_only: Vec::new(),
        }
    }
}

fn root(place: &CanonicalPath) -> Result<Root, Fault> {
    let handle = super::mount::open_path(place.path.as_path())?;
    super::mount::same(&handle, place)?;
    Ok(Root {
        handle,
        shown: place.path.as_path().into(),
    })
}

/// Journal of one command's changes.
#[derive(Debug)]
pub(crate) struct CommandJournal<'a> {
    journal: &'a Journal,
    title: String,
    /// Title of the entry for changes between calls, if the program stays between calls.
    outside_calls: String,
    /// Number of the entry to continue, if the call has one already.
    call: Option<u64>,
    places: Places,
    recorder: Option<Recorder>,
    /// Last caller, which usually makes the next call, too.
    caller: Option<Caller>,
    /// By thread: the name that its last call may create, and the time of that call.
    gaining: HashMap<u32, (Spot, SystemTime)>,
    /// Last name that a call may have created in a directory of the entry's own.
    last_unrecorded: Option<Spot>,
    /// `true` if it has an entry for each of its calls, as a session has.
    is_session: bool,
    /// In a session, files that were opened for writing. A descriptor in a socket queue may still
    /// change them.
    opened: HashMap<Id, Spot>,
    /// Reason that a change could not be journaled.
    fault: Option<String>,
    /// First paths on read-only mounts that the command tried to change.
    read_only: Vec<Denied>,
}

impl Witness for CommandJournal<'_> {
    fn note(
        &mut self,
        asked: &Notification,
        call: Option<SystemCall>,
    ) -> Option<Result<(), Errno>> {
        self.settle_gains(asked.pid);
        let mutation = Mutation::of(call?)?;
        let known = self.caller.take().filter(|caller| caller.is(asked.pid));
        let noted = known.and_then(|caller| Some((self.note_by(&caller, mutation)?, caller)));
        let (noted, caller) = if let Some(noted) = noted {
            noted
        } else {
            let caller = Caller::new(asked.pid);
            (self.note_by(&caller, mutation).unwrap_or(Ok(())), caller)
        };
        self.caller = Some(caller);
        Some(noted)
    }
}

/// Error for a link or rename out of a root, as to a /tmp on the same filesystem. A change there
/// would not be journaled. In namespaces the kernel gives the same error between mounts.
const OTHER_FILESYSTEM: Unplaced = Unplaced::Refused(Errno::XDEV);

/// Maximum time from the notification of a call to the birth of the file that it creates.
const MAKING: Duration = Duration::from_secs(1);

/// Maximum number of files of a session that are remembered as opened for writing.
const MAX_OPENED: usize = 10_000;
const REFUSED: &str = "a change was refused, since it could not be undone: ";
const LOST_NAME: &str = "a program holds a file open whose name was deleted; undo cannot restore \
    what it writes there";

/// Reason that a change was not journaled.
enum Unnoted {
    /// The operation can be retried once.
    Moved(JournalError),
    Failed(JournalError),
    /// The call fails with this error.
    Refused(Errno),
    /// The known caller is gone, and another one has its number.
    Gone,
}

impl CommandJournal<'_> {
    /// Takes the paths on read-only mounts that the command tried to change.
    pub(crate) fn take_read_only(&mut self) -> Vec<Denied> {
        std::mem::take(&mut self.read_only)
    }

    /// Ends the entry, and sets the title of the next one; an empty title means none. Returns
    /// `None` if no change was recorded and none was lost.
    pub(crate) fn end_entry(&mut self, next: &str) -> Option<Changed> {
        next.clone_into(&mut self.title);
        self.settle_gains(0);
        self.is_session |= !next.is_empty();
        let recorder = self.recorder.take();
        self.gaining.clear();
        self.last_unrecorded = None;
        if recorder.as_ref().is_some_and(Recorder::has_skipped) {
            self.fault.get_or_insert_with(|| SKIPPED.to_owned());
        }
        let has_ended = recorder.is_some();
        let ended = recorder.map(|recorder| self.journal.store.end_if_changed(recorder));
        let call = match ended {
            None | Some(Ok(None)) => None,
            Some(Ok(Some(entry))) => Some(entry.number),
            Some(Err(error)) => {
                self.fault.get_or_insert_with(|| error.to_string());
                None
            }
        };
        let fault = self.fault.take();
        if !next.is_empty() && next != self.outside_calls {
            self.note_held();
        }
        (has_ended || fault.is_some()).then_some(Changed {
            call,
            fault,
            ..Changed::default()
        })
    }

    /// Records the files that earlier calls have created. The last call of the thread `asking` has
    /// ended.
    fn settle_gains(&mut self, asking: u32) {
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        let (opened, is_session, fault) = (&mut self.opened, self.is_session, &mut self.fault);
        self.gaining.retain(|thread, (spot, asked)| {
            let found = match spot.look_again() {
                Ok(found) => found.map(|found| found.id),
                Err(errno) => {
                    fault.get_or_insert_with(|| unplaced(errno).to_string());
                    return false;
                }
            };
            if found.is_none() && *thread != asking {
                return true;
            }
            // A later birth means that somebody else put it there.
            let last = asked.duration_since(UNIX_EPOCH).unwrap_or_default() + MAKING;
            let found = found.filter(|found| i128::from(found.2) <= last.as_nanos().cast_signed());
            recorder.after_create(spot.dir_id(), spot.name(), found);
            if is_session
                && opened.len() < MAX_OPENED
                && let Some(found) = found
            {
                opened.insert(found, spot.again());
            }
            false
        });
    }

    /// Records a change before its call continues. An error is the result of the call. `None` if
    /// the caller is gone.
    fn note_by(&mut self, caller: &Caller, mutation: Mutation) -> Option<Result<(), Errno>> {
        let mut noted = self.try_to_note(caller, mutation);
        // Something above it was moved, or no descriptor is left.
        if matches!(noted, Err(Unnoted::Moved(_))) {
            self.places.forget();
            noted = self.try_to_note(caller, mutation);
        }
        let error = match noted {
            Ok(()) => return Some(Ok(())),
            Err(Unnoted::Gone) => return None,
            Err(Unnoted::Refused(errno)) => return Some(Err(errno)),
            Err(Unnoted::Moved(error) | Unnoted::Failed(error)) => error,
        };
        let refused = if self.journal.drops { "" } else { REFUSED };
        self.fault
            .get_or_insert_with(|| format!("{refused}{error}"));
        let full = [libc::ENOSPC, libc::EDQUOT]
            .into_iter()
            .find(|full| error.errno() == Some(*full));
        let errno = Errno::from_raw_os_error(full.unwrap_or(libc::EIO));
        Some(if self.journal.drops {
            Ok(())
        } else {
            Err(errno)
        })
    }

    fn try_to_note(&mut self, caller: &Caller, mutation: Mutation) -> Result<(), Unnoted> {
        let note = match self
            .note_of(caller, mutation)
            .and_then(|note| self.unknown(note))
        {
            Ok(Some(note)) => note,
            Err(Unplaced::ByAnybody) if !caller.is_there() => return Err(Unnoted::Gone),
            Ok(None) | Err(Unplaced::ByAnybody) => return Ok(()),
            Err(Unplaced::Refused(errno)) => return Err(Unnoted::Refused(errno)),
            Err(Unplaced::ByUs(errno)) => {
                return Err(Unnoted::Moved(unplaced(errno)));
            }
        };
        for path in note
            .written()
            .filter_map(|spot| self.places.read_only(spot))
        {
            let denied = Denied::ReadOnly(path.as_path().into());
            if self.read_only.len() < MAX_READ_ONLY_TOLD && !self.read_only.contains(&denied) {
                self.read_only.push(denied);
            }
        }
        self.record(&note).map_err(|error| match error {
            JournalError::Moved { .. } => Unnoted::Moved(error),
            error => Unnoted::Failed(error),
        })?;
        if let Note::Gains(spot) = note {
            self.gaining.insert(caller.pid(), (spot, SystemTime::now()));
        }
        Ok(())
    }

    /// Looks up the places of a note. Returns `None` if the journal already has all data of it.
    fn unknown(&mut self, note: Option<Note>) -> Result<Option<Note>, Unplaced> {
        let recorder = self.recorder.as_ref();
        let note = match note {
            Some(note) if recorder.is_some_and(|recorder| note.is_known_to(recorder)) => {
                if let Note::Gains(spot) = note {
                    self.last_unrecorded = Some(spot);
                }
                None
            }
            note => note,
        };
        note.iter().try_for_each(Note::look)?;
        Ok(note)
    }

    /// Returns true if the journal has all metadata of an object, or needs none: programs set the
    /// metadata of a file after they have created it.
    fn knows_metadata(&mut self, id: Id) -> bool {
        let Some(recorder) = &mut self.recorder else {
            return false;
        };
        let last = self.last_unrecorded.as_ref();
        recorder.knows_metadata(id)
            || last.is_some_and(|spot| {
                let found = spot.look_again().ok().flatten();
                found.is_some_and(|found| found.id == id)
                    && recorder.is_own(spot.dir_id(), spot.name(), id)
            })
    }

    /// Returns the note to journal before a call proceeds.
    fn note_of(&mut self, caller: &Caller, mutation: Mutation) -> Result<Option<Note>, Unplaced> {
        let places = &mut self.places;
        let mut named = |at: PathArgument| places.of_name(caller, &caller.path(at, false)?);
        let note = match mutation {
            Mutation::Make(at) => named(at)?.map(Note::Gains),
            Mutation::Remove(at) => named(at)?.map(Note::Loses),
            Mutation::Rename {
                from,
                to,
                exchanges,
            } => match (named(from)?, named(to)?) {
                (Some(from), Some(to)) => Some(Note::Renames(from, to, exchanges)),
                (None, None) => None,
                _ => return Err(OTHER_FILESYSTEM),
            },
            Mutation::Link { from, to } => match (named(to)?, places.of(caller, from)) {
                (Some(to), Ok(Target::Spot(from))) => Some(Note::Links(from, to)),
                (None, Ok(Target::Spot(_))) | (Some(_), Ok(Target::Nothing)) => {
                    return Err(OTHER_FILESYSTEM);
                }
                (to, Err(Unplaced::ByAnybody)) if caller.is_there() => to.map(Note::Gains),
                (_, Err(unplaced)) => return Err(unplaced),
                (to, Ok(_)) => to.map(Note::Gains),
            },
            Mutation::Bind { address, size } => match unix_path(caller, address, size)? {
                Some(path) => places
                    .of_name(caller, &caller.path_from_here(path)?)?
                    .map(Note::Gains),
                None => None,
            },
            Mutation::Open {
                at,
                follow,
                creates,
                appends,
                writes,
            } => {
                let path = caller.path(at, false)?;
                let target = if follow {
                    places.of_followed_name(caller, &path)?
                } else {
                    places.of_name(caller, &path)?.into()
                };
                if self.is_session
                    && self.opened.len() < MAX_OPENED
                    && writes
                    && let Target::Spot(spot) = &target
                    && let Some(found) = spot.stat()
                {
                    self.opened.insert(found.id, spot.again());
                }
                match target {
                    Target::Spot(spot) if spot.stat().is_none() => {
                        creates.then_some(Note::Gains(spot))
                    }
                    target if writes => self.content(
                        target,
                        if appends {
                            Writing::Appends
                        } else {
                            Writing::Anywhere
                        },
                    ),
                    _ => None,
                }
            }
            Mutation::Truncate(object) => {
                let target = places.of(caller, object)?;
                self.content(target, Writing::Anywhere)
            }
            Mutation::Overwrite(fd) => {
                let found = open_of(caller, fd)?;
                let is_known =
                    |recorder: &Recorder| recorder.knows_content(found.id, Writing::Anywhere);
                if !found.is_file() || self.recorder.as_ref().is_some_and(is_known) {
                    return Ok(None);
                }
                let target = places.of(caller, Object::Descriptor(fd))?;
                self.content(target, Writing::Anywhere)
            }
            Mutation::Metadata(object) => {
                if let Object::Descriptor(fd) = object {
                    let id = open_of(caller, fd)?.id;
                    if self.knows_metadata(id) {
                        return Ok(None);
                    }
                }
                match self.places.of(caller, object)? {
                    Target::Spot(spot) => Some(Note::Metadata(spot)),
                    Target::Nameless(object) => {
                        self.recorded_nameless(object)?.map(Note::MetadataOf)
                    }
                    Target::Nothing => None,
                }
            }
        };
        Ok(note)
    }

    /// Returns the note for a change of content.
    fn content(&mut self, target: Target, writing: Writing) -> Option<Note> {
        match target {
            Target::Spot(spot) => {
                let is_file = spot.stat().is_some_and(|found| found.is_file());
                is_file.then_some(Note::Content(spot, writing))
            }
            Target::Nameless(object) => self
                .recorded_nameless(object)
                .ok()
                .flatten()
                .map(Note::ContentOf),
            Target::Nothing => None,
        }
    }

    /// Returns an object that lost its name if the entry has a record of it. Else it may have other
    /// names, which nobody knows, and a change of it is reported.
    fn recorded_nameless(&mut self, object: OwnedFd) -> Result<Option<OwnedFd>, Errno> {
        let found = stat_of(&object)?;
        let has = |recorder: &Recorder| recorder.has(found.id);
        if self.recorder.as_ref().is_some_and(has) {
            return Ok(Some(object));
        }
        if found.links > 0 {
            self.fault.get_or_insert_with(|| LOST_NAME.to_owned());
        }
        Ok(None)
    }

    fn record(&mut self, note: &Note) -> Result<(), JournalError> {
        let recorder = match &mut self.recorder {
            Some(recorder) => recorder,
            none => none.insert(self.journal.store.begin_in(self.call, &self.title)?),
        };
        if let Some(most) = self
            .journal
            .most_bytes
            .filter(|most| recorder.held_bytes() > *most)
        {
            return Err(JournalError::Full { most });
        }
        match note {
            Note::Gains(spot) => recorder.before_create(spot.at()),
            Note::Loses(spot) => recorder.before_remove(spot.at()),
            Note::Renames(from, to, exchanges) => {
                recorder.before_rename(from.at(), to.at(), *exchanges)
            }
            Note::Links(from, to) => recorder.links(from.at(), to.at()),
            Note::Metadata(spot) => recorder.metadata(spot.at()),
            Note::MetadataOf(object) => {
                recorder.metadata_of(object.as_fd(), Path::new("an open file"))
            }
            Note::ContentOf(object) => {
                recorder.content_of(object.as_fd(), Path::new("an open file"), Writing::Anywhere)
            }
            Note::Content(spot, writing) => recorder.content(spot.at(), *writing),
        }
    }
}

/// Returns the status of a caller's descriptor.
fn open_of(caller: &Caller, fd: i32) -> Result<Stat, Errno> {
    caller.statx(fd, Stat::WANTED).map(Stat::from)
}

fn unplaced(errno: Errno) -> JournalError {
    let what = match errno {
        Errno::PERM => {
            "reading the memory of a program that forbids it (PR_SET_DUMPABLE; it works with \
             --sandbox namespaces)"
        }
        _ => "finding the place of a change",
    };
    JournalError::Io {
        what: what.into(),
        source: errno.into(),
    }
}

/// Returns the path in a socket address, if it is a unix(7) address with a path.
fn unix_path(caller: &Caller, address: u64, size: u32) -> Result<Option<Vec<u8>>, Errno> {
    const FAMILY_BYTES: usize = size_of::<libc::sa_family_t>();
    let size = (size as usize).min(size_of::<libc::sockaddr_un>());
    if size <= FAMILY_BYTES {
        return Ok(None);
    }
    let bytes = caller.memory().bytes(address, size)?;
    let (family, path) = bytes.split_at(FAMILY_BYTES);
    if family != (libc::AF_UNIX as libc::sa_family_t).to_ne_bytes() {
        return Ok(None);
    }
    let end = path
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(path.len());
    // An abstract one begins with a zero.
    Ok((end > 0).then(|| path[..end].to_vec()))
}
