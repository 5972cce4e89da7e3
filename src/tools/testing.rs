//! Shared parts of the tools for tests and types.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use replay_mcp::protocol::Content;
use replay_sandbox::exec::{Blocked, ExecError};
use replay_testrun::text::LEFT_OUT;
use replay_testrun::{RunContext, RunOutcome, TestrunError, ToolKind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error as _};

use super::notes::changes::{ChangesMade, changes_made};
use super::notes::command::{Notes, refused};
use super::open_object::Open;
use super::{Context, Reply};
use crate::error::Error;

/// Report of a run, and the changes of its commands in the allowed directories.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct ReportOutput<R> {
    #[serde(flatten)]
    report: R,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<ChangesMade>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Open<Blocked>>")]
    blocked: Vec<Blocked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_more: Option<u64>,
}

/// A finished run of tests or of a checker.
pub(super) struct FinishedRun<R> {
    outcome: RunOutcome<R>,
    /// Changes of the run, as a note and as data.
    changed: Option<(Option<String>, ChangesMade)>,
}

/// Runs `work` with the context of a test run. An error names `tool`.
pub(super) fn with_run_context<R>(
    context: &Context<'_>,
    tool: &'static str,
    work: impl FnOnce(&RunContext<'_>) -> Result<RunOutcome<R>, TestrunError>,
) -> Result<FinishedRun<R>, Error> {
    let services = context.services;
    let rules = &services.commands;
    if let Some(reason) = &rules.standing.refused {
        return Err(refused(tool, reason));
    }
    let (Some(launcher), Some(scratch)) = (&rules.launcher, &rules.scratch) else {
        return Err(ExecError::NoLauncher.into());
    };
    let tmp = rules
        .standing
        .tmp
        .as_ref()
        .map_or_else(|| scratch.path().join("tmp"), |tmp| PathBuf::from(&tmp.0));
    let outcome = work(&RunContext {
        changes: context.changes,
        policy: &services.policy,
        account: &services.account,
        memory: &services.memory,
        launcher,
        running: &rules.running,
        scratch,
        tmp: &tmp,
        offline: !rules.standing.reaches_hosts(),
        logs: &services.logs,
        history: &services.tests,
        cancel: context.cancel,
    })?;
    Ok(FinishedRun {
        outcome,
        changed: changes_made(context),
    })
}

/// Reports the elapsed time, the timeout, and a message to the client. Building may take longer
/// than the timeout.
pub(super) fn report(context: &Context<'_>, elapsed: Duration, most: Duration, words: &str) {
    let total = (elapsed <= most).then_some(most.as_millis() as u64);
    context
        .progress
        .report(elapsed.as_millis() as u64, total, words);
}

impl<R> FinishedRun<R> {
    pub(super) fn report(&self) -> &R {
        &self.outcome.report
    }

    /// Returns the reply: the report as text, notes, and a link to the log. `reduce` shortens the
    /// report for the structured reply.
    pub(super) fn reply(
        self,
        context: &Context<'_>,
        text: &str,
        reduce: impl FnOnce(R) -> R,
    ) -> Reply<ReportOutput<R>> {
        let Self {
            outcome:
                RunOutcome {
                    report,
                    notes,
                    denied,
                    log,
                },
            changed,
        } = self;
        let (mut once, mut shown) = (Vec::new(), text.to_owned());
        let notes = if context.is_lean() {
            let (left_out, others): (Vec<&str>, Vec<&str>) =
                text.lines().partition(|line| line.starts_with(LEFT_OUT));
            // The lines that explain the word are told once.
            shown = others.join("\n").replacen("; shortened)", ")", 1);
            once.extend(notes);
            once.extend(left_out.into_iter().map(ToOwned::to_owned));
            Vec::new()
        } else {
            notes
        };
        let mut all = Notes::below(&shown, "");
        all.add_all(
            notes
                .into_iter()
                .chain(changed.iter().filter_map(|(note, _)| note.clone())),
        );
        all.add_denied(&denied, &context.services.commands);
        let notes = all.take();
        let mut content = if context.is_lean() {
            let notes = notes.iter().map(Content::note);
            std::iter::once(Content::text(shown)).chain(notes).collect()
        } else {
            vec![Content::text(all.text())]
        };
        content.extend(log.map(|log| Content::Link {
            uri: log.uri.clone(),
            name: log.name.clone(),
            mime: "text/plain".to_owned(),
            size: log.kept.len() as u64,
        }));
        let changed = changed.map(|(_, made)| made);
        let (blocked, blocked_more) = (Blocked::among(&denied), Blocked::more(&denied));
        let output = ReportOutput {
            report: reduce(report),
            changed,
            blocked,
            blocked_more,
        };
        let reply = Reply::content(content)
            .with_structured(output)
            .with_notes(notes);
        Reply { once, ..reply }
    }
}

/// A requested runner or checker: a name, or `auto`, which means none.
#[derive(Debug)]
pub(super) struct ToolChoice<T: ToolKind + ?Sized>(pub Option<&'static T>);

/// Value that selects the default runner or checker.
const AUTO: &str = "auto";

impl<'de, T: ToolKind + ?Sized> Deserialize<'de> for ToolChoice<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let named = T::all().iter().copied().find(|tool| tool.name() == name);
        if named.is_none() && name != AUTO {
            let names: Vec<&str> = T::all().iter().map(|tool| tool.name()).collect();
            return Err(D::Error::custom(format!(
                "`{name}` is unknown; use one of {AUTO}, {}",
                names.join(", ")
            )));
        }
        Ok(Self(named))
    }
}

impl<T: ToolKind + ?Sized> JsonSchema for ToolChoice<T> {
    fn schema_name() -> Cow<'static, str> {
        "Asked".into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// The names are many, and a wrong one is answered with all of them.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}
