//! Notes of a search on globs that matched nothing, or less than intended.

use std::sync::Arc;

use replay_base::text::escape::show;
use replay_files::policy::FileKind;
use replay_search::{First, UsedGlob, first};

use crate::tools::Context;
use crate::tools::selection::{Selection, call, scope};

/// Maximum number of entries below the start of a glob that are visited for further matches.
const MAX_LOOKED_AT: u64 = 20_000;

/// Maximum number of globs with a note on their interpretation.
const MAX_NOTED: usize = 3;

/// Outcome of a search, as far as its globs matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Nothing,
    Found,
    /// The search ended early, so a glob without a match may have some.
    Cut,
}

/// Returns a line for each glob that probably means something else than it matched. `selection` and
/// `directory` are those of the search.
pub(crate) fn glob_notes(
    context: &Context<'_>,
    globs: &[Arc<UsedGlob>],
    outcome: Outcome,
    directory: Option<&str>,
    selection: Selection<'_>,
) -> Vec<String> {
    let missed = globs
        .iter()
        .filter(|glob| outcome != Outcome::Cut && !glob.has_matched());
    let mut notes: Vec<String> = missed
        .filter_map(|glob| reading_note(glob))
        .take(MAX_NOTED)
        .collect();
    let is_path_found =
        |glob: &UsedGlob| glob.is_path && (outcome != Outcome::Nothing || glob.has_matched());
    let shallow: Vec<_> = globs
        .iter()
        .filter(|glob| glob.is_shallow() && !is_path_found(glob))
        .collect();
    let Some(first) = shallow.first() else {
        return notes;
    };
    if outcome == Outcome::Nothing {
        notes.push(shallow_note(first, None));
        return notes;
    }
    match below(context, &shallow, directory, selection) {
        First::Found(path) => notes.push(shallow_note(first, Some(&path))),
        First::Unknown => notes.push(shallow_note(first, None)),
        First::Nothing => {}
    }
    notes
}

/// Note on a glob without a match that was read as a name, or as a name and a pattern.
fn reading_note(glob: &UsedGlob) -> Option<String> {
    let text = &glob.text;
    if let Some(part) = &glob.unclear {
        return Some(format!(
            "`{text}` matches nothing, whether `{part}` is read as a name or as a pattern"
        ));
    }
    let name = glob.name.as_ref()?;
    Some(format!(
        "`{text}` matches nothing: a file `{name}` exists, so its brackets are read as part of \
         the name, not as a pattern"
    ))
}

fn shallow_note(glob: &UsedGlob, below: Option<&[u8]>) -> String {
    let text = &glob.text;
    let (directory, name) = text
        .rfind('/')
        .map_or(("", text.as_str()), |slash| text.split_at(slash + 1));
    let more = below
        .map(|path| format!(" and leaves out more below, such as `{}`", show(path)))
        .unwrap_or_default();
    format!(
        "`{text}` matches only directly in the directory{more}; `{directory}**/{name}` matches at any depth"
    )
}

/// Searches for matches of the globs below the directories where they start.
#[expect(clippy::needless_pass_by_value, reason = "a part of it is moved")]
fn below(
    context: &Context<'_>,
    globs: &[&Arc<UsedGlob>],
    directory: Option<&str>,
    selection: Selection<'_>,
) -> First {
    let deeper = |glob: &&Arc<UsedGlob>| {
        let start = glob.start.to_str()?.trim_end_matches('/');
        Some(format!("{start}/*/**/{}", glob.rest))
    };
    let globs: Option<Vec<String>> = globs.iter().map(deeper).collect();
    let (Some(globs), Ok(directory)) = (
        globs,
        context.services.policy.probe(directory.unwrap_or(".")),
    ) else {
        return First::Unknown;
    };
    let selection = Selection {
        directory: Some(directory),
        globs: Some(&globs),
        ..selection
    };
    let Ok(scope) = scope(context, selection) else {
        return First::Unknown;
    };
    first(call(context, &|_| {}), &scope, MAX_LOOKED_AT, &|kind| {
        kind != FileKind::Directory
    })
}
