//! YAML as a tree that keeps what the text said: lines, tags, and plain scalars as they were written.
//!
//! A value's type comes from the field that takes it (`typed`), as in Go: `data: 123` is a text where a text is expected.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use granit_parser::{Event, Parser, ScalarStyle, Span};

use super::Problem;
use crate::limits::{MAX_CALLS_DEPTH, MAX_CALLS_NODES};

/// One value and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The line in the file, from 1.
    pub line: u64,
    /// What it is.
    pub kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A scalar that has not been given a type yet.
    Scalar(Scalar),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping with scalar keys, in the order of the file.
    Map(Vec<(String, Node)>),
}

/// A scalar as it stands in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// Its text after escapes.
    pub text: String,
    /// Whether it may be anything but a text: it has no quotes, is no block, and no tag says otherwise.
    pub plain: bool,
    /// Whether its text is base64 (`!!binary`).
    pub binary: bool,
}

impl Scalar {
    /// Whether it stands for nothing (YAML 1.2, 10.3.2).
    pub fn is_null(&self) -> bool {
        self.plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }

    /// The bytes that it stands for. Fails when it is `!!binary` and no base64.
    pub fn bytes(&self) -> Result<Vec<u8>, Problem> {
        if !self.binary {
            return Ok(self.text.clone().into_bytes());
        }
        let packed: Vec<u8> = self.text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        STANDARD.decode(packed).map_err(|error| Problem::new(0, format!("`!!binary` is not base64: {error}")))
    }
}

/// A collection that has begun and not ended.
struct Open {
    line: u64,
    /// For a mapping: the key whose value is next.
    key: Option<String>,
    kind: Kind,
}

/// Reads one document whose first line has this number. `None` when nothing is in it. Fails with the line when it is no
/// YAML, has a key twice or one that is no scalar, uses aliases (nobody writes them, and they can stand for anything
/// however large), or is too deep or too large.
pub fn parse(text: &str, first_line: u64) -> Result<Option<Node>, Problem> {
    let mut parser = Parser::new_from_str(text);
    let line_of = |span: &Span| first_line + (span.start.line() as u64).saturating_sub(1);
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    let mut nodes = 0;
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| {
            let line = first_line + (error.marker().line() as u64).saturating_sub(1);
            Problem::new(line, format!("no YAML: {}", error.info()))
        })?;
        let line = line_of(&span);
        let done = match event {
            Event::Scalar(text, style, _, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let binary = tag.is_some_and(|tag| {
                    tag.suffix_in_namespace("tag:yaml.org,2002:").is_some_and(|name| name == "binary")
                });
                Node { line, kind: Kind::Scalar(Scalar { text: text.into_owned(), plain, binary }) }
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() >= MAX_CALLS_DEPTH {
                    return Err(Problem::new(line, format!("nested deeper than {MAX_CALLS_DEPTH} levels")));
                }
                let is_list = matches!(event, Event::SequenceStart(..));
                let kind = if is_list { Kind::List(Vec::new()) } else { Kind::Map(Vec::new()) };
                open.push(Open { line, key: None, kind });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { line, kind, .. }) = open.pop() else { continue };
                unique(&kind)?;
                Node { line, kind }
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                return Err(Problem::new(line, "an alias (`*...`), which files of calls do not use".to_owned()));
            }
            _ => continue,
        };
        nodes += 1;
        if nodes > MAX_CALLS_NODES {
            return Err(Problem::new(line, format!("more than {MAX_CALLS_NODES} values in one document")));
        }
        place(&mut open, &mut root, done)?;
    }
    Ok(root.filter(|root| !matches!(&root.kind, Kind::Scalar(scalar) if scalar.is_null())))
}

/// Puts a value that is complete where it belongs.
fn place(open: &mut [Open], root: &mut Option<Node>, done: Node) -> Result<(), Problem> {
    let Some(parent) = open.last_mut() else {
        *root = Some(done);
        return Ok(());
    };
    match (&mut parent.kind, parent.key.take()) {
        (Kind::List(items), _) => items.push(done),
        (Kind::Map(members), Some(key)) => members.push((key, done)),
        (_, None) => match done.kind {
            Kind::Scalar(scalar) => parent.key = Some(scalar.text),
            _ => return Err(Problem::new(done.line, "a key that is no text".to_owned())),
        },
        (Kind::Scalar(_), _) => {}
    }
    Ok(())
}

/// Fails when a mapping has a key twice: one of the two values would be lost.
fn unique(kind: &Kind) -> Result<(), Problem> {
    let Kind::Map(members) = kind else { return Ok(()) };
    let mut keys: Vec<(&str, u64)> = members.iter().map(|(key, node)| (key.as_str(), node.line)).collect();
    keys.sort_unstable();
    match keys.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(Problem::new(pair[1].1, format!("the key `{}` a second time", pair[1].0))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn reason(text: &str) -> (u64, String) {
        let problem = parse(text, 10).unwrap_err();
        (problem.line, problem.message)
    }

    #[test]
    fn scalars_stay_as_they_were_written() {
        let node = parse("a: 007\nb: \"007\"\nc: !!binary aGk=\nd: |\n  x\n  y\n", 1).unwrap().unwrap();
        let Kind::Map(members) = node.kind else { panic!() };
        let scalar = |text: &str, plain, binary| Kind::Scalar(Scalar { text: text.to_owned(), plain, binary });
        let kinds: Vec<_> = members.into_iter().map(|(_, node)| (node.line, node.kind)).collect();
        let expected = [
            (1, scalar("007", true, false)),
            (2, scalar("007", false, false)),
            (3, scalar("aGk=", false, true)),
            (5, scalar("x\ny\n", false, false)),
        ];
        // Where a block begins is its own choice: at the bar or at the text.
        assert_eq!(
            kinds.iter().map(|(_, kind)| kind).collect::<Vec<_>>(),
            expected.iter().map(|(_, k)| k).collect::<Vec<_>>()
        );
        assert_eq!(kinds[..3].iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(parse("# nothing\n", 1).unwrap(), None);
    }

    #[test]
    fn what_cannot_be_read_says_its_line() {
        assert_eq!(reason("a: 1\nb: 2\na: 3\n"), (12, "the key `a` a second time".to_owned()));
        assert_eq!(reason("a: &x 1\nb: *x\n").0, 11);
        assert_eq!(reason("a: 1\nb: [1, 2\nc: }\n").0, 12);
        assert_eq!(reason("? [a]\n: 1\n"), (10, "a key that is no text".to_owned()));
        assert!(parse(&"[".repeat(100_000), 1).is_err());
        assert!(parse(&"- ".repeat(100_000), 1).is_err());
    }
}
