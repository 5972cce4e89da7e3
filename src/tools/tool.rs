//! The tool interface: one type declares name, description, parameters and reply, and runs.
//!
//! A tool gets typed parameters and returns a typed reply: no JSON, no error code, no revision.

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use replay_base::budget::Share;
use replay_base::limits::{QUICK_BYTES, SMALL_MESSAGE_BYTES};
use replay_mcp::protocol::{Content, ToolReply, reply_length, with_notes};
use replay_mcp::sessions::Weight;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::context::Context;
use super::fit::fit;
use super::{alike_paths, schema};
use crate::error::Error;

/// Arguments of a call up to this length are not counted beside their message, in bytes.
const SMALL_ARGUMENTS_BYTES: usize = 64 * 1024;
/// Memory for a call's arguments besides their message, as a multiple of their length: as text, as
/// values and as output.
const ARGUMENT_COPIES: usize = 3;

/// A tool, declared once; all other descriptions of it are derived from here.
pub(crate) trait Tool: Send + Sync + 'static {
    /// The arguments; field docs are the parameter descriptions.
    type Params: DeserializeOwned + JsonSchema;
    /// Structured output. An object type becomes the output schema; `()` means content alone.
    type Output: Serialize + JsonSchema;
    /// The name on the wire.
    const NAME: &'static str;
    /// The display name.
    const TITLE: &'static str;
    const DESCRIPTION: &'static str;
    /// Side effects of the tool.
    const HINTS: Hints;
    /// The set it is enabled with.
    const TOOLSET: Toolset;
    /// Its weight: may it block the thread that reads stdin?
    const WEIGHT: Weight = Weight::Light;
    /// Behaviour of a long call when its client may stop to wait.
    const HAND_OVER: HandOver = HandOver::Never;
    /// True if a model seldom needs it, so that a list for a model has it only with all sets.
    const IS_RARE: bool = false;
    fn run(context: &Context<'_>, params: Self::Params) -> Result<Reply<Self::Output>, Error>;
}

/// Behaviour of a long call when its client may stop to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOver {
    /// The client waits for its end.
    Never,
    /// It goes on in the background.
    GoesOn,
    /// It goes on, and a later call with the same arguments waits for it.
    IsJoined,
}

/// A group of tools that the operator enables together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolset {
    /// Reading, writing, searching and editing files.
    Files,
    Command,
    /// Recording and replaying outgoing calls of commands.
    Calls,
    Python,
    /// Running tests, and checking types.
    Tests,
}

impl Toolset {
    /// Every set, in the order of the documentation.
    pub const ALL: [Self; 5] = [
        Self::Files,
        Self::Command,
        Self::Calls,
        Self::Python,
        Self::Tests,
    ];

    /// Returns true if its tools start programs, and need the sandbox.
    pub const fn runs_commands(self) -> bool {
        match self {
            Self::Files => false,
            Self::Command | Self::Calls | Self::Python | Self::Tests => true,
        }
    }

    /// The name used with `--tools`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Command => "command",
            Self::Calls => "calls",
            Self::Python => "python",
            Self::Tests => "tests",
        }
    }
}

/// Side effects of a tool, as six named groups instead of four booleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hints {
    /// Reads only.
    Observes,
    /// Adds entries; a repetition has no further effect.
    Creates,
    /// Replaces content; a repetition has no further effect.
    Overwrites,
    /// Changes content; a repetition may change more.
    Mutates,
    /// Deletes; a repetition has no further effect.
    Removes,
    /// Runs programs, which may do anything that the sandbox allows.
    Runs,
}

impl Hints {
    /// The `annotations` object of tools/list.
    pub fn annotations(self) -> Value {
        let (destructive, idempotent, open_world) = match self {
            Self::Observes => return json!({"readOnlyHint": true, "openWorldHint": false}),
            Self::Creates => (false, true, false),
            Self::Overwrites | Self::Removes => (true, true, false),
            Self::Mutates => (true, false, false),
            Self::Runs => (true, false, true),
        };
        json!({"readOnlyHint": false, "destructiveHint": destructive, "idempotentHint": idempotent,
            "openWorldHint": open_world})
    }
}

#[derive(Debug)]
pub(crate) struct Reply<O> {
    /// Content for the model.
    pub content: Vec<Content>,
    /// Notes that stand in a text of `content`, without brackets.
    pub notes: Vec<String>,
    /// Notes that a model needs once in a session.
    pub once: Vec<String>,
    /// Content for programs; `None` omits it.
    pub structured: Option<Structured<O>>,
    /// Members of the result's `_meta`.
    pub meta: Vec<(&'static str, Value)>,
    /// Bad result of a call that succeeded.
    pub bad: Option<BadResult>,
    /// The background command that the call started.
    pub started: Option<String>,
    /// Memory reserved for the reply already. A call that holds a long text and waits for more
    /// memory could deadlock.
    pub held: Share,
}

/// Reason that a result is bad although the call succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadResult {
    /// A program that the call ran failed, such as a command that exits with 1.
    Program,
    /// The tool did nothing of what it was asked.
    Tool,
    /// Tests did not pass, or a check found errors. That is no error of the call.
    Verdict,
}

/// Structured form of a reply.
#[derive(Debug)]
pub(crate) enum Structured<O> {
    Typed(O),
    /// JSON text of such a value, for outputs so large that they are rendered only once.
    Written(String),
}

impl<O> Reply<O> {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::content(vec![Content::text(text)])
    }

    pub(crate) fn content(content: Vec<Content>) -> Self {
        Self {
            content,
            notes: Vec::new(),
            once: Vec::new(),
            structured: None,
            meta: Vec::new(),
            bad: None,
            started: None,
            held: Share::default(),
        }
    }

    /// Sets the background command that the call started.
    #[must_use]
    pub(crate) fn starting(self, id: &str) -> Self {
        Self {
            started: Some(id.to_owned()),
            ..self
        }
    }

    /// Sets the memory reserved for the reply.
    #[must_use]
    pub(crate) fn holding(self, held: Share) -> Self {
        Self { held, ..self }
    }

    /// Adds the structured form.
    #[must_use]
    pub(crate) fn with_structured(mut self, structured: O) -> Self {
        self.structured = Some(Structured::Typed(structured));
        self
    }

    /// Adds the structured form, as JSON text.
    #[must_use]
    pub(crate) fn with_written(mut self, structured: String) -> Self {
        self.structured = Some(Structured::Written(structured));
        self
    }

    /// Returns the output and its notes as text and as a structure, for tools whose clients parse
    /// JSON in the text.
    pub(crate) fn json(output: &O, notes: Vec<String>) -> Result<Self, Error>
    where
        O: Serialize,
    {
        let written = serde_json::to_string(output).map_err(Error::output)?;
        let text = with_notes(&written, notes.iter().map(String::as_str)).into_owned();
        Ok(Self::text(text).with_written(written).with_notes(notes))
    }

    /// Sets the notes that stand in a text.
    #[must_use]
    pub(crate) fn with_notes(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }

    /// Adds a member of `_meta`.
    #[must_use]
    pub(crate) fn meta(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.meta.push((key, value.into()));
        self
    }
}

/// Description of a tool for tools/list and the documents.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// The name on the wire.
    pub name: String,
    /// The display name.
    pub title: String,
    pub description: String,
    /// JSON Schema of the arguments, as text.
    pub input_schema: &'static str,
    /// JSON Schema of the structured output as text, if any.
    pub output_schema: Option<&'static str>,
    /// The `annotations` object.
    pub annotations: Value,
}

/// A tool without its types, as the registry holds it. A tool of a manifest is another
/// implementation.
pub trait Callable: Send + Sync {
    /// The name on the wire.
    fn name(&self) -> &str;
    /// Its description.
    fn descriptor(&self) -> Descriptor;
    /// The set it belongs to.
    fn toolset(&self) -> Toolset;
    /// Its side effects.
    fn hints(&self) -> Hints;
    /// Its weight: may it block the reading thread?
    fn weight(&self) -> Weight;
    /// Behaviour of a long call when its client may stop to wait.
    fn hand_over(&self) -> HandOver {
        HandOver::Never
    }
    /// True if a list for a model has it only with all sets.
    fn is_rare(&self) -> bool {
        false
    }
    /// Checks the arguments and runs the tool. `structured` is true if the client supports
    /// structured output.
    fn call(
        &self,
        context: &Context<'_>,
        arguments: Option<&RawValue>,
        structured: bool,
    ) -> Result<ToolReply, Error>;
}

/// A [`Tool`] as a [`Callable`].
struct DeclaredTool<T> {
    /// Parsed at the first call.
    schema: OnceLock<Value>,
    schemas: schema::Schemas,
    tool: PhantomData<fn() -> T>,
}

/// Returns the registry's entry for a tool with these schemas.
pub(super) fn declare<T: Tool>(schemas: schema::Schemas) -> Box<dyn Callable> {
    Box::new(DeclaredTool::<T> {
        schema: OnceLock::new(),
        schemas,
        tool: PhantomData,
    })
}

impl<T: Tool> Callable for DeclaredTool<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn descriptor(&self) -> Descriptor {
        Descriptor {
            name: T::NAME.to_owned(),
            title: T::TITLE.to_owned(),
            description: T::DESCRIPTION.to_owned(),
            input_schema: self.schemas.published,
            output_schema: self.schemas.output,
            annotations: T::HINTS.annotations(),
        }
    }

    fn toolset(&self) -> Toolset {
        T::TOOLSET
    }

    fn hints(&self) -> Hints {
        T::HINTS
    }

    fn weight(&self) -> Weight {
        T::WEIGHT
    }

    fn hand_over(&self) -> HandOver {
        T::HAND_OVER
    }

    fn is_rare(&self) -> bool {
        T::IS_RARE
    }

    fn call(
        &self,
        context: &Context<'_>,
        arguments: Option<&RawValue>,
        structured: bool,
    ) -> Result<ToolReply, Error> {
        let length = arguments.map_or(0, |raw| raw.get().len());
        let _arguments = (length > SMALL_ARGUMENTS_BYTES)
            .then(|| context.at_length(|| context.room().take(length * ARGUMENT_COPIES)))
            .transpose()?;
        let read = || serde_json::from_str(self.schemas.arguments).unwrap_or_default();
        let (params, max_tokens) =
            schema::read_params::<T::Params>(T::NAME, self.schema.get_or_init(read), arguments)?;
        let context = &Context {
            max_tokens,
            ..*context
        };
        let reply = T::run(context, params)
            .map_err(|error| alike_paths::explain_error(&context.services.policy, error))?;
        let structured = match reply.structured.filter(|_| structured) {
            Some(Structured::Typed(output)) => {
                let write = || serde_json::to_string(&output);
                let is_long = reply.content.iter().any(
                    |content| matches!(content, Content::Text(text) if text.len() > QUICK_BYTES),
                );
                Some(
                    if is_long {
                        context.at_length(write)
                    } else {
                        write()
                    }
                    .map_err(Error::output)?,
                )
            }
            Some(Structured::Written(text)) => Some(text),
            None => None,
        };
        let Reply {
            mut content,
            notes,
            once,
            meta,
            bad,
            started,
            mut held,
            ..
        } = reply;
        fit(&mut content, context);
        let mut reply = ToolReply {
            content,
            notes,
            once,
            structured,
            meta,
            is_error: matches!(bad, Some(BadResult::Program | BadResult::Tool)),
            has_failed: bad.is_some(),
            has_exited: bad == Some(BadResult::Program),
            started,
            ..ToolReply::default()
        };
        let texts = reply.content.iter().map(Content::length).sum::<usize>();
        if texts > SMALL_MESSAGE_BYTES {
            // Including its rendered text.
            let written = context.at_length(|| reply_length(&reply));
            let all = texts + reply.structured.as_ref().map_or(0, String::len) + written;
            held.shrink(all);
            let more = all - held.bytes();
            held.join(
                context
                    .at_length(|| context.room().take(more))
                    .map_err(Error::Unanswered)?,
            );
            reply.held = Some(Arc::new(held));
        }
        Ok(reply)
    }
}
