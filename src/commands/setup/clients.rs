//! Configuration files of MCP clients: location and format.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::cli::Client;
use crate::commands::why::find_program;

/// Facts about one MCP client.
pub(crate) struct KnownClient {
    pub title: &'static str,
    /// Program name in PATH.
    pub program: &'static str,
    pub format: Format,
    /// The member of the file that holds its servers by name.
    pub servers: &'static str,
    /// `type` in an entry, if the client needs it.
    pub kind: Option<&'static str>,
    /// Files of the client. `replay setup` writes the first.
    pub files: &'static [(BaseDirectory, &'static str)],
    /// Next step for the user after the entry is written.
    pub next: &'static str,
}

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON; comments and trailing commas are preserved.
    Json,
    Toml,
}

/// Base directory of a file's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BaseDirectory {
    /// The working directory.
    Project,
    Home,
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    Config,
    /// `$CODEX_HOME`, or `~/.codex`.
    Codex,
}

impl BaseDirectory {
    /// The directory that symlinks must not leave, and the base directory.
    #[expect(
        clippy::disallowed_methods,
        reason = "files of the person who types the command"
    )]
    fn places(self) -> Result<(PathBuf, PathBuf)> {
        let home = || {
            std::env::home_dir()
                .filter(|home| home.is_absolute())
                .context("HOME is not set")
        };
        let (variable, below) = match self {
            Self::Project => {
                let place =
                    std::env::current_dir().context("the working directory cannot be read")?;
                return Ok((place.clone(), place));
            }
            Self::Home => ("", ""),
            Self::Config => ("XDG_CONFIG_HOME", ".config"),
            Self::Codex => ("CODEX_HOME", ".codex"),
        };
        let named = std::env::var_os(variable)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute());
        Ok(match named {
            Some(place) => (place.clone(), place),
            // The directory need not exist yet.
            None => (home()?, home()?.join(below)),
        })
    }
}

impl KnownClient {
    /// Facts about this client; each comment names the page of its documentation.
    pub(crate) const fn of(client: Client) -> Self {
        match client {
            // Claude Code, "Connect Claude Code to tools via MCP".
            Client::Claude => Self {
                title: "Claude Code",
                program: "claude",
                format: Format::Json,
                servers: "mcpServers",
                kind: None,
                files: &[
                    (BaseDirectory::Project, ".mcp.json"),
                    (BaseDirectory::Home, ".claude.json"),
                ],
                next: "start `claude` in this directory, and approve the server",
            },
            // Model Context Protocol, "Connect to local MCP servers".
            Client::ClaudeDesktop => Self {
                title: "Claude Desktop",
                program: "claude-desktop",
                format: Format::Json,
                servers: "mcpServers",
                kind: None,
                files: &[(BaseDirectory::Config, "Claude/claude_desktop_config.json")],
                next: "quit Claude Desktop and start it again",
            },
            // Cursor, "Model Context Protocol (MCP)".
            Client::Cursor => Self {
                title: "Cursor",
                program: "cursor",
                format: Format::Json,
                servers: "mcpServers",
                kind: None,
                files: &[
                    (BaseDirectory::Project, ".cursor/mcp.json"),
                    (BaseDirectory::Home, ".cursor/mcp.json"),
                ],
                next: "open this directory in Cursor, and switch the server on in its settings, under MCP",
            },
            // Visual Studio Code, "MCP configuration reference".
            Client::Vscode => Self {
                title: "VS Code",
                program: "code",
                format: Format::Json,
                servers: "servers",
                kind: Some("stdio"),
                files: &[
                    (BaseDirectory::Project, ".vscode/mcp.json"),
                    (BaseDirectory::Config, "Code/User/mcp.json"),
                ],
                next: "open this directory in VS Code, run `MCP: List Servers` and start the server",
            },
            // Codex, "Model Context Protocol" and "Config".
            Client::Codex => Self {
                title: "Codex",
                program: "codex",
                format: Format::Toml,
                servers: "mcp_servers",
                kind: None,
                files: &[
                    (BaseDirectory::Codex, "config.toml"),
                    (BaseDirectory::Project, ".codex/config.toml"),
                ],
                next: "start `codex`; `/mcp` lists the server",
            },
            // Gemini CLI, "MCP servers with the Gemini CLI".
            Client::Gemini => Self {
                title: "Gemini CLI",
                program: "gemini",
                format: Format::Json,
                servers: "mcpServers",
                kind: None,
                files: &[
                    (BaseDirectory::Home, ".gemini/settings.json"),
                    (BaseDirectory::Project, ".gemini/settings.json"),
                ],
                next: "start `gemini`; `/mcp` lists the server",
            },
            // Zed, "Model Context Protocol".
            Client::Zed => Self {
                title: "Zed",
                program: "zed",
                format: Format::Json,
                servers: "context_servers",
                kind: None,
                files: &[
                    (BaseDirectory::Config, "zed/settings.json"),
                    (BaseDirectory::Project, ".zed/settings.json"),
                ],
                next: "open the settings of Zed's agent panel, which list the server",
            },
        }
    }

    /// Possible files of the client; `replay setup` writes the first. Each item is the directory
    /// that symlinks must not leave, and the full path.
    pub(crate) fn paths(&self) -> impl Iterator<Item = Result<(PathBuf, PathBuf)>> {
        self.files.iter().map(|(base, below)| {
            let (base, place) = base.places()?;
            Ok((base, place.join(below)))
        })
    }
}

/// Path by which a client starts this program. Prefers the path found in PATH, if it leads here,
/// since it stays valid after an upgrade.
#[expect(clippy::disallowed_methods, reason = "the file of this program")]
pub(crate) fn own_program() -> Result<PathBuf> {
    let own = std::env::current_exe().context("the path of this program cannot be read")?;
    let leads_here = |path: &PathBuf| path.canonicalize().is_ok_and(|real| real == own);
    let found = own
        .file_name()
        .and_then(find_program)
        .filter(|path| path.is_absolute() && leads_here(path));
    let own = found.unwrap_or(own);
    if !own.is_file() {
        anyhow::bail!(
            "`{}` does not exist any more; start the new version of this program",
            own.display()
        );
    }
    Ok(own)
}

/// Converts a path to UTF-8 for a client's file.
pub(crate) fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| {
        format!(
            "`{}` is not UTF-8, as files of clients must be",
            path.display()
        )
    })
}
