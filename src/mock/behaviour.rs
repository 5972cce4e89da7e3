//! Choice of the answer to a call: arms, sequences and counts, compiled from the manifest.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use replay_mcp::schema::Validator;
use serde_json::{Map, Value, json};

use super::fault::MockFault;
use super::manifest;
use super::problems::ProblemList;
use super::schema;
use super::template::Template;

/// All answers of one tool or method.
#[derive(Debug, Default)]
pub struct Answers {
    arms: Vec<AnswerArm>,
    /// Answer of a call that no arm fits.
    fallback: Option<MockAnswer>,
}

#[derive(Debug)]
struct AnswerArm {
    matches: Option<Validator>,
    times: Option<u64>,
    used: AtomicU64,
    reply: MockAnswer,
}

/// The answer chosen for a call. The choice is made when the call arrives, since threads may
/// process calls in another order.
#[derive(Clone, Copy, Debug)]
pub struct AnswerChoice {
    /// Index of the arm; `None` for the fallback.
    arm: Option<usize>,
    /// Calls that got this answer, this one included.
    pub count: u64,
}

/// One answer, and the steps before it.
#[derive(Debug)]
pub struct MockAnswer {
    pub body: AnswerBody,
    /// Answers of a `sequence`, given in turn; the last one repeats.
    steps: Vec<MockAnswer>,
    /// Calls that got this answer.
    given: AtomicU64,
    pub delay: Duration,
    /// Share of calls that fail with an internal error instead, from 0 to 1.
    pub error_rate: f64,
    pub fault: Option<MockFault>,
    /// Parameters of progress notifications.
    pub progress: Vec<Template>,
    /// Parameters of log messages.
    pub log: Vec<Template>,
    /// Methods and parameters of other notifications.
    pub notifications: Vec<(String, Template)>,
    /// Requests that the client must answer first.
    pub asks: Vec<Ask>,
}

/// A request to the client that precedes the answer.
#[derive(Debug)]
pub struct Ask {
    /// Name of the client's answer in templates, and of the capability that the client must
    /// declare.
    pub name: &'static str,
    pub method: &'static str,
    pub params: Template,
}

/// Content of an answer.
#[derive(Clone, Debug)]
pub enum AnswerBody {
    /// A result from the manifest.
    Result {
        /// The result with its placeholders.
        template: Template,
        /// The result as JSON text, if it has no placeholders.
        text: Option<Arc<str>>,
    },
    Error {
        /// JSON-RPC error code.
        code: i64,
        message: Template,
        data: Option<Template>,
    },
    /// Default answer, since the manifest declares none.
    Generic,
    /// The manifest declares answers, but none of them fits.
    Unfit,
}

impl AnswerBody {
    /// Returns true if the manifest declares no content for this answer.
    pub fn is_generic(&self) -> bool {
        matches!(self, Self::Generic | Self::Unfit)
    }

    fn is_stateful(&self) -> bool {
        match self {
            Self::Generic | Self::Unfit => false,
            Self::Result { template, .. } => template.is_stateful(),
            Self::Error { message, data, .. } => {
                message.is_stateful() || data.as_ref().is_some_and(Template::is_stateful)
            }
        }
    }

    fn result(value: &Value) -> Self {
        let template = Template::new(value);
        let text = template.as_fixed().map(|value| value.to_string().into());
        Self::Result { template, text }
    }

    fn error(error: &manifest::ErrorReply) -> Self {
        let message = Value::String(error.message.clone());
        match error.code {
            Some(code) => Self::Error {
                code,
                message: Template::new(&message),
                data: error.data.as_ref().map(Template::new),
            },
            None => Self::result(
                &json!({"content": [{"type": "text", "text": message}], "isError": true}),
            ),
        }
    }
}

impl Answers {
    /// Compiles the answers declared at `pointer`. Structured content is validated against
    /// `output`.
    pub fn compile(
        from: &manifest::Behaviour,
        pointer: &str,
        output: Option<&Validator>,
        faults: &mut ProblemList<'_>,
    ) -> Self {
        let mut behaviour = Self::default();
        for (index, arm) in from.responses.iter().enumerate() {
            let pointer = format!("{pointer}/responses/{index}");
            let reply = MockAnswer::compile(&arm.reply, &pointer, output, faults);
            if arm.default {
                if behaviour.fallback.replace(reply).is_some() {
                    faults.add(&pointer, "there are two default answers; remove one");
                }
                continue;
            }
            let matches = arm.matches.as_ref().and_then(|pattern| {
                Validator::new(&schema::match_schema(pattern))
                    .map_err(|reason| {
                        faults.add(
                            &format!("{pointer}/match"),
                            format!("`match` is invalid: {reason}"),
                        );
                    })
                    .ok()
            });
            behaviour.arms.push(AnswerArm {
                matches,
                times: arm.times,
                used: AtomicU64::new(0),
                reply,
            });
        }
        let own = &from.reply;
        let mut beside = MockAnswer::compile(own, pointer, output, faults);
        if own.result.is_some()
            || own.error.is_some()
            || !own.sequence.is_empty()
            || behaviour.fallback.is_none()
        {
            if behaviour.fallback.is_some() {
                faults.add(
                    pointer,
                    "there is an answer beside `responses` and also a default arm; remove one of \
                     them",
                );
            }
            if !behaviour.arms.is_empty() && beside.steps.is_empty() && beside.body.is_generic() {
                beside.body = AnswerBody::Unfit;
            }
            behaviour.fallback = Some(beside);
        }
        behaviour
    }

    /// Picks the answer to a call with these arguments, and counts it. A call is not counted while
    /// `asks` is true, that is, while the client still owes answers. The client then repeats the
    /// call, which counts.
    pub fn pick(
        &self,
        arguments: &Value,
        asks: impl Fn(&MockAnswer) -> bool,
    ) -> Option<AnswerChoice> {
        let fits = |arm: &AnswerArm| {
            arm.matches
                .as_ref()
                .is_none_or(|matches| matches.is_valid(arguments))
                && arm.times.is_none_or(|times| {
                    if asks(arm.reply.next()) {
                        return arm.used.load(Relaxed) < times;
                    }
                    let next = |used| (used < times).then_some(used + 1);
                    arm.used.fetch_update(Relaxed, Relaxed, next).is_ok()
                })
        };
        let arm = self.arms.iter().position(fits);
        let reply = self.answer_at(arm)?;
        let before = if asks(reply.next()) {
            reply.given.load(Relaxed)
        } else {
            reply.given.fetch_add(1, Relaxed)
        };
        Some(AnswerChoice {
            arm,
            count: before + 1,
        })
    }

    /// Returns the picked answer and its count.
    pub fn reply(&self, choice: AnswerChoice) -> Option<(&MockAnswer, u64)> {
        self.answer_at(choice.arm)
            .map(|reply| (reply.step(choice.count), choice.count))
    }

    fn answer_at(&self, arm: Option<usize>) -> Option<&MockAnswer> {
        match arm {
            Some(index) => self.arms.get(index).map(|arm| &arm.reply),
            None => self.fallback.as_ref(),
        }
    }

    /// Returns true if an answer depends on earlier calls.
    pub fn is_stateful(&self) -> bool {
        self.arms.iter().any(|arm| arm.times.is_some())
            || self.replies().any(MockAnswer::is_stateful)
    }

    /// Returns true if any answer takes time.
    pub fn waits(&self) -> bool {
        self.replies().any(MockAnswer::waits)
    }

    /// Returns true if any answer sends log messages.
    pub fn logs(&self) -> bool {
        self.replies().any(MockAnswer::logs)
    }

    fn replies(&self) -> impl Iterator<Item = &MockAnswer> {
        self.arms.iter().map(|arm| &arm.reply).chain(&self.fallback)
    }
}

impl MockAnswer {
    fn compile(
        from: &manifest::Reply,
        pointer: &str,
        output: Option<&Validator>,
        faults: &mut ProblemList<'_>,
    ) -> Self {
        let given = [
            from.result.is_some(),
            from.error.is_some(),
            !from.sequence.is_empty(),
        ];
        if given.iter().filter(|given| **given).count() > 1 {
            faults.add(
                pointer,
                "an answer has more than one of `result`, `error` and `sequence`; keep one",
            );
        }
        let mut body = AnswerBody::Generic;
        if let Some(result) = &from.result {
            let result = Value::Object(result.clone());
            if let Some(reason) = schema_violation(output, &result) {
                faults.warn(
                    &format!("{pointer}/result"),
                    format!("the result does not match its output_schema: {reason}"),
                );
            }
            body = AnswerBody::result(&result);
        } else if let Some(error) = &from.error {
            body = AnswerBody::error(error);
        }
        let steps = from.sequence.iter().enumerate().map(|(index, item)| {
            let pointer = format!("{pointer}/sequence/{index}");
            let step = match item {
                manifest::Item::Result(result) => {
                    for key in result
                        .keys()
                        .filter(|key| REPLY_KEYS.contains(&key.as_str()))
                    {
                        let message =
                            "is beside `content`; put all parts of the result below `result:`";
                        faults.add(&format!("{pointer}/{key}"), format!("`{key}` {message}"));
                    }
                    manifest::Reply {
                        result: Some(result.clone()),
                        ..manifest::Reply::default()
                    }
                }
                manifest::Item::Reply(reply) if reply.sequence.is_empty() => {
                    manifest::Reply::clone(reply)
                }
                manifest::Item::Reply(_) => {
                    faults.add(
                        &format!("{pointer}/sequence"),
                        "a `sequence` cannot contain another `sequence`",
                    );
                    manifest::Reply::default()
                }
            };
            Self::compile(&step.or(from), &pointer, output, faults)
        });
        let steps = steps.collect();
        let object = |members: &Map<String, Value>| Template::new(&Value::Object(members.clone()));
        let mut asks = Vec::new();
        if let Some(params) = &from.elicitation {
            asks.push(Ask {
                name: "elicitation",
                method: "elicitation/create",
                params: object(params),
            });
        }
        if let Some(params) = &from.sampling {
            asks.push(Ask {
                name: "sampling",
                method: "sampling/createMessage",
                params: object(params),
            });
        }
        if from.roots_list {
            asks.push(Ask {
                name: "roots",
                method: "roots/list",
                params: Template::Fixed(json!({})),
            });
        }
        Self {
            body,
            steps,
            given: AtomicU64::new(0),
            delay: Duration::from_millis(from.delay_ms.unwrap_or_default()),
            error_rate: from.error_rate.unwrap_or_default(),
            fault: from.fault,
            progress: from.progress.iter().map(object).collect(),
            log: from.log.iter().map(object).collect(),
            notifications: from
                .notifications
                .iter()
                .map(|sent| (sent.method.clone(), object(&sent.params)))
                .collect(),
            asks,
        }
    }

    /// Returns the step of the sequence for call number `count`, or the answer itself.
    fn step(&self, count: u64) -> &Self {
        let index = usize::try_from(count.saturating_sub(1)).unwrap_or(usize::MAX);
        self.steps
            .get(index.min(self.steps.len().saturating_sub(1)))
            .unwrap_or(self)
    }

    /// Returns the step for the next call.
    fn next(&self) -> &Self {
        self.step(self.given.load(Relaxed) + 1)
    }

    fn is_stateful(&self) -> bool {
        self.error_rate > 0.0
            || matches!(self.fault, Some(MockFault::RecoverAfter(_)))
            || !self.steps.is_empty()
            || self.body.is_stateful()
    }

    fn logs(&self) -> bool {
        !self.log.is_empty() || self.steps.iter().any(Self::logs)
    }

    /// Returns true if the client gets notifications before the answer.
    pub fn has_messages(&self) -> bool {
        !(self.progress.is_empty() && self.log.is_empty() && self.notifications.is_empty())
    }

    /// Returns true if the answer takes time.
    pub fn waits(&self) -> bool {
        !self.delay.is_zero()
            || !self.asks.is_empty()
            || self.fault.is_some_and(MockFault::waits)
            || self.steps.iter().any(Self::waits)
    }
}

/// Keys that mark an item of a sequence as an answer rather than a bare result.
const REPLY_KEYS: [&str; 12] = [
    "result",
    "response",
    "error",
    "fault",
    "delay_ms",
    "error_rate",
    "progress",
    "log",
    "notifications",
    "elicitation",
    "sampling",
    "roots_list",
];

impl manifest::Reply {
    /// Fills unset fields from the surrounding answer `around`, except the result or error.
    fn or(mut self, around: &Self) -> Self {
        self.delay_ms = self.delay_ms.or(around.delay_ms);
        self.error_rate = self.error_rate.or(around.error_rate);
        self.fault = self.fault.or(around.fault);
        for (own, other) in [
            (&mut self.progress, &around.progress),
            (&mut self.log, &around.log),
        ] {
            if own.is_empty() {
                own.clone_from(other);
            }
        }
        if self.notifications.is_empty() {
            self.notifications.clone_from(&around.notifications);
        }
        self.elicitation = self.elicitation.or_else(|| around.elicitation.clone());
        self.sampling = self.sampling.or_else(|| around.sampling.clone());
        self.roots_list |= around.roots_list;
        self
    }
}

/// Returns the reason why the structured content of a result violates a schema, if it does.
pub(crate) fn schema_violation(output: Option<&Validator>, result: &Value) -> Option<String> {
    let output = output?;
    if result.get("isError") == Some(&Value::Bool(true)) {
        return None;
    }
    let structured = result.get("structuredContent");
    // Templates are validated after they are filled.
    if structured.is_some_and(|value| Template::new(value).as_fixed().is_none()) {
        return None;
    }
    match structured {
        None => Some("the result has no `structuredContent`".to_owned()),
        Some(value) => output
            .faults(value, 1)
            .first()
            .map(|fault| schema::describe(fault, "structuredContent")),
    }
}
