//! Flags of `replay setup`, which writes the entry of an MCP client.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

/// `replay setup`.
#[derive(Clone, Debug, Args)]
pub struct SetupArgs {
    #[arg(value_enum)]
    pub client: Client,
    /// Allow the server a directory: read-only, or with `:rw` at its end also for writing
    ///
    /// Repeatable. The default is `.:rw`.
    #[arg(long, value_name = "DIR[:ro|:rw]", value_hint = ValueHint::DirPath)]
    pub allow: Vec<PathBuf>,
    /// Write the entry to the client's file, and keep its other contents
    #[arg(long)]
    pub write: bool,
    /// Replace an existing entry that differs
    #[arg(long, requires = "write")]
    pub force: bool,
    /// Flags of the server, after `--`; paths in them are not changed
    #[arg(last = true, value_name = "FLAGS")]
    pub flags: Vec<OsString>,
}

/// A program that starts MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Client {
    /// Claude Code: `.mcp.json` of the working directory
    Claude,
    /// Claude Desktop: `~/.config/Claude/claude_desktop_config.json`
    ClaudeDesktop,
    /// Cursor: `.cursor/mcp.json` of the working directory
    Cursor,
    /// VS Code: `.vscode/mcp.json` of the working directory
    Vscode,
    /// Codex: `~/.codex/config.toml`
    Codex,
    /// Gemini CLI: `~/.gemini/settings.json`
    Gemini,
    /// Zed: `~/.config/zed/settings.json`
    Zed,
}
