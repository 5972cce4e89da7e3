//! Sets of characters: how they are made and asked.

/// The first and the last code point that belong to halves of UTF-16 pairs (ECMA-262, 6.1.4).
pub(super) const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);

/// Code points above the range of a single UTF-16 unit.
const SUPPLEMENTARY: (u32, u32) = (0x1_0000, 0x10_FFFF);

/// `\s` (ECMA-262, 22.2.2.9: `WhiteSpace` and `LineTerminator`).
const SPACES: [(char, char); 10] = [
    ('\t', '\r'),
    (' ', ' '),
    ('\u{A0}', '\u{A0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200A}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202F}', '\u{202F}'),
    ('\u{205F}', '\u{205F}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{FEFF}', '\u{FEFF}'),
];

/// A set of characters: ranges of code points, both ends included, in order, neither touching nor
/// overlapping. Surrogates are never in it: no text that is searched has any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Class {
    ranges: Vec<(char, char)>,
}

impl Class {
    /// The set of all characters in `ranges`, which may overlap and come in any order; one that is
    /// upside down is empty.
    pub(crate) fn new(ranges: impl IntoIterator<Item = (char, char)>) -> Self {
        let mut sorted: Vec<_> = ranges
            .into_iter()
            .filter(|(first, last)| first <= last)
            .collect();
        sorted.sort_unstable();
        let mut ranges: Vec<(char, char)> = Vec::with_capacity(sorted.len());
        for (first, last) in sorted {
            match ranges.last_mut() {
                Some((_, end)) if first <= *end || successor(*end) == Some(first) => {
                    *end = last.max(*end);
                }
                _ => ranges.push((first, last)),
            }
        }
        Self { ranges }
    }

    /// The set of `ranges` of code points, of which surrogates are left out.
    ///
    /// A pattern without the flag `u` means UTF-16 units, so ranges that hold all surrogates hold
    /// every character beyond U+FFFF: `[\xA0-\uFFFF]` is meant to.
    pub(super) fn of_code_points(ranges: &[(u32, u32)]) -> Self {
        let mut scalars = Vec::with_capacity(ranges.len() + 1);
        for &(first, last) in ranges {
            if first < SURROGATES.0 {
                scalars.extend(scalar_range(first, last.min(SURROGATES.0 - 1)));
            }
            if last > SURROGATES.1 {
                scalars.extend(scalar_range(first.max(SURROGATES.1 + 1), last));
            }
        }
        if covers_surrogates(ranges) {
            scalars.extend(scalar_range(SUPPLEMENTARY.0, SUPPLEMENTARY.1));
        }
        Self::new(scalars)
    }

    /// Just `c`.
    pub(crate) fn single(c: char) -> Self {
        Self {
            ranges: vec![(c, c)],
        }
    }

    /// Every character: `[^]`.
    pub(crate) fn any() -> Self {
        Self {
            ranges: vec![('\0', char::MAX)],
        }
    }

    /// `\d`.
    pub(crate) fn digits() -> Self {
        Self {
            ranges: vec![('0', '9')],
        }
    }

    /// `\w`.
    pub(crate) fn words() -> Self {
        Self {
            ranges: vec![('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
        }
    }

    /// `\s`.
    pub(crate) fn spaces() -> Self {
        Self {
            ranges: SPACES.to_vec(),
        }
    }

    /// Line terminators, which `.` does not match (ECMA-262, 12.3).
    pub(crate) fn line_terminators() -> Self {
        Self {
            ranges: vec![('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')],
        }
    }

    /// The ranges, both ends included, in order, with gaps between them.
    pub(crate) fn ranges(&self) -> &[(char, char)] {
        &self.ranges
    }

    /// Returns true if the class contains `c`.
    pub(crate) fn contains(&self, c: char) -> bool {
        let behind = self.ranges.partition_point(|(_, last)| *last < c);
        self.ranges
            .get(behind)
            .is_some_and(|(first, _)| *first <= c)
    }

    /// The one character of a set of one.
    pub(crate) fn only(&self) -> Option<char> {
        match self.ranges[..] {
            [(first, last)] if first == last => Some(first),
            _ => None,
        }
    }

    #[must_use]
    pub(crate) fn negated(&self) -> Self {
        let mut ranges = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = Some('\0');
        for &(first, last) in &self.ranges {
            if let (Some(gap), Some(end)) = (next, predecessor(first))
                && gap <= end
            {
                ranges.push((gap, end));
            }
            next = successor(last);
        }
        ranges.extend(next.map(|gap| (gap, char::MAX)));
        Self { ranges }
    }

    /// The set without `c`.
    #[must_use]
    pub(crate) fn without(&self, c: char) -> Self {
        let mut ranges = Vec::with_capacity(self.ranges.len() + 1);
        for &(first, last) in &self.ranges {
            if c < first || c > last {
                ranges.push((first, last));
                continue;
            }
            ranges.extend(
                predecessor(c)
                    .filter(|end| *end >= first)
                    .map(|end| (first, end)),
            );
            ranges.extend(
                successor(c)
                    .filter(|start| *start <= last)
                    .map(|start| (start, last)),
            );
        }
        Self { ranges }
    }
}

/// The next character, surrogates skipped.
fn successor(c: char) -> Option<char> {
    (c..=char::MAX).nth(1)
}

/// The character before, surrogates skipped.
fn predecessor(c: char) -> Option<char> {
    ('\0'..c).next_back()
}

fn scalar_range(first: u32, last: u32) -> Option<(char, char)> {
    Some((char::from_u32(first)?, char::from_u32(last)?)).filter(|(first, last)| first <= last)
}

fn covers_surrogates(ranges: &[(u32, u32)]) -> bool {
    let mut sorted: Vec<_> = ranges
        .iter()
        .filter(|(first, last)| first <= last)
        .collect();
    sorted.sort_unstable();
    let mut missing = SURROGATES.0;
    for &(first, last) in sorted {
        if first <= missing && last >= missing {
            missing = last + 1;
        }
    }
    missing > SURROGATES.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn class_ranges_are_merged_and_sorted() {
        let class = Class::new([('x', 'z'), ('a', 'c'), ('d', 'd'), ('b', 'c'), ('9', '0')]);
        assert_eq!(class.ranges(), [('a', 'd'), ('x', 'z')]);
        assert_eq!(
            Class::new([('\u{D7FF}', '\u{D7FF}'), ('\u{E000}', '\u{E000}')]).ranges(),
            [('\u{D7FF}', '\u{E000}')]
        );
        assert!(
            class.contains('d')
                && class.contains('x')
                && !class.contains('e')
                && !class.contains('~')
        );
        assert_eq!((class.only(), Class::single('q').only()), (None, Some('q')));
    }

    #[test]
    fn negated_class_is_complement() {
        let class = Class::new([('\0', 'a'), ('c', '\u{D7FF}'), (char::MAX, char::MAX)]);
        assert_eq!(
            class.negated().ranges(),
            [('b', 'b'), ('\u{E000}', '\u{10FFFE}')]
        );
        assert_eq!(class.negated().negated(), class);
        assert_eq!(
            (Class::default().negated(), Class::any().negated()),
            (Class::any(), Class::default())
        );
    }

    #[test]
    fn single_character_is_removed_from_class() {
        assert_eq!(
            Class::new([('a', 'c')]).without('b').ranges(),
            [('a', 'a'), ('c', 'c')]
        );
        assert_eq!(Class::any().without('\0').ranges(), [('\u{1}', char::MAX)]);
        assert_eq!(Class::single('a').without('a'), Class::default());
        assert_eq!(Class::digits().without('a'), Class::digits());
    }

    #[test]
    fn surrogate_class_covers_all_supplementary_characters() {
        assert_eq!(
            Class::of_code_points(&[(0xA0, 0xFFFF)]).ranges(),
            [('\u{A0}', char::MAX)]
        );
        assert_eq!(
            Class::of_code_points(&[(0xDC00, 0xDFFF), (0xD800, 0xDBFF)]).ranges(),
            [('\u{10000}', char::MAX)]
        );
        assert_eq!(Class::of_code_points(&[(0xD800, 0xDBFF)]), Class::default());
        assert_eq!(
            Class::of_code_points(&[(0x61, 0xDDDD)]).ranges(),
            [('a', '\u{D7FF}')]
        );
    }
}
