//! What of a call changes from run to run and is left out of comparisons: declared, or learned from
//! two recordings.
//!
//! Noise belongs to a shape (protocol, target, and what calls have in common: a method and a path,
//! a statement without its values, a command of `MongoDB` and its collection), or to all calls.
//! That of a command of Redis belongs to those that are the same in all that is not left out: their
//! first arguments say what is asked. What is recorded and what is asked are compared with the same
//! noise, so a key stays a key.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::fields::Fields;
use super::is_session;
use super::key::{Key, Question, digest};
use crate::record::call::{Content, Exchange, Protocol, Target};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredNoise {
    /// Fields, as `body.order.id`, `query.t` or `header.X-Request-Id`.
    pub fields: Vec<String>,
    /// Regular expressions of values.
    pub values: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Noise {
    everywhere: Fields,
    shapes: HashMap<Shape, Vec<Rule>>,
    /// Whether nothing is left out but what is declared or learned.
    pub(super) is_exact: bool,
}

/// Calls that the same noise may belong to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Shape {
    protocol: Protocol,
    target: Target,
    /// In words, without values.
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
    fields: Fields,
    /// What the others are like in all else; `None` if it belongs to all calls of the shape.
    alike: Option<HashSet<Key>>,
}

impl Noise {
    /// Adds what is declared, for the place of a call, or for all without one. Fails, and adds
    /// nothing, when a pattern cannot be used.
    pub fn declare(
        &mut self,
        of: Option<&Exchange>,
        declared: &DeclaredNoise,
    ) -> Result<(), String> {
        let is_plain = |exchange: &Exchange| {
            matches!(
                exchange.content.protocol(),
                Protocol::Postgres | Protocol::MySql | Protocol::Redis
            )
        };
        let spelt = if of.is_some_and(is_plain) {
            str::to_ascii_lowercase
        } else {
            normal
        };
        let fields = Fields::new(
            declared.fields.iter().map(|name| spelt(name)),
            &declared.values,
        )?;
        match of {
            Some(exchange) => self.put(&Question::of(exchange), &fields),
            None => self.everywhere.add(&fields),
        }
        Ok(())
    }

    /// Has values that each run makes anew choose as any other, if so.
    pub fn exactly(&mut self, is_exact: bool) {
        self.is_exact = is_exact;
    }

    pub(super) fn put(&mut self, question: &Question<'_>, fields: &Fields) {
        if fields.is_empty() {
            return;
        }
        let parts = &question.parts;
        let shape = Shape::of(question, &question.exchange.target);
        let rules = self.shapes.entry(shape).or_default();
        let kept = parts.is_narrow.then(|| digest([parts.kept(fields)]));
        // All that is left out of a whole shape is one rule.
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

    /// How many calls to databases one recording has that the other has not, this noise left out:
    /// of those nothing is learned.
    pub fn unlike(&self, a: &[Exchange], b: &[Exchange]) -> usize {
        let asked = |exchange: &Exchange| {
            let question = Question::of(exchange);
            let noise = self.own(&question, &exchange.target);
            // A command of which something is learned is answered however often one run says it.
            let is_learned = question.parts.is_narrow && question.parts.leaves_out(&noise);
            (!is_learned).then(|| {
                (
                    Shape::of(&question, &exchange.target),
                    question.parts.kept(&noise),
                )
            })
        };
        let asked = |exchanges: &[Exchange]| {
            let is_call = |exchange: &&Exchange| {
                let is_database = matches!(&exchange.content, Content::Wire(protocol, _) if *protocol != Protocol::Generic);
                is_database && !is_session(exchange) && !exchange.is_no_call()
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

    /// What is left out of a call by its shape, to be written beside it.
    pub fn learned(&self, exchange: &Exchange) -> Option<DeclaredNoise> {
        let Fields { names, values } = self.own(&Question::of(exchange), &exchange.target);
        let values: Vec<String> = values.into_iter().map(|(source, _)| source).collect();
        let any = !names.is_empty() || !values.is_empty();
        any.then(|| DeclaredNoise {
            fields: names.into_iter().collect(),
            values,
        })
    }

    /// The noise of a call, as if it went to this target.
    pub(super) fn at(&self, question: &Question<'_>, target: &Target) -> Fields {
        let mut fields = self.everywhere.clone();
        fields.add(&self.own(question, target));
        fields
    }

    fn own(&self, question: &Question<'_>, target: &Target) -> Fields {
        let mut fields = Fields::default();
        // Most sets have none.
        if self.shapes.is_empty() {
            return fields;
        }
        let is_alike = |rule: &Rule, alike: &HashSet<Key>| {
            alike.contains(&digest([question.parts.kept(&rule.fields)]))
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

/// A name as it is compared: what other writers call the same, in one spelling.
fn normal(name: &str) -> String {
    let (kind, rest) = name.split_once('.').unwrap_or((name, ""));
    match kind.to_ascii_lowercase().as_str() {
        "body" => name.replacen(kind, "body", 1),
        "query" | "url_params" => format!("query.{rest}"),
        "header" => format!("header.{}", rest.to_ascii_lowercase()),
        _ => format!("body.{name}"),
    }
}
