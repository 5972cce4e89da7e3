//! A directory and what is known of its files, as bytes for a later session.

use replay_files::fs::{Listing, Version};

use super::{DirectoryContents, DirectoryRecord, Files, Record, cost};
use crate::memory::signature::Signature;

/// A directory as an earlier session knew it.
pub(crate) struct Packed {
    pub(super) version: Version,
    pub(super) is_settled: bool,
    pub(super) listing: Listing,
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
    /// Adds it to `out`. `false`: nothing of it is worth keeping.
    pub(super) fn pack(&self, out: &mut Vec<u8>) -> bool {
        let files = self.entries.notes.lock();
        if !self.is_settled && files.records.is_empty() {
            return false;
        }
        let parts = PackedParts {
            version: &self.version,
            is_settled: self.is_settled,
            listing: &self.entries.listing,
            records: &files.records,
            signatures: &files.signatures,
        };
        parts.pack(out);
        true
    }
}

impl Packed {
    /// Adds it to `out`.
    pub(crate) fn pack(&self, out: &mut Vec<u8>) {
        let parts = PackedParts {
            version: &self.version,
            is_settled: self.is_settled,
            listing: &self.listing,
            records: &self.records,
            signatures: &self.signatures,
        };
        parts.pack(out);
    }

    /// `None` if the bytes are something else.
    pub(crate) fn unpack(mut bytes: &[u8]) -> Option<Self> {
        let mut next = || number(&mut bytes);
        let (device, inode, size) = (next()?, next()?, next()?);
        let mut time = || Some((next()?.cast_signed(), u32::try_from(next()?).ok()?));
        let (modified, changed) = (time()?, time()?);
        let (is_settled, has_records, has_signatures) = (next()? != 0, next()? != 0, next()? != 0);
        let listing = Listing::unpack(&mut bytes)?;
        let places = listing.places();
        let records = (0..if has_records { places } else { 0 }).map(|_| Record::unpack(&mut bytes));
        let records = records.collect::<Option<_>>()?;
        let signature = |_| match number(&mut bytes)? {
            NO_SIGNATURE => Some(None),
            length => Some(Some(Signature::unpack(
                bytes.split_off(..usize::try_from(length).ok()?)?,
            )?)),
        };
        let signatures = (0..if has_signatures { places } else { 0 })
            .map(signature)
            .collect::<Option<_>>()?;
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
            records,
            signatures,
        })
    }

    /// Device and inode number of the directory.
    pub(crate) fn key(&self) -> (u64, u64) {
        (self.version.device, self.version.inode)
    }

    /// Leaves of the patterns that files have no match for those of these bits.
    pub(crate) fn keep_bits(&mut self, bits: u64) {
        self.records
            .iter_mut()
            .for_each(|record| record.absent &= bits);
    }

    /// Returns the contents, with the size of the records beside the directory.
    pub(super) fn into_contents(self) -> DirectoryContents {
        let signed: usize = self.signatures.iter().flatten().map(cost).sum();
        let tables = size_of_val(&*self.records) + size_of_val(&*self.signatures);
        let files = Files {
            records: self.records,
            signatures: self.signatures,
            bytes: signed + tables,
            ..Files::default()
        };
        DirectoryContents {
            version: self.version,
            is_settled: self.is_settled,
            listing: self.listing,
            files,
        }
    }
}

/// The parts of a packed directory.
struct PackedParts<'a> {
    version: &'a Version,
    is_settled: bool,
    listing: &'a Listing,
    records: &'a [Record],
    signatures: &'a [Option<Signature>],
}

impl PackedParts<'_> {
    fn pack(&self, out: &mut Vec<u8>) {
        let Version {
            device,
            inode,
            size,
            modified,
            changed,
        } = *self.version;
        put(out, &[device, inode, size]);
        for (secs, nanos) in [modified, changed] {
            put(out, &[secs.cast_unsigned(), nanos.into()]);
        }
        put(
            out,
            &[
                self.is_settled.into(),
                (!self.records.is_empty()).into(),
                (!self.signatures.is_empty()).into(),
            ],
        );
        self.listing.pack(out);
        for Record {
            inode,
            modified,
            changed,
            absent,
            size,
            is_binary,
        } in self.records
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
        for signature in self.signatures {
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
