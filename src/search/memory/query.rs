//! Trigram queries: an AND and OR of trigrams that a file must contain for a pattern to match. A
//! query never excludes a matching file.
//!
//! The method is Russ Cox's "Regular Expression Matching with a Trigram Index" (2012). Each part of
//! the pattern is described by its exact texts if they are few. Else it is described by prefixes,
//! suffixes and contained texts. Where this would grow too large, the query is weakened. An empty
//! query makes every file a candidate.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use super::signature::{Signature, Trigram};

/// Texts that a part of a pattern is known to match, before less is known.
const MAX_QUERY_TEXTS: usize = 16;
/// Bytes of all texts together that a part of a pattern is known to match.
const MAX_QUERY_TEXT_BYTES: usize = 1024;
/// Trigrams that one signature is asked for.
const MAX_QUERY_TRIGRAMS: usize = 256;

/// Trigrams that a file must contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// No requirement: any file may match.
    Any,
    Holds(Trigram),
    All(Vec<Self>),
    /// At least one of them; of none, nothing can match.
    One(Vec<Self>),
}

impl Query {
    /// Returns the query of an over-approximation, a pattern in the syntax of the `regex` crate.
    /// `Any` if it cannot be parsed.
    pub fn of(over_approximation: &str) -> Self {
        let parsed = ParserBuilder::new()
            .utf8(false)
            .build()
            .parse(over_approximation);
        let Ok(hir) = parsed else { return Self::Any };
        part(&hir).inexact().2.bounded()
    }

    /// Returns true if a file with this signature cannot match.
    pub fn refuses(&self, signature: &Signature) -> bool {
        match self {
            Self::Any => false,
            Self::Holds(trigram) => !signature.may_hold(*trigram),
            Self::All(all) => all.iter().any(|query| query.refuses(signature)),
            Self::One(one) => one.iter().all(|query| query.refuses(signature)),
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, other) | (other, Self::Any) => other,
            (Self::All(mut all), Self::All(more)) => {
                all.extend(more);
                Self::All(all)
            }
            (Self::All(mut all), other) | (other, Self::All(mut all)) => {
                all.push(other);
                Self::All(all)
            }
            (one, other) => Self::All(vec![one, other]),
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => Self::Any,
            (Self::One(mut one), Self::One(more)) => {
                one.extend(more);
                Self::One(one)
            }
            (Self::One(mut one), other) | (other, Self::One(mut one)) => {
                one.push(other);
                Self::One(one)
            }
            (one, other) => Self::One(vec![one, other]),
        }
    }

    fn trigrams(&self) -> usize {
        match self {
            Self::Any => 0,
            Self::Holds(_) => 1,
            Self::All(parts) | Self::One(parts) => parts.iter().map(Self::trigrams).sum(),
        }
    }

    /// Keeps at most `most` parts of each AND.
    fn thinned(self, most: usize) -> Self {
        match self {
            Self::All(all) => Self::All(
                all.into_iter()
                    .take(most)
                    .map(|query| query.thinned(most))
                    .collect(),
            ),
            Self::One(one) => Self::One(one.into_iter().map(|query| query.thinned(most)).collect()),
            other => other,
        }
    }

    /// Bounds the size, since checking a signature must stay cheap.
    fn bounded(mut self) -> Self {
        for most in [16, 4, 2] {
            if self.trigrams() <= MAX_QUERY_TRIGRAMS {
                return self;
            }
            self = self.thinned(most);
        }
        if self.trigrams() <= MAX_QUERY_TRIGRAMS {
            self
        } else {
            Self::Any
        }
    }

    /// Returns the query for texts of which one must occur.
    fn of_texts(texts: &[Vec<u8>]) -> Self {
        let of_text = |text: &Vec<u8>| {
            let mut trigrams: Vec<_> = text
                .windows(3)
                .map(|w| Trigram::new([w[0], w[1], w[2]]))
                .collect();
            trigrams.sort_unstable();
            trigrams.dedup();
            trigrams
                .into_iter()
                .map(Self::Holds)
                .fold(Self::Any, Self::and)
        };
        texts
            .iter()
            .map(of_text)
            .fold(Self::One(Vec::new()), Self::or)
    }
}

/// Facts about the matches of a part of the pattern. Texts are in lower case.
#[derive(Debug, Clone)]
enum PatternPart {
    /// These are all of them.
    Exact(Vec<Vec<u8>>),
    /// Each begins with one of `prefixes`, ends with one of `suffixes`, and holds what `query`
    /// says.
    Inexact {
        prefixes: Vec<Vec<u8>>,
        suffixes: Vec<Vec<u8>>,
        query: Query,
    },
}

impl PatternPart {
    /// Returns a part without any facts.
    fn anything() -> Self {
        Self::Inexact {
            prefixes: vec![Vec::new()],
            suffixes: vec![Vec::new()],
            query: Query::Any,
        }
    }

    fn empty() -> Self {
        Self::Exact(vec![Vec::new()])
    }

    fn inexact(self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>, Query) {
        match self {
            Self::Exact(texts) => (beginnings(&texts), endings(&texts), Query::of_texts(&texts)),
            Self::Inexact {
                prefixes,
                suffixes,
                query,
            } => (prefixes, suffixes, query),
        }
    }

    fn begins(&self) -> (&[Vec<u8>], bool) {
        match self {
            Self::Exact(texts) => (texts, true),
            Self::Inexact { prefixes, .. } => (prefixes, false),
        }
    }

    fn ends(&self) -> (&[Vec<u8>], bool) {
        match self {
            Self::Exact(texts) => (texts, true),
            Self::Inexact { suffixes, .. } => (suffixes, false),
        }
    }

    fn then(self, next: Self) -> Self {
        let ((ends, first_exact), (begins, second_exact)) = (self.ends(), next.begins());
        let joint = crossed(ends, begins);
        if let Some(texts) = &joint
            && first_exact
            && second_exact
        {
            return Self::Exact(texts.clone());
        }
        let (mut prefixes, _, first) = self.inexact();
        let (_, mut suffixes, second) = next.inexact();
        let mut query = Query::Any;
        if let Some(texts) = &joint {
            query = Query::of_texts(texts);
            if first_exact {
                prefixes = beginnings(texts);
            }
            if second_exact {
                suffixes = endings(texts);
            }
        }
        // The joint texts include the facts of an exact part alone.
        let said = |exact: bool| exact && joint.is_some();
        if !said(first_exact) {
            query = query.and(first);
        }
        if !said(second_exact) {
            query = query.and(second);
        }
        Self::Inexact {
            prefixes,
            suffixes,
            query,
        }
    }

    fn or(self, other: Self) -> Self {
        if let (Self::Exact(some), Self::Exact(more)) = (&self, &other) {
            let texts = union(some, more);
            if texts.len() <= MAX_QUERY_TEXTS {
                return Self::Exact(texts);
            }
        }
        let ((prefixes, suffixes, one), (more_prefixes, more_suffixes, other)) =
            (self.inexact(), other.inexact());
        Self::Inexact {
            prefixes: few(union(&prefixes, &more_prefixes)),
            suffixes: few(union(&suffixes, &more_suffixes)),
            query: one.or(other),
        }
    }
}

fn union(some: &[Vec<u8>], more: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut all = [some, more].concat();
    all.sort_unstable();
    all.dedup();
    all
}

/// Concatenates each text of the first with each of the second, unless there are too many.
fn crossed(first: &[Vec<u8>], second: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let bytes = |texts: &[Vec<u8>]| texts.iter().map(Vec::len).sum::<usize>();
    let count = first.len() * second.len();
    let total = bytes(first) * second.len() + bytes(second) * first.len();
    if count > MAX_QUERY_TEXTS || total > MAX_QUERY_TEXT_BYTES {
        return None;
    }
    let both: Vec<_> = first
        .iter()
        .flat_map(|start| second.iter().map(move |end| [&start[..], end].concat()))
        .collect();
    Some(union(&both, &[]))
}

/// Two bytes are what a trigram across the seam needs.
fn beginnings(texts: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let begin: Vec<_> = texts
        .iter()
        .map(|text| text[..text.len().min(2)].to_vec())
        .collect();
    few(union(&begin, &[]))
}

fn endings(texts: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let end: Vec<_> = texts
        .iter()
        .map(|text| text[text.len().saturating_sub(2)..].to_vec())
        .collect();
    few(union(&end, &[]))
}

/// Returns the texts if they are few, else the empty text, which is a prefix and suffix of
/// everything.
fn few(texts: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    if texts.len() <= MAX_QUERY_TEXTS {
        texts
    } else {
        vec![Vec::new()]
    }
}

fn part(hir: &Hir) -> PatternPart {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => PatternPart::empty(),
        HirKind::Literal(literal) => text(&literal.0),
        HirKind::Class(class) => of_class(class),
        HirKind::Capture(capture) => part(&capture.sub),
        HirKind::Concat(parts) => parts
            .iter()
            .map(part)
            .fold(PatternPart::empty(), PatternPart::then),
        HirKind::Alternation(parts) => parts
            .iter()
            .map(part)
            .fold(PatternPart::Exact(Vec::new()), PatternPart::or),
        HirKind::Repetition(repetition) => repeated(repetition),
    }
}

fn repeated(repetition: &Repetition) -> PatternPart {
    match (repetition.min, repetition.max) {
        (0, Some(0)) => PatternPart::empty(),
        (0, Some(1)) => part(&repetition.sub).or(PatternPart::empty()),
        (0, _) => PatternPart::anything(),
        (min, max) => {
            let sub = part(&repetition.sub);
            // Once and again says no more than once, unless the texts are known.
            let PatternPart::Exact(_) = sub else {
                return sub;
            };
            let rounds = min.min(3);
            let some = (1..rounds).fold(sub.clone(), |all, _| all.then(sub.clone()));
            if max == Some(rounds) {
                some
            } else {
                some.then(PatternPart::anything())
            }
        }
    }
}

/// Of a text that may hold U+FFFD nothing is known from there on: an invalid byte counts as one.
fn text(bytes: &[u8]) -> PatternPart {
    const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();
    let mut known = PatternPart::empty();
    let mut rest = bytes;
    while let Some(at) = memchr::memmem::find(rest, REPLACEMENT) {
        known = known
            .then(PatternPart::Exact(vec![rest[..at].to_ascii_lowercase()]))
            .then(PatternPart::anything());
        rest = &rest[at + REPLACEMENT.len()..];
    }
    known.then(PatternPart::Exact(vec![rest.to_ascii_lowercase()]))
}

fn of_class(class: &Class) -> PatternPart {
    let mut texts = Vec::new();
    match class {
        Class::Unicode(class) => {
            for range in class.ranges() {
                if (range.start()..=range.end()).contains(&'\u{fffd}')
                    || range.len() > MAX_CLASS_CHARS
                {
                    return PatternPart::anything();
                }
                texts.extend(
                    (range.start()..=range.end())
                        .map(|one| one.to_string().to_ascii_lowercase().into_bytes()),
                );
            }
        }
        Class::Bytes(class) => {
            for range in class.ranges() {
                if range.len() > MAX_CLASS_CHARS {
                    return PatternPart::anything();
                }
                texts.extend(
                    (range.start()..=range.end()).map(|one| vec![one.to_ascii_lowercase()]),
                );
            }
        }
    }
    let texts = union(&texts, &[]);
    if texts.len() <= MAX_QUERY_TEXTS {
        PatternPart::Exact(texts)
    } else {
        PatternPart::anything()
    }
}

/// A range of more is not written out; both cases of a letter count.
const MAX_CLASS_CHARS: usize = 2 * MAX_QUERY_TEXTS;

#[cfg(test)]
mod tests;
