//! Replacements of one edit, as ranges and new texts, not yet applied.

use replay_base::budget::Share;
use std::ops::Range;

/// Rule that matched the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    Exact,
    /// Character by character, with `\r\n` and `\n` treated as equal.
    LineEndings,
    /// Line by line, without the common indent and trailing whitespace.
    Whitespace,
    /// Character by character, ignoring case.
    CaseInsensitive,
    Regex,
}

impl Rule {
    /// Returns the name shown to agents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::LineEndings => "lineEndings",
            Self::Whitespace => "whitespace",
            Self::CaseInsensitive => "caseInsensitive",
            Self::Regex => "regex",
        }
    }
}

/// New texts of the spans.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Texts {
    /// The same text for all spans.
    Same(String),
    /// One text per span: the concatenated texts and their end offsets.
    Each(String, Vec<usize>),
}

/// Replacements of one edit: ascending, non-overlapping spans and their new texts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changes {
    spans: Vec<Range<usize>>,
    texts: Texts,
    rule: Rule,
    more: bool,
    /// Share of the memory budget.
    share: Share,
}

impl Changes {
    pub(super) fn new(spans: Vec<Range<usize>>, texts: Texts, rule: Rule) -> Self {
        Self {
            spans,
            texts,
            rule,
            more: false,
            share: Share::default(),
        }
    }

    /// Keeps the share of the budget that was taken for them.
    pub(super) fn holding(mut self, share: Share) -> Self {
        self.share = share;
        self
    }

    /// Sets whether the limit left out further matches.
    pub(super) fn and_more(mut self, more: bool) -> Self {
        self.more = more;
        self
    }

    pub(super) fn more(&self) -> bool {
        self.more
    }

    pub(super) fn rule(&self) -> Rule {
        self.rule
    }

    pub(super) fn len(&self) -> u64 {
        self.spans.len() as u64
    }

    fn text(&self, index: usize) -> &str {
        match &self.texts {
            Texts::Same(text) => text,
            Texts::Each(all, ends) => {
                let start = index.checked_sub(1).map_or(0, |before| ends[before]);
                &all[start..ends[index]]
            }
        }
    }

    /// Returns the range of the result from the first new text to the last.
    pub(super) fn covered(&self) -> Range<usize> {
        let gaps = self
            .spans
            .windows(2)
            .map(|pair| pair[1].start - pair[0].end);
        let start = self.spans.first().map_or(0, |first| first.start);
        start..start + gaps.sum::<usize>() + self.new_bytes()
    }

    pub(super) fn new_bytes(&self) -> usize {
        match &self.texts {
            Texts::Same(text) => text.len() * self.spans.len(),
            Texts::Each(all, _) => all.len(),
        }
    }

    fn old_bytes(&self) -> usize {
        self.spans.iter().map(ExactSizeIterator::len).sum()
    }

    /// Returns the length of the new text, for an old one of `old` bytes.
    pub(super) fn result_bytes(&self, old: usize) -> usize {
        old - self.old_bytes() + self.new_bytes()
    }

    /// Returns true if any new text differs from the old one.
    pub(super) fn change(&self, text: &str) -> bool {
        self.spans
            .iter()
            .enumerate()
            .any(|(index, span)| text[span.clone()] != *self.text(index))
    }

    /// Maps a range of the old text to the new one. A boundary inside a replaced span moves to the
    /// span's boundary.
    pub(super) fn moved(&self, range: &Range<usize>) -> Range<usize> {
        self.moved_edge(range.start, false)..self.moved_edge(range.end, true)
    }

    fn moved_edge(&self, offset: usize, is_end: bool) -> usize {
        let (mut added, mut removed) = (0, 0);
        for (index, span) in self.spans.iter().enumerate() {
            if span.start >= offset {
                break;
            }
            let new = self.text(index).len();
            if span.end > offset {
                return span.start + added - removed + if is_end { new } else { 0 };
            }
            added += new;
            removed += span.len();
        }
        offset + added - removed
    }

    /// Returns the new text in pieces: alternately unchanged and new.
    pub(super) fn pieces<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let mut from = 0;
        let replaced = self
            .spans
            .iter()
            .enumerate()
            .flat_map(move |(index, span)| {
                let kept = &text[from..span.start];
                from = span.end;
                [kept, self.text(index)]
            });
        replaced.chain(std::iter::once(
            &text[self.spans.last().map_or(0, |last| last.end)..],
        ))
    }
}
