//! Reply of `grep_files`: lines, files or counts, as text and as data.

use std::fmt::Write as _;
use std::iter::repeat_n;
use std::os::unix::ffi::OsStrExt as _;

use replay_base::text::escape::show_path;
use replay_search::{FileHits, GrepOptions, Hits, Mode};
use schemars::JsonSchema;
use serde::Serialize;

use super::notes::not_searched::NotSearched;
use super::reply_size::Bulk;

/// Every line shown, typed.
#[derive(Debug, Default, JsonSchema, Serialize)]
#[cfg_attr(test, derive(PartialEq, Eq))]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    matches: Vec<MatchedLine>,
    /// With outputMode files or count
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<Counted>,
    /// Lines that match, those left out by maxBytes included; with outputMode files: files
    pub(super) count: u64,
    truncated: bool,
    skipped: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub(super) not_searched: Option<NotSearched>,
}

/// A line that matches, or context.
#[derive(Debug, JsonSchema, Serialize)]
#[cfg_attr(test, derive(PartialEq, Eq))]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Shown")]
pub(super) struct MatchedLine {
    path: String,
    line: u64,
    text: String,
    is_match: bool,
}

/// A file that matches.
#[derive(Debug, JsonSchema, Serialize)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct Counted {
    path: String,
    /// Lines that match; with outputMode count
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

/// A reply as data and as text, and the notes in the text.
pub(super) struct Assembled {
    pub output: Output,
    pub text: String,
    pub notes: Vec<String>,
}

/// Builds the reply. `is_bound_by_client` is true if the client passes on no more bytes.
pub(super) fn assemble(hits: &Hits, wanted: GrepOptions, is_bound_by_client: bool) -> Assembled {
    let mut reply = Reply {
        wanted,
        is_bound_by_client,
        text: String::new(),
        left_out: LeftOut::default(),
        output: Output::default(),
    };
    reply.output.skipped = hits.skipped;
    reply.output.truncated = hits.more;
    for file in &hits.files {
        reply.output.count += file.matches;
        match wanted.mode {
            Mode::Lines => reply.lines(file),
            Mode::Files | Mode::Count => reply.file(file),
        }
    }
    reply.finish(hits)
}

/// Note on the directory that holds most matches of a truncated reply. `root` is the start of the
/// search, `bytes` the length of its text.
pub(super) fn bulk_note(hits: &Hits, output: &Output, root: &[u8], bytes: usize) -> Option<String> {
    let files = &hits.files;
    let paths = || {
        files
            .iter()
            .flat_map(|file| repeat_n(file.path.as_os_str().as_bytes(), file.matches as usize))
    };
    let means = "leave it out with excludeGlobs or ignored: false";
    let bulk = || Bulk::of_paths(root, paths);
    let count = output.count as usize;
    output
        .truncated
        .then(|| Bulk::note(bytes, count, "matches", means, bulk))
        .flatten()
}

struct Reply {
    wanted: GrepOptions,
    is_bound_by_client: bool,
    text: String,
    left_out: LeftOut,
    output: Output,
}

/// Matches that did not fit.
#[derive(Default)]
struct LeftOut {
    units: u64,
    files: u64,
    first: Option<String>,
}

impl Reply {
    fn lines(&mut self, file: &FileHits) {
        let path = show_path(&file.path);
        let mut shown = 0;
        for (index, hit) in file.hits.iter().enumerate() {
            if self.left_out.first.is_some() {
                break;
            }
            let separator = if hit.is_match { ':' } else { '-' };
            let gap =
                self.wanted.context > 0 && (hit.after_gap || index == 0 && !self.text.is_empty());
            let before = self.text.len();
            // A write to a `String` cannot fail.
            let _ = writeln!(
                self.text,
                "{}{path}{separator}{}{separator}{}",
                if gap { "--\n" } else { "" },
                hit.line,
                hit.text
            );
            if self.text.len() > self.wanted.bytes && before > 0 {
                self.text.truncate(before);
                self.left_out.first = Some(format!("{path}:{}", hit.line));
                break;
            }
            shown += u64::from(hit.is_match);
            self.output.matches.push(MatchedLine {
                path: path.clone().into_owned(),
                line: hit.line,
                text: hit.text.clone(),
                is_match: hit.is_match,
            });
        }
        if shown < file.matches {
            self.left_out.units += file.matches - shown;
            self.left_out.files += 1;
            self.left_out.first.get_or_insert_with(|| path.into_owned());
        }
    }

    fn file(&mut self, file: &FileHits) {
        let path = show_path(&file.path);
        let before = self.text.len();
        if self.left_out.first.is_none() {
            let _ = match self.wanted.mode {
                Mode::Count => writeln!(self.text, "{path}:{}", file.matches),
                _ => writeln!(self.text, "{path}"),
            };
        }
        if self.left_out.first.is_some() || self.text.len() > self.wanted.bytes && before > 0 {
            self.text.truncate(before);
            self.left_out.units += 1;
            self.left_out.files += 1;
            self.left_out.first.get_or_insert_with(|| path.into_owned());
            return;
        }
        let count = (self.wanted.mode == Mode::Count).then_some(file.matches);
        self.output.files.push(Counted {
            path: path.into_owned(),
            count,
        });
    }

    fn finish(mut self, hits: &Hits) -> Assembled {
        let mut notes = Vec::new();
        let (output, files) = (&mut self.output, hits.files.len());
        let all = if self.wanted.mode == Mode::Lines {
            output.count
        } else {
            files as u64
        };
        let units = if self.wanted.mode == Mode::Lines {
            "matches"
        } else {
            "files"
        };
        if output.truncated {
            notes.push(format!(
                "truncated: the first {all} {units}; narrow the search or raise maxResults"
            ));
        }
        if let Some(first) = &self.left_out.first {
            output.truncated = true;
            let how = match (self.wanted.mode == Mode::Lines, self.is_bound_by_client) {
                (true, false) => ", raise maxBytes, or set outputMode",
                (true, true) => " or set outputMode",
                (false, false) => " or raise maxBytes",
                (false, true) => "",
            };
            notes.push(format!(
                "cut at {} bytes: {} of {all} {units} left out, in {} file(s) from {first} on; narrow the search{how}",
                self.wanted.bytes, self.left_out.units, self.left_out.files,
            ));
        }
        let above = notes.iter().fold(String::new(), |mut above, note| {
            let _ = writeln!(above, "[{note}]");
            above
        });
        let mut text = above + &self.text;
        if output.count == 0 {
            text.push_str("(no matches found)\n");
        }
        let _ = match self.wanted.mode {
            Mode::Lines => write!(text, "[{} matches]", output.count),
            Mode::Files => write!(text, "[{files} files]"),
            Mode::Count => write!(text, "[{} matches in {files} files]", output.count),
        };
        if output.skipped > 0 {
            let note = format!(
                "{} path(s) skipped: not readable, or outside the allowed directories",
                output.skipped
            );
            let _ = write!(text, "\n[{note}]");
            notes.push(note);
        }
        Assembled {
            output: self.output,
            text,
            notes,
        }
    }
}
