//! Files that grep_files cannot find everything in, although read_file shows their text.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::Context;
use super::selection::call;
use crate::error::Error;
use crate::fs::Reader;
use crate::policy::{Checked, Kind, Read, Touched};
use crate::search::{Scope, names};
use crate::text::encoding::{detect_and_decode, is_binary, is_utf16};
use crate::text::escape::show_path;
use crate::text::lines::LineEndings;

/// As many files are looked at, each only at its beginning.
const MAX_LOOKED: usize = 1000;
const LOOKED_BYTES: usize = 64 * 1024;
/// A multi-byte character may be cut at the end of the beginning.
const MAX_CUT_BYTES: usize = 4;

/// What a pattern asks for that such files hide.
#[derive(Debug, Clone, Copy)]
pub struct Asks {
    /// Letters beyond ASCII, which are other bytes in an 8-bit encoding.
    letters: bool,
    /// Beginnings or ends of lines.
    lines: bool,
}

impl Asks {
    /// `None` if every file is searched as it is read; `is_found` if something matched.
    pub fn of(pattern: &str, is_found: bool) -> Option<Self> {
        let asks = Self { letters: !pattern.is_ascii(), lines: !is_found && pattern.contains(['^', '$']) };
        (asks.letters || asks.lines).then_some(asks)
    }
}

/// A kind of odd files: how many there are, and the first.
#[derive(Debug, Default)]
struct Odd {
    count: usize,
    first: Option<(String, String)>,
}

impl Odd {
    fn add(&mut self, path: &Path, what: &str) {
        self.count += 1;
        self.first.get_or_insert_with(|| (show_path(path).into_owned(), what.to_owned()));
    }

    fn files(&self) -> Option<(String, &str)> {
        let (path, what) = self.first.as_ref()?;
        let more = if self.count > 1 { format!(" and {} more", self.count - 1) } else { String::new() };
        Some((format!("`{path}`{more}"), what))
    }
}

/// What is told of odd files of a scope.
pub fn notes_of(context: &Context<'_>, scope: &Scope, asks: Asks) -> Result<Vec<String>, Error> {
    let found = names(call(context, &|_| {}), scope, MAX_LOOKED, &|_, kind| kind == Kind::File)?;
    // The search has looked at them before.
    let aside = Touched::default();
    let _aside = aside.enter();
    let paths = found.paths.iter().map(|path| PathBuf::from(OsStr::from_bytes(path)));
    let files = paths.filter_map(|path| context.services.policy.read(path).ok());
    Ok(notes(context, files, asks))
}

/// What is told of odd ones of these files.
pub fn notes(context: &Context<'_>, files: impl Iterator<Item = Checked<Read>>, asks: Asks) -> Vec<String> {
    let (mut coded, mut lone_cr) = (Odd::default(), Odd::default());
    for file in files.take_while(|_| !context.cancel.is_cancelled()) {
        let mut head = vec![0; LOOKED_BYTES];
        let Ok(read) = Reader::new(&file, 0).read(&mut head) else { continue };
        head.truncate(read);
        if is_binary(&head) || is_utf16(&head) {
            continue;
        }
        if asks.letters && std::str::from_utf8(&head).is_err_and(|error| error.error_len().is_some()) {
            coded.add(file.shown(), &encoding(&head));
        }
        if asks.lines && LineEndings::of(&head) == LineEndings::Cr {
            lone_cr.add(file.shown(), "");
        }
    }
    let coded = coded.files().map(|(files, encoding)| {
        format!("{files} not searched for letters beyond ASCII: the encoding is {encoding}, and bytes are compared as UTF-8; read_file decodes it")
    });
    let lone_cr = lone_cr.files().map(|(files, _)| {
        format!("lines of {files} end with CR alone, so `^` and `$` match only at its beginning and end; use (?:^|\\r)")
    });
    coded.into_iter().chain(lone_cr).collect()
}

/// The name of an 8-bit encoding, guessed as read_file does.
fn encoding(head: &[u8]) -> String {
    let decoded = (0..MAX_CUT_BYTES)
        .find_map(|cut| detect_and_decode(head[..head.len() - cut.min(head.len())].to_vec(), None).ok());
    decoded.map_or_else(|| "not UTF-8".to_owned(), |decoded| decoded.encoding.name().to_owned())
}
