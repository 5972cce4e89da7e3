//! Facts about a pattern that decide the choice of an engine.

use super::ast::{Node, Tree};

/// Replacement for invalid bytes.
pub(super) const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// Answers for one pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent answers to independent questions"
)]
pub(super) struct Facts {
    /// It looks ahead or behind.
    pub lookaround: bool,
    /// It refers to a group.
    pub back_reference: bool,
    /// It has a `^` or `$` that means a line, so U+2028 and U+2029 matter.
    pub line_anchors: bool,
    /// A round of a repetition may be empty although it need not be made. JavaScript undoes such a
    /// round (ECMA-262, 22.2.2.3.1, step 2.b); other engines keep it, which makes another match.
    pub empty_rounds: bool,
    /// A group in a repetition may be left out of a round. JavaScript then forgets what it matched
    /// in the round before; other engines keep it.
    pub skipped_groups: bool,
    /// It may match nothing but a `\B`. The linear engine has such a match inside a character, too.
    pub inside_characters: bool,
    /// It may match U+FFFD, so bytes that are not UTF-8 matter.
    pub replacement: bool,
}

impl Facts {
    /// Reads them off a tree.
    pub(super) fn of(tree: &Tree) -> Self {
        let mut facts = Self::default();
        facts.visit(&tree.root);
        facts.inside_characters &= may_be_empty(&tree.root);
        facts
    }

    /// Returns true if a linear engine finds the same lines.
    pub(super) fn regular(self) -> bool {
        !self.lookaround && !self.back_reference
    }

    /// Returns true if a linear engine finds the same matches. In a text with U+2028 or U+2029 this
    /// also requires no [`Self::line_anchors`].
    pub(super) fn spans_exact(self) -> bool {
        self.regular() && !self.empty_rounds
    }

    /// Returns true if a linear engine finds the same groups.
    pub(super) fn captures_exact(self) -> bool {
        self.spans_exact() && !self.skipped_groups
    }

    fn visit(&mut self, node: &Node) {
        match node {
            Node::Empty => {}
            Node::WordBoundary { negated } => self.inside_characters |= negated,
            Node::Char(c) => self.replacement |= *c == REPLACEMENT,
            Node::Class(class) => self.replacement |= class.contains(REPLACEMENT),
            Node::Start { lines } | Node::End { lines } => self.line_anchors |= lines,
            Node::Concat(nodes) | Node::Alternation(nodes) => {
                for node in nodes {
                    self.visit(node);
                }
            }
            Node::Group { body, .. } => self.visit(body),
            Node::BackReference { .. } => self.back_reference = true,
            Node::Look { body, .. } => {
                self.lookaround = true;
                self.visit(body);
            }
            Node::Repeat {
                min,
                max,
                body,
                groups,
                ..
            } => {
                self.empty_rounds |= *max != Some(*min) && may_be_empty(body);
                // Without any round there is no group in the translation to count.
                let never = *max == Some(0);
                let again = *max != Some(1) && may_skip_groups(body);
                self.skipped_groups |= !groups.is_empty() && (never || again);
                self.visit(body);
            }
        }
    }
}

/// Returns true if `node` may match the empty text.
pub(super) fn may_be_empty(node: &Node) -> bool {
    match node {
        Node::Char(_) | Node::Class(_) => false,
        Node::Concat(nodes) => nodes.iter().all(may_be_empty),
        Node::Alternation(nodes) => nodes.iter().any(may_be_empty),
        Node::Group { body, .. } => may_be_empty(body),
        Node::Repeat { min, body, .. } => *min == 0 || may_be_empty(body),
        _ => true,
    }
}

/// Returns true if `node` may match without one of its groups.
fn may_skip_groups(node: &Node) -> bool {
    match node {
        Node::Group { body, .. } => may_skip_groups(body),
        Node::Concat(nodes) => nodes.iter().any(may_skip_groups),
        Node::Alternation(nodes) => nodes.iter().any(has_groups),
        Node::Repeat {
            min, groups, body, ..
        } => *min == 0 && !groups.is_empty() || may_skip_groups(body),
        Node::Look { body, .. } => has_groups(body),
        _ => false,
    }
}

fn has_groups(node: &Node) -> bool {
    match node {
        Node::Group { .. } => true,
        Node::Concat(nodes) | Node::Alternation(nodes) => nodes.iter().any(has_groups),
        Node::Look { body, .. } => has_groups(body),
        Node::Repeat { groups, .. } => !groups.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Options;
    use super::super::parse::parse;
    use super::*;
    use pretty_assertions::assert_eq;

    fn tree(source: &str) -> Tree {
        parse(source, Options::default()).unwrap()
    }

    #[test]
    fn pattern_is_as_exact_as_worst_part() {
        let exactness = |source: &str| {
            let facts = Facts::of(&tree(source));
            (facts.regular(), facts.spans_exact(), facts.captures_exact())
        };
        for (source, expected) in [
            ("^(a|b)*c$", (true, true, true)),
            ("(?:a(b)c)+", (true, true, true)),
            ("(a*){2}", (true, true, true)),
            ("(?:(a)|b)?", (true, true, true)),
            ("(?:(a)|b)*", (true, true, false)),
            ("(?:(a)?b){2}", (true, true, false)),
            ("(a){0}", (true, true, false)),
            ("(a*)*", (true, false, false)),
            ("(?:|a)?", (true, false, false)),
            ("(?:\\b)*", (true, false, false)),
            ("(?=a)", (false, false, false)),
            ("(a)\\1", (false, false, false)),
        ] {
            assert_eq!(exactness(source), expected, "{source}");
        }
    }

    #[test]
    fn odd_characters_matter_to_some_patterns() {
        let odd = |source: &str| {
            let facts = Facts::of(&tree(source));
            (facts.replacement, facts.line_anchors)
        };
        assert_eq!(
            [odd("a\\w\\s[^]"), odd("[a-é]+"), odd("(?!.)")],
            [(true, false), (false, false), (true, false)]
        );
        assert_eq!(
            [odd("^a"), odd("(?-m:^a$)"), odd("\\uFFFD$")],
            [(false, true), (false, false), (true, true)]
        );
    }
}
