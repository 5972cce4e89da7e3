//! The audit log (`--audit`): one line per call, chained by hashes, and its readers.
//!
//! `chain` defines the format and `entry` the lines of calls. `log` observes the ledger and writes
//! through `writing`. `opening` makes sure that no other user can change the file, and `secrets`
//! that no agent can reach it. `verify` and `show` read the log.

mod chain;
mod entry;
mod lines;
mod log;
mod opening;
mod show;
mod start;
#[cfg(test)]
mod tests;
mod verify;
mod writing;

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use chain::Hasher;
pub(crate) use log::AuditLog;
pub(crate) use start::Started;

use crate::cli::{AuditArgs, CallFilter};
use crate::secrets::reading;

/// Largest file with the key of an audit log, in bytes.
const MAX_AUDIT_KEY_BYTES: u64 = 4096;
/// Shortest key of an audit log, in bytes.
const MIN_AUDIT_KEY_BYTES: usize = 16;

/// Opens and locks the log that the command line requests. Writes only the line that follows up a
/// line torn when the server was killed.
pub(crate) fn open(args: &AuditArgs) -> Result<Option<AuditLog>> {
    let Some(path) = &args.audit else {
        return Ok(None);
    };
    let key = args.audit_key.as_deref();
    let (hasher, file) = hasher(key)?;
    let hidden = key
        .zip(file)
        .map(|(path, file)| crate::secrets::identity(path, &file))
        .transpose();
    let hidden = hidden.context("--audit-key")?;
    let log = AuditLog::open(
        path,
        key.map(|key| (key, hidden)),
        hasher,
        args.audit_previous.as_deref(),
    )
    .with_context(|| format!("--audit `{}`", path.display()))?;
    Ok(Some(log))
}

/// Verifies the files of a log, oldest first. Returns the report, and true if the log is intact.
pub(crate) fn verify(
    files: &[PathBuf],
    key: Option<&Path>,
    head: Option<&str>,
) -> Result<(String, bool)> {
    let (hasher, _) = hasher(key)?;
    let named = files
        .iter()
        .map(|file| Ok((file.display().to_string(), reader(file)?)));
    verify::report(&mut named.collect::<Result<Vec<_>>>()?, &hasher, head)
}

/// Prints the selected calls of a log and returns the number of lines.
pub(crate) fn show(file: &Path, wanted: &CallFilter, out: &mut impl Write) -> Result<u64> {
    show::show(&mut reader(file)?, wanted, out)
}

#[expect(
    clippy::disallowed_methods,
    reason = "an audit log is the operator's file, named on the command line"
)]
fn reader(path: &Path) -> Result<BufReader<File>> {
    let file =
        File::open(path).with_context(|| format!("`{}` cannot be opened", path.display()))?;
    Ok(BufReader::with_capacity(1 << 16, file))
}

/// Returns the hash function, and the key file if it is a regular file. Fails if the key is
/// readable by others or too short.
fn hasher(key: Option<&Path>) -> Result<(Hasher, Option<File>)> {
    let Some(path) = key else {
        return Ok((Hasher::new(None), None));
    };
    let name = path.display();
    let (file, is_regular) = reading::open(path).context("the key")?;
    // One byte more than allowed reveals a key that is too long.
    let key = reading::of(&file, is_regular, MAX_AUDIT_KEY_BYTES + 1)
        .with_context(|| format!("the key `{name}` cannot be read"))?;
    if is_regular && key.mode & 0o077 != 0 {
        bail!(
            "other users can read the key `{name}` (mode {:04o}); run chmod 600 on it",
            key.mode
        );
    }
    let key = key.bytes;
    // Editors and `openssl rand -hex 32` end the key with a newline.
    let key = key.strip_suffix(b"\n").unwrap_or(&key);
    if key.len() < MIN_AUDIT_KEY_BYTES || key.len() as u64 > MAX_AUDIT_KEY_BYTES {
        bail!(
            "the key `{name}` has {} bytes; it must have {MIN_AUDIT_KEY_BYTES} to {MAX_AUDIT_KEY_BYTES}",
            key.len()
        );
    }
    Ok((Hasher::new(Some(key)), is_regular.then_some(file)))
}
