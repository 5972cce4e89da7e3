//! The operator's JSON profile: its keys, and the words for what is wrong with it.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use serde_json::{Map, Value};

use crate::cli::{self, Home, NetworkArg, Sandbox};
use crate::limits::MAX_PROFILE_BYTES;

/// The JSON profile. Its directories come after those of the command line; otherwise the command line beats it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Profile {
    pub(super) read_only: Vec<PathBuf>,
    pub(super) read_write: Vec<PathBuf>,
    pub(super) protect: Vec<PathBuf>,
    pub(super) sandbox: Option<Sandbox>,
    pub(super) network: Option<NetworkArg>,
    pub(super) allow_network: Option<bool>,
    pub(super) allow_exec: Option<bool>,
    pub(super) allow_fork: Option<bool>,
    pub(super) import_baseline: Option<bool>,
    pub(super) system: Option<System>,
    pub(super) toolchains: Option<bool>,
    pub(super) home: Option<Home>,
    pub(super) git_identity: Option<String>,
    pub(super) env: Env,
    pub(super) limits: Limits,
    extra_rules: Vec<Value>,
}

/// Directories of programs.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum System {
    /// The word for the usual ones.
    Word(SystemWord),
    /// These and no others, unless `import_baseline` adds the usual ones.
    Dirs(Vec<PathBuf>),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SystemWord {
    Default,
}

/// What commands get of the server's environment.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Env {
    pub(super) pass: Vec<String>,
    pub(super) set: Map<String, Value>,
    pub(super) drop: Vec<String>,
}

/// What commands are held to; each is the flag of the same name (those of `--limit-...` without that word).
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Limits {
    pub(super) processes: Option<u64>,
    pub(super) file_bytes: Option<u64>,
    pub(super) cpu_secs: Option<u64>,
    pub(super) memory_bytes: Option<u64>,
    pub(super) open_files: Option<u64>,
    pub(super) max_commands: Option<u64>,
    pub(super) max_background_commands: Option<u64>,
    pub(super) background_output_bytes: Option<u64>,
    pub(super) command_timeout_secs: Option<u64>,
    pub(super) max_command_timeout_secs: Option<u64>,
    pub(super) output_cap_bytes: Option<u64>,
}

impl Profile {
    /// Reads and checks a profile.
    pub(super) fn load(path: &Path) -> Result<Self> {
        let shown = path.display();
        Self::parse(&read(path).with_context(|| format!("the profile `{shown}` cannot be read"))?)
            .with_context(|| format!("the profile `{shown}` is not what it should be"))
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text)?;
        known_keys::<Self>(&value, "")?;
        known_keys::<Env>(&value["env"], "env.")?;
        known_keys::<Limits>(&value["limits"], "limits.")?;
        let profile: Self = serde_json::from_str(text)?;
        if !profile.extra_rules.is_empty() {
            bail!(
                "`extra_rules` are in the language of another system's sandbox, which Linux cannot enforce; say the same \
                 with `read_only` and `read_write`, and leave the list empty"
            );
        }
        profile.limits.check()?;
        Ok(profile)
    }
}

/// A profile is small: something that has no end is none.
fn read(path: &Path) -> Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_PROFILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_PROFILE_BYTES {
        bail!("it is longer than {MAX_PROFILE_BYTES} bytes");
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
            ("max_background_commands", self.max_background_commands, cli::COMMANDS),
            ("background_output_bytes", self.background_output_bytes, cli::OUTPUT_BYTES),
            ("command_timeout_secs", self.command_timeout_secs, cli::TIMEOUT_SECS),
            ("max_command_timeout_secs", self.max_command_timeout_secs, cli::TIMEOUT_SECS),
            ("output_cap_bytes", self.output_cap_bytes, cli::OUTPUT_BYTES),
        ];
        for (name, value, range) in all {
            if let Some(value) = value
                && !(range.min..=range.max).contains(&value)
            {
                bail!("`limits.{name}` is {value}, and must be from {} to {}", range.min, range.max);
            }
        }
        Ok(())
    }
}

/// An unknown key is an error that names the nearest known one: left out, a misspelt restriction would be none.
fn known_keys<T: DeserializeOwned>(value: &Value, prefix: &str) -> Result<()> {
    // serde would take an array for the fields in their order.
    if !value.is_object() && !value.is_null() {
        let place =
            if prefix.is_empty() { "a profile".to_owned() } else { format!("`{}`", prefix.trim_end_matches('.')) };
        bail!("{place} must be a JSON object");
    }
    let known = fields::<T>();
    for key in value.as_object().into_iter().flatten().map(|(key, _)| key) {
        if known.contains(&key.as_str()) {
            continue;
        }
        let mut message = format!("unknown key `{prefix}{key}`");
        let nearest = known.iter().map(|known| (strsim::damerau_levenshtein(known, &key.to_lowercase()), known)).min();
        // Writing to a String cannot fail.
        let _ = match nearest.filter(|(distance, known)| *distance <= known.len() / 2) {
            Some((_, known)) => write!(message, "; the nearest known one is `{prefix}{known}`"),
            None => write!(message, "; known are `{}`", known.join("`, `")),
        };
        bail!(message);
    }
    Ok(())
}

/// The names of the fields of a struct, as its derived `Deserialize` announces them.
fn fields<T: DeserializeOwned>() -> &'static [&'static str] {
    struct Names<'a>(&'a mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for Names<'_> {
        type Error = serde::de::value::Error;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(serde::de::Error::custom("only names are asked for"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            *self.0 = fields;
            self.deserialize_any(visitor)
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    let mut names: &'static [&'static str] = &[];
    // It fails on purpose as soon as the names are known.
    let _ = T::deserialize(Names(&mut names));
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn wrong(text: &str) -> String {
        format!("{:#}", Profile::parse(text).unwrap_err())
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_the_nearest() {
        assert_eq!(wrong(r#"{"read_onyl": []}"#), "unknown key `read_onyl`; the nearest known one is `read_only`");
        assert_eq!(wrong(r#"{"env": {"pas": []}}"#), "unknown key `env.pas`; the nearest known one is `env.pass`");
        assert_eq!(
            wrong(r#"{"env": {"zzzzzzzz": []}}"#),
            "unknown key `env.zzzzzzzz`; known are `pass`, `set`, `drop`"
        );
        let memory = "unknown key `limits.memory_mb`; the nearest known one is `limits.memory_bytes`";
        assert_eq!(wrong(r#"{"limits": {"memory_mb": 1}}"#), memory);
        assert!(wrong(r#"{"unix_sockets": []}"#).starts_with("unknown key `unix_sockets`"));
    }

    #[test]
    fn values_are_checked() {
        let zero = "`limits.processes` is 0, and must be from 8 to 4194304";
        assert_eq!(wrong(r#"{"limits": {"processes": 0}}"#), zero);
        assert!(wrong(r#"{"limits": {"cpu_secs": -1}}"#).contains("invalid value"));
        assert!(wrong(r#"{"network": "internet"}"#).contains("unknown variant `internet`, expected one of `none`"));
        assert!(wrong(r#"{"read_only": ["/a"], "read_only": []}"#).contains("duplicate field `read_only`"));
        assert_eq!(wrong(r#"{"env": []}"#), "`env` must be a JSON object");
        assert_eq!(wrong("[]"), "a profile must be a JSON object");
    }

    #[test]
    fn every_key_is_understood() {
        let profile = Profile::parse(
            r#"{"read_only": ["/a"], "read_write": ["/b"], "protect": ["/b/c"], "sandbox": "namespaces",
                "network": "none", "allow_network": false, "allow_exec": true, "allow_fork": true, "import_baseline": true,
                "system": "default", "toolchains": true, "home": "read_only", "git_identity": "A <a@b>",
                "env": {"pass": ["A"], "set": {"B": "1"}, "drop": ["C*"]}, "limits": {"cpu_secs": 5}, "extra_rules": []}"#,
        )
        .unwrap();
        assert_eq!(profile.home, Some(Home::ReadOnly));
        assert!(matches!(profile.system, Some(System::Word(SystemWord::Default))));
        assert_eq!(profile.limits.cpu_secs, Some(5));
        let dirs = Profile::parse(r#"{"system": ["/usr"]}"#).unwrap().system;
        assert!(matches!(dirs, Some(System::Dirs(dirs)) if dirs == [Path::new("/usr")]));
    }
}
