//! `list_allowed_directories`: what the operator has allowed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Context, Hints, Reply, Tool, Toolset, Weight};
use crate::error::Error;
use crate::protocol::Content;
use crate::sandbox::{Tier, WallStatus};
use crate::text::escape::show_path;

/// Lists the allowed directories, the project directory first.
pub struct ListAllowedDirectories;

/// It takes none.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Params {}

/// The directories in the operator's order.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Output {
    directories: Vec<Directory>,
    sandbox: Sandbox,
}

/// What holds commands.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sandbox {
    /// namespaces, landlock, off, or none when no command runs
    tier: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// none, loopback or host
    network: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    landlock_abi: Option<u32>,
    /// How many things are known not to be held; `replay sandbox explain` names them
    gaps: usize,
}

impl Sandbox {
    fn of(standing: &WallStatus) -> Self {
        Self {
            tier: standing.tier.map_or("none", Tier::as_str),
            refused: standing.refused.clone(),
            network: standing.network_word(),
            landlock_abi: standing.landlock_abi,
            gaps: standing.gaps.len(),
        }
    }
}

/// One directory.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Directory {
    path: String,
    writable: bool,
}

impl Tool for ListAllowedDirectories {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "list_allowed_directories";
    const TITLE: &'static str = "List allowed directories";
    const DESCRIPTION: &'static str =
        "The directories that can be used, and which are read-only. Relative paths start at the first.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Quick;

    fn run(context: &Context<'_>, _: Params) -> Result<Reply<Output>, Error> {
        let directories: Vec<Directory> = context
            .services
            .policy
            .roots()
            .iter()
            .map(|root| Directory { path: show_path(root.path()).into_owned(), writable: root.writable() })
            .collect();
        let lines: Vec<String> = directories
            .iter()
            .map(|directory| {
                format!("{} ({})", directory.path, if directory.writable { "read-write" } else { "read-only" })
            })
            .collect();
        let text = if lines.is_empty() {
            "(none: the server was started without --allow)".to_owned()
        } else {
            lines.join("\n")
        };
        let standing = &context.services.commands.standing;
        let held = standing.tier.map(|_| Content::Text(format!("[execute_command: {}]", standing.instruction())));
        let content = std::iter::once(Content::Text(text)).chain(held).collect();
        Ok(Reply::content(content).with(Output { directories, sandbox: Sandbox::of(standing) }))
    }
}
