//! A directory and what is known of its files, as bytes for a later session. They are two parts, as
//! searches for names need no records of files.

use replay_files::fs::{Listing, Version};

use super::{DirectoryRecord, Files, Record};
use crate::memory::signature::Signature;

/// A directory as an earlier session knew it.
pub(crate) struct PackedDirectory {
    pub(super) version: Version,
    pub(super) is_settled: bool,
    pub(super) listing: Listing,
}

/// Records of the files of a directory, as an earlier session knew them.
#[derive(Default)]
pub(crate) struct PackedFiles {
    pub(super) records: Vec<Record>,
    pub(super) signatures: Vec<Option<Signature>>,
}

/// Stands for no signature where the bytes of one are told.
const NO_SIGNATURE: u64 = u64::MAX;

fn number(bytes: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.split_off(..8)?.try_into().ok()?))
}

fn put(out: &mut Vec<u8>, numbers: &[u64]) {
    for number in numbers {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

impl DirectoryRecord {
    /// Adds both parts to the buffers. Returns false if there is nothing that a file lacks.
    pub(super) fn pack(&self, directory: &mut Vec<u8>, of_files: &mut Vec<u8>) -> bool {
        let files = self.entries.notes.lock();
        if files.is_unread || !self.is_settled && files.records.is_empty() {
            return false;
        }
        let Version {
            device,
            inode,
            size,
            modified,
            changed,
        } = self.version;
        put(directory, &[device, inode, size]);
        for (secs, nanos) in [modified, changed] {
            put(directory, &[secs.cast_unsigned(), nanos.into()]);
        }
        put(directory, &[self.is_settled.into()]);
        self.entries.listing.pack(directory);
        pack_files(&files.records, &files.signatures, of_files);
        true
    }
}

impl PackedDirectory {
    /// `None` if the bytes are something else.
    pub(crate) fn unpack(mut bytes: &[u8]) -> Option<Self> {
        let mut next = || number(&mut bytes);
        let (device, inode, size) = (next()?, next()?, next()?);
        let mut time = || Some((next()?.cast_signed(), u32::try_from(next()?).ok()?));
        let (modified, changed) = (time()?, time()?);
        let is_settled = next()? != 0;
        let listing = Listing::unpack(&mut bytes)?;
        let version = Version {
            device,
            inode,
            size,
            modified,
            changed,
        };
        bytes.is_empty().then_some(Self {
            version,
            is_settled,
            listing,
        })
    }

    /// Device and inode number of the directory.
    pub(crate) fn key(&self) -> (u64, u64) {
        (self.version.device, self.version.inode)
    }
}

impl PackedFiles {
    /// `None` if the bytes are something else.
    pub(crate) fn unpack(mut bytes: &[u8]) -> Option<Self> {
        let (records, signatures) = (number(&mut bytes)?, number(&mut bytes)?);
        let records = (0..records).map(|_| Record::unpack(&mut bytes));
        let records = records.collect::<Option<_>>()?;
        let signature = |_| match number(&mut bytes)? {
            NO_SIGNATURE => Some(None),
            length => Some(Some(Signature::unpack(
                bytes.split_off(..usize::try_from(length).ok()?)?,
            )?)),
        };
        let signatures = (0..signatures).map(signature).collect::<Option<_>>()?;
        bytes.is_empty().then_some(Self {
            records,
            signatures,
        })
    }

    /// Adds them to `out`.
    pub(crate) fn pack(&self, out: &mut Vec<u8>) {
        pack_files(&self.records, &self.signatures, out);
    }

    /// Leaves of the patterns that files have no match for those of these bits.
    pub(crate) fn keep_bits(&mut self, bits: u64) {
        self.records
            .iter_mut()
            .for_each(|record| record.absent &= bits);
    }

    /// Returns the memory that they take, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let signed: usize = self.signatures.iter().flatten().map(super::cost).sum();
        signed + size_of_val(&*self.records) + size_of_val(&*self.signatures)
    }

    /// Puts them into the notes of a directory with so many places.
    pub(super) fn put_into(self, files: &mut Files, places: usize) -> bool {
        let fits = |length: usize| length == 0 || length == places;
        if !fits(self.records.len()) || !fits(self.signatures.len()) {
            return false;
        }
        files.bytes += self.bytes();
        (files.records, files.signatures) = (self.records, self.signatures);
        true
    }
}

fn pack_files(records: &[Record], signatures: &[Option<Signature>], out: &mut Vec<u8>) {
    put(out, &[records.len() as u64, signatures.len() as u64]);
    for Record {
        inode,
        modified,
        changed,
        absent,
        size,
        is_binary,
    } in records
    {
        let flags = u64::from(*size) << 1 | u64::from(*is_binary);
        put(
            out,
            &[
                *inode,
                modified.cast_unsigned(),
                changed.cast_unsigned(),
                *absent,
                flags,
            ],
        );
    }
    for signature in signatures {
        put(
            out,
            &[signature
                .as_ref()
                .map_or(NO_SIGNATURE, |signature| signature.bytes() as u64)],
        );
        if let Some(signature) = signature {
            signature.pack(out);
        }
    }
}

impl Record {
    fn unpack(bytes: &mut &[u8]) -> Option<Self> {
        let mut next = || number(bytes);
        let (inode, modified, changed) = (next()?, next()?.cast_signed(), next()?.cast_signed());
        let (absent, flags) = (next()?, next()?);
        Some(Self {
            inode,
            modified,
            changed,
            absent,
            size: u32::try_from(flags >> 1).ok()?,
            is_binary: flags & 1 == 1,
        })
    }
}
