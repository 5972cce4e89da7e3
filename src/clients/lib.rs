//! Profiles of MCP clients: the form in which the server answers each. The table is `clients.toml`,
//! with the operator's additions.
#![forbid(unsafe_code)]

mod setup;
#[cfg(test)]
mod tests;
mod version;

pub use setup::{FileFormat, OnlyOurTools, SetupProfile};

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use version::Version;

static EMBEDDED: LazyLock<Clients> = LazyLock::new(|| {
    Clients::default()
        .with(include_str!("clients.toml"))
        .unwrap_or_default()
});

/// A table of clients. The first that matches counts.
#[derive(Clone, Debug, Default)]
pub struct Clients {
    /// Names and profiles as JSON, an operator's before the embedded ones.
    written: Map<String, Value>,
    read: Vec<Client>,
}

/// Profile of one client.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Its name for `--client`.
    #[serde(skip)]
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// Values of `clientInfo.name`.
    names: Vec<NameGlob>,
    /// Paths of a project from which it starts programs, or takes permissions.
    #[serde(default)]
    pub protects: Vec<String>,
    /// First version that the profile holds for.
    from: Option<Version>,
    /// First version that it does not hold for any more.
    before: Option<Version>,
    #[serde(default = "ReplyProfile::of_known")]
    pub replies: ReplyProfile,
    /// `None` if `replay setup` does not know the client.
    pub setup: Option<SetupProfile>,
}

/// Form of the replies to a client. The default is for clients that nobody knows.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ReplyProfile {
    #[serde(default = "ReplyStyle::of_known")]
    pub style: ReplyStyle,
    pub structured: ReplyParts,
    pub errors: FailureForm,
    /// True if a command that exits with another status than 0 sets `isError`.
    pub exit_is_error: bool,
    /// Maximum length of one result in characters, notes included.
    pub reply_chars: Option<usize>,
    /// Time in seconds that the client waits for a reply without a report of progress.
    pub wait_secs: Option<u64>,
    /// Maximum length of a picture in base64.
    pub image_bytes: Option<usize>,
    /// True if all text comes in one block, which ends with a line feed.
    pub one_block: bool,
    /// True if links to logs are sent as `resource_link`.
    pub resource_links: bool,
    /// Members of `_meta` in the descriptions of tools.
    pub meta: Vec<ToolMeta>,
}

impl Default for ReplyProfile {
    fn default() -> Self {
        Self {
            style: ReplyStyle::Exact,
            structured: ReplyParts::Both,
            errors: FailureForm::Codes,
            exit_is_error: true,
            reply_chars: None,
            wait_secs: None,
            image_bytes: None,
            one_block: false,
            resource_links: true,
            meta: Vec::new(),
        }
    }
}

impl ReplyProfile {
    fn of_known() -> Self {
        Self {
            style: ReplyStyle::of_known(),
            ..Self::default()
        }
        .consistent()
    }

    /// Returns the same profile with this style.
    #[must_use]
    pub fn with_style(self, style: ReplyStyle) -> Self {
        Self { style, ..self }.consistent()
    }

    /// Lean replies are one text.
    fn consistent(mut self) -> Self {
        if self.style == ReplyStyle::Lean {
            (self.structured, self.one_block) = (ReplyParts::Text, true);
        }
        self
    }
}

/// Style of the texts of replies.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ReplyStyle {
    /// The documented texts and structures, for programs that read them.
    Exact,
    /// One short text, for a model that pays for each token.
    Lean,
}

impl ReplyStyle {
    /// The clients of the table pass replies to a model.
    const fn of_known() -> Self {
        Self::Lean
    }
}

/// Parts of a result that are sent.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ReplyParts {
    #[default]
    Both,
    /// No `structuredContent`, and no `outputSchema` in the descriptions of tools.
    Text,
    /// The text is left out where there is `structuredContent`.
    Structured,
}

/// Form of a tool's failure on handshake revisions.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum FailureForm {
    /// JSON-RPC errors with the documented codes.
    #[default]
    Codes,
    /// Results with `isError`, for clients that hide protocol errors from their model.
    Results,
    /// Results without `isError` whose text begins with `error: `, for clients that end a run at
    /// `isError`.
    Text,
}

/// Members of `_meta` for some tools.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ToolMeta {
    tools: Vec<NameGlob>,
    pub members: Map<String, Value>,
}

impl ToolMeta {
    /// Returns true if a tool of this name has the members.
    pub fn is_for(&self, tool: &str) -> bool {
        self.tools.iter().any(|glob| glob.matches(tool))
    }
}

/// A name; a `*` at its end stands for any rest.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(transparent)]
struct NameGlob(String);

impl NameGlob {
    fn matches(&self, name: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == self.0,
        }
    }
}

/// Fault of a table.
#[derive(Debug, thiserror::Error)]
pub enum ClientsError {
    #[error("{0}")]
    NotToml(#[from] toml_edit::de::Error),
    #[error("[{id}]: {source}")]
    Client {
        /// Name of the client in the table.
        id: String,
        source: serde_json::Error,
    },
}

impl Clients {
    /// Returns the embedded table.
    pub fn embedded() -> &'static Self {
        &EMBEDDED
    }

    /// Returns this table with the additions of another one, in TOML. The added clients come
    /// first; a client with a name of this table changes only the keys that it has.
    pub fn with(&self, toml: &str) -> Result<Self, ClientsError> {
        let mut written: Map<String, Value> = toml_edit::de::from_str(toml)?;
        for (id, known) in &self.written {
            match written.get_mut(id) {
                Some(changed) => complete(changed, known),
                None => drop(written.insert(id.clone(), known.clone())),
            }
        }
        let read = |(id, client): (&String, &Value)| match Client::deserialize(client) {
            Ok(client) => Ok(Client {
                id: id.clone(),
                replies: client.replies.clone().consistent(),
                ..client
            }),
            Err(source) => Err(ClientsError::Client {
                id: id.clone(),
                source,
            }),
        };
        let read = written.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self { written, read })
    }

    /// Returns this table with one style for all clients.
    #[must_use]
    pub fn with_style(mut self, style: ReplyStyle) -> Self {
        for client in &mut self.read {
            client.replies = client.replies.clone().with_style(style);
        }
        self
    }

    /// Finds a client by the name and version that it gives of itself.
    pub fn of(&self, name: &str, version: &str) -> Option<&Client> {
        let version = Version::parse(version);
        self.read.iter().find(|client| {
            client.names.iter().any(|glob| glob.matches(name))
                && client.from.is_none_or(|from| version >= from)
                && client.before.is_none_or(|before| version < before)
        })
    }

    /// Finds a client by its name in the table.
    pub fn named(&self, id: &str) -> Option<&Client> {
        self.read.iter().find(|client| client.id == id)
    }

    /// Iterates over the clients in the order in which they are tried.
    pub fn iter(&self) -> impl Iterator<Item = &Client> {
        self.read.iter()
    }
}

/// Adds the members of a known value that a changed one lacks, at every depth.
fn complete(changed: &mut Value, known: &Value) {
    if let (Value::Object(changed), Value::Object(known)) = (changed, known) {
        for (key, value) in known {
            match changed.get_mut(key) {
                Some(changed) => complete(changed, value),
                None => drop(changed.insert(key.clone(), value.clone())),
            }
        }
    }
}
