//! The operator's JSON profile: keys, parsing and error messages.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use replay_base::text::nearest::nearest;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::cli::{
    self, DeclaredCredential, EnvironmentScope, Home, LinkedGit, NetworkArg, RENAMED_KEYS, Sandbox,
    Undo, UndoFull, warn_of_old_name,
};

/// Largest profile that is read, in bytes.
const MAX_PROFILE_BYTES: u64 = 1024 * 1024;

/// The JSON profile. Its directories come after those of the command line; otherwise the command
/// line beats it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Profile {
    /// Allowed directories, for reading (a list)
    pub(super) read_only: Vec<PathBuf>,
    /// Allowed directories, for reading and writing (a list)
    pub(super) read_write: Vec<PathBuf>,
    /// Paths to keep read-only, as --protect (a list)
    pub(super) protect: Vec<PathBuf>,
    /// Default protected paths to leave writable, as --unprotect (a list)
    pub(super) unprotect: Vec<PathBuf>,
    /// true is --freeze-autorun
    #[serde(alias = "freeze_sinks")]
    pub(super) freeze_autorun: bool,
    /// Patterns of hidden files, as --hide (a list)
    pub(super) hide: Vec<String>,
    /// Access to git directories outside, as --git: `auto` or `none`
    #[schemars(with = "String")]
    pub(super) git: Option<LinkedGit>,
    /// true is --ssh-sign
    pub(super) ssh_sign: bool,
    /// Unix sockets that commands can connect to, as --allow-socket (a list)
    pub(super) allow_socket: Vec<PathBuf>,
    /// Tier of the walls, as --sandbox
    #[schemars(with = "String")]
    pub(super) sandbox: Option<Sandbox>,
    /// Network of commands, as --network
    #[schemars(with = "String")]
    pub(super) network: Option<NetworkArg>,
    /// Old name of `network: "host"`
    pub(super) allow_network: Option<bool>,
    /// Hosts that commands can reach, as --allow-host (a list)
    #[serde(alias = "allow_net")]
    pub(super) allow_host: Vec<String>,
    /// Sets of hosts that commands can reach, as --allow-hosts (a list)
    pub(super) allow_hosts: Vec<String>,
    /// Hosts that commands cannot reach, as --deny-host (a list)
    #[serde(alias = "deny_net")]
    pub(super) deny_host: Vec<String>,
    /// Ports of commands that this machine reaches, as --publish (a list)
    pub(super) publish: Vec<String>,
    /// Proxy of the operator, as --upstream-proxy
    pub(super) upstream_proxy: Option<String>,
    /// Secrets for requests, as --credential and --for (a list of objects with `credential` and the
    /// list `for`)
    pub(super) credentials: Vec<DeclaredCredential>,
    /// Log of connections, as --net-log
    #[schemars(with = "String")]
    pub(super) net_log: Option<PathBuf>,
    /// false refuses all commands
    pub(super) allow_exec: Option<bool>,
    /// false refuses all commands too: a shell that may start nothing is of no use
    pub(super) allow_fork: Option<bool>,
    /// true if commands see the usual directories of programs; the default unless `system` is a
    /// list
    pub(super) import_baseline: Option<bool>,
    /// `default`, or a list of the directories of programs that commands see
    #[schemars(with = "String")]
    pub(super) system: Option<System>,
    /// Devices that commands can use, as --device (a list)
    pub(super) devices: Vec<PathBuf>,
    /// false is --no-toolchains; true if commands see the usual directories of programs
    pub(super) toolchains: Option<bool>,
    /// Configuration and programs of the machine for commands, as --environment: `none`, `public` or
    /// `full`
    #[schemars(with = "String")]
    pub(super) environment: Option<EnvironmentScope>,
    /// Caches of package managers that commands see, as --downloads (a list)
    pub(super) downloads: Vec<String>,
    /// HOME of commands, as --home: `private` or `read_only`
    #[schemars(with = "String")]
    pub(super) home: Option<Home>,
    /// Directory of persistent caches, as --cache
    pub(super) cache: Option<PathBuf>,
    /// Author and committer of commits by commands, as --git-identity
    pub(super) git_identity: Option<String>,
    /// Undo of calls, as --undo: `on` or `off`
    #[schemars(with = "String")]
    pub(super) undo: Option<Undo>,
    /// Handling of a change that cannot be journaled, as --undo-full: `refuse` or `drop`
    #[schemars(with = "String")]
    pub(super) undo_full: Option<UndoFull>,
    /// Files that undo skips, as --undo-skip (a list)
    pub(super) undo_skip: Vec<String>,
    /// Shell of commands, as --shell
    pub(super) shell: Option<PathBuf>,
    /// Environment of commands (an object)
    pub(super) env: Env,
    /// Limits of commands and of the journal (an object)
    pub(super) limits: Limits,
    /// Accepted when it is empty: the rules are in the language of another system's sandbox
    extra_rules: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "`system` must be \"default\" or a list of directories"
)]
pub(super) enum System {
    /// The word for the usual directories.
    Word(SystemWord),
    /// A list of directories, which replaces the usual ones unless `import_baseline` is true.
    Dirs(Vec<PathBuf>),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SystemWord {
    Default,
}

/// Environment of commands.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Env {
    /// Names or globs of variables to pass, as --env NAME (a list)
    pub(super) pass: Vec<String>,
    /// Variables with their values, as --env NAME=VALUE (an object of strings)
    pub(super) set: Map<String, Value>,
    /// Names or globs of variables that are not passed, whatever `pass` says (a list)
    pub(super) drop: Vec<String>,
}

/// Limits; each key is the flag of the same name.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Limits {
    /// Processes and threads of all commands together, as --limit-processes
    pub(super) processes: Option<u64>,
    /// Bytes of a file that commands write, as --limit-file-bytes
    pub(super) file_bytes: Option<u64>,
    /// CPU seconds of each process of a command, as --limit-cpu-secs
    pub(super) cpu_secs: Option<u64>,
    /// Bytes of memory of each command, as --limit-memory-bytes
    pub(super) memory_bytes: Option<u64>,
    /// Open files of each process of a command, as --limit-open-files
    pub(super) open_files: Option<u64>,
    /// Commands at the same time, as --max-commands
    pub(super) max_commands: Option<u64>,
    /// Background commands at the same time, as --max-background-commands
    pub(super) max_background_commands: Option<u64>,
    /// Bytes of output to keep of each background command, as --background-output-bytes
    pub(super) background_output_bytes: Option<u64>,
    /// Default timeout of a command, as --command-timeout-secs
    pub(super) command_timeout_secs: Option<u64>,
    /// Longest timeout of a command, as --max-command-timeout-secs
    pub(super) max_command_timeout_secs: Option<u64>,
    /// Bytes that a reply shows of each output stream, as --output-cap-bytes
    pub(super) output_cap_bytes: Option<u64>,
    /// Tokens of a reply, as --reply-tokens
    pub(super) reply_tokens: Option<u64>,
    /// Python sessions at the same time, as --max-python-sessions
    pub(super) max_python_sessions: Option<u64>,
    /// Longest timeout of a Python cell, as --max-cell-secs
    pub(super) max_cell_secs: Option<u64>,
    /// Timeout of an idle Python session, as --python-idle-timeout-secs
    pub(super) python_idle_timeout_secs: Option<u64>,
    /// MiB of the persistent caches, as --cache-mib
    pub(super) cache_mib: Option<u64>,
    /// MiB of the undo journal, as --undo-mib
    pub(super) undo_mib: Option<u64>,
    /// Days that the undo journal keeps an entry, as --undo-days
    pub(super) undo_days: Option<u64>,
}

impl Profile {
    /// Reads and validates a profile.
    pub(super) fn load(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = read(path).with_context(|| format!("the profile `{shown}` cannot be read"))?;
        warn_of_old_keys(&format!("the profile `{shown}`"), &text);
        Self::parse(&text).with_context(|| format!("the profile `{shown}` is not valid"))
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text)?;
        known_keys(&value, "")?;
        known_keys(&value["env"], "env.")?;
        known_keys(&value["limits"], "limits.")?;
        let profile: Self = serde_json::from_str(text)?;
        if !profile.extra_rules.is_empty() {
            bail!(
                "`extra_rules` use the syntax of another system's sandbox, which Linux cannot \
                 enforce; use `read_only` and `read_write`, and leave the list empty"
            );
        }
        profile.limits.check()?;
        Ok(profile)
    }
}

/// Warns about old keys at the top of a JSON object.
pub(super) fn warn_of_old_keys(place: &str, text: &str) {
    let object: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
    for (old, new) in RENAMED_KEYS {
        if object.contains_key(old) {
            warn_of_old_name(place, old, new);
        }
    }
}

/// Reads the file up to a size limit.
fn read(path: &Path) -> Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(MAX_PROFILE_BYTES + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > MAX_PROFILE_BYTES {
        bail!("the profile is longer than {MAX_PROFILE_BYTES} bytes");
    }
    Ok(text)
}

impl Limits {
    fn check(&self) -> Result<()> {
        let all = [
            ("processes", self.processes, cli::PROCESSES),
            ("file_bytes", self.file_bytes, cli::FILE_BYTES),
            ("cpu_secs", self.cpu_secs, cli::CPU_SECS),
            ("memory_bytes", self.memory_bytes, cli::MEMORY_BYTES),
            ("open_files", self.open_files, cli::OPEN_FILES),
            ("max_commands", self.max_commands, cli::COMMANDS),
            (
                "max_background_commands",
                self.max_background_commands,
                cli::COMMANDS,
            ),
            (
                "background_output_bytes",
                self.background_output_bytes,
                cli::OUTPUT_BYTES,
            ),
            (
                "command_timeout_secs",
                self.command_timeout_secs,
                cli::TIMEOUT_SECS,
            ),
            (
                "max_command_timeout_secs",
                self.max_command_timeout_secs,
                cli::TIMEOUT_SECS,
            ),
            ("output_cap_bytes", self.output_cap_bytes, cli::OUTPUT_BYTES),
            ("reply_tokens", self.reply_tokens, cli::REPLY_TOKENS),
            (
                "max_python_sessions",
                self.max_python_sessions,
                cli::COMMANDS,
            ),
            ("max_cell_secs", self.max_cell_secs, cli::TIMEOUT_SECS),
            (
                "python_idle_timeout_secs",
                self.python_idle_timeout_secs,
                cli::IDLE_SECS,
            ),
            ("cache_mib", self.cache_mib, cli::CACHE_MIB),
            ("undo_mib", self.undo_mib, cli::UNDO_MIB),
            ("undo_days", self.undo_days, cli::UNDO_DAYS),
        ];
        for (name, value, range) in all {
            if let Some(value) = value
                && !(range.min..=range.max).contains(&value)
            {
                bail!(
                    "`limits.{name}` is {value}; it must be from {} to {}",
                    range.min,
                    range.max
                );
            }
        }
        Ok(())
    }
}

/// Rejects an unknown key and suggests the nearest known one. A misspelt restriction must not be
/// ignored.
fn known_keys(value: &Value, prefix: &str) -> Result<()> {
    // serde would accept an array of field values.
    if !value.is_object() && !value.is_null() {
        let place = if prefix.is_empty() {
            "a profile".to_owned()
        } else {
            format!("`{}`", prefix.trim_end_matches('.'))
        };
        bail!("{place} must be a JSON object");
    }
    let keys = profile_keys().filter_map(|(key, _)| key.strip_prefix(prefix));
    let known: Vec<&str> = keys.filter(|key| !key.contains('.')).collect();
    for key in value.as_object().into_iter().flatten().map(|(key, _)| key) {
        let is_old = RENAMED_KEYS.iter().any(|(old, _)| old == key);
        if known.contains(&key.as_str()) || (prefix.is_empty() && is_old) {
            continue;
        }
        let mut message = format!("unknown key `{prefix}{key}`");
        // Writing to a String cannot fail.
        let _ = match nearest(&key.to_lowercase(), known.iter().copied()) {
            Some(known) => write!(message, "; the nearest known one is `{prefix}{known}`"),
            None => write!(message, "; known are `{}`", known.join("`, `")),
        };
        bail!(message);
    }
    Ok(())
}

/// Keys of a profile with their descriptions, in declaration order. Keys of nested objects contain
/// a dot.
pub fn profile_keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("profile.txt")
        .lines()
        .filter_map(|line| line.split_once(": "))
}

/// The same list derived from the types. A test writes it to the file.
pub fn derived_profile_keys() -> String {
    let mut text = String::new();
    for (prefix, schema) in [
        ("", schema_for!(Profile)),
        ("env.", schema_for!(Env)),
        ("limits.", schema_for!(Limits)),
    ] {
        for (key, schema) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let words = schema["description"]
                .as_str()
                .unwrap_or_default()
                .replace('\n', " ");
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{prefix}{key}: {words}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn wrong(text: &str) -> String {
        format!("{:#}", Profile::parse(text).unwrap_err())
    }

    #[test]
    fn unknown_key_error_suggests_nearest() {
        assert_eq!(
            wrong(r#"{"read_onyl": []}"#),
            "unknown key `read_onyl`; the nearest known one is `read_only`"
        );
        assert_eq!(
            wrong(r#"{"env": {"pas": []}}"#),
            "unknown key `env.pas`; the nearest known one is `env.pass`"
        );
        assert_eq!(
            wrong(r#"{"env": {"zzzzzzzz": []}}"#),
            "unknown key `env.zzzzzzzz`; known are `pass`, `set`, `drop`"
        );
        let memory =
            "unknown key `limits.memory_mb`; the nearest known one is `limits.memory_bytes`";
        assert_eq!(wrong(r#"{"limits": {"memory_mb": 1}}"#), memory);
        assert!(
            wrong(r#"{"system": 1}"#)
                .starts_with("`system` must be \"default\" or a list of directories")
        );
        assert!(wrong(r#"{"unix_sockets": []}"#).starts_with("unknown key `unix_sockets`"));
    }

    #[test]
    fn invalid_values_are_refused() {
        let zero = "`limits.processes` is 0; it must be from 8 to 4194304";
        assert_eq!(wrong(r#"{"limits": {"processes": 0}}"#), zero);
        assert!(wrong(r#"{"limits": {"cpu_secs": -1}}"#).contains("invalid value"));
        assert!(
            wrong(r#"{"network": "internet"}"#)
                .contains("unknown variant `internet`, expected one of `none`")
        );
        assert!(
            wrong(r#"{"read_only": ["/a"], "read_only": []}"#)
                .contains("duplicate field `read_only`")
        );
        assert_eq!(wrong(r#"{"env": []}"#), "`env` must be a JSON object");
        assert_eq!(wrong("[]"), "a profile must be a JSON object");
    }

    #[test]
    fn every_key_has_description() {
        let keys: Vec<&str> = profile_keys()
            .filter(|(_, words)| !words.is_empty())
            .map(|(key, _)| key)
            .collect();
        assert_eq!(
            (keys.len(), derived_profile_keys().lines().count()),
            (58, 58)
        );
        assert_eq!((keys[0], keys[57]), ("read_only", "limits.undo_days"));
    }

    #[test]
    fn old_keys_are_accepted() {
        let profile = Profile::parse(
            r#"{"allow_net": ["a.example:1"], "deny_net": ["b.example"], "freeze_sinks": true}"#,
        )
        .unwrap();
        assert_eq!(profile.allow_host, ["a.example:1"]);
        assert_eq!(profile.deny_host, ["b.example"]);
        assert!(profile.freeze_autorun);
    }

    #[test]
    fn every_key_is_accepted() {
        let profile = Profile::parse(
            r#"{"read_only": ["/a"], "read_write": ["/b"], "protect": ["/b/c"], "unprotect": ["/b/.vscode"], "freeze_autorun": true,
                "hide": [".env"], "allow_socket": ["/run/a.sock"], "sandbox": "namespaces",
                "network": "none", "allow_network": false, "publish": ["8123", "auto"], "allow_exec": true, "allow_fork": true, "import_baseline": true,
                "system": "default", "devices": ["kvm", "/dev/ttyUSB0"], "toolchains": true, "downloads": ["npm"], "home": "read_only", "cache": "/c", "git_identity": "A <a@b>",
                "undo": "on", "undo_full": "drop", "undo_skip": ["target/**"],
                "env": {"pass": ["A"], "set": {"B": "1"}, "drop": ["C*"]}, "limits": {"cpu_secs": 5, "reply_tokens": 0}, "extra_rules": []}"#,
        )
        .unwrap();
        assert_eq!(profile.home, Some(Home::ReadOnly));
        assert!(matches!(
            profile.system,
            Some(System::Word(SystemWord::Default))
        ));
        assert_eq!(
            (profile.limits.cpu_secs, profile.limits.reply_tokens),
            (Some(5), Some(0))
        );
        let dirs = Profile::parse(r#"{"system": ["/usr"]}"#).unwrap().system;
        assert!(matches!(dirs, Some(System::Dirs(dirs)) if dirs == [Path::new("/usr")]));
    }
}
