//! Noise: parts of calls that change from run to run and are ignored. It is declared, or learned
//! from two recordings.
//!
//! Noise applies to all calls or to a shape: protocol, target, and text without values, such as a
//! method and a path, or a statement. For Redis commands and unknown protocols it applies only to
//! calls that agree in all other values, since values identify objects. Recordings and requests ignore the same
//! noise, so keys stay comparable.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::fields::NoiseFields;
use super::is_session;
use super::key::{Key, Question, digest};
use crate::call::{Content, Exchange, Protocol, Target};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredNoise {
    /// Field names, such as `body.order.id`, `query.t` or `header.X-Request-Id`.
    pub fields: Vec<String>,
    /// Regular expressions of values.
    pub values: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Noise {
    everywhere: NoiseFields,
    shapes: HashMap<Shape, Vec<Rule>>,
    /// `true` if only declared or learned noise is ignored.
    pub(super) is_exact: bool,
}

/// A class of calls that share noise.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Shape {
    protocol: Protocol,
    target: Target,
    /// Text of the call without values.
    text: String,
}

impl Shape {
    pub(super) fn of(question: &Question<'_>, target: &Target) -> Self {
        let protocol = question.exchange.content.protocol();
        Self {
            protocol,
            target: target.clone(),
            text: question.parts.shape(),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.protocol.word(), self.target, self.text)
    }
}

#[derive(Clone, Debug)]
struct Rule {
    fields: NoiseFields,
    /// Digests of the other parts; `None` if the rule applies to all calls of the shape.
    alike: Option<HashSet<Key>>,
}

impl Noise {
    /// Adds declared noise for the shape of a call, or for all calls. Fails without a change if a
    /// pattern is invalid.
    pub fn declare(
        &mut self,
        of: Option<&Exchange>,
        declared: &DeclaredNoise,
    ) -> Result<(), String> {
        let spelt = match of.map(|of| &of.content) {
            Some(Content::Wire(Protocol::Postgres | Protocol::MySql | Protocol::Redis, _)) => {
                str::to_ascii_lowercase
            }
            None
            | Some(Content::Http(_) | Content::Grpc(_) | Content::Wire(Protocol::Mongo, _)) => {
                normal
            }
            Some(_) => str::to_owned,
        };
        let fields = NoiseFields::new(
            declared.fields.iter().map(|name| spelt(name)),
            &declared.values,
        )?;
        match of {
            Some(exchange) => self.put(&Question::of(exchange), &fields),
            None => self.everywhere.add(&fields),
        }
        Ok(())
    }

    /// Sets whether generated values must match exactly.
    pub fn exactly(&mut self, is_exact: bool) {
        self.is_exact = is_exact;
    }

    pub(super) fn put(&mut self, question: &Question<'_>, fields: &NoiseFields) {
        if fields.is_empty() {
            return;
        }
        let parts = &question.parts;
        let shape = Shape::of(question, &question.exchange.target);
        let rules = self.shapes.entry(shape).or_default();
        let kept = parts.is_narrow.then(|| digest([parts.encode(fields)]));
        // All noise of a whole shape is one rule.
        let known = rules
            .iter_mut()
            .find(|rule| kept.is_none() || rule.fields.is_same(fields));
        match (known, kept) {
            (
                Some(Rule {
                    alike: Some(alike), ..
                }),
                Some(kept),
            ) => drop(alike.insert(kept)),
            (Some(rule), _) => rule.fields.add(fields),
            (None, kept) => {
                let alike = kept.map(|kept| HashSet::from([kept]));
                rules.push(Rule {
                    fields: fields.clone(),
                    alike,
                });
            }
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.everywhere.add(&other.everywhere);
        for (shape, rules) in &other.shapes {
            self.shapes
                .entry(shape.clone())
                .or_default()
                .extend(rules.iter().cloned());
        }
    }

    /// Returns the number of calls in `a` other than HTTP that `b` lacks, with this noise ignored. No
    /// noise can be learned from those.
    pub fn unlike(&self, a: &[Exchange], b: &[Exchange]) -> usize {
        let asked = |exchange: &Exchange| {
            let question = Question::of(exchange);
            let noise = self.own(&question, &exchange.target);
            // The number of repetitions of a learned command does not matter.
            let is_learned = question.parts.is_narrow && question.parts.leaves_out(&noise);
            (!is_learned).then(|| {
                (
                    Shape::of(&question, &exchange.target),
                    question.parts.encode(&noise),
                )
            })
        };
        let asked = |exchanges: &[Exchange]| {
            let is_call = |exchange: &&Exchange| {
                let is_wire = matches!(exchange.content, Content::Wire(..));
                is_wire && !is_session(exchange) && !exchange.is_no_call()
            };
            exchanges
                .iter()
                .filter(is_call)
                .filter_map(asked)
                .collect::<Vec<_>>()
        };
        let mut theirs: HashMap<(Shape, Vec<u8>), usize> = HashMap::new();
        for question in asked(b) {
            *theirs.entry(question).or_default() += 1;
        }
        let mut left = 0;
        for question in asked(a) {
            match theirs.get_mut(&question) {
                Some(count @ 1..) => *count -= 1,
                _ => left += 1,
            }
        }
        left
    }

    /// Returns the noise of a call's shape, for its document.
    pub fn learned(&self, exchange: &Exchange) -> Option<DeclaredNoise> {
        let NoiseFields { names, values } = self.own(&Question::of(exchange), &exchange.target);
        let values: Vec<String> = values.into_iter().map(|(source, _)| source).collect();
        let any = !names.is_empty() || !values.is_empty();
        any.then(|| DeclaredNoise {
            fields: names.into_iter().collect(),
            values,
        })
    }

    /// Returns the noise of a call, for this target.
    pub(super) fn at(&self, question: &Question<'_>, target: &Target) -> NoiseFields {
        let mut fields = self.everywhere.clone();
        fields.add(&self.own(question, target));
        fields
    }

    fn own(&self, question: &Question<'_>, target: &Target) -> NoiseFields {
        let mut fields = NoiseFields::default();
        // Most sets have no noise.
        if self.shapes.is_empty() {
            return fields;
        }
        let is_alike = |rule: &Rule, alike: &HashSet<Key>| {
            alike.contains(&digest([question.parts.encode(&rule.fields)]))
        };
        let fits = |rule: &&Rule| {
            rule.alike
                .as_ref()
                .is_none_or(|alike| is_alike(rule, alike))
        };
        for rule in self
            .shapes
            .get(&Shape::of(question, target))
            .into_iter()
            .flatten()
            .filter(fits)
        {
            fields.add(&rule.fields);
        }
        fields
    }

    pub fn is_empty(&self) -> bool {
        self.everywhere.is_empty() && self.shapes.is_empty()
    }
}

/// Normalizes a field name: other tools use other spellings.
fn normal(name: &str) -> String {
    let (kind, rest) = name.split_once('.').unwrap_or((name, ""));
    match kind.to_ascii_lowercase().as_str() {
        "body" => name.replacen(kind, "body", 1),
        "query" | "url_params" => format!("query.{rest}"),
        "header" => format!("header.{}", rest.to_ascii_lowercase()),
        _ => format!("body.{name}"),
    }
}
