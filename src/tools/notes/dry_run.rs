//! Changes of a dry run, as text, as counts, and as a diff.

use replay_files::journal::Change;
use replay_sandbox::{Content, DryRunReport, Network, ReportedChange};
use serde::Serialize;

use crate::error::Error;
use crate::tools::Context;
use crate::tools::notes::changes::{Counts, NAMED, name, verb};
use crate::tools::notes::diff::{HIDDEN, Side, between, join_diffs};

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct WouldChange {
    #[serde(flatten)]
    counts: Counts,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub diff: String,
    /// Reasons why there may be more changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gaps: Vec<String>,
}

/// Returns a note on a dry run, and the same as data.
pub(crate) fn would_change(
    context: &Context<'_>,
    report: DryRunReport,
) -> Result<(String, WouldChange), Error> {
    let _held = context.room().take(2 * report.contents.len())?;
    let mut counts = Counts::default();
    for (change, count) in &report.counts {
        counts.add(change, *count);
    }
    let all: usize = report.counts.iter().map(|(_, count)| count).sum();
    let below = context.services.policy.base();
    let words = |told: &ReportedChange| {
        format!(
            "{} {}",
            verb(&told.change),
            name(told.path.as_path(), below)
        )
    };
    let mut note = match all {
        0 if report.gaps.is_empty() => "dry run: nothing would be changed".to_owned(),
        0 => "dry run: no change was seen; nothing was changed".to_owned(),
        1..=NAMED => {
            let named: Vec<_> = report.told.iter().map(words).collect();
            format!(
                "dry run: would be {}; nothing was changed",
                named.join(", ")
            )
        }
        _ => format!("dry run: would be {}; nothing was changed", counts.words()),
    };
    if counts.created > 0 && counts.deleted > 0 {
        note.push_str("; a moved file counts as deleted and created");
    }
    if context.services.commands.standing.network == Network::Host {
        note.push_str("; what the command did over the network is not taken back");
    }
    for gap in &report.gaps {
        note.push_str("; ");
        note.push_str(gap);
    }
    let one = |told: &ReportedChange| {
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let mut text = format!("{}\n", words(told));
        if context.services.policy.hides(told.path.as_path()) {
            text.push_str(HIDDEN);
        } else if told.change != Change::Metadata {
            let [before, after] = [&told.before, &told.after].map(|content| side(&report, content));
            text.push_str(&between(&name(told.path.as_path(), below), before, after));
        }
        Ok(text)
    };
    let diff = join_diffs(all, report.told.iter().map(one))?;
    Ok((
        note,
        WouldChange {
            counts,
            diff,
            gaps: report.gaps,
        },
    ))
}

fn side(report: &DryRunReport, content: &Content) -> Side {
    match content {
        Content::Nothing => Side::Nothing,
        Content::File { size, .. } => Side::File {
            size: *size,
            bytes: report.bytes(content).map(|bytes| Ok(bytes.to_vec())),
        },
        Content::Link(target) => Side::Link(target.as_path().into()),
        Content::Directory => Side::Directory,
        Content::Special => Side::Special,
    }
}
