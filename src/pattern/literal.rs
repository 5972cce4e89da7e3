//! Text that is looked for as it stands, in any case.

use super::ast::{Class, Node};
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// Returns a node that matches `text` in any case by Unicode's simple case folding
/// (`CaseFolding.txt`, statuses C and S). JavaScript without the flag `u` folds less: here `ſ` is
/// an `s`, and the Kelvin sign is a `k`.
pub(super) fn ignoring_case(text: &str) -> Node {
    let mut parts: Vec<Node> = text.chars().map(any_case).collect();
    match parts.len() {
        0 => Node::Empty,
        1 => parts.remove(0),
        _ => Node::Concat(parts),
    }
}

fn any_case(c: char) -> Node {
    let mut folded = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
    // Without the tables, which are compiled in, every character would be alone.
    if folded.try_case_fold_simple().is_err() {
        return Node::Char(c);
    }
    match folded.ranges() {
        [only] if only.start() == only.end() => Node::Char(c),
        ranges => Node::Class(Class::new(
            ranges.iter().map(|range| (range.start(), range.end())),
        )),
    }
}
