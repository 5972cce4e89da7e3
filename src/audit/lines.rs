//! Reads a log line by line, so that memory use does not depend on the size of the log.

use std::io::{BufRead, Read as _};

use anyhow::{Context as _, Result, bail};

use replay_base::limits::MAX_AUDIT_LINE_BYTES;

pub(super) struct LogLine {
    /// The line without its newline.
    pub bytes: Vec<u8>,
    /// `true` if the line ended with a newline.
    pub is_whole: bool,
}

pub(super) struct Lines<'a, R>(&'a mut R);

impl<'a, R: BufRead> Lines<'a, R> {
    pub(super) fn new(input: &'a mut R) -> Self {
        Self(input)
    }

    /// Reads the next line; `None` at the end. Fails if a line is longer than the server ever
    /// writes.
    pub(super) fn read(&mut self) -> Result<Option<LogLine>> {
        let mut bytes = Vec::new();
        let most = 2 * MAX_AUDIT_LINE_BYTES as u64;
        self.0
            .take(most)
            .read_until(b'\n', &mut bytes)
            .context("the log cannot be read")?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let is_whole = bytes.last() == Some(&b'\n');
        if is_whole {
            bytes.pop();
        } else if bytes.len() as u64 == most {
            bail!("this is not an audit log: it has a line of more than {most} bytes");
        }
        Ok(Some(LogLine { bytes, is_whole }))
    }
}
