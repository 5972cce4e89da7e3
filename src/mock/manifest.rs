//! The manifest as its author writes it. The JSON schema for editors, the validation at startup and
//! the error messages derive from these types. Field docs are the descriptions in that schema.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::fault::MockFault;

/// A whole file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The server that the manifest describes.
    pub mock_server: Manifest,
}

/// A server that exists only in this file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Manifest {
    /// The name that clients are told; `replay-mock` by default.
    pub name: Option<String>,
    /// The name for people.
    pub title: Option<String>,
    /// The version that clients are told; that of replay by default.
    pub version: Option<String>,
    /// Instructions for the client's model.
    pub instructions: Option<String>,
    /// Members of the capabilities, put over those that follow from the manifest; `null` removes
    /// one.
    pub capabilities: Map<String, Value>,
    /// A fault of every tools/call, as `--fault` has it; that one counts if both are given.
    pub fault: Option<MockFault>,
    /// Where the choices of `error_rate` and the values of `${faker...}` begin; the same seed gives
    /// the same ones.
    pub seed: u64,
    /// Entries of a list on one page; a list has one page by default.
    #[schemars(range(min = 1))]
    pub page_size: Option<usize>,
    /// Send results as they stand, without the members that revision 2026-07-28 requires of each.
    pub exact: bool,
    /// The tools, in the order of tools/list.
    pub tools: Vec<Tool>,
    /// The resources, in the order of resources/list.
    pub resources: Vec<Resource>,
    /// Whole families of resources.
    pub resource_templates: Vec<ResourceTemplate>,
    /// The prompts, in the order of prompts/list.
    pub prompts: Vec<Prompt>,
    /// Answers to methods by their name, before anything else is done with them; also to methods
    /// that MCP does not have.
    pub methods: std::collections::BTreeMap<String, Behaviour>,
    /// What takes the place of the catalog later on.
    pub list_changed: Option<ListChanged>,
}

/// A tool. Unknown keys are refused by the schema: serde cannot where parts are flattened.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Tool {
    /// The name on the wire.
    pub name: String,
    /// The name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What it does.
    #[serde(default)]
    pub description: Option<String>,
    /// JSON schema of the arguments; they are checked against it. An object of anything by default.
    #[serde(default, alias = "inputSchema")]
    #[schemars(extend("x-aliases" = ["inputSchema"]))]
    pub input_schema: Option<Value>,
    /// JSON schema of the structured content. A result that breaks it is sent all the same, and a
    /// warning is logged.
    #[serde(default, alias = "outputSchema")]
    #[schemars(extend("x-aliases" = ["outputSchema"]))]
    pub output_schema: Option<Value>,
    /// The annotations of tools/list.
    #[serde(default)]
    pub annotations: Option<Value>,
    /// More members of the entry in tools/list, sent as they stand.
    #[serde(default)]
    pub extra: Map<String, Value>,
    /// Serve so many tools that differ in a number at the end of their names.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    pub copies: Option<usize>,
    /// Do not check arguments.
    #[serde(default, alias = "skipValidation")]
    #[schemars(extend("x-aliases" = ["skipValidation"]))]
    pub skip_validation: bool,
    #[serde(flatten)]
    pub behaviour: Behaviour,
}

/// What is answered: the first arm that fits, or the answer that stands beside the arms.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Behaviour {
    /// Answers with conditions; the first that fits is taken.
    pub responses: Vec<Arm>,
    #[serde(flatten)]
    pub reply: Reply,
}

/// An answer and when it is given.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Arm {
    /// What the arguments must hold. An object fits if each of its members does; anything else must
    /// be equal. `{regex: R}` fits strings, `{type: T}` values of a JSON type, `{schema: S}` what a
    /// JSON schema allows, `{equals: V}` only V.
    #[serde(rename = "match")]
    pub matches: Option<Value>,
    /// Give this answer when no other one fits, wherever it stands.
    pub default: bool,
    /// Give this answer so many times, then look at the next arm.
    #[schemars(range(min = 1))]
    pub times: Option<u64>,
    #[serde(flatten)]
    pub reply: Reply,
}

/// One answer, and what happens before it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Reply {
    /// The result, sent as it stands; `${args.NAME}` in its strings is replaced.
    #[serde(alias = "response")]
    #[schemars(extend("x-aliases" = ["response"]))]
    pub result: Option<Map<String, Value>>,
    /// An error: of the protocol if it has a code, of the tool (a result with isError) if not.
    pub error: Option<ErrorReply>,
    /// Answers in turn, the last one for good. One with `content` or `structuredContent` is a
    /// result; any other is an answer with its own `result`, `error`, `fault`, `delay_ms`, ..., and
    /// what stands beside the sequence where it has none.
    pub sequence: Vec<Item>,
    /// How long the answer takes, in milliseconds.
    #[schemars(range(max = 600_000))]
    pub delay_ms: Option<u64>,
    /// Which part of the answers is an internal error instead, from 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub error_rate: Option<f64>,
    /// A fault: none, hang, wedged, `slow:MS`, `recover-after:N`, `reply-after-cancel:MS`, silent,
    /// badjson, truncated, wrong-id, duplicate, slowloris, stdout-noise or exit.
    pub fault: Option<MockFault>,
    /// Progress that is reported before the answer, to a client that wants it.
    pub progress: Vec<Map<String, Value>>,
    /// Log messages that are sent before the answer, to a client that wants their level.
    pub log: Vec<Map<String, Value>>,
    /// Messages that are sent before the answer as they stand: `method` and `params`.
    pub notifications: Vec<Notification>,
    /// Parameters of an elicitation/create that the client must answer first; `${elicitation...}`
    /// is its answer.
    pub elicitation: Option<Map<String, Value>>,
    /// Parameters of a sampling/createMessage that the client must answer first; `${sampling...}`
    /// is its answer.
    pub sampling: Option<Map<String, Value>>,
    /// Ask the client for its roots first; `${roots...}` is its answer.
    pub roots_list: bool,
}

/// One answer of a sequence.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub enum Item {
    /// A result without further settings.
    Result(Map<String, Value>),
    /// An answer with settings of its own.
    Reply(Box<Reply>),
}

/// Members that mark an item of a sequence as a result.
pub const RESULT_KEYS: [&str; 2] = ["content", "structuredContent"];

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

/// A message without an answer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notification {
    /// Such as `notifications/resources/updated`.
    pub method: String,
    /// Its parameters.
    #[serde(default)]
    pub params: Map<String, Value>,
}

/// An error as an answer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorReply {
    /// The code of a JSON-RPC error; without one the answer is a result with isError.
    #[serde(default)]
    pub code: Option<i64>,
    /// What went wrong.
    pub message: String,
    /// Sent with the code.
    #[serde(default)]
    pub data: Option<Value>,
}

/// What a resource and a family of them have in common.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Content {
    /// The name for people and programs.
    pub name: Option<String>,
    /// What is in it.
    pub description: Option<String>,
    /// Such as `text/plain`.
    #[serde(alias = "mimeType")]
    #[schemars(extend("x-aliases" = ["mimeType"]))]
    pub mime_type: Option<String>,
    /// What resources/read answers.
    pub text: Option<String>,
    /// The same for bytes, in base64.
    pub blob: Option<String>,
    /// More members of the entry in the list, sent as they stand.
    pub extra: Map<String, Value>,
}

/// A resource. Unknown keys are refused by the schema, as those of a tool.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Resource {
    /// Its name on the wire.
    pub uri: String,
    /// Texts that follow while a client is subscribed; it is told of each.
    #[serde(default)]
    pub updates: Vec<Update>,
    #[serde(flatten)]
    pub content: Content,
}

/// A change of a resource.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// How long after the subscription or the update before, in milliseconds.
    #[schemars(range(max = 600_000))]
    pub after_ms: u64,
    /// What resources/read answers from then on.
    pub text: String,
}

/// A family of resources. Unknown keys are refused by the schema, as those of a tool.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ResourceTemplate {
    /// Such as `file:///users/{id}.json`; what a name in braces stands for is `${uri.NAME}` in the
    /// text.
    #[serde(alias = "uriTemplate")]
    #[schemars(extend("x-aliases" = ["uriTemplate"]))]
    pub uri_template: String,
    /// Values that completion/complete offers, by the name in braces.
    #[serde(default)]
    pub complete: std::collections::BTreeMap<String, Vec<String>>,
    #[serde(flatten)]
    pub content: Content,
}

/// A prompt.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    /// The name on the wire.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
    /// What it takes.
    #[serde(default)]
    pub arguments: Vec<PromptArgument>,
    /// The one message, of the user; `${args.NAME}` is replaced.
    #[serde(default)]
    pub text: Option<String>,
    /// The messages instead, sent as they stand; `${args.NAME}` is replaced.
    #[serde(default)]
    pub messages: Option<Vec<Value>>,
    /// More members of the entry in prompts/list, sent as they stand.
    #[serde(default)]
    pub extra: Map<String, Value>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptArgument {
    /// The name on the wire.
    pub name: String,
    /// What it means.
    #[serde(default)]
    pub description: Option<String>,
    /// Whether prompts/get fails without it.
    #[serde(default)]
    pub required: bool,
    /// Values that completion/complete offers.
    #[serde(default)]
    pub complete: Vec<String>,
}

/// What takes the place of parts of the catalog, when `notifications/mcptest/rotate_catalog` comes
/// or after some calls.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListChanged {
    /// Do it once so many calls of tools were answered.
    #[schemars(range(min = 1))]
    pub after_calls: Option<u64>,
    /// The tools from then on.
    pub tools: Option<Vec<Tool>>,
    /// The resources from then on.
    pub resources: Option<Vec<Resource>>,
    /// The prompts from then on.
    pub prompts: Option<Vec<Prompt>>,
}
