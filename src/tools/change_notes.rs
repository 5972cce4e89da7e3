//! What is said about what a command changed: how much, which places if they are few, and how it is undone.

use schemars::JsonSchema;
use serde::Serialize;

use super::services::Services;
use crate::journal::{Change, Place};
use crate::limits::NAMED_CHANGES;
use crate::sandbox::Changed;
use crate::text::escape::show_path;

/// What a command changed in the allowed directories, as far as it is kept.
#[derive(Debug, Default, JsonSchema, PartialEq, Eq, Serialize)]
pub struct ChangesMade {
    /// For undo_changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u64>,
    edited: usize,
    created: usize,
    deleted: usize,
    renamed: usize,
    /// Mode, owner, times or attributes alone.
    metadata: usize,
    /// What of it cannot be undone, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<String>,
}

/// The note below the reply, and the same for programs. `None` if nothing was changed.
pub fn changes_made(services: &Services, changed: Option<&Changed>) -> Option<(String, ChangesMade)> {
    let changed = changed?;
    let journal = services.journal.as_ref().ok();
    let entry = changed.call.and_then(|call| journal?.store.entry(call).ok());
    let changes = entry.map(|entry| journal.map(|journal| journal.store.changes(&entry)).unwrap_or_default());
    let changes = changes.unwrap_or_default();
    let mut made = ChangesMade { call: changed.call, lost: changed.fault.clone(), ..ChangesMade::default() };
    for (_, change) in &changes {
        *match change {
            Change::Edited => &mut made.edited,
            Change::Created => &mut made.created,
            Change::Deleted => &mut made.deleted,
            Change::Renamed { .. } => &mut made.renamed,
            Change::Metadata => &mut made.metadata,
        } += 1;
    }
    let what = if changes.len() <= NAMED_CHANGES { named(&changes) } else { made.counted() };
    let mut note = match made.call {
        Some(call) => format!("changed: {what}: undo with call {call}"),
        None => "changed, but nothing was kept to undo it".to_owned(),
    };
    if let Some(lost) = &made.lost {
        note.push_str("; not all can be undone: ");
        note.push_str(lost);
    }
    Some((note, made))
}

impl ChangesMade {
    fn counted(&self) -> String {
        let counts = [
            (self.edited, "edited"),
            (self.created, "created"),
            (self.deleted, "deleted"),
            (self.renamed, "renamed"),
            (self.metadata, "with other metadata"),
        ];
        let told = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        told.collect::<Vec<_>>().join(", ")
    }
}

fn named(changes: &[(Place, Change)]) -> String {
    let shown = |place: &Place| show_path(place.path.path()).into_owned();
    let told = changes.iter().map(|(place, change)| match change {
        Change::Edited => format!("edited {}", shown(place)),
        Change::Created => format!("created {}", shown(place)),
        Change::Deleted => format!("deleted {}", shown(place)),
        Change::Renamed { from } => format!("renamed {} to {}", shown(from), shown(place)),
        Change::Metadata => format!("metadata of {}", shown(place)),
    });
    told.collect::<Vec<_>>().join(", ")
}
