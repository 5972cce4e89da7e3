//! `replay tools`: lists the tools.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use replay_mcp::protocol::Revision;
use serde_json::{Value, json};

use super::process::print;
use crate::cli::Options;
use crate::compose::alone;
use crate::config::Config;

/// Prints a line for each tool, or the whole result of tools/list.
pub(super) fn run(options: &Options, is_json: bool) -> Result<ExitCode> {
    let list = alone(&Config::for_server(options)?)?.list(Revision::NEWEST_HANDSHAKE);
    let list: Value = serde_json::from_str(&list).unwrap_or_default();
    if is_json {
        return print(format!("{list:#}\n"));
    }
    let mut text = String::new();
    for tool in list["tools"].as_array().into_iter().flatten() {
        let parameters: Vec<String> = tool["inputSchema"]["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| {
                let required = tool["inputSchema"]["required"]
                    .as_array()
                    .is_some_and(|names| names.contains(&json!(name)));
                if required {
                    name.clone()
                } else {
                    format!("[{name}]")
                }
            })
            .collect();
        let title = tool["title"].as_str().unwrap_or_default();
        let name = tool["name"].as_str().unwrap_or_default();
        let _ = writeln!(text, "{name:<24}  {title}: {}", parameters.join(" "));
    }
    print(text)
}
