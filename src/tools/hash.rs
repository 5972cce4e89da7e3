//! SHA-256 of contents, for clients that check that a file is unchanged.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use replay_base::cancel::CancelToken;
use replay_base::limits::MAX_PAGE_MS;
use replay_base::text::escape::show_path;
use replay_files::fs::{FsError, Reader};
use replay_files::policy::{Checked, Read};
use sha2::{Digest, Sha256};

use crate::error::Error;

/// Largest file that is hashed to say what it is, in bytes.
const MAX_HASHED_BYTES: u64 = 256 * 1024 * 1024;

/// Returns the hash of the concatenated pieces, in lower-case hexadecimal.
pub(super) fn of<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    pieces.into_iter().for_each(|piece| hasher.update(piece));
    hexadecimal(hasher)
}

/// Returns the hash of a whole file; `None` if it takes too long.
pub(super) fn of_file(file: &Checked<Read>, cancel: &CancelToken) -> Result<Option<String>, Error> {
    if file.size() > MAX_HASHED_BYTES {
        return Ok(None);
    }
    let until = Instant::now() + Duration::from_millis(MAX_PAGE_MS);
    let mut reader = Reader::new(file, 0);
    let (mut hasher, mut chunk) = (Sha256::new(), vec![0; 256 * 1024]);
    loop {
        let read = reader.read(&mut chunk);
        match read.map_err(|source| {
            Error::Fs(FsError::Io {
                path: file.display_path().into(),
                doing: "read",
                source,
            })
        })? {
            0 => return Ok(Some(hexadecimal(hasher))),
            length => hasher.update(&chunk[..length]),
        }
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if Instant::now() >= until {
            return Ok(None);
        }
    }
}

fn hexadecimal(hasher: Sha256) -> String {
    hasher
        .finalize()
        .iter()
        .fold(String::with_capacity(64), |mut digits, byte| {
            // A write to a `String` cannot fail.
            let _ = write!(digits, "{byte:02x}");
            digits
        })
}

/// Returns an error unless `current` (`None`: no file) has the expected hash.
pub(super) fn expect(path: &Path, current: Option<&[u8]>, expected: &str) -> Result<(), Error> {
    if expected.len() != 64 || !expected.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let message =
            format!("`expectedSha256` is \"{expected}\"; it must be 64 hexadecimal digits");
        return Err(Error::params(message));
    }
    let actual = current.map_or_else(
        || "of no file: it does not exist".to_owned(),
        |bytes| of([bytes]),
    );
    if actual.eq_ignore_ascii_case(expected) {
        return Ok(());
    }
    Err(Error::Stale {
        path: show_path(path).into_owned(),
        expected: expected.to_owned(),
        actual,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn digest_matches_fips_example() {
        // FIPS 180-4, example "abc".
        assert_eq!(
            super::of([&b"a"[..], b"bc"]),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
