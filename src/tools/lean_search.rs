//! Lean replies of the searches: paths relative to the first directory, each once, and one last
//! line about what was found and left out.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use replay_base::text::count::counted;
use replay_search::{FileHits, Hits, Mode, NameMatches, Paths};

use super::name_list::NameList;
use super::selection::unreadable_note;
use super::status_line::Status;
use super::text_limit::TextLimit;
use super::{Context, Reply};

/// Ignored entries that match and are named if no other does.
pub(super) const MAX_HIDDEN: usize = 3;

/// Returns the reply to a search for names. `what` is a name in singular and plural, `hidden` has
/// ignored entries that match if no other does.
pub(super) fn names_reply<O>(
    context: &Context<'_>,
    named: NameMatches,
    [one, several]: [&str; 2],
    hidden: &Paths,
    mut notes: Vec<String>,
) -> Reply<O> {
    let list = NameList::new(context, &named.paths, context.limit());
    let mut status = Status::default();
    let (shown, all) = (list.len(), named.total);
    let found = match all {
        0 => format!("no {one} matches"),
        all => counted(all as u64, one, several),
    };
    if shown < all || named.more {
        let more = if named.more { "more than " } else { "" };
        let raise = if shown == named.paths.len() {
            " or raise max"
        } else {
            context.limit().or_raise()
        };
        status.add(format!(
            "the first {shown} of {more}{found}: narrow the search{raise}"
        ));
    } else if all == 0 {
        status.add(found);
    }
    if named.skipped > 0 {
        let skipped = counted(named.skipped, "directory", "directories");
        status.add(format!("{skipped} could not be read"));
        notes.extend(unreadable_note(named.unreadable.iter().map(Vec::as_slice)));
    }
    status.add_hidden(hidden.iter().map(|path| context.shown(path)));
    status.add_ignored(named.left_out);
    status
        .reply(list.text().to_owned(), notes)
        .holding(named.held)
}

/// Form of the results of a search of contents.
#[derive(Clone, Copy)]
pub(super) struct GrepForm {
    pub mode: Mode,
    pub limit: TextLimit,
    /// `true` if the call names one file, whose path is not repeated.
    pub is_named: bool,
}

/// Writes what a search of contents found, and adds the counts to the status.
pub(super) fn grep_text(
    context: &Context<'_>,
    hits: &Hits,
    form: GrepForm,
    status: &mut Status,
) -> String {
    let GrepForm {
        mode,
        limit,
        is_named,
    } = form;
    let mut text = GrepText {
        context,
        limit,
        text: String::new(),
        left: NotShown::default(),
    };
    for file in &hits.files {
        match mode {
            Mode::Lines => text.lines(file, is_named),
            Mode::Files => text.line(file, ""),
            Mode::Count => text.line(file, &format!(":{}", file.matches)),
        }
    }
    let files = hits.files.len() as u64;
    let matches = hits.files.iter().map(|file| file.matches).sum();
    let found = match mode {
        _ if files == 0 => "no matches".to_owned(),
        Mode::Files => counted(files, "file matches", "files match"),
        Mode::Lines | Mode::Count => format!(
            "{} in {}",
            counted(matches, "line matches", "lines match"),
            counted(files, "file", "files")
        ),
    };
    if hits.more {
        status.add(format!(
            "{found}, and more: narrow the search or raise maxResults"
        ));
    } else if files == 0 || text.left.first.is_some() {
        status.add(found);
    }
    if let Some(first) = text.left.first {
        let what = match mode {
            Mode::Lines => counted(text.left.units, "of them is", "of them are"),
            Mode::Files | Mode::Count => counted(text.left.files, "file is", "files are"),
        };
        status.add(format!(
            "{what} not shown, from {first} on: narrow the search, set outputMode{}",
            limit.or_raise()
        ));
    }
    text.text
}

struct GrepText<'a> {
    context: &'a Context<'a>,
    limit: TextLimit,
    text: String,
    left: NotShown,
}

/// Matches that did not fit.
#[derive(Default)]
struct NotShown {
    units: u64,
    files: u64,
    /// Place of the first.
    first: Option<String>,
}

impl GrepText<'_> {
    fn lines(&mut self, file: &FileHits, is_known: bool) {
        let path = self.context.shown(file.path.as_os_str().as_bytes());
        let (mut shown, mut is_named) = (0, is_known);
        for (index, hit) in file.hits.iter().enumerate() {
            if self.left.first.is_some() {
                break;
            }
            let before = index.checked_sub(1).and_then(|index| file.hits.get(index));
            let has_gap = before.is_some_and(|before| before.line + 1 < hit.line);
            let has_context = file.hits.iter().any(|hit| !hit.is_match);
            let mut line = String::new();
            if !is_named {
                let _ = writeln!(line, "{path}");
            }
            if has_gap && has_context {
                line.push_str("--\n");
            }
            let separator = if hit.is_match { ':' } else { '-' };
            let _ = writeln!(line, "{}{separator} {}", hit.line, hit.text);
            if !self.limit.take(&line) && !self.text.is_empty() {
                self.left.first = Some(format!("{path}:{}", hit.line));
                break;
            }
            (is_named, shown) = (true, shown + u64::from(hit.is_match));
            self.text.push_str(&line);
        }
        if shown < file.matches {
            self.left.units += file.matches - shown;
            self.left.files += 1;
            self.left.first.get_or_insert_with(|| path.into_owned());
        }
    }

    fn line(&mut self, file: &FileHits, count: &str) {
        let path = self.context.shown(file.path.as_os_str().as_bytes());
        let line = format!("{path}{count}\n");
        if self.left.first.is_none() && (self.limit.take(&line) || self.text.is_empty()) {
            self.text.push_str(&line);
        } else {
            self.left.files += 1;
            self.left.first.get_or_insert_with(|| path.into_owned());
        }
    }
}
