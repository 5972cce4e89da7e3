//! Changes as the journal records them.

use std::os::fd::OwnedFd;

use replay_files::journal::{Recorder, Stat, Writing};
use rustix::io::Errno;

use super::place::Spot;

/// A change to record in the journal.
#[derive(Debug)]
pub(super) enum Note {
    Gains(Spot),
    Loses(Spot),
    Renames(Spot, Spot, bool),
    Links(Spot, Spot),
    Metadata(Spot),
    Content(Spot, Writing),
    /// Metadata of an object that may have no name.
    MetadataOf(OwnedFd),
    ContentOf(OwnedFd),
}

impl Note {
    /// Returns true if the journal already has all data of this note.
    pub(super) fn is_known_to(&self, recorder: &Recorder) -> bool {
        let made =
            |spot: &Spot| recorder.made_both(spot.dir_id(), spot.stat().map(|found| found.id));
        match self {
            Self::Gains(spot) => recorder.knows_gain(spot.dir_id(), spot.name()),
            Self::Loses(spot) => made(spot),
            Self::Renames(from, to, _) | Self::Links(from, to) => made(from) && made(to),
            Self::Metadata(spot) => {
                let knows = |found: Stat| recorder.knows_metadata(found.id);
                spot.stat().is_none_or(knows) || made(spot)
            }
            Self::MetadataOf(_) | Self::ContentOf(_) => false,
            Self::Content(spot, writing) => {
                let knows = |found: Stat| recorder.knows_content(found.id, *writing);
                spot.stat().is_none_or(knows) || made(spot)
            }
        }
    }

    /// Returns the places in this note.
    fn spots(&self) -> [Option<&Spot>; 2] {
        match self {
            Self::Renames(from, to, _) | Self::Links(from, to) => [Some(from), Some(to)],
            Self::Gains(spot)
            | Self::Loses(spot)
            | Self::Metadata(spot)
            | Self::Content(spot, _) => [Some(spot), None],
            Self::MetadataOf(_) | Self::ContentOf(_) => [None; 2],
        }
    }

    /// Looks up the places in this note.
    pub(super) fn look(&self) -> Result<(), Errno> {
        self.spots()
            .into_iter()
            .flatten()
            .try_for_each(|spot| spot.look().map(drop))
    }

    /// Returns the places for which the kernel checks write permission. These are no sources of
    /// links, no occupied names of new files, and no missing files.
    pub(super) fn written(&self) -> impl Iterator<Item = &Spot> {
        self.spots()
            .into_iter()
            .enumerate()
            .filter_map(move |(at, spot)| {
                let spot = spot?;
                let is_there = spot.stat().is_some();
                let is_written = match self {
                    Self::Gains(_) => !is_there,
                    Self::Links(..) => at == 1 && !is_there,
                    Self::Renames(..) => at == 1 || is_there,
                    _ => is_there,
                };
                is_written.then_some(spot)
            })
    }
}
