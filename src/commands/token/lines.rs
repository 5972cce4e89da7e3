//! The file of tokens as `replay token` changes it: in place, under a lock, one line at a time.
//!
//! Another file in its place would be another inode: where the file is mounted alone (a container)
//! there can be none, and below an allowed directory the server takes none (`secrets`), so that a
//! token which was taken away would go on being served. So nothing moves: a line is added at the
//! end; another token takes the place of one as the same number of bytes; a line that is taken away
//! becomes a comment by its first byte. Mode, owner, links and all other lines stay as they are.
//! After a power cut in between a line is one of its two states, or holds a sum of no token.
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
use rustix::fs::{FlockOperation, flock};

use crate::config::{TokenEntry, entries};
use crate::protocol::fault;
use crate::text::escape::show_path;

/// The file, locked until this is dropped.
pub struct TokenLines {
    file: File,
    /// Its name as it was given, for commands that are to be typed next.
    name: String,
    text: String,
    lines: Vec<Line>,
}

/// One that is no comment.
struct Line {
    /// Which one, from 1.
    number: usize,
    /// Its bytes, blanks around it left out.
    at: Range<usize>,
    entry: TokenEntry,
}

impl TokenLines {
    /// To be looked at. Fails for a file that a server would not take.
    pub fn read(path: &Path) -> Result<Self> {
        let lines = Self::open(
            path,
            OpenOptions::new().read(true),
            FlockOperation::LockShared,
        )?;
        entries(&lines.text)?;
        Ok(lines)
    }

    /// To be changed. Fails for a file that a server would not take.
    pub fn lock(path: &Path) -> Result<Self> {
        let lines = Self::open(
            path,
            OpenOptions::new().read(true).write(true),
            FlockOperation::LockExclusive,
        )?;
        entries(&lines.text)?;
        Ok(lines)
    }

    /// The same of a file that may hold no token yet, and is made if there is none: nobody else has
    /// to read it, and nobody else may write it.
    pub fn lock_or_make(path: &Path) -> Result<Self> {
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
        // Opening a device may do something already, and a pipe would be waited for.
        if std::fs::metadata(path).is_ok_and(|known| !known.is_file()) {
            bail!(
                "it is no regular file; name one, or leave out --file and keep the line that is printed"
            );
        }
        let mut file = options.open(path).context("it cannot be opened")?;
        flock(&file, lock).context("it cannot be locked")?;
        let (known, named) = (
            file.metadata().context("it cannot be looked at")?,
            std::fs::metadata(path),
        );
        if !named.is_ok_and(|named| (named.dev(), named.ino()) == (known.dev(), known.ino())) {
            bail!("another file took its name meanwhile; try again");
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

    /// All entries, in order.
    pub fn entries(&self) -> impl Iterator<Item = &TokenEntry> {
        self.lines.iter().map(|line| &line.entry)
    }

    /// Adds a line. Fails if the name has one already.
    pub fn add(&self, entry: &TokenEntry) -> Result<()> {
        if let Some(Line { number, .. }) =
            self.lines.iter().find(|line| line.entry.name == entry.name)
        {
            let (name, file) = (&entry.name, &self.name);
            bail!(
                "line {number} is that of `{name}` already; `replay token rotate {name} --file {file}` makes another token for \
                 it, `replay token revoke {name} --file {file}` takes it away"
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
            // Half a line would be one that no server takes.
            let _ = self.file.set_len(end);
        })
    }

    /// Makes a comment of the line of this name. Fails if it is the only one: a server takes no
    /// file without tokens, and would go on serving it.
    pub fn revoke(&self, name: &str) -> Result<()> {
        let line = self.line(name)?;
        if self.lines.len() == 1 {
            bail!(
                "`{name}` has the only token in it, and a server takes no file without one; `replay token rotate {name} \
                 --file {file}` makes another one, or stop the server",
                file = self.name
            );
        }
        self.write("#", line.at.start as u64)
    }

    /// Puts the token of this entry, and when it was made, into the line of its name.
    pub fn rotate(&self, next: &TokenEntry) -> Result<()> {
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
        // The line may be spelt in more ways than `replay token new` does.
        if text.len() != line.at.len()
            || serde_json::from_str::<TokenEntry>(&text).ok() != Some(entry)
        {
            bail!(
                "line {} cannot be changed where it stands; take it away with `replay token revoke {name} --file {file}`, \
                 and make a new one with `replay token new {name} --file {file}`",
                line.number,
                name = next.name,
                file = self.name
            );
        }
        self.write(&text, line.at.start as u64)
    }

    fn line(&self, name: &str) -> Result<&Line> {
        let found = self.lines.iter().find(|line| line.entry.name == name);
        let file = &self.name;
        found.with_context(|| {
            format!(
                "nobody in it is called `{name}`; `replay token list --file {file}` shows who is"
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

fn lines(text: &str) -> Result<Vec<Line>> {
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
        lines.push(Line {
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

    fn said<T>(done: Result<T>) -> String {
        done.err()
            .map(|error| format!("{error:#}"))
            .unwrap_or_default()
    }

    #[test]
    fn one_line_changes_and_everything_else_stays() {
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
        // Only when it was made is replaced, not added.
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
    fn what_cannot_be_done_is_said_and_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens");
        assert_eq!(
            said(TokenLines::lock(&path)),
            "it cannot be opened: No such file or directory (os error 2)"
        );
        let alice = entry("alice", "a", None);
        let odd = text(&alice).replacen("ca978112", "\\u0063a978112", 1);
        std::fs::write(&path, &odd).unwrap();
        let lines = TokenLines::lock(&path).unwrap();
        let file = path.display();
        assert_eq!(
            said(lines.rotate(&entry("alice", "A", None))),
            format!(
                "line 1 cannot be changed where it stands; take it away with `replay token revoke alice --file {file}`, and make \
                 a new one with `replay token new alice --file {file}`"
            )
        );
        assert_eq!(
            said(lines.revoke("alice")),
            format!(
                "`alice` has the only token in it, and a server takes no file without one; `replay token rotate alice --file \
                 {file}` makes another one, or stop the server"
            )
        );
        assert_eq!(
            said(lines.revoke("bob")),
            format!("nobody in it is called `bob`; `replay token list --file {file}` shows who is")
        );
        assert_eq!(
            said(lines.add(&entry("alice", "A", None))),
            format!(
                "line 1 is that of `alice` already; `replay token rotate alice --file {file}` makes another token for it, `replay \
                 token revoke alice --file {file}` takes it away"
            )
        );
        drop(lines);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), odd);
        // A file of comments has room for tokens.
        std::fs::write(&path, "# who").unwrap();
        assert_eq!(
            said(TokenLines::read(&path)),
            "there is no token in it; `replay token new NAME` makes lines for it"
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
