//! `--audit`: one line for each call in a file whose lines are chained by hashes, and what reads
//! it.
//!
//! `chain` is the format; `entry` makes lines of calls; `log` is an observer of the ledger, and
//! `writing` what it writes to; `opening` sees to it that nobody else changes the file (and
//! `secrets`, that no agent reaches it); `verify` and `show` read it.

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
pub use log::AuditLog;
pub use start::Started;

use crate::cli::{AuditArgs, Wanted};
use crate::limits::{MAX_AUDIT_KEY_BYTES, MIN_AUDIT_KEY_BYTES};
use crate::secrets::reading;

/// Opens the log that the command line asks for, and takes its lock. Nothing is written yet but
/// what makes up for a line that was torn when its server was ended.
pub fn open(args: &AuditArgs) -> Result<Option<AuditLog>> {
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

/// Checks the files of a log, the oldest first: what is said of it, and whether it is whole.
pub fn verify(files: &[PathBuf], key: Option<&Path>, head: Option<&str>) -> Result<(String, bool)> {
    let (hasher, _) = hasher(key)?;
    let named = files
        .iter()
        .map(|file| Ok((file.display().to_string(), reader(file)?)));
    verify::report(&mut named.collect::<Result<Vec<_>>>()?, &hasher, head)
}

/// Prints the wanted calls of a log; how many lines that were.
pub fn show(file: &Path, wanted: &Wanted, out: &mut impl Write) -> Result<u64> {
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

/// The function that lines are hashed with, and the file of the key if that is a regular one. Fails
/// for a key that others could read, or guess.
fn hasher(key: Option<&Path>) -> Result<(Hasher, Option<File>)> {
    let Some(path) = key else {
        return Ok((Hasher::new(None), None));
    };
    let name = path.display();
    let (file, is_regular) = reading::open(path).context("the key")?;
    // One byte more shows what is too long.
    let key = reading::of(&file, is_regular, MAX_AUDIT_KEY_BYTES + 1)
        .with_context(|| format!("the key `{name}` cannot be read"))?;
    if is_regular && key.mode & 0o077 != 0 {
        bail!(
            "others may use the key `{name}` (mode {:04o}); take that away with chmod 600",
            key.mode
        );
    }
    let key = key.bytes;
    // As an editor leaves it, and as `openssl rand -hex 32` prints it.
    let key = key.strip_suffix(b"\n").unwrap_or(&key);
    if key.len() < MIN_AUDIT_KEY_BYTES || key.len() as u64 > MAX_AUDIT_KEY_BYTES {
        bail!(
            "the key `{name}` has {} bytes; it must have {MIN_AUDIT_KEY_BYTES} to {MAX_AUDIT_KEY_BYTES}",
            key.len()
        );
    }
    Ok((Hasher::new(Some(key)), is_regular.then_some(file)))
}
