//! The manifest as its author writes it. The JSON schema for editors, the validation at startup and
//! the error messages derive from these types. Field docs are the descriptions in that schema.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::authorization::Authorization;
use super::fault::MockFault;
use super::http_fault::FaultRule;

/// A manifest file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    /// The server that the manifest describes.
    pub mock_server: Manifest,
}

/// A server that is defined only by this file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Manifest {
    /// Name of the server (`serverInfo`); `replay-mock` by default.
    pub name: Option<String>,
    /// Title of the server, for people.
    pub title: Option<String>,
    /// Version of the server (`serverInfo`); that of replay by default.
    pub version: Option<String>,
    /// Instructions for the client's model.
    pub instructions: Option<String>,
    /// Capabilities to add or replace; `null` removes one. By default they follow from the rest of
    /// the manifest.
    pub capabilities: Map<String, Value>,
    /// Fault of every tools/call, as `--fault`, which takes precedence.
    pub fault: Option<MockFault>,
    /// Authorization over HTTP; a change of it needs a restart.
    pub auth: Option<Authorization>,
    /// Faults of HTTP and of authorization, over HTTP only; a change of them needs a restart.
    pub faults: Vec<FaultRule>,
    /// Members to add or replace in the server card (SEP-2127), which is served over HTTP.
    pub card: Map<String, Value>,
    /// Seed of `error_rate` and `${faker...}`; the same seed gives the same values.
    pub seed: u64,
    /// Entries of a list on each page; all by default.
    #[schemars(range(min = 1))]
    pub page_size: Option<usize>,
    /// Send results exactly as written, without the members that revision 2026-07-28 requires.
    pub exact: bool,
    /// The tools, in the order of tools/list.
    pub tools: Vec<Tool>,
    /// The resources, in the order of resources/list.
    pub resources: Vec<Resource>,
    /// Resource templates.
    pub resource_templates: Vec<ResourceTemplate>,
    /// The prompts, in the order of prompts/list.
    pub prompts: Vec<Prompt>,
    /// Responses to methods, by name. They take precedence over the server's own, and may name
    /// methods that MCP lacks.
    pub methods: std::collections::BTreeMap<String, Behaviour>,
    /// Replacement of parts of the catalog during the session.
    pub list_changed: Option<ListChanged>,
}

/// A tool. The schema rejects unknown keys, since serde cannot where parts are flattened.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Tool {
    /// Name in the protocol.
    pub name: String,
    /// Title for people.
    #[serde(default)]
    pub title: Option<String>,
    /// Purpose of the tool.
    #[serde(default)]
    pub description: Option<String>,
    /// JSON schema for the arguments; by default any object is valid.
    #[serde(default, alias = "inputSchema")]
    #[schemars(extend("x-aliases" = ["inputSchema"]))]
    pub input_schema: Option<Value>,
    /// JSON schema for the structured content. An invalid result is sent nevertheless, and a
    /// warning is logged.
    #[serde(default, alias = "outputSchema")]
    #[schemars(extend("x-aliases" = ["outputSchema"]))]
    pub output_schema: Option<Value>,
    /// Annotations in tools/list.
    #[serde(default)]
    pub annotations: Option<Value>,
    /// Further members of the entry in tools/list, sent as written.
    #[serde(default)]
    pub extra: Map<String, Value>,
    /// Serve this many copies of the tool, with a number at the end of each name.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    pub copies: Option<usize>,
    /// Accept arguments that the schema forbids.
    #[serde(default, alias = "skipValidation")]
    #[schemars(extend("x-aliases" = ["skipValidation"]))]
    pub skip_validation: bool,
    #[serde(flatten)]
    pub behaviour: Behaviour,
}

/// Responses to a request: the first arm that matches, else the reply beside the arms.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Behaviour {
    /// Conditional responses; the first match is sent.
    pub responses: Vec<Arm>,
    #[serde(flatten)]
    pub reply: Reply,
}

/// A response and its condition.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Arm {
    /// Pattern for the arguments. An object matches if each of its members matches; any other value
    /// must be equal. `{regex: R}` matches strings, `{type: T}` values of a JSON type,
    /// `{schema: S}` values that a JSON schema allows, `{equals: V}` only V.
    #[serde(rename = "match")]
    pub matches: Option<Value>,
    /// Use this response if no other one matches, wherever it stands.
    pub default: bool,
    /// Use this response at most so many times, then try the next one.
    #[schemars(range(min = 1))]
    pub times: Option<u64>,
    #[serde(flatten)]
    pub reply: Reply,
}

/// One response, and the messages before it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Reply {
    /// Result, sent as written; `${args.NAME}` in its strings is replaced.
    #[serde(alias = "response")]
    #[schemars(extend("x-aliases" = ["response"]))]
    pub result: Option<Map<String, Value>>,
    /// Error: with a code a JSON-RPC error, else a tool result with `isError`.
    pub error: Option<ErrorReply>,
    /// Responses in turn; the last one repeats. An item with `content` or `structuredContent` is a
    /// result. Any other item has its own `result`, `error`, `fault` or `delay_ms`, and inherits
    /// the rest from beside the sequence.
    pub sequence: Vec<Item>,
    /// Delay of the response, in milliseconds.
    #[schemars(range(max = 600_000))]
    pub delay_ms: Option<u64>,
    /// Probability of an internal error instead of the response, from 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub error_rate: Option<f64>,
    /// A fault: none, hang, wedged, `slow:MS`, `recover-after:N`, `reply-after-cancel:MS`, silent,
    /// badjson, truncated, wrong-id, duplicate, slowloris, stdout-noise or exit.
    pub fault: Option<MockFault>,
    /// Progress notifications before the response, if the client requests progress.
    pub progress: Vec<Map<String, Value>>,
    /// Log messages before the response, if the client's log level includes them.
    pub log: Vec<Map<String, Value>>,
    /// Notifications before the response, sent as written: `method` and `params`.
    pub notifications: Vec<Notification>,
    /// Parameters of an elicitation/create request that the client must answer first;
    /// `${elicitation...}` is its answer.
    pub elicitation: Option<Map<String, Value>>,
    /// Parameters of a sampling/createMessage request that the client must answer first;
    /// `${sampling...}` is its answer.
    pub sampling: Option<Map<String, Value>>,
    /// Request the client's roots first; `${roots...}` is its answer.
    pub roots_list: bool,
}

/// One response of a sequence.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub enum Item {
    /// A plain result.
    Result(Map<String, Value>),
    /// A response with its own settings.
    Reply(Box<Reply>),
}

/// Keys that mark an item of a sequence as a result.
pub(crate) const RESULT_KEYS: [&str; 2] = ["content", "structuredContent"];

impl TryFrom<Map<String, Value>> for Item {
    type Error = serde_json::Error;

    fn try_from(members: Map<String, Value>) -> Result<Self, Self::Error> {
        if RESULT_KEYS.iter().any(|key| members.contains_key(*key)) {
            return Ok(Self::Result(members));
        }
        serde_json::from_value(Value::Object(members)).map(|reply| Self::Reply(Box::new(reply)))
    }
}

impl JsonSchema for Item {
    fn schema_name() -> Cow<'static, str> {
        "Item".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let reply = generator.subschema_for::<Reply>();
        json_schema!({
            "type": "object",
            "if": {"anyOf": RESULT_KEYS.map(|key| serde_json::json!({"required": [key]}))},
            "else": reply,
        })
    }
}

/// A notification.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notification {
    /// Method, such as `notifications/resources/updated`.
    pub method: String,
    /// Parameters of the method.
    #[serde(default)]
    pub params: Map<String, Value>,
}

/// An error as the response.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorReply {
    /// Code of a JSON-RPC error. Without a code the response is a tool result with `isError`.
    #[serde(default)]
    pub code: Option<i64>,
    /// Error message.
    pub message: String,
    /// Data of the JSON-RPC error.
    #[serde(default)]
    pub data: Option<Value>,
}

/// Common parts of resources and resource templates.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Content {
    /// Name for people and programs.
    pub name: Option<String>,
    /// Description of the content.
    pub description: Option<String>,
    /// MIME type, such as `text/plain`.
    #[serde(alias = "mimeType")]
    #[schemars(extend("x-aliases" = ["mimeType"]))]
    pub mime_type: Option<String>,
    /// Text that resources/read returns.
    pub text: Option<String>,
    /// Binary content for resources/read, in base64.
    pub blob: Option<String>,
    /// Further members of the entry in the list, sent as written.
    pub extra: Map<String, Value>,
}

/// A resource. The schema rejects unknown keys, as for tools.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Resource {
    /// URI in the protocol.
    pub uri: String,
    /// Changes of the text while a client is subscribed; each one is notified.
    #[serde(default)]
    pub updates: Vec<Update>,
    #[serde(flatten)]
    pub content: Content,
}

/// A change of a resource.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Delay after the subscription or the previous update, in milliseconds.
    #[schemars(range(max = 600_000))]
    pub after_ms: u64,
    /// New text for resources/read.
    pub text: String,
}

/// A resource template. The schema rejects unknown keys, as for tools.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ResourceTemplate {
    /// URI template, such as `file:///users/{id}.json`. `${uri.NAME}` in the text is the value of a
    /// name in braces.
    #[serde(alias = "uriTemplate")]
    #[schemars(extend("x-aliases" = ["uriTemplate"]))]
    pub uri_template: String,
    /// Completions (completion/complete) by the name in braces.
    #[serde(default)]
    pub complete: std::collections::BTreeMap<String, Vec<String>>,
    #[serde(flatten)]
    pub content: Content,
}

/// A prompt.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    /// Name in the protocol.
    pub name: String,
    /// Purpose of the prompt.
    #[serde(default)]
    pub description: Option<String>,
    /// Arguments of the prompt.
    #[serde(default)]
    pub arguments: Vec<PromptArgument>,
    /// Text of a single user message; `${args.NAME}` is replaced.
    #[serde(default)]
    pub text: Option<String>,
    /// Messages instead of `text`, sent as written; `${args.NAME}` is replaced.
    #[serde(default)]
    pub messages: Option<Vec<Value>>,
    /// Further members of the entry in prompts/list, sent as written.
    #[serde(default)]
    pub extra: Map<String, Value>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptArgument {
    /// Name in the protocol.
    pub name: String,
    /// Meaning of the argument.
    #[serde(default)]
    pub description: Option<String>,
    /// Reject prompts/get without this argument.
    #[serde(default)]
    pub required: bool,
    /// Completions (completion/complete).
    #[serde(default)]
    pub complete: Vec<String>,
}

/// Replacement of parts of the catalog, after some tool calls or on
/// `notifications/mcptest/rotate_catalog`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListChanged {
    /// Number of tool calls after which the catalog changes.
    #[schemars(range(min = 1))]
    pub after_calls: Option<u64>,
    /// New tools.
    pub tools: Option<Vec<Tool>>,
    /// New resources.
    pub resources: Option<Vec<Resource>>,
    /// New prompts.
    pub prompts: Option<Vec<Prompt>>,
}
