//! Definitions of ecosystems: the table `environment.toml`, with the operator's additions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

static EMBEDDED: LazyLock<Definitions> = LazyLock::new(|| {
    let written = toml_edit::de::from_str(include_str!("environment.toml")).unwrap_or_default();
    Definitions::read(written).unwrap_or_default()
});

/// The table of ecosystems: for each, its programs and configuration for commands.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    /// The table as JSON.
    written: Value,
    read: Document,
}

impl PartialEq for Definitions {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for Definitions {}

/// The table `environment.toml`, whose comments describe each key.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    pub(crate) system: Vec<PathBuf>,
    pub(crate) caches: Vec<String>,
    pub(crate) private: Vec<String>,
    pub(crate) shared: Vec<String>,
    pub(crate) variable_files: Vec<String>,
    pub(crate) variables: VariableLists,
    #[serde(deserialize_with = "named")]
    pub(crate) files: Vec<(String, String)>,
    #[serde(deserialize_with = "named")]
    pub(crate) toolchain: Vec<(String, Toolchain)>,
    #[serde(deserialize_with = "named")]
    pub(crate) download: Vec<(String, Download)>,
    #[serde(deserialize_with = "named")]
    pub(crate) configuration: Vec<(String, Configuration)>,
    #[serde(deserialize_with = "named")]
    pub(crate) hint: Vec<(String, Hint)>,
    #[serde(deserialize_with = "named")]
    pub(crate) device: Vec<(String, DeviceGroup)>,
    pub(crate) git: KeyLists,
}

/// Lists of variables, by the condition for passing one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VariableLists {
    pub(crate) words: Vec<String>,
    pub(crate) paths: Vec<String>,
    pub(crate) certificates: Vec<String>,
    pub(crate) addresses: Vec<String>,
    pub(crate) sensitive: Vec<String>,
}

/// Programs below HOME.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Toolchain {
    pub(crate) title: String,
    pub(crate) variable: Option<String>,
    #[serde(default)]
    pub(crate) places: Vec<String>,
    #[serde(default)]
    pub(crate) marks: Vec<String>,
    pub(crate) parts: Vec<String>,
    #[serde(default)]
    pub(crate) exports: BTreeMap<String, String>,
}

/// Downloads that commands see.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Download {
    pub(crate) title: String,
    /// Toolchain without which it does not count.
    pub(crate) toolchain: Option<String>,
    #[serde(deserialize_with = "named")]
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) place: String,
    #[serde(default)]
    pub(crate) parts: Vec<String>,
    #[serde(default)]
    pub(crate) exports: Vec<String>,
    #[serde(default)]
    pub(crate) sets: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) links: bool,
    #[serde(default)]
    pub(crate) offline: bool,
    #[serde(default)]
    pub(crate) unless: Vec<String>,
    #[serde(default)]
    pub(crate) asked: bool,
    /// Set of --allow-hosts with the registry of its packages.
    pub(crate) hosts: Option<String>,
    #[serde(default)]
    pub(crate) keep: Vec<String>,
    #[serde(default)]
    pub(crate) linked: Vec<String>,
    #[serde(default)]
    pub(crate) never: Vec<String>,
    #[serde(default)]
    pub(crate) registries: Vec<String>,
}

/// A configuration file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Configuration {
    pub(crate) files: Vec<String>,
    /// Variable with the absolute path of the file, or of the directory of `below`.
    pub(crate) variable: Option<String>,
    #[serde(default)]
    pub(crate) below: Vec<String>,
    place: Option<String>,
    pub(crate) format: Format,
    #[serde(default)]
    pub(crate) expands: bool,
    #[serde(default)]
    pub(crate) empty: Option<String>,
    #[serde(default)]
    keys: Vec<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    programs: Vec<String>,
    #[serde(default)]
    secrets: Vec<String>,
}

/// Syntax of a configuration file.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Npmrc,
    Yarnrc,
    Ini,
    Toml,
    Yaml,
    Json,
    Xml,
    Properties,
    /// Never read.
    Secret,
}

/// Note on a failed command.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hint {
    /// Texts of an output, of which one is enough.
    texts: Vec<String>,
    /// Further texts, of which one is enough, if there are some.
    #[serde(default)]
    with: Vec<String>,
    /// True for commands with a loopback of their own alone.
    #[serde(default)]
    pub loopback: bool,
    /// True if it counts after a success, too.
    #[serde(default)]
    pub always: bool,
    /// Path below HOME without which the hint does not count.
    pub exists: Option<String>,
    /// Download that exists and that commands do not see. Then the note is about it.
    pub download: Option<String>,
    #[serde(default)]
    pub note: String,
}

impl Hint {
    /// Returns true if the hint is for this output.
    pub fn is_for(&self, output: &str) -> bool {
        let has = |text: &String| output.contains(text);
        self.texts.iter().any(has) && (self.with.is_empty() || self.with.iter().any(has))
    }

    /// Returns true if the hint may be for a command line that failed without an output.
    pub fn is_for_line(&self, line: &str) -> bool {
        self.loopback && self.with.iter().any(|text| line.contains(text))
    }

    /// Returns the thing that it is about.
    pub fn about(&self) -> &str {
        self.texts.first().map_or("", String::as_str)
    }
}

/// Devices that programs use together.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceGroup {
    /// Globs of device nodes below `/dev`. The group exists if the first one has a match.
    pub nodes: Vec<String>,
    /// Globs of nodes that are left out.
    #[serde(default)]
    pub except: Vec<String>,
    /// Globs of paths below `/sys` that programs read, too.
    #[serde(default)]
    pub system: Vec<String>,
    /// True if its programs name their threads from other threads.
    #[serde(default)]
    pub names_threads: bool,
    /// Noun with its article, for agents and operators who do not use it.
    #[serde(default)]
    pub note: Option<String>,
}

/// Patterns of keys, by the condition for passing one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct KeyLists {
    pub(crate) keys: Vec<String>,
    pub(crate) addresses: Vec<String>,
    pub(crate) paths: Vec<String>,
    pub(crate) programs: Vec<String>,
    pub(crate) filters: Vec<String>,
    pub(crate) secrets: Vec<String>,
}

impl Configuration {
    /// Path in the private HOME.
    pub(crate) fn place(&self) -> &str {
        self.place
            .as_deref()
            .or(self.files.first().map(String::as_str))
            .unwrap_or_default()
    }

    pub(crate) fn lists(&self) -> KeyLists {
        KeyLists {
            keys: self.keys.clone(),
            paths: self.paths.clone(),
            programs: self.programs.clone(),
            secrets: self.secrets.clone(),
            ..KeyLists::default()
        }
    }

    /// Returns true if commands never get any of its values.
    pub(crate) fn is_secret(&self) -> bool {
        self.keys.is_empty() && self.paths.is_empty() && self.programs.is_empty()
    }
}

/// Fault of a table.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionsError {
    #[error("{0}")]
    NotToml(#[from] toml_edit::de::Error),
    #[error("{0}")]
    Definition(#[from] serde_json::Error),
}

impl Definitions {
    /// Returns the embedded table.
    pub fn embedded() -> &'static Self {
        &EMBEDDED
    }

    /// Returns this table with the additions of another one, in TOML: its lists are added to the
    /// lists here, and its other values replace those here.
    pub fn with(&self, toml: &str) -> Result<Self, DefinitionsError> {
        let added: Value = toml_edit::de::from_str(toml)?;
        let mut written = self.written.clone();
        add(&mut written, added);
        Ok(Self::read(written)?)
    }

    fn read(written: Value) -> Result<Self, serde_json::Error> {
        let read = Document::deserialize(&written)?;
        Ok(Self { written, read })
    }

    pub(crate) fn document(&self) -> &Document {
        &self.read
    }

    /// Paths that commands always see, read-only and executable. They need not exist.
    pub fn system(&self) -> &[PathBuf] {
        &self.read.system
    }

    /// Caches and locks of package managers below HOME but outside `~/.cache`. The flag is true
    /// for a directory.
    pub fn caches(&self) -> impl Iterator<Item = (&str, bool)> {
        let caches = self.read.caches.iter();
        caches.map(|path| (path.trim_end_matches('/'), path.ends_with('/')))
    }

    /// Variables that name files of certificates.
    pub fn certificates(&self) -> &[String] {
        &self.read.variables.certificates
    }

    /// First parts below HOME that may hold passwords.
    pub fn private(&self) -> &[String] {
        &self.read.private
    }

    /// Names of files in which `${NAME}` is a variable. Projects have them, too.
    pub fn expanding_files(&self) -> impl Iterator<Item = &str> {
        let configuration = self.read.configuration.iter();
        let expanding = configuration.filter(|(_, kind)| kind.expands);
        let first = expanding.filter_map(|(_, kind)| kind.files.first());
        first.filter_map(|file| file.rsplit('/').next())
    }

    /// Files below HOME whose lines `NAME=value` stand for variables that are not set.
    pub fn variable_files(&self) -> &[String] {
        &self.read.variable_files
    }

    /// Notes on failed commands.
    pub fn hints(&self) -> impl Iterator<Item = &Hint> {
        self.read.hint.iter().map(|(_, hint)| hint)
    }

    /// Groups of devices by name.
    pub fn devices(&self) -> impl Iterator<Item = (&str, &DeviceGroup)> {
        let groups = self.read.device.iter();
        groups.map(|(name, group)| (name.as_str(), group))
    }

    /// Files of the private HOME: path and text.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.read.files.iter();
        files.map(|(path, text)| (path.as_str(), text.as_str()))
    }
}

/// Adds one value to another: the elements of a list, the members of a table; else replaces it.
fn add(to: &mut Value, from: Value) {
    match (to, from) {
        (Value::Object(to), Value::Object(from)) => {
            for (key, value) in from {
                match to.get_mut(&key) {
                    Some(known) => add(known, value),
                    None => drop(to.insert(key, value)),
                }
            }
        }
        (Value::Array(to), Value::Array(from)) => to.extend(from),
        (to, from) => *to = from,
    }
}

/// Reads a table as a list, in the order of the file.
fn named<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<(String, T)>, D::Error> {
    let table = Map::<String, Value>::deserialize(from)?;
    let read = |(name, value): (String, Value)| match T::deserialize(value) {
        Ok(read) => Ok((name, read)),
        Err(fault) => Err(D::Error::custom(format!("[{name}]: {fault}"))),
    };
    table.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn embedded_table_is_valid() {
        let written = toml_edit::de::from_str(include_str!("environment.toml")).unwrap();
        Definitions::read(written).unwrap();
    }

    #[test]
    fn operator_adds_lists_and_ecosystems() {
        let added = Definitions::embedded()
            .with(
                "system = ['/srv/tools']\n[configuration.npm]\nplace = '.ours'\nkeys = ['corp-*']\n\
                 [configuration.own]\nfiles = ['.own']\nformat = 'properties'\n",
            )
            .unwrap();
        assert_eq!(added.system().last(), Some(&PathBuf::from("/srv/tools")));
        let named = |id: &str| {
            let all = &added.document().configuration;
            all.iter().find(|(known, _)| known == id).unwrap().1.clone()
        };
        let npm = named("npm");
        assert_eq!(npm.place(), ".ours");
        assert_eq!(npm.keys.last().map(String::as_str), Some("corp-*"));
        assert!(npm.keys.contains(&"registry".to_owned()));
        assert_eq!(named("own").place(), ".own");
    }

    #[test]
    fn wrong_addition_is_fault() {
        let fault = |text: &str| Definitions::embedded().with(text).unwrap_err().to_string();
        assert_eq!(
            fault("[configuration.npm]\nkeyz = []\n"),
            "[npm]: unknown field `keyz`, expected one of `files`, `variable`, `below`, `place`, `format`, \
             `expands`, `empty`, `keys`, `paths`, `programs`, `secrets`"
        );
        assert_eq!(
            fault("[configuration.own]\nformat = 'ini'\n"),
            "[own]: missing field `files`"
        );
    }
}
