//! Files that the programs of a session hold open between its calls.

use std::os::fd::OwnedFd;

use nix::unistd::Pid;
use replay_files::journal::{Id, Writing};
use replay_sys::shares_descriptors;

use super::place::{Spot, Target, Unplaced};
use super::{CommandJournal, MAX_OPENED, unplaced};
use crate::caller::Caller;
use crate::kill_scope::{each_descendant, threads};

const TOO_MANY_OPENED: &str = "more files were opened than can be watched; a descriptor in \
    transit over a socket may still change them";
const MOVED_AWAY: &str =
    "a file was moved or deleted; a descriptor in transit over a socket may still change it";

impl CommandJournal<'_> {
    /// Records files that programs have open for writing. Later writes to them cause no
    /// notification.
    pub(super) fn note_held(&mut self) {
        let mut held: Vec<(OwnedFd, bool)> = Vec::new();
        let mut has_queued = false;
        for pid in each_descendant().map(|pid| pid.as_raw().cast_unsigned()) {
            let process = Caller::new(pid);
            held.extend(process.mapped().into_iter().map(|file| (file, false)));
            for caller in with_own_descriptors(process) {
                held.extend(caller.written());
                has_queued |= caller.has_queued_descriptors();
            }
        }
        if has_queued {
            self.note_opened();
        }
        for (file, appends) in held {
            let writing = if appends {
                Writing::Appends
            } else {
                Writing::Anywhere
            };
            let noted = match self.places.of_object(file) {
                Ok(target) => {
                    let note = self.content(target, writing);
                    match self.unknown(note) {
                        Ok(Some(note)) => self.record(&note),
                        Ok(None) | Err(_) => Ok(()),
                    }
                }
                Err(Unplaced::ByUs(errno)) => Err(unplaced(errno)),
                Err(Unplaced::ByAnybody | Unplaced::Refused(_)) => Ok(()),
            };
            if let Err(error) = noted {
                self.fault.get_or_insert_with(|| error.to_string());
            }
        }
    }

    /// Notes all that the session has opened for writing.
    fn note_opened(&mut self) {
        if self.opened.len() == MAX_OPENED {
            self.fault.get_or_insert_with(|| TOO_MANY_OPENED.to_owned());
        }
        let opened: Vec<(Id, Spot)> = self
            .opened
            .iter()
            .map(|(id, spot)| (*id, spot.again()))
            .collect();
        for (id, spot) in opened {
            match spot.stat() {
                Some(found) if found.id == id => {
                    let note = self.content(Target::Spot(spot), Writing::Anywhere);
                    if let Some(Err(error)) = note.map(|note| self.record(&note)) {
                        self.fault.get_or_insert_with(|| error.to_string());
                    }
                }
                _ => {
                    self.opened.remove(&id);
                    self.fault.get_or_insert_with(|| MOVED_AWAY.to_owned());
                }
            }
        }
    }
}

/// Returns the threads of a process that have a table of descriptors of their own, with its first
/// thread (clone(2), `CLONE_FILES`).
fn with_own_descriptors(process: Caller) -> Vec<Caller> {
    let pid = process.pid();
    let others = threads(Pid::from_raw(pid.cast_signed())).into_iter();
    let others = others.map(|thread| thread.as_raw().cast_unsigned());
    let others = others.filter(|thread| *thread != pid && !shares_descriptors(pid, *thread));
    std::iter::once(process)
        .chain(others.map(Caller::new))
        .collect()
}
