//! Notes of a search about its globs: what they matched nothing by, or left out.

use std::sync::Arc;

use super::Context;
use super::selection::{Selection, call, scope};
use crate::policy::Kind;
use crate::search::{First, UsedGlob, first};
use crate::text::escape::show;

/// Entries below the directory of a glob that are looked at, after the search, for more matches.
const MAX_LOOKED_AT: u64 = 20_000;

/// Globs with a note about what they were read as.
const MAX_NOTED: usize = 3;

/// Outcome of a search, as far as its globs matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Nothing,
    Found,
    /// The search ended early, so a glob without a match may have some.
    Cut,
}

/// Returns one line for each glob that probably means something else than it matched. `selection`
/// is that of the search, which `directory` was given for.
pub fn glob_notes(
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

/// Says that a glob without a match was read as a name, or as a name and a pattern.
fn reading_note(glob: &UsedGlob) -> Option<String> {
    let text = &glob.text;
    if let Some(part) = &glob.unclear {
        return Some(format!(
            "`{text}` matches nothing, with `{part}` read as a name or as a pattern"
        ));
    }
    let name = glob.name.as_ref()?;
    Some(format!(
        "`{text}` matches nothing: `{name}` exists, so it is a name here and no pattern"
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

/// Looks for what the globs would match below the directories where they begin.
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
        kind != Kind::Directory
    })
}
