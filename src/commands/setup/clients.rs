//! Configuration files of MCP clients, and the path of this program in them.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::commands::why::find_program;

/// A configuration file of a client.
pub(crate) struct FilePlace {
    /// The directory that symlinks must not leave. It need not exist.
    pub base: PathBuf,
    pub path: PathBuf,
}

impl FilePlace {
    /// Finds a file by its path in the table of clients: `.mcp.json` of the working directory,
    /// `~/.gemini/settings.json`, `${CODEX_HOME:-~/.codex}/config.toml`, `kilo.{jsonc,json}`.
    #[expect(
        clippy::disallowed_methods,
        reason = "files of the person who types the command"
    )]
    pub(crate) fn of(pattern: &str) -> Result<Self> {
        if let Some((start, names)) = pattern
            .strip_suffix('}')
            .and_then(|all| all.rsplit_once('{'))
            && names.contains(',')
        {
            let mut place = None;
            for name in names.split(',') {
                let found = Self::of(&format!("{start}{name}"))?;
                let exists = found.path.symlink_metadata().is_ok();
                place = Some(found);
                if exists {
                    break;
                }
            }
            return place.context("a pattern of a file has no names");
        }
        let directory = |variable: &str| {
            let named = std::env::var_os(variable).map(PathBuf::from);
            named.filter(|path| path.is_absolute())
        };
        let (base, below) = if let Some(below) = pattern.strip_prefix("~/") {
            let home = directory("HOME").context("HOME is not set to an absolute path")?;
            (home, below)
        } else if let Some((named, below)) = pattern
            .strip_prefix("${")
            .and_then(|rest| rest.split_once("}/"))
            && let Some((variable, default)) = named.split_once(":-")
        {
            let Some(base) = directory(variable) else {
                return Self::of(&format!("{default}/{below}"));
            };
            if !base.is_dir() {
                bail!(
                    "`{}`, which {variable} names, is not a directory; create it first",
                    base.display()
                );
            }
            (base, below)
        } else {
            let here = std::env::current_dir().context("the working directory cannot be read")?;
            (here, pattern)
        };
        Ok(Self {
            path: base.join(below),
            base,
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
