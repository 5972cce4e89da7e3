//! Compact listing of a directory: all names in one buffer, and sixteen bytes per entry, so that
//! millions of entries fit.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, StatxAttributes, StatxFlags, statx};
use rustix::io::Errno;

use crate::policy::FileKind;

use super::dir::each_entry;
use super::version::{Version, is_honest};

/// Order of the entries of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By the bytes of whole paths: `a-b` before `a/x`.
    Paths,
    /// By the bytes of names, directory by directory: `a/x` before `a-b`.
    Names,
}

/// A position in the order: an entry, or the content of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    inode: u64,
    start: u32,
    length: u16,
    kind: FileKind,
    below: bool,
}

const KINDS: [FileKind; 7] = [
    FileKind::File,
    FileKind::Directory,
    FileKind::Symlink,
    FileKind::Fifo,
    FileKind::Socket,
    FileKind::Device,
    FileKind::Unknown,
];

impl Slot {
    /// Decodes a slot; `None` if its range of `names` is not a valid name.
    fn unpack(packed: &[u8; size_of::<Self>()], names: &[u8]) -> Option<Self> {
        let [inode @ .., _, _, _, _, _, _, _, _] = *packed;
        let [_, _, _, _, _, _, _, _, s0, s1, s2, s3, l0, l1, kind, below] = *packed;
        let (start, length) = (
            u32::from_le_bytes([s0, s1, s2, s3]),
            u16::from_le_bytes([l0, l1]),
        );
        let kind = *KINDS.iter().find(|known| **known as u8 == kind)?;
        let rest = names.get(start as usize..)?;
        let (name, after) = rest.split_at_checked(length.into())?;
        let is_name =
            !matches!(name, b"" | b"." | b"..") && memchr::memchr2(b'/', 0, name).is_none();
        let is_whole = below == 0 || kind == FileKind::Directory && after.first() == Some(&b'/');
        let inode = u64::from_le_bytes(inode);
        (is_name && is_whole).then_some(Self {
            inode,
            start,
            length,
            kind,
            below: below != 0,
        })
    }
}

/// Decoded position of a [`Listing`].
#[derive(Debug, Clone, Copy)]
pub(super) struct ListedEntry<'a> {
    pub(super) name: &'a [u8],
    pub(super) kind: FileKind,
    pub(super) inode: u64,
    /// `true` for the content of the directory, `false` for the directory itself.
    pub(super) below: bool,
}

/// All entries of a directory and, for each subdirectory, a position for its content; in the order
/// of paths.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Listing {
    names: Vec<u8>,
    slots: Vec<Slot>,
    /// `true` if the directory lacked the file type of an entry.
    has_unknown: bool,
}

impl Listing {
    /// Reads an open directory from its file offset on. `buffer` is used by the kernel.
    pub(super) fn read(dir: &OwnedFd, buffer: &mut Vec<u8>) -> Result<Self, Errno> {
        let mut listing = Self::default();
        each_entry(dir, buffer, |entry| {
            listing.has_unknown |= entry.was_asked;
            listing.add(entry.name, entry.kind, entry.inode)
        })?;
        listing.sort();
        Ok(listing)
    }

    /// Returns the number of positions: one per entry, and one for the content of each
    /// subdirectory.
    pub fn places(&self) -> usize {
        self.slots.len()
    }

    /// Returns the position of an entry.
    pub fn place_of(&self, name: &[u8]) -> Option<usize> {
        self.slots
            .binary_search_by(|slot| self.key(slot).cmp(name).then(slot.below.cmp(&false)))
            .ok()
    }

    /// Returns the name at a position.
    pub fn name(&self, place: usize) -> Option<&[u8]> {
        self.get(place).map(|listed| listed.name)
    }

    /// Returns true if the directory contained the file types of all entries.
    pub fn knows_kinds(&self) -> bool {
        !self.has_unknown
    }

    /// Returns the memory used, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.names.capacity() + self.slots.capacity() * size_of::<Slot>()
    }

    /// Appends the encoding that [`Listing::unpack`] reads.
    pub fn pack(&self, out: &mut Vec<u8>) {
        for number in [
            self.slots.len() as u64,
            self.names.len() as u64,
            u64::from(self.has_unknown),
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for slot in &self.slots {
            out.extend_from_slice(&slot.inode.to_le_bytes());
            out.extend_from_slice(&slot.start.to_le_bytes());
            out.extend_from_slice(&slot.length.to_le_bytes());
            out.extend_from_slice(&[slot.kind as u8, u8::from(slot.below)]);
        }
        out.extend_from_slice(&self.names);
    }

    /// Decodes a listing from the front of `bytes`; `None` if it is invalid.
    pub fn unpack(bytes: &mut &[u8]) -> Option<Self> {
        let mut number =
            || usize::try_from(u64::from_le_bytes(bytes.split_off(..8)?.try_into().ok()?)).ok();
        let (count, length, has_unknown) = (number()?, number()?, number()? != 0);
        let packed = bytes.split_off(..count.checked_mul(size_of::<Slot>())?)?;
        let names = bytes.split_off(..length)?.to_vec();
        let slots = packed
            .as_chunks::<{ size_of::<Slot>() }>()
            .0
            .iter()
            .map(|slot| Slot::unpack(slot, &names));
        Some(Self {
            slots: slots.collect::<Option<_>>()?,
            names,
            has_unknown,
        })
    }

    fn add(&mut self, name: &[u8], kind: FileKind, inode: u64) -> Result<(), Errno> {
        let start = u32::try_from(self.names.len()).map_err(|_| Errno::OVERFLOW)?;
        let length = u16::try_from(name.len()).map_err(|_| Errno::NAMETOOLONG)?;
        self.names.extend_from_slice(name);
        self.slots.push(Slot {
            inode,
            start,
            length,
            kind,
            below: false,
        });
        if kind == FileKind::Directory {
            // The slash belongs to the content, and so takes part in the order of paths.
            self.names.push(b'/');
            self.slots.push(Slot {
                inode,
                start,
                length,
                kind,
                below: true,
            });
        }
        Ok(())
    }

    fn key(&self, slot: &Slot) -> &[u8] {
        key(&self.names, slot)
    }

    fn sort(&mut self) {
        let names = &self.names;
        self.slots
            .sort_unstable_by(|a, b| key(names, a).cmp(key(names, b)).then(a.below.cmp(&b.below)));
        self.slots.shrink_to_fit();
        self.names.shrink_to_fit();
    }

    pub(super) fn get(&self, place: usize) -> Option<ListedEntry<'_>> {
        let slot = self.slots.get(place)?;
        let name = self
            .names
            .get(slot.start as usize..)?
            .get(..usize::from(slot.length))?;
        Some(ListedEntry {
            name,
            kind: slot.kind,
            inode: slot.inode,
            below: slot.below,
        })
    }
}

fn key<'a>(names: &'a [u8], slot: &Slot) -> &'a [u8] {
    &names[slot.start as usize..][..usize::from(slot.length) + usize::from(slot.below)]
}

/// The entries of a directory, with notes of a visitor.
#[derive(Debug, Default)]
pub struct Entries<N> {
    pub listing: Listing,
    pub notes: N,
}

impl<N: Default> From<Listing> for Entries<N> {
    fn from(listing: Listing) -> Self {
        Self {
            listing,
            notes: N::default(),
        }
    }
}

/// A directory that a walk has just opened, to be listed.
pub struct OpenDir<'a> {
    handle: &'a OwnedFd,
    buffer: &'a mut Vec<u8>,
}

impl<'a> OpenDir<'a> {
    pub(super) fn new(handle: &'a OwnedFd, buffer: &'a mut Vec<u8>) -> Self {
        Self { handle, buffer }
    }

    pub fn list(&mut self) -> io::Result<Listing> {
        Ok(Listing::read(self.handle, self.buffer)?)
    }

    /// Returns the version of the directory, if equal versions imply equal entries. Encrypted
    /// directories are excluded: their names differ while the key is missing (`fscrypt`, "Access
    /// semantics").
    pub fn version(&self) -> Option<Version> {
        let found = statx(
            self.handle,
            "",
            AtFlags::EMPTY_PATH,
            StatxFlags::BASIC_STATS,
        )
        .ok()?;
        (!found.stx_attributes.contains(StatxAttributes::ENCRYPTED))
            .then(|| Version::of_statx(&found))
    }

    /// Returns true if its filesystem has reliable versions.
    pub fn is_honest(&self) -> bool {
        is_honest(self.handle.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listing_has_position_for_directory_content() {
        let mut listing = Listing::default();
        for (name, kind) in [
            ("b", FileKind::File),
            ("a.c", FileKind::File),
            ("a", FileKind::Directory),
            ("a-b", FileKind::Directory),
            ("a0", FileKind::File),
        ] {
            listing.add(name.as_bytes(), kind, 1).unwrap();
        }
        listing.sort();
        let text = |place: usize| {
            let listed = listing.get(place).unwrap();
            String::from_utf8_lossy(listed.name).into_owned() + if listed.below { "/" } else { "" }
        };
        let all: Vec<_> = (0..listing.places()).map(text).collect();
        assert_eq!(all, ["a", "a-b", "a-b/", "a.c", "a/", "a0", "b"]);
        let places =
            ["a", "a-b", "a.c", "a0", "b", "c", ""].map(|name| listing.place_of(name.as_bytes()));
        assert_eq!(
            places,
            [Some(0), Some(1), Some(3), Some(5), Some(6), None, None]
        );
    }
}
