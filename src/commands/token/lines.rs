//! In-place changes to the token file, under a lock, one line at a time.
//!
//! The file is never replaced, since the inode must stay the same. A file mounted alone in a
//! container cannot be replaced. The server refuses a new file below an allowed directory
//! (`secrets`) and would keep serving a revoked token.
//!
//! New lines are appended. A rotated token overwrites the old one with the same number of bytes. A
//! revoked line becomes a comment by its first byte.
//!
//! Mode, owner, links and all other lines stay the same. After a power cut a line is in one of its
//! two states, or its hash matches no token.
#![expect(
    clippy::disallowed_methods,
    reason = "the file of tokens is the operator's, named on the command line"
)]

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use replay_base::text::escape::show_path;
use replay_mcp::protocol::fault;
use rustix::fs::{FlockOperation, flock};

use crate::config::{TokenEntry, entries};

/// The token file, locked until this is dropped.
pub(super) struct TokenLines {
    file: File,
    /// File name as given, for suggested commands.
    name: String,
    text: String,
    lines: Vec<TokenLine>,
}

/// A line other than a comment.
struct TokenLine {
    /// Line number, from 1.
    number: usize,
    /// Byte range, without surrounding blanks.
    at: Range<usize>,
    entry: TokenEntry,
}

impl TokenLines {
    /// Opens the file for reading. Fails if a server would reject the file.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let lines = Self::open(
            path,
            OpenOptions::new().read(true),
            FlockOperation::LockShared,
        )?;
        entries(&lines.text)?;
        Ok(lines)
    }

    /// Opens the file for changes. Fails if a server would reject the file.
    pub(super) fn lock(path: &Path) -> Result<Self> {
        let lines = Self::open(
            path,
            OpenOptions::new().read(true).write(true),
            FlockOperation::LockExclusive,
        )?;
        entries(&lines.text)?;
        Ok(lines)
    }

    /// Opens the file for changes, and creates it if it does not exist. The file may contain no
    /// token yet. A new file is accessible only to its owner.
    pub(super) fn lock_or_make(path: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        Self::open(path, &options, FlockOperation::LockExclusive)
    }

    fn open(path: &Path, options: &OpenOptions, lock: FlockOperation) -> Result<Self> {
        // Opening a device may have side effects, and opening a pipe may block.
        if std::fs::metadata(path).is_ok_and(|known| !known.is_file()) {
            bail!(
                "it is not a regular file; name one, or leave out --file and store the printed \
                 line yourself"
            );
        }
        let mut file = options.open(path).context("it cannot be opened")?;
        flock(&file, lock).context("it cannot be locked")?;
        let (known, named) = (
            file.metadata().context("its metadata cannot be read")?,
            std::fs::metadata(path),
        );
        if !named.is_ok_and(|named| (named.dev(), named.ino()) == (known.dev(), known.ino())) {
            bail!("it was replaced by another file meanwhile; try again");
        }
        let mut text = String::new();
        file.read_to_string(&mut text)
            .context("it cannot be read")?;
        let lines = lines(&text)?;
        let name = show_path(path).into_owned();
        Ok(Self {
            file,
            name,
            text,
            lines,
        })
    }

    /// All entries in file order.
    pub(super) fn entries(&self) -> impl Iterator<Item = &TokenEntry> {
        self.lines.iter().map(|line| &line.entry)
    }

    /// Appends a line. Fails if the name has a line already.
    pub(super) fn add(&self, entry: &TokenEntry) -> Result<()> {
        if let Some(TokenLine { number, .. }) =
            self.lines.iter().find(|line| line.entry.name == entry.name)
        {
            let (name, file) = (&entry.name, &self.name);
            bail!(
                "line {number} already has a token of `{name}`; `replay token rotate {name} \
                 --file {file}` replaces it, `replay token revoke {name} --file {file}` removes it"
            );
        }
        let gap = if self.text.is_empty() || self.text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        let more = format!("{gap}{}\n", serde_json::to_string(entry)?);
        entries(&format!("{}{more}", self.text))?;
        let end = self.text.len() as u64;
        self.write(&more, end).inspect_err(|_| {
            // The server would reject an incomplete line.
            let _ = self.file.set_len(end);
        })
    }

    /// Turns the line of this name into a comment. Fails for the only token: a server rejects a
    /// file without tokens, and would keep serving the old one.
    pub(super) fn revoke(&self, name: &str) -> Result<()> {
        let line = self.line(name)?;
        if self.lines.len() == 1 {
            bail!(
                "`{name}` has the only token of the file, and a server needs at least one; \
                 `replay token rotate {name} --file {file}` replaces it, or stop the server",
                file = self.name
            );
        }
        self.write("#", line.at.start as u64)
    }

    /// Replaces token hash and creation time in the line of this name.
    pub(super) fn rotate(&self, next: &TokenEntry) -> Result<()> {
        let line = self.line(&next.name)?;
        let before = &line.entry;
        let mut text = self.text[line.at.clone()].replacen(&before.sha256, &next.sha256, 1);
        let mut entry = TokenEntry {
            sha256: next.sha256.clone(),
            ..before.clone()
        };
        if let (Some(made), Some(now)) = (&before.made, &next.made) {
            text = text.replacen(made.as_str(), now, 1);
            entry.made = Some(now.clone());
        }
        // The line may be written differently from the output of `replay token new`.
        if text.len() != line.at.len()
            || serde_json::from_str::<TokenEntry>(&text).ok() != Some(entry)
        {
            bail!(
                "line {} cannot be changed in place; remove it with `replay token revoke {name} \
                 --file {file}`, then run `replay token new {name} --file {file}`",
                line.number,
                name = next.name,
                file = self.name
            );
        }
        self.write(&text, line.at.start as u64)
    }

    fn line(&self, name: &str) -> Result<&TokenLine> {
        let found = self.lines.iter().find(|line| line.entry.name == name);
        let file = &self.name;
        found.with_context(|| {
            format!(
                "the file has no token of `{name}`; `replay token list --file {file}` lists the \
                 names"
            )
        })
    }

    fn write(&self, text: &str, at: u64) -> Result<()> {
        self.file
            .write_all_at(text.as_bytes(), at)
            .context("it cannot be written")?;
        self.file.sync_all().context("it cannot be written")
    }
}

fn lines(text: &str) -> Result<Vec<TokenLine>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (index, whole) in text.split_inclusive('\n').enumerate() {
        let (line, number) = (whole.trim(), index + 1);
        let from = start + (whole.len() - whole.trim_start().len());
        start += whole.len();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let entry = serde_json::from_str(line).map_err(|error| {
            let reason = fault(&error);
            anyhow!("line {number}: {reason}; `replay token new NAME` makes such lines")
        })?;
        lines.push(TokenLine {
            number,
            at: from..from + line.len(),
            entry,
        });
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use pretty_assertions::assert_eq;

    use super::*;

    fn entry(name: &str, token: &str, made: Option<&str>) -> TokenEntry {
        TokenEntry {
            made: made.map(str::to_owned),
            ..TokenEntry::of(name, token)
        }
    }

    fn text(entry: &TokenEntry) -> String {
        serde_json::to_string(entry).unwrap()
    }

    fn error_text<T>(done: Result<T>) -> String {
        done.err()
            .map(|error| format!("{error:#}"))
            .unwrap_or_default()
    }

    #[test]
    fn change_of_line_keeps_rest_of_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens");
        let (then, now) = ("2026-01-02T03:04:05Z", "2027-01-02T03:04:05Z");
        let (alice, bob) = (entry("alice", "a", Some(then)), entry("bob", "b", None));
        std::fs::write(
            &path,
            format!("# who\n\n  {} \n{}\n# end", text(&alice), text(&bob)),
        )
        .unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let known = || {
            let known = std::fs::metadata(&path).unwrap();
            (known.ino(), known.mode() & 0o777)
        };
        let before = known();
        let read = || std::fs::read_to_string(&path).unwrap();
        // A creation time is replaced, never added.
        for next in [entry("alice", "A", Some(now)), entry("bob", "B", Some(now))] {
            TokenLines::lock(&path).unwrap().rotate(&next).unwrap();
        }
        let (alice, bob) = (
            text(&entry("alice", "A", Some(now))),
            text(&entry("bob", "B", None)),
        );
        assert_eq!(read(), format!("# who\n\n  {alice} \n{bob}\n# end"));
        let carol = entry("carol", "c", Some(now));
        TokenLines::lock_or_make(&path)
            .unwrap()
            .add(&carol)
            .unwrap();
        TokenLines::lock(&path).unwrap().revoke("alice").unwrap();
        let gone = alice.replacen('{', "#", 1);
        assert_eq!(
            read(),
            format!("# who\n\n  {gone} \n{bob}\n# end\n{}\n", text(&carol))
        );
        assert_eq!(known(), before);
        let names: Vec<String> = TokenLines::read(&path)
            .unwrap()
            .entries()
            .map(|entry| entry.name.clone())
            .collect();
        assert_eq!(names, ["bob", "carol"]);
    }

    #[test]
    fn failed_change_leaves_file_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens");
        assert_eq!(
            error_text(TokenLines::lock(&path)),
            "it cannot be opened: No such file or directory (os error 2)"
        );
        let alice = entry("alice", "a", None);
        let odd = text(&alice).replacen("ca978112", "\\u0063a978112", 1);
        std::fs::write(&path, &odd).unwrap();
        let lines = TokenLines::lock(&path).unwrap();
        let file = path.display();
        assert_eq!(
            error_text(lines.rotate(&entry("alice", "A", None))),
            format!(
                "line 1 cannot be changed in place; remove it with `replay token revoke alice \
                 --file {file}`, then run `replay token new alice --file {file}`"
            )
        );
        assert_eq!(
            error_text(lines.revoke("alice")),
            format!(
                "`alice` has the only token of the file, and a server needs at least one; `replay \
                 token rotate alice --file {file}` replaces it, or stop the server"
            )
        );
        assert_eq!(
            error_text(lines.revoke("bob")),
            format!(
                "the file has no token of `bob`; `replay token list --file {file}` lists the \
                names"
            )
        );
        assert_eq!(
            error_text(lines.add(&entry("alice", "A", None))),
            format!(
                "line 1 already has a token of `alice`; `replay token rotate alice --file {file}` \
                 replaces it, `replay token revoke alice --file {file}` removes it"
            )
        );
        drop(lines);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), odd);
        // A file of comments is valid, but contains no token.
        std::fs::write(&path, "# who").unwrap();
        assert_eq!(
            error_text(TokenLines::read(&path)),
            "the file has no token; `replay token new NAME` makes lines for it"
        );
        TokenLines::lock_or_make(&path)
            .unwrap()
            .add(&alice)
            .unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            format!("# who\n{}\n", text(&alice))
        );
    }
}
