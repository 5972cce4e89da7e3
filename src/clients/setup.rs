//! Facts for `replay setup`: configuration files of clients, and entries in them.

use std::ffi::OsStr;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Stands for this program in the pattern of an entry.
const PROGRAM: &str = "{program}";
/// Stands for its arguments, as items of a list.
const ARGS: &str = "{args}";

/// Configuration of a client that starts this server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SetupProfile {
    /// Its own program in PATH.
    pub program: Option<String>,
    /// Its configuration files, the one to be written first. A relative path is one of a project;
    /// `~` and `${VARIABLE:-DEFAULT}` at the start stand for directories. Of `{a,b}` at the end the
    /// first that exists counts, else the last.
    pub files: Vec<String>,
    /// The member of the file that holds its servers.
    pub servers: String,
    /// True if that member is a list, and the entries have a `name`.
    pub is_list: bool,
    /// Pattern of the entry.
    entry: Map<String, Value>,
    /// True if the client starts its servers in the directory of the project.
    pub in_project: bool,
    /// Next step for the person after the entry is written.
    pub next: String,
    pub only: Option<OnlyOurTools>,
}

impl Default for SetupProfile {
    fn default() -> Self {
        let entry = [("command", PROGRAM.into()), ("args", json!([ARGS]))];
        Self {
            program: None,
            files: Vec::new(),
            servers: "mcpServers".to_owned(),
            is_list: false,
            entry: entry
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            in_project: false,
            next: String::new(),
            only: None,
        }
    }
}

/// Settings without the client's own shell and file tools.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OnlyOurTools {
    /// The file for `set`; `None` for that of the entry.
    pub file: Option<String>,
    /// Members of that file. Lists are added to those in the file.
    pub set: Map<String, Value>,
    /// Members of `set`, as `a.b`, that replace those in the file as a whole.
    pub replaces: Vec<String>,
    /// Step of the person at each start.
    pub step: Option<String>,
    /// Limits of these settings.
    pub note: Option<String>,
}

/// Format of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// JSON, maybe with comments and trailing commas.
    Json,
    Toml,
    Yaml,
}

impl FileFormat {
    /// Returns the format that the name of a file tells. The default is JSON.
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(OsStr::to_str) {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            _ => Self::Json,
        }
    }
}

impl SetupProfile {
    /// Returns the entry that starts this program with these arguments.
    pub fn entry(&self, program: &str, args: &[String]) -> Map<String, Value> {
        let fill = |(name, pattern): (&String, &Value)| {
            let value = match pattern {
                Value::Array(items) => items
                    .iter()
                    .flat_map(|item| match item.as_str() {
                        Some(ARGS) => args.iter().cloned().map(Value::from).collect(),
                        Some(PROGRAM) => vec![program.into()],
                        _ => vec![item.clone()],
                    })
                    .collect(),
                pattern if pattern == PROGRAM => program.into(),
                pattern => pattern.clone(),
            };
            (name.clone(), value)
        };
        self.entry.iter().map(fill).collect()
    }

    /// Returns the program and its arguments in an entry of a file; `None` if it names no program.
    pub fn command_line<'a>(&self, entry: &'a Value) -> Option<Vec<&'a str>> {
        let names = |pattern: &Value, stands: &str| {
            let is_one = |value: &Value| value == stands;
            is_one(pattern)
                || pattern
                    .as_array()
                    .is_some_and(|items| items.iter().any(is_one))
        };
        let member = |stands| {
            let (name, _) = self
                .entry
                .iter()
                .find(|(_, pattern)| names(pattern, stands))?;
            Some((name, entry.get(name)?))
        };
        let words = |value: &'a Value| -> Vec<&'a str> {
            match value {
                Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
                value => value.as_str().into_iter().collect(),
            }
        };
        let (program_name, program) = member(PROGRAM)?;
        let mut line = words(program);
        if let Some((_, args)) = member(ARGS).filter(|(name, _)| *name != program_name) {
            line.extend(words(args));
        }
        (!line.is_empty()).then_some(line)
    }
}
