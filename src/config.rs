//! Cli -> Config: what was typed, resolved against the world. May fail; reads the environment, which nothing else does.
#![expect(clippy::disallowed_methods, reason = "start-up reads the environment and the operator's own profile")]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use tracing::level_filters::LevelFilter;

use crate::cli::{Errors, LogLevel, Options, Sandbox, ToolsetArg};
use crate::policy::{Access, Grant};
use crate::server::ErrorStyle;
use crate::tools::Toolset;

/// Everything the program needs to know, with nothing left to look up.
#[derive(Debug)]
pub struct Config {
    /// The allowed directories in the order given.
    pub grants: Vec<Grant>,
    /// Paths to keep read-only.
    pub protect: Vec<PathBuf>,
    /// Why commands are refused; `None` when they run.
    pub commands_refused: Option<String>,
    /// The sets to serve.
    pub toolsets: Vec<Toolset>,
    /// How tools' failures are reported.
    pub errors: ErrorStyle,
    /// Time limit of a command that asks for none.
    pub command_timeout: Duration,
    /// Largest time limit of a command.
    pub max_command_timeout: Duration,
    /// Output kept of each stream.
    pub output_cap_bytes: usize,
    /// Longest message.
    pub max_line_bytes: usize,
    /// Least severity logged.
    pub log_level: LevelFilter,
}

/// The JSON profile. Its directories come after those of the command line.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Profile {
    read_only: Vec<PathBuf>,
    read_write: Vec<PathBuf>,
    import_baseline: Option<bool>,
    allow_network: Option<bool>,
    allow_exec: Option<bool>,
    allow_fork: Option<bool>,
    extra_rules: Vec<serde_json::Value>,
}

impl Config {
    /// Resolves relative paths against the working directory and reads the profile.
    pub fn resolve(options: &Options) -> Result<Self> {
        let here = std::env::current_dir().context("the working directory cannot be read")?;
        let profile = options.sandbox_profile.as_deref().map(Profile::load).transpose()?.unwrap_or_default();
        let mut grants = Vec::new();
        for allow in &options.allow {
            grants.push(suffixed(&here, allow)?);
        }
        let mut grant = |paths: &[PathBuf], access| {
            grants.extend(paths.iter().map(|path| Grant { path: absolute(&here, path), access }));
        };
        grant(&options.allow_read, Access::ReadOnly);
        grant(&options.allow_write, Access::ReadWrite);
        grant(&profile.read_write, Access::ReadWrite);
        grant(&profile.read_only, Access::ReadOnly);
        if options.command_timeout_secs > options.max_command_timeout_secs {
            bail!(
                "--command-timeout-secs is {} and --max-command-timeout-secs is {}; the first must not be more",
                options.command_timeout_secs,
                options.max_command_timeout_secs
            );
        }
        Ok(Self {
            grants,
            protect: options.protect.iter().map(|path| absolute(&here, path)).collect(),
            commands_refused: commands_refused(options.sandbox, &profile),
            toolsets: toolsets(&options.tools),
            errors: match options.errors {
                Errors::Codes => ErrorStyle::Codes,
                Errors::Results => ErrorStyle::Results,
            },
            command_timeout: Duration::from_secs(options.command_timeout_secs),
            max_command_timeout: Duration::from_secs(options.max_command_timeout_secs),
            output_cap_bytes: options.output_cap_bytes,
            max_line_bytes: options.max_line_bytes,
            log_level: match options.log_level {
                LogLevel::Off => LevelFilter::OFF,
                LogLevel::Error => LevelFilter::ERROR,
                LogLevel::Warn => LevelFilter::WARN,
                LogLevel::Info => LevelFilter::INFO,
                LogLevel::Debug => LevelFilter::DEBUG,
                LogLevel::Trace => LevelFilter::TRACE,
            },
        })
    }
}

impl Profile {
    fn load(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("the profile `{shown}` cannot be read"))?;
        let profile: Self =
            serde_json::from_str(&text).with_context(|| format!("the profile `{shown}` is not what it should be"))?;
        if !profile.extra_rules.is_empty() {
            bail!(
                "the profile `{shown}` has `extra_rules`: they are in the language of another system's sandbox, which \
                 Linux cannot enforce; say the same with `read_only` and `read_write`, and leave the list empty"
            );
        }
        Ok(profile)
    }
}

/// No wall stands yet that could hold a shell, so it takes the operator's word to run one.
fn commands_refused(sandbox: Sandbox, profile: &Profile) -> Option<String> {
    if profile.allow_exec == Some(false) {
        return Some("the profile says `allow_exec: false`".to_owned());
    }
    match sandbox {
        Sandbox::Off => {
            if profile.allow_network == Some(false) || profile.allow_fork == Some(false) {
                return Some(
                    "the profile forbids network or processes, which only a wall can enforce, and it is off".to_owned(),
                );
            }
            None
        }
        Sandbox::Require => Some(
            "no kernel wall stands around commands in this version, and the operator requires one (--sandbox require)"
                .to_owned(),
        ),
    }
}

fn toolsets(args: &[ToolsetArg]) -> Vec<Toolset> {
    let wanted = |set: Toolset| {
        args.iter().any(|arg| match arg {
            ToolsetArg::All => true,
            ToolsetArg::Files => set == Toolset::Files,
            ToolsetArg::Command => set == Toolset::Command,
        })
    };
    Toolset::ALL.into_iter().filter(|&set| wanted(set)).collect()
}

/// Splits `DIR[:ro|:rw]`; only a final `:ro` or `:rw` is a suffix, any other colon belongs to the name.
fn suffixed(here: &Path, typed: &Path) -> Result<Grant> {
    let bytes = typed.as_os_str().as_bytes();
    let (path, access) = match bytes.split_last_chunk::<3>() {
        Some((path, b":rw")) => (path, Access::ReadWrite),
        Some((path, b":ro")) => (path, Access::ReadOnly),
        _ => (bytes, Access::ReadOnly),
    };
    if path.is_empty() {
        bail!("--allow `{}` names no directory", typed.display());
    }
    Ok(Grant { path: absolute(here, Path::new(OsStr::from_bytes(path))), access })
}

/// An empty path stays empty, for the policy to refuse.
fn absolute(here: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { PathBuf::new() } else { here.join(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_final_suffix_is_one() {
        let here = Path::new("/here");
        let grant = |typed: &str| suffixed(here, Path::new(typed)).map(|grant| (grant.path, grant.access)).unwrap();
        assert_eq!(grant("/a:rw"), ("/a".into(), Access::ReadWrite));
        assert_eq!(grant("/a:ro"), ("/a".into(), Access::ReadOnly));
        assert_eq!(grant("a"), ("/here/a".into(), Access::ReadOnly));
        assert_eq!(grant("/a:rw:b"), ("/a:rw:b".into(), Access::ReadOnly));
        assert_eq!(grant("/a:rw:rw"), ("/a:rw".into(), Access::ReadWrite));
        assert_eq!(grant("/a :rw"), ("/a ".into(), Access::ReadWrite));
        assert!(suffixed(here, Path::new(":rw")).is_err());
    }

    #[test]
    fn a_profile_names_its_unknown_key() {
        let error = serde_json::from_str::<Profile>(r#"{"read_onyl": []}"#).unwrap_err().to_string();
        assert!(error.contains("read_onyl") && error.contains("read_only"), "{error}");
    }
}
