//! What the tools for tests and types have in common.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error as _};

use super::change_notes::{ChangesMade, changes_made};
use super::command_notes::{Notes, refused};
use super::python::Open;
use super::{Context, Reply};
use crate::error::Error;
use crate::exec::{Blocked, ExecError};
use crate::protocol::Content;
use crate::testrun::{RunContext, RunOutcome, TestrunError, ToolKind};

/// What is reported, and what the commands that found it out changed in the allowed directories.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Reported<R> {
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

/// What has run.
pub struct Ran<R> {
    outcome: RunOutcome<R>,
    /// The note and the same for programs.
    changed: Option<(String, ChangesMade)>,
}

/// Does `work` with what runs need. `tool` is told in the refusal.
pub fn with_run_context<R>(
    context: &Context<'_>,
    tool: &'static str,
    work: impl FnOnce(&RunContext<'_>) -> Result<RunOutcome<R>, TestrunError>,
) -> Result<Ran<R>, Error> {
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
    Ok(Ran {
        outcome,
        changed: changes_made(context),
    })
}

/// Tells the client how long the work takes, of how long it may, in its own words.
pub fn report(context: &Context<'_>, elapsed: Duration, most: Duration, words: &str) {
    context.progress.report(
        elapsed.as_millis() as u64,
        Some(most.as_millis() as u64),
        words,
    );
}

impl<R> Ran<R> {
    pub fn report(&self) -> &R {
        &self.outcome.report
    }

    /// What the model reads: the report in words, and notes; and a link to the log. `told` is the
    /// report for programs.
    pub fn reply(
        self,
        context: &Context<'_>,
        text: &str,
        told: impl FnOnce(R) -> R,
    ) -> Reply<Reported<R>> {
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
        let mut all = Notes::below(text, "");
        all.show_all(
            notes
                .into_iter()
                .chain(changed.iter().map(|(note, _)| note.clone())),
        );
        all.add_denied(&denied, &context.services.commands);
        let mut content = vec![Content::text(all.text())];
        content.extend(log.map(|log| Content::Link {
            uri: log.uri.clone(),
            name: log.name.clone(),
            mime: "text/plain".to_owned(),
            size: log.kept.len() as u64,
        }));
        let changed = changed.map(|(_, made)| made);
        let (blocked, blocked_more) = (Blocked::among(&denied), Blocked::more(&denied));
        Reply::content(content).with(Reported {
            report: told(report),
            changed,
            blocked,
            blocked_more,
        })
    }
}

/// A runner or a checker as it is asked for: by its name, or `auto`, which is none.
#[derive(Debug)]
pub struct Asked<T: ToolKind + ?Sized>(pub Option<&'static T>);

/// What asks for the usual one.
const AUTO: &str = "auto";

impl<'de, T: ToolKind + ?Sized> Deserialize<'de> for Asked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let named = T::all().iter().copied().find(|tool| tool.name() == name);
        if named.is_none() && name != AUTO {
            let names: Vec<&str> = T::all().iter().map(|tool| tool.name()).collect();
            return Err(D::Error::custom(format!(
                "`{name}` is none of {AUTO}, {}",
                names.join(", ")
            )));
        }
        Ok(Self(named))
    }
}

impl<T: ToolKind + ?Sized> JsonSchema for Asked<T> {
    fn schema_name() -> Cow<'static, str> {
        "Asked".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = [AUTO]
            .into_iter()
            .chain(T::all().iter().map(|tool| tool.name()))
            .collect();
        json_schema!({ "type": "string", "enum": names })
    }
}
