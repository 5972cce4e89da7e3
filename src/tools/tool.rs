//! What a tool is: one type that declares name, words, parameters and reply, and runs.
//!
//! A tool sees typed parameters and returns a typed reply: no JSON, no error code, no revision.

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::context::Context;
use super::{alike_paths, schema, schemas};
use crate::budget::Share;
use crate::error::Error;
use crate::limits::{ARGUMENT_COPIES, QUICK_BYTES, SMALL_ARGUMENTS_BYTES, SMALL_MESSAGE_BYTES};
use crate::protocol::{Content, ToolReply, reply_length};

/// A tool, declared once; everything that is said about it elsewhere is derived from here.
pub trait Tool: Send + Sync + 'static {
    /// The arguments; field docs are the parameter descriptions.
    type Params: DeserializeOwned + JsonSchema;
    /// Structured output. An object type becomes the output schema; `()` means content alone.
    type Output: Serialize + JsonSchema;
    /// The name on the wire.
    const NAME: &'static str;
    /// The name for people.
    const TITLE: &'static str;
    /// What it does, when to use another one, the one trap. Paid for on every request.
    const DESCRIPTION: &'static str;
    /// What it does to the world.
    const HINTS: Hints;
    /// The set it is switched on with.
    const TOOLSET: Toolset;
    /// Whether it may hold up the thread that reads stdin.
    const WEIGHT: Weight = Weight::Light;
    fn run(context: &Context<'_>, params: Self::Params) -> Result<Reply<Self::Output>, Error>;
}

/// A group of tools that the operator switches on together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolset {
    /// Reading, writing, searching and editing files.
    Files,
    Command,
    /// Recording what commands call, and answering it.
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

    /// Whether its tools start programs, and need the walls.
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

/// Whether a call is served by the thread that read it, or handed to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Microseconds, and nothing is waited for but a filesystem: reading what is small
    /// ([`super::Context::at_length`]).
    Quick,
    /// Microseconds as a rule: no thread hop where requests come from one client.
    Light,
    /// May take long: searches, commands, whole trees.
    Heavy,
    /// Mostly waits for something else than this machine, such as a mock that is slow on purpose:
    /// many of them at the same time cost little, and must not take the places of heavy ones.
    Waits,
}

impl Weight {
    /// Whether the thread that reads one client's requests may serve it.
    pub const fn is_light(self) -> bool {
        matches!(self, Self::Quick | Self::Light)
    }
}

/// What a tool does to the world, as six named groups instead of four booleans a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hints {
    /// Reads only.
    Observes,
    /// Adds; doing it again changes nothing more.
    Creates,
    /// Replaces what was there; doing it again changes nothing more.
    Overwrites,
    /// Changes what was there; doing it again may change more.
    Mutates,
    /// Deletes; doing it again changes nothing more.
    Removes,
    /// Runs programs, which may do anything that the walls allow.
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
pub struct Reply<O> {
    /// What the model reads.
    pub content: Vec<Content>,
    /// What a program reads; `None` leaves it out.
    pub structured: Option<Structured<O>>,
    /// Members of the result's `_meta`.
    pub meta: Vec<(&'static str, Value)>,
    /// The call did its work and the outcome is bad news, such as a command that exits with 1.
    pub is_error: bool,
    /// The background command that the call has started.
    pub started: Option<String>,
    /// Memory that was taken for it already: who holds a long text and then waits for more could
    /// wait for good.
    pub held: Share,
}

/// The structured form of an answer.
#[derive(Debug)]
pub enum Structured<O> {
    Typed(O),
    /// As the JSON text of such a value: for outputs so large that they are written only once.
    Written(String),
}

impl<O> Reply<O> {
    pub fn text(text: impl Into<String>) -> Self {
        Self::content(vec![Content::text(text)])
    }

    pub fn content(content: Vec<Content>) -> Self {
        Self {
            content,
            structured: None,
            meta: Vec::new(),
            is_error: false,
            started: None,
            held: Share::default(),
        }
    }

    /// The call has started this background command.
    #[must_use]
    pub fn starting(self, id: &str) -> Self {
        Self {
            started: Some(id.to_owned()),
            ..self
        }
    }

    /// Memory that was taken for it already.
    #[must_use]
    pub fn holding(self, held: Share) -> Self {
        Self { held, ..self }
    }

    /// Adds the structured form.
    #[must_use]
    pub fn with(mut self, structured: O) -> Self {
        self.structured = Some(Structured::Typed(structured));
        self
    }

    /// Adds the structured form, as JSON text.
    #[must_use]
    pub fn with_written(mut self, structured: String) -> Self {
        self.structured = Some(Structured::Written(structured));
        self
    }

    /// The output as text and as a structure: for tools whose clients read JSON in the text.
    pub fn json(output: O) -> Result<Self, Error>
    where
        O: Serialize,
    {
        let text = serde_json::to_string(&output).map_err(Error::output)?;
        Ok(Self::text(text).with(output))
    }

    /// Adds a member of `_meta`.
    #[must_use]
    pub fn meta(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.meta.push((key, value.into()));
        self
    }
}

/// What tools/list and the documents say about a tool.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// The name on the wire.
    pub name: String,
    /// The name for people.
    pub title: String,
    pub description: String,
    /// JSON Schema of the arguments, as text.
    pub input_schema: &'static str,
    /// JSON Schema of the structured output as text, if there is any.
    pub output_schema: Option<&'static str>,
    /// The `annotations` object.
    pub annotations: Value,
}

/// A tool with its types erased: what the registry holds. A tool from a manifest is another
/// implementation.
pub trait Callable: Send + Sync {
    /// The name on the wire.
    fn name(&self) -> &str;
    /// Everything that is said about it.
    fn descriptor(&self) -> Descriptor;
    /// The set it belongs to.
    fn toolset(&self) -> Toolset;
    /// What it does to the world.
    fn hints(&self) -> Hints;
    /// Whether it may hold up the thread that reads.
    fn weight(&self) -> Weight;
    /// Checks the arguments and does the work. `structured` says whether the client can use
    /// structured output.
    fn call(
        &self,
        context: &Context<'_>,
        arguments: Option<&RawValue>,
        structured: bool,
    ) -> Result<ToolReply, Error>;
}

/// A [`Tool`] as a [`Callable`].
struct Declared<T> {
    /// Read at the first call.
    schema: OnceLock<Value>,
    schemas: schema::Schemas,
    tool: PhantomData<fn() -> T>,
}

/// The registry's entry for a tool.
pub fn declare<T: Tool>() -> Box<dyn Callable> {
    Box::new(Declared::<T> {
        schema: OnceLock::new(),
        schemas: schemas::of(T::NAME),
        tool: PhantomData,
    })
}

impl<T: Tool> Callable for Declared<T> {
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
        let params =
            schema::read_params::<T::Params>(T::NAME, self.schema.get_or_init(read), arguments)?;
        let reply = T::run(context, params)
            .map_err(|error| alike_paths::explained(&context.services.policy, error))?;
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
            content,
            meta,
            is_error,
            started,
            mut held,
            ..
        } = reply;
        let mut reply = ToolReply {
            content,
            structured,
            meta,
            is_error,
            started,
            ..ToolReply::default()
        };
        let texts = reply.content.iter().map(Content::length).sum::<usize>();
        if texts > SMALL_MESSAGE_BYTES {
            // With what is to be written of it.
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
