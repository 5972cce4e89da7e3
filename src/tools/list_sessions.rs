//! `list_sessions`: the Python sessions.

use replay_base::text::escape::show_path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::open_object::Open;
use super::python::absolute;
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

pub(super) struct ListSessions;

/// `list_sessions` takes no arguments.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {}

/// The sessions by name.
#[derive(Debug, Serialize)]
pub(super) struct Output {
    sessions: Map<String, Value>,
    active_session: String,
    total_sessions: usize,
}

#[derive(Debug, Serialize)]
struct Item {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    created_at: String,
    last_activity: String,
    /// One of `not_started`, `idle`, `busy` and `dead`.
    status: &'static str,
    python: String,
    working_directory: String,
}

impl Tool for ListSessions {
    type Params = Params;
    type Output = Open<Output>;
    const NAME: &'static str = "list_sessions";
    const TITLE: &'static str = "List Python sessions";
    const DESCRIPTION: &'static str = "The Python sessions: whether each is idle, busy, dead or not started yet, when \
        it was used, and which one is active.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Python;
    const IS_RARE: bool = true;

    fn run(context: &Context<'_>, _: Params) -> Result<Reply<Open<Output>>, Error> {
        let (all, active_session) = context.services.python.list();
        let mut sessions = Map::new();
        for session in &all {
            let item = Item {
                description: session.settings().description.clone(),
                created_at: humantime::format_rfc3339_millis(session.created()).to_string(),
                last_activity: humantime::format_rfc3339_millis(session.last_activity())
                    .to_string(),
                status: session.word(),
                python: session.python(),
                working_directory: show_path(&absolute(context, session)).into_owned(),
            };
            sessions.insert(
                session.name().to_owned(),
                serde_json::to_value(item).map_err(Error::output)?,
            );
        }
        let output = Open(Output {
            total_sessions: sessions.len(),
            sessions,
            active_session,
        });
        Reply::json(&output, Vec::new())
    }
}
