//! `list_allowed_directories`: lists the allowed directories.

use std::iter;

use replay_base::text::escape::show_path;
use replay_environment::Devices;
use replay_mcp::protocol::Content;
use replay_mcp::sessions::Weight;
use replay_sandbox::Tier;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::notes::ports::{Listening, listening_now, ports_in_words};
use super::services::Commands;
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Most rules about the network that an agent is told.
const MAX_SHOWN_NETWORK_RULES: usize = 20;

/// Lists the allowed directories, the project directory first.
pub(super) struct ListAllowedDirectories;

/// It takes none.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {}

/// The directories in the operator's order.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Output {
    directories: Vec<Directory>,
    sandbox: Sandbox,
    /// Ports on which background commands and Python sessions listen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    listening: Vec<Listening>,
    /// Devices of the machine that commands use, and those that they do not get.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    devices: Option<DeviceList>,
}

/// Devices of the machine.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct DeviceList {
    /// Paths of the devices that commands use
    nodes: Vec<String>,
    /// Groups that exist and that the operator can give
    unseen: Vec<UnseenDevice>,
}

/// Devices that commands do not get.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct UnseenDevice {
    what: String,
    /// Flag with which the operator can give them
    flag: String,
}

impl DeviceList {
    /// Returns the devices, if there is something to tell.
    fn of(devices: &Devices) -> Option<Self> {
        devices.describe()?;
        Some(Self {
            nodes: devices
                .nodes
                .iter()
                .map(|(path, _)| show_path(path).into_owned())
                .collect(),
            unseen: devices
                .unseen
                .iter()
                .map(|(name, note)| UnseenDevice {
                    what: note.clone(),
                    flag: format!("--device {name}"),
                })
                .collect(),
        })
    }
}

/// Walls around commands.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sandbox {
    /// namespaces, landlock, off, or none when no command runs
    tier: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// none, loopback, host or, by rule, the flags that say which hosts commands reach
    network: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    landlock_abi: Option<u32>,
    /// Number of known gaps in the walls; `replay sandbox explain` lists them
    gaps: usize,
}

impl Sandbox {
    fn of(commands: &Commands) -> Self {
        let standing = &commands.standing;
        Self {
            tier: standing.tier.map_or("none", Tier::as_str),
            refused: standing.refused.clone(),
            network: network(commands),
            landlock_abi: standing.landlock_abi,
            gaps: standing.gaps.len(),
        }
    }
}

fn network(commands: &Commands) -> String {
    let Some(gate) = &commands.gate else {
        return commands.standing.network_word().to_owned();
    };
    let flags = gate.flags();
    let shown = flags[..flags.len().min(MAX_SHOWN_NETWORK_RULES)].join(", ");
    let more = flags.len().saturating_sub(MAX_SHOWN_NETWORK_RULES);
    if more > 0 {
        format!("{shown}, and {more} more")
    } else {
        shown
    }
}

/// One directory.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Directory {
    path: String,
    writable: bool,
}

impl Tool for ListAllowedDirectories {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "list_allowed_directories";
    const TITLE: &'static str = "List allowed directories";
    const DESCRIPTION: &'static str = "The directories that can be used, and which are read-only. Relative paths start at the client's root, else at the first.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Quick;

    fn run(context: &Context<'_>, _: Params) -> Result<Reply<Output>, Error> {
        let directories: Vec<Directory> = context
            .services
            .policy
            .roots()
            .iter()
            .map(|root| Directory {
                path: show_path(root.path()).into_owned(),
                writable: root.writable(),
            })
            .collect();
        let lines: Vec<String> = directories
            .iter()
            .map(|directory| {
                format!(
                    "{} ({})",
                    directory.path,
                    if directory.writable {
                        "read-write"
                    } else {
                        "read-only"
                    }
                )
            })
            .collect();
        let text = if lines.is_empty() {
            "(none: the server was started without --allow)".to_owned()
        } else {
            lines.join("\n")
        };
        let commands = &context.services.commands;
        let sandbox = Sandbox::of(commands);
        let held = commands.standing.tier.map(|_| {
            let rules = commands
                .gate
                .as_ref()
                .map(|_| format!(" Network rules: {}.", sandbox.network))
                .unwrap_or_default();
            Content::note(format_args!(
                "execute_command: {}{rules}",
                commands.standing.instruction()
            ))
        });
        let root = context.services.policy.client_root().map(|root| {
            let root = show_path(root);
            Content::note(format_args!(
                "relative paths begin at {root}, a root of your client"
            ))
        });
        let ports = ports_in_words(commands).map(Content::note);
        let content = iter::once(Content::text(text));
        let devices = commands.devices.describe().map(Content::note);
        let content = content.chain(held).chain(devices).chain(ports).chain(root);
        let content = content.collect();
        Ok(Reply::content(content).with_structured(Output {
            directories,
            sandbox,
            listening: listening_now(commands),
            devices: DeviceList::of(&commands.devices),
        }))
    }
}
