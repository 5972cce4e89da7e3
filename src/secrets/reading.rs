//! Reads files that the operator named, without blocking. A named pipe, a device or a directory is
//! refused, since the thread that reads files again would hang on it.
#![expect(
    clippy::disallowed_methods,
    reason = "files of the operator's, named on the command line"
)]

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, Timespec};

/// Timeout for reading secrets from an anonymous pipe (`<(...)`), in milliseconds. A person may
/// have to type a passphrase.
const SECRET_PIPE_MS: u64 = 120_000;

/// Content of a file, and its mode without the file type.
pub(crate) struct Contents {
    pub bytes: Vec<u8>,
    pub mode: u32,
}

impl Contents {
    /// Returns the content as text. Fails if it is not UTF-8.
    pub(crate) fn text(self) -> Result<String> {
        String::from_utf8(self.bytes)
            .ok()
            .context("it is not UTF-8 text")
    }
}

/// Opens a regular file, or an anonymous pipe, as a shell makes it for `<(...)`. Also returns which
/// of both it is. Fails for anything else, and never blocks.
pub(crate) fn open(path: &Path) -> Result<(File, bool)> {
    let shown = path.display();
    let irregular = || format!("`{shown}` is not a regular file");
    let cannot = || format!("`{shown}` cannot be read");
    // Opening some devices does something already; a pipe without a name is nobody else's.
    let named = std::fs::canonicalize(path).is_ok();
    if named && !std::fs::metadata(path).with_context(cannot)?.is_file() {
        bail!(irregular());
    }
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .with_context(cannot)?;
    let is_regular = file.metadata().with_context(cannot)?.is_file();
    if named && !is_regular {
        bail!(irregular());
    }
    Ok((file, is_regular))
}

/// All of such a file, of at most `most` bytes. A pipe may take [`SECRET_PIPE_MS`] to its end.
pub(crate) fn read(path: &Path, most: u64) -> Result<Contents> {
    let (file, is_regular) = open(path)?;
    let contents = of(&file, is_regular, most);
    contents.with_context(|| format!("`{}` cannot be read", path.display()))
}

/// Reads a file that is already open.
pub(crate) fn of(file: &File, is_regular: bool, most: u64) -> Result<Contents> {
    let mode = file.metadata().context("it cannot be looked at")?.mode() & 0o7777;
    let mut bytes = Vec::new();
    let mut part = file.take(most + 1);
    let until = Instant::now() + Duration::from_millis(SECRET_PIPE_MS);
    while let Err(error) = part.read_to_end(&mut bytes) {
        if is_regular || error.kind() != ErrorKind::WouldBlock {
            return Err(error.into());
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            bail!(
                "its writer has not finished within {} s",
                SECRET_PIPE_MS / 1000
            );
        }
        let left = Timespec::try_from(left).context("no such time")?;
        match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&left)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(std::io::Error::from(errno).into()),
        }
    }
    if bytes.len() as u64 > most {
        bail!("it has more than {most} bytes");
    }
    Ok(Contents { bytes, mode })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

    use pretty_assertions::assert_eq;

    #[test]
    fn file_is_read_up_to_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        let said = |most| {
            read(&path, most)
                .map(|read| read.bytes)
                .map_err(|error| format!("{error:#}"))
        };
        assert_eq!(said(5), Ok(b"12345".to_vec()));
        assert_eq!(
            said(4),
            Err(format!(
                "`{}` cannot be read: it has more than 4 bytes",
                path.display()
            ))
        );
        let (reader, mut writer) = std::io::pipe().unwrap();
        let name = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let writing = std::thread::spawn(move || {
            for _ in 0..3 {
                writer.write_all(b"abc").unwrap();
                std::thread::yield_now();
            }
        });
        assert_eq!(
            read(Path::new(&name), 9).unwrap().text().unwrap(),
            "abcabcabc"
        );
        writing.join().unwrap();
    }

    #[test]
    fn special_file_is_refused_immediately() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        for path in [&*pipe, dir.path(), Path::new("/dev/null")] {
            let said = read(path, 9)
                .map(|read| read.mode)
                .map_err(|error| format!("{error:#}"));
            assert_eq!(
                said,
                Err(format!("`{}` is not a regular file", path.display()))
            );
        }
    }
}
