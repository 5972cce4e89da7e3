//! Paths of a command that lie outside what commands see.

use std::path::{Component, Path, PathBuf};

use replay_base::text::escape::show_path;
use replay_base::text::nearest::shortened;

/// Reason for which a path cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathFault {
    Unseen,
    ReadOnly,
    /// It is a socket, and commands reach none of the machine.
    Socket,
}

/// Words for errors of paths: of the C library (strerror(3)), of Node.js and of its modules.
const PATH_FAULTS: [(&str, PathFault); 5] = [
    ("o such file or directory", PathFault::Unseen),
    ("ermission denied", PathFault::Unseen),
    ("ot a directory", PathFault::Unseen),
    ("ead-only file system", PathFault::ReadOnly),
    ("annot find module ", PathFault::Unseen),
];

/// Returns the path beside the words of an error, as in `cat: /x: No such file or directory`, and in
/// `ENOENT: no such file or directory, open '/x'`.
pub(super) fn lost_path(line: &str) -> Option<(&Path, PathFault)> {
    let mut faults = PATH_FAULTS.into_iter();
    let (before, after, fault) = faults.find_map(|(words, fault)| {
        let (before, after) = line.split_once(words)?;
        Some((before.rsplit_once(": ")?.0, after, fault))
    })?;
    let is_quote = |char: char| "\"'`‘’".contains(char);
    let quoted = |text: &'_ str| -> Option<(usize, usize)> {
        let end = text.rfind(is_quote)?;
        let start = text[..end].rfind(is_quote)?;
        let first = text[start..].chars().next().map_or(0, char::len_utf8);
        Some((start + first, end))
    };
    let leads_out = |path: &str| path.starts_with('/') || path.starts_with("..");
    let path = if let Some((start, end)) = quoted(after) {
        &after[start..end]
    } else if let Some((start, end)) = quoted(before)
        .filter(|&(start, end)| before.ends_with(is_quote) || leads_out(&before[start..end]))
    {
        &before[start..end]
    } else {
        let last = before.rsplit(": ").next()?;
        last.rsplit(char::is_whitespace).next()?
    };
    let fault = if fault == PathFault::Unseen && before.contains("socket") {
        PathFault::Socket
    } else {
        fault
    };
    (path.len() > 1).then_some((Path::new(path), fault))
}

/// A path outside what commands see.
pub(super) struct PathOutside {
    /// Text for the note.
    pub(super) shown: String,
    /// Whole path, if the directory of a relative one is known.
    pub(super) path: PathBuf,
    /// Parts at the start of the path that are told once together.
    pub(super) parts: usize,
    pub(super) fault: PathFault,
}

impl PathOutside {
    /// A path that is told as it stands.
    pub(super) fn whole(path: &Path, fault: PathFault) -> Self {
        const PARTS: usize = 4;
        Self {
            shown: shortened(&show_path(path)).into_owned(),
            path: path.to_owned(),
            parts: PARTS,
            fault,
        }
    }

    /// A path that leads up from a directory. Each neighbour of the directory is told once.
    pub(super) fn from(base: &Path, path: &Path, fault: PathFault) -> Self {
        let up = path
            .components()
            .take_while(|part| *part == Component::ParentDir);
        let left = base.components().count().saturating_sub(up.count());
        Self {
            shown: format!("{} (from {})", shortened(&show_path(path)), show_path(base)),
            path: normal(&base.join(path)),
            parts: left + 1,
            fault,
        }
    }
}

/// A command line as its words.
pub(super) struct CommandWords<'a> {
    words: Vec<&'a str>,
    /// Directory in which the words are paths; `None` if the line changes it in an unknown way.
    pub(super) directory: Option<PathBuf>,
}

impl<'a> CommandWords<'a> {
    /// Splits a line that runs in this directory. A `cd` at its start is followed.
    pub(super) fn of(line: &'a str, directory: &Path) -> Self {
        let mut open = None;
        let is_end = |char: char| {
            match open {
                Some(quote) if quote == char => open = None,
                None if "\"'".contains(char) => open = Some(char),
                _ => (),
            }
            open.is_none() && (char.is_whitespace() || ";&|()<>".contains(char))
        };
        let words = line.split(is_end).filter(|word| !word.is_empty());
        let words: Vec<&str> = words.map(|word| word.trim_matches(['"', '\''])).collect();
        let is_change = |word: &&str| matches!(*word, "cd" | "pushd" | "-C");
        let (start, rest) = match words.as_slice() {
            ["cd", to, rest @ ..] if !to.starts_with(['$', '~', '-']) => {
                (normal(&directory.join(to)), rest)
            }
            all => (directory.to_owned(), all),
        };
        let directory = (!rest.iter().any(is_change)).then_some(start);
        Self {
            words: rest.to_vec(),
            directory,
        }
    }

    /// Returns the words that lead up from the directory, or are absolute, each with its path. An
    /// option's value counts: `--config=../x`, `-I../x`.
    pub(super) fn paths(&self) -> impl Iterator<Item = (&'a str, PathBuf)> {
        let directory = self.directory.clone();
        self.words.iter().filter_map(move |word| {
            let value = if word.starts_with('-') {
                let up = word.find("../")?;
                &word[up..]
            } else {
                word.rsplit('=').next()?
            };
            let is_up = value == ".." || value.starts_with("../");
            let path = directory.as_ref()?.join(value);
            (is_up || value.len() > 1 && value.starts_with('/')).then(|| (value, normal(&path)))
        })
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }
}

/// Returns an absolute path without `.` and `..`, by its text.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => (),
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn lost_path_is_found_beside_words() {
        use PathFault::{ReadOnly, Socket, Unseen};
        for (line, path, fault) in [
            ("cat: /x: No such file or directory", "/x", Unseen),
            (
                "Makefile:1: ../x.mk: No such file or directory",
                "../x.mk",
                Unseen,
            ),
            (
                "tail: cannot open '/v/l' for reading: No such file or directory",
                "/v/l",
                Unseen,
            ),
            (
                "ENOENT: no such file or directory, open '../x'",
                "../x",
                Unseen,
            ),
            ("Error: Cannot find module '../x'", "../x", Unseen),
            (
                "touch: cannot touch '/usr/x': Read-only file system",
                "/usr/x",
                ReadOnly,
            ),
            (
                "psql: error: connection to server on socket \"/run/s\" failed: No such file or directory",
                "/run/s",
                Socket,
            ),
        ] {
            assert_eq!(lost_path(line), Some((Path::new(path), fault)), "{line}");
        }
    }

    #[test]
    fn words_of_line_are_paths_from_its_directory() {
        let paths = |line| {
            let words = CommandWords::of(line, Path::new("/home/me/app"));
            let paths = words.paths().map(|(_, path)| path.display().to_string());
            paths.collect::<Vec<_>>()
        };
        assert_eq!(
            paths("cat ../x \"../y\" </z"),
            ["/home/me/x", "/home/me/y", "/z"]
        );
        assert_eq!(
            paths("cc -I../inc --config=../c a=../v"),
            ["/home/me/inc", "/home/me/c", "/home/me/v"]
        );
        assert_eq!(paths("cd sub && cat ../x"), ["/home/me/app/x"]);
        assert_eq!(paths("cd sub; cd ..; cat ../x"), [""; 0]);
        assert_eq!(paths("grep \"from '../x'\" src"), [""; 0]);
        assert_eq!(paths("git log a..b"), [""; 0]);
    }
}
