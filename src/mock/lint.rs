//! Warnings of `replay mock check`: parts of a manifest that can be served but are probably
//! mistakes.

use replay_base::limits::MAX_SHOWN_NAME_BYTES;
use serde_json::{Map, Value};

use super::faker;
use super::manifest::{Behaviour, Item, Manifest, Reply, Tool};
use super::problems::{ProblemList, nearest};
use super::template::{Template, TemplatePart, unclosed_placeholder};

/// First steps that the path of a placeholder may have.
const ROOTS: [&str; 8] = [
    "args",
    "request",
    "call",
    "faker",
    "repeat",
    "elicitation",
    "sampling",
    "roots",
];
/// Keys that make an object in a `match` an operator.
const OPERATORS: [&str; 4] = ["regex", "type", "schema", "equals"];
/// Content types of the specification (server/tools, Tool Result).
const CONTENT_TYPES: [&str; 5] = ["text", "image", "audio", "resource", "resource_link"];

/// Checks the tools, methods and prompts of the manifest at `pointer`.
pub(crate) fn check(manifest: &Manifest, pointer: &str, faults: &mut ProblemList<'_>) {
    for (index, tool) in manifest.tools.iter().enumerate() {
        let pointer = format!("{pointer}/tools/{index}");
        let mut lint = Lint {
            faults,
            schema: tool.input_schema.as_ref(),
            is_exact: manifest.exact,
            is_tool: true,
        };
        if tool.skip_validation {
            lint.schema = None;
        }
        lint.name(tool, &pointer);
        lint.behaviour(&tool.behaviour, &pointer);
    }
    let mut lint = Lint {
        faults,
        schema: None,
        is_exact: manifest.exact,
        is_tool: false,
    };
    for (method, behaviour) in &manifest.methods {
        lint.behaviour(behaviour, &format!("{pointer}/methods/{}", escape(method)));
    }
    for (index, prompt) in manifest.prompts.iter().enumerate() {
        for (key, value) in [
            ("text", prompt.text.clone().map(Value::from)),
            ("messages", prompt.messages.clone().map(Value::from)),
        ] {
            lint.places(
                &value.unwrap_or_default(),
                &format!("{pointer}/prompts/{index}/{key}"),
            );
        }
    }
}

/// Warns of faults that no request gets, and of tools in `auth` and `faults` that the manifest lacks.
/// One without tools is for a proxy.
pub(crate) fn check_http(manifest: &Manifest, faults: &mut ProblemList<'_>) {
    for (index, rule) in manifest.faults.iter().enumerate() {
        let pointer = format!("/faults/{index}");
        let (fault, is_of_login) = (rule.fault, rule.fault.place().is_of_authorization());
        if is_of_login && manifest.auth.is_none() {
            faults.warn(
                &pointer,
                format!("`{fault}` needs `auth`, which is missing"),
            );
        }
        if is_of_login && (rule.tool.is_some() || rule.method.is_some()) {
            let text = format!("`{fault}` is part of the login, which has no tool or method");
            faults.warn(&pointer, text);
        }
        if rule.tool.is_some() && rule.method.as_ref().is_some_and(|it| it != "tools/call") {
            faults.warn(&pointer, "`tool` goes with tools/call alone");
        }
    }
    let later = manifest.list_changed.iter().flat_map(|it| &it.tools);
    let tools = manifest.tools.iter().chain(later.flatten());
    let known: Vec<&str> = tools.clone().map(|tool| tool.name.as_str()).collect();
    // Copies have numbers behind their names.
    if known.is_empty() || tools.clone().any(|tool| tool.copies.is_some()) {
        return;
    }
    let scopes = manifest.auth.iter().flat_map(|auth| &auth.tool_scopes);
    let scopes = scopes.map(|(tool, _)| (format!("/auth/tool_scopes/{}", escape(tool)), tool));
    let rules = manifest.faults.iter().enumerate();
    let rules = rules
        .filter_map(|(index, rule)| Some((format!("/faults/{index}/tool"), rule.tool.as_ref()?)));
    for (pointer, tool) in scopes.chain(rules) {
        if !known.contains(&tool.as_str()) {
            let near = nearest(tool, known.iter().copied());
            faults.warn(&pointer, format!("the manifest has no tool `{tool}`{near}"));
        }
    }
}

struct Lint<'a, 'b> {
    faults: &'a mut ProblemList<'b>,
    /// Input schema, if arguments are validated against it.
    schema: Option<&'a Value>,
    is_exact: bool,
    is_tool: bool,
}

impl Lint<'_, '_> {
    fn name(&mut self, tool: &Tool, pointer: &str) {
        let pointer = format!("{pointer}/name");
        if self.is_exact {
            return;
        }
        if tool.name.is_empty() {
            self.faults.warn(&pointer, "the name is empty");
        } else if tool.name.contains(char::is_whitespace) {
            self.faults
                .warn(&pointer, format!("the name `{}` has a space", tool.name));
        }
    }

    fn behaviour(&mut self, behaviour: &Behaviour, pointer: &str) {
        let mut catches_all = None;
        for (index, arm) in behaviour.responses.iter().enumerate() {
            let pointer = format!("{pointer}/responses/{index}");
            if let Some(pattern) = &arm.matches {
                let is_operator = |members: &Map<String, Value>| {
                    members.len() == 1 && members.keys().any(|key| is_operator(key))
                };
                if let Some(members) = pattern.as_object().filter(|members| !is_operator(members)) {
                    self.names(members, &format!("{pointer}/match"));
                }
                self.operators(pattern, self.schema, &format!("{pointer}/match"));
            }
            if !arm.default {
                if let Some(before) = catches_all {
                    let message = format!(
                        "this arm is never reached: `responses[{before}]` has no `match`, so it \
                         matches every call"
                    );
                    self.faults.warn(&pointer, message);
                } else if arm.matches.is_none() && arm.times.is_none() {
                    catches_all = Some(index);
                }
            }
            self.reply(&arm.reply, &pointer);
        }
        self.reply(&behaviour.reply, pointer);
    }

    /// Warns of members of a `match` that are not arguments of the tool.
    fn names(&mut self, members: &Map<String, Value>, pointer: &str) {
        let Some(known) = self.schema.and_then(properties) else {
            return;
        };
        for key in members.keys().filter(|key| !known.contains_key(*key)) {
            let near = nearest(key, known.keys().map(String::as_str));
            let message = format!("`match` names `{key}`, which is not in the input_schema{near}");
            self.faults
                .warn(&format!("{pointer}/{}", escape(key)), message);
        }
    }

    /// Warns of members that look like a misspelt operator.
    fn operators(&mut self, pattern: &Value, schema: Option<&Value>, pointer: &str) {
        for (key, value) in pattern.as_object().into_iter().flatten() {
            let (pointer, schema) = (
                format!("{pointer}/{}", escape(key)),
                schema.and_then(|schema| schema["properties"].get(key)),
            );
            if let Some([slip]) = value
                .as_object()
                .map(|members| members.keys().collect::<Vec<_>>())
                .as_deref()
                && !is_operator(slip)
                && slip.len() <= MAX_SHOWN_NAME_BYTES
                && OPERATORS
                    .iter()
                    .any(|known| strsim::damerau_levenshtein(known, slip) <= known.len() / 3)
                && schema.is_none_or(|schema| schema["properties"].get(slip.as_str()).is_none())
            {
                let near = nearest(slip, OPERATORS.into_iter());
                let what =
                    "is not an operator of `match`, so `match` expects an object with this member";
                self.faults.warn(&pointer, format!("`{slip}` {what}{near}"));
            }
            self.operators(value, schema, &pointer);
        }
    }

    fn reply(&mut self, reply: &Reply, pointer: &str) {
        let objects = [
            ("result", &reply.result),
            ("elicitation", &reply.elicitation),
            ("sampling", &reply.sampling),
        ];
        for (key, members) in objects {
            if let Some(members) = members {
                let pointer = format!("{pointer}/{key}");
                if key == "result" {
                    self.content(members, &pointer);
                }
                self.places(&members.clone().into(), &pointer);
            }
        }
        if let Some(error) = &reply.error {
            self.places(
                &error.message.clone().into(),
                &format!("{pointer}/error/message"),
            );
            self.places(
                &error.data.clone().unwrap_or_default(),
                &format!("{pointer}/error/data"),
            );
        }
        for (key, sent) in [("progress", &reply.progress), ("log", &reply.log)] {
            for (index, members) in sent.iter().enumerate() {
                self.places(&members.clone().into(), &format!("{pointer}/{key}/{index}"));
            }
        }
        for (index, sent) in reply.notifications.iter().enumerate() {
            self.places(
                &sent.params.clone().into(),
                &format!("{pointer}/notifications/{index}/params"),
            );
        }
        for (index, item) in reply.sequence.iter().enumerate() {
            let pointer = format!("{pointer}/sequence/{index}");
            match item {
                Item::Result(result) => {
                    self.content(result, &pointer);
                    self.places(&result.clone().into(), &pointer);
                }
                Item::Reply(reply) => self.reply(reply, &pointer),
            }
        }
    }

    /// Warns of content blocks of unknown types.
    fn content(&mut self, result: &Map<String, Value>, pointer: &str) {
        if self.is_exact || !self.is_tool {
            return;
        }
        let blocks = result
            .get("content")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        for (index, block) in blocks.enumerate().filter(|(_, block)| block.is_object()) {
            let pointer = format!("{pointer}/content/{index}");
            match block.get("type") {
                None => {
                    self.faults.warn(
                        &pointer,
                        format!(
                            "a content block has no `type`; valid: {}",
                            CONTENT_TYPES.join(", ")
                        ),
                    );
                }
                Some(Value::String(kind))
                    if !kind.contains("${") && !CONTENT_TYPES.contains(&kind.as_str()) =>
                {
                    let valid = CONTENT_TYPES.join(", ");
                    self.faults.warn(
                        &format!("{pointer}/type"),
                        format!("`{kind}` is not a type of content; valid: {valid}"),
                    );
                }
                Some(_) => {}
            }
        }
    }

    /// Warns of placeholders that can never be filled.
    fn places(&mut self, value: &Value, pointer: &str) {
        match value {
            Value::String(text) => {
                if let Some(rest) = unclosed_placeholder(text) {
                    let message =
                        format!("`{rest}` lacks its closing brace; write a plain `${{` as `$${{`");
                    self.faults.warn(pointer, message);
                }
                let Template::Text(parts) = Template::new(value) else {
                    return;
                };
                for part in parts {
                    if let TemplatePart::Place(path, written) = part
                        && let Some(reason) = self.unfillable_reason(&path)
                    {
                        self.faults
                            .warn(pointer, format!("`{written}` names no value{reason}"));
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.places(item, &format!("{pointer}/{index}"));
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    self.places(member, &format!("{pointer}/{}", escape(key)));
                }
            }
            _ => {}
        }
    }

    fn unfillable_reason(&self, path: &[String]) -> Option<String> {
        let [root, rest @ ..] = path else { return None };
        if !ROOTS.contains(&root.as_str()) {
            return Some(format!(
                "; a placeholder begins with one of {}{}",
                ROOTS.join(", "),
                nearest(root, ROOTS.into_iter())
            ));
        }
        let first = rest.first()?;
        match root.as_str() {
            "faker" if !faker::KINDS.contains(&first.as_str()) => {
                let near = nearest(first, faker::KINDS.into_iter());
                Some(format!("; valid: {}{near}", faker::KINDS.join(", ")))
            }
            "args" => {
                let schema = self
                    .schema
                    .filter(|schema| schema["additionalProperties"] == false)?;
                let known = properties(schema)?;
                (!known.contains_key(first)).then(|| {
                    let near = nearest(first, known.keys().map(String::as_str));
                    format!(": the input_schema has no `{first}`{near}")
                })
            }
            _ => None,
        }
    }
}

fn is_operator(key: &str) -> bool {
    OPERATORS.contains(&key)
}

/// Returns the properties of a schema, unless another keyword may add more.
fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    const OTHERS: [&str; 7] = [
        "$ref",
        "$dynamicRef",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "patternProperties",
    ];
    if OTHERS.iter().any(|key| schema.get(key).is_some()) {
        return None;
    }
    schema.get("properties")?.as_object()
}

/// Escapes a key as a step of a JSON pointer (RFC 6901).
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
