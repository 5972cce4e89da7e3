//! One directory's entries, packed: names in one buffer, sixteen bytes beside each, so that a directory of millions fits.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, FileType, RawDir, statat};
use rustix::io::Errno;

use crate::limits::LIST_BUFFER_BYTES;
use crate::policy::Kind;

/// How the entries of a tree follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By the bytes of whole paths: `a-b` stands before `a/x`.
    Paths,
    /// By the bytes of names, directory by directory: `a/x` stands before `a-b`.
    Names,
}

/// What is done with an entry when it is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Take {
    Nothing,
    Entry,
    /// The entry, and later what is below it.
    EntryAndBelow,
}

/// A place in the order: an entry, or what is below a directory.
#[derive(Debug, Clone, Copy)]
struct Slot {
    inode: u64,
    start: u32,
    length: u16,
    kind: Kind,
    below: bool,
}

/// A place of a [`Listing`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed<'a> {
    pub(super) name: &'a [u8],
    pub(super) kind: Kind,
    pub(super) inode: u64,
}

#[derive(Debug, Default)]
pub(super) struct Listing {
    names: Vec<u8>,
    slots: Vec<Slot>,
}

impl Listing {
    /// Reads an open directory from where its position is, and sorts what is taken. `buffer` is for the kernel.
    pub(super) fn read(
        dir: &OwnedFd,
        buffer: &mut Vec<u8>,
        order: Order,
        mut take: impl FnMut(&[u8], Kind) -> Take,
    ) -> Result<Self, Errno> {
        let mut listing = Self::default();
        buffer.clear();
        buffer.reserve(LIST_BUFFER_BYTES);
        let mut raw = RawDir::new(dir, buffer.spare_capacity_mut());
        while let Some(entry) = raw.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let mut kind = Kind::from(entry.file_type());
            if kind == Kind::Unknown
                && let Ok(stat) =
                    statat(dir, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT)
            {
                kind = FileType::from_raw_mode(stat.st_mode).into();
            }
            let taken = take(name, kind);
            if taken != Take::Nothing {
                listing.add(name, kind, entry.ino(), taken == Take::EntryAndBelow)?;
            }
        }
        listing.sort(order);
        Ok(listing)
    }

    fn add(&mut self, name: &[u8], kind: Kind, inode: u64, below: bool) -> Result<(), Errno> {
        let start = u32::try_from(self.names.len()).map_err(|_| Errno::OVERFLOW)?;
        let length = u16::try_from(name.len()).map_err(|_| Errno::NAMETOOLONG)?;
        self.names.extend_from_slice(name);
        self.slots.push(Slot { inode, start, length, kind, below: false });
        if below {
            // The slash belongs to what is below, and so has a part in the order of paths.
            self.names.push(b'/');
            self.slots.push(Slot { inode, start, length, kind, below: true });
        }
        Ok(())
    }

    fn sort(&mut self, order: Order) {
        let names = &self.names;
        let key = |slot: &Slot| {
            let slash = usize::from(slot.below && order == Order::Paths);
            &names[slot.start as usize..][..usize::from(slot.length) + slash]
        };
        self.slots.sort_unstable_by(|a, b| key(a).cmp(key(b)).then(a.below.cmp(&b.below)));
        self.slots.shrink_to_fit();
        self.names.shrink_to_fit();
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<Listed<'_>> {
        let slot = self.slots.get(index)?;
        let name = self.names.get(slot.start as usize..)?.get(..usize::from(slot.length))?;
        Some(Listed { name, kind: slot.kind, inode: slot.inode })
    }

    /// How many places from `index` on are entries, at most `most`.
    pub(super) fn entries_from(&self, index: usize, most: usize) -> usize {
        let rest = self.slots.get(index..).unwrap_or_default();
        rest.iter().take(most).take_while(|slot| !slot.below).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(order: Order) -> Vec<String> {
        let mut listing = Listing::default();
        for (name, dir) in [("b", false), ("a.c", false), ("a", true), ("a-b", true), ("a0", false)] {
            listing.add(name.as_bytes(), if dir { Kind::Directory } else { Kind::File }, 1, dir).unwrap();
        }
        listing.sort(order);
        let text = |index: usize| {
            let name = String::from_utf8_lossy(listing.get(index).unwrap().name).into_owned();
            if listing.entries_from(index, 1) == 0 { name + "/" } else { name }
        };
        (0..listing.len()).map(text).collect()
    }

    #[test]
    fn what_is_below_a_directory_has_a_place_of_its_own() {
        assert_eq!(ordered(Order::Paths), ["a", "a-b", "a-b/", "a.c", "a/", "a0", "b"]);
        assert_eq!(ordered(Order::Names), ["a", "a/", "a-b", "a-b/", "a.c", "a0", "b"]);
    }
}
