//! Digests of large files that are opened for appending. Only their length is saved, so the end of
//! the entry compares the rest with the digest.

use std::collections::HashMap;
use std::os::fd::AsFd;

use rustix::io::{Errno, pread};
use sha2::{Digest as _, Sha256};

use super::object::Id;

/// Bytes per read.
const CHUNK_BYTES: usize = 64 * 1024;

type Digest = [u8; 32];

/// Digest of the original bytes, by file.
pub(super) type Digests = HashMap<Id, Digest>;

/// Computes the digest of the first `size` bytes; `None` if the file has fewer.
pub(super) fn digest(file: impl AsFd, size: u64) -> Result<Option<Digest>, Errno> {
    let (mut sum, mut part, mut at) = (Sha256::new(), vec![0; CHUNK_BYTES], 0);
    while at < size {
        let most = usize::try_from(size - at)
            .unwrap_or(CHUNK_BYTES)
            .min(CHUNK_BYTES);
        let got = pread(&file, &mut part[..most], at)?;
        if got == 0 {
            return Ok(None);
        }
        sum.update(&part[..got]);
        at += got as u64;
    }
    Ok(Some(sum.finalize().into()))
}
