//! Replacement of texts by others of the same length in a stream of pieces.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, Anchored, Input, MatchKind, StartKind};
use memchr::memmem;

use super::Secret;

/// A text and its replacement. Both have the same length, so lengths that are sent elsewhere stay
/// correct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    pub text: Secret,
    pub instead: Vec<u8>,
}

/// Replaces texts in one stream. The number of withheld bytes must not depend on a partial match:
/// the program sees the size of each piece and may have chosen the bytes before. No text has a
/// control character, so bytes before one are released at once.
#[derive(Debug)]
pub struct Concealer {
    texts: Arc<Texts>,
    held: Vec<u8>,
    /// Number of bytes at the start that are replaced already.
    replaced: usize,
}

#[derive(Debug)]
struct Texts {
    pairs: Vec<Pair>,
    /// `None` if the texts would take too much memory. Then no byte can be released.
    matcher: Option<AhoCorasick>,
}

impl Texts {
    fn new(pairs: impl Iterator<Item = Pair>) -> Arc<Self> {
        let pairs: Vec<Pair> = pairs
            .filter(|pair| pair.text.bytes().len() == pair.instead.len())
            .collect();
        let mut builder = AhoCorasick::builder();
        builder
            .match_kind(MatchKind::LeftmostLongest)
            .start_kind(StartKind::Unanchored);
        let matcher = builder
            .build(pairs.iter().map(|pair| pair.text.bytes()))
            .ok();
        Arc::new(Self { pairs, matcher })
    }
}

impl Concealer {
    pub fn new(pairs: impl Iterator<Item = Pair>) -> Self {
        Self {
            texts: Texts::new(pairs),
            held: Vec::new(),
            replaced: 0,
        }
    }

    /// Returns the bytes that can be released after this piece; `None` if there are none.
    pub fn take(&mut self, piece: &[u8]) -> Option<Vec<u8>> {
        self.held.extend_from_slice(piece);
        let longest = self
            .texts
            .pairs
            .iter()
            .map(|pair| pair.text.bytes().len())
            .max()
            .unwrap_or_default();
        let first = self.held.len().saturating_sub(longest.saturating_sub(1));
        let control = self.held[first..].iter().rposition(u8::is_ascii_control);
        self.pass(control.map_or(first, |at| first + at + 1))
    }

    /// Replaces the texts in a separate text, independent of the stream.
    pub fn whole(&self, text: &[u8]) -> Option<Vec<u8>> {
        Self {
            texts: Arc::clone(&self.texts),
            held: text.to_vec(),
            replaced: 0,
        }
        .end()
    }

    /// Returns true if a field's name contains one of the texts, in any ASCII case.
    pub fn knows_name(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let is_in = |pair: &Pair| {
            memmem::find(name.as_bytes(), &pair.text.bytes().to_ascii_lowercase()).is_some()
        };
        self.texts.pairs.iter().any(is_in)
    }

    /// Returns the withheld bytes at the end of a unit.
    pub fn end(&mut self) -> Option<Vec<u8>> {
        self.pass(self.held.len())
    }

    /// Replaces the texts that begin before `until`, and releases the bytes before it.
    fn pass(&mut self, until: usize) -> Option<Vec<u8>> {
        let texts = Arc::clone(&self.texts);
        let matcher = texts.matcher.as_ref()?;
        let next =
            |held: &[u8], from| matcher.find(Input::new(held).range(from..).anchored(Anchored::No));
        while let Some(found) =
            next(&self.held, self.replaced).filter(|found| found.start() < until)
        {
            self.held[found.range()]
                .copy_from_slice(&texts.pairs[found.pattern().as_usize()].instead);
            self.replaced = found.end();
        }
        self.replaced = self.replaced.saturating_sub(until);
        let rest = self.held.split_off(until);
        Some(std::mem::replace(&mut self.held, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn concealer(pairs: &[(&str, &str)]) -> Concealer {
        let pair = |(text, instead): &(&str, &str)| Pair {
            text: Secret::new(text.as_bytes().to_vec()),
            instead: instead.as_bytes().to_vec(),
        };
        Concealer::new(pairs.iter().map(pair))
    }

    fn through(concealer: &mut Concealer, pieces: &[&[u8]]) -> String {
        let mut out: Vec<u8> = pieces
            .iter()
            .flat_map(|piece| concealer.take(piece).unwrap())
            .collect();
        out.extend(concealer.end().unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn withheld_length_hides_partial_match() {
        let mut concealer = concealer(&[("secret", "******")]);
        for (piece, passed) in [
            ("abcdefgh", "abc"),
            ("123 secr", "defgh123"),
            ("et", " *"),
            ("data: s\n\n", "*****data: s\n\n"),
            ("se", ""),
            ("\tc", "se\t"),
            ("secret\n", "c******\n"),
        ] {
            assert_eq!(
                concealer
                    .take(piece.as_bytes())
                    .unwrap()
                    .escape_ascii()
                    .to_string(),
                passed.escape_default().to_string()
            );
        }
        assert_eq!(concealer.take(b"sec").unwrap(), b"");
        assert_eq!(concealer.end().unwrap(), b"sec");
    }

    #[test]
    fn field_names_match_in_lower_case() {
        let concealer = concealer(&[("SeCret", "******")]);
        assert!(
            concealer.knows_name("x-secret-x")
                && concealer.knows_name("SECRET")
                && !concealer.knows_name("ecret")
        );
    }

    #[test]
    fn overlapping_texts_are_replaced_whole() {
        let mut concealer = concealer(&[("xyab", "1234"), ("abq", "567"), ("xyabcd", "890123")]);
        let single: Vec<&[u8]> = b"xyabq xyabcd abq xyabc".chunks(1).collect();
        assert_eq!(through(&mut concealer, &single), "1234q 890123 567 1234c");
    }

    proptest! {
        /// However it is cut, a stream comes out as it does in one piece.
        #[test]
        fn output_is_independent_of_piece_boundaries(text in "[ab]{0,40}", cuts in prop::collection::vec(0..40_usize, 0..10)) {
            let pairs = [("aabab", "00000"), ("bb", "11"), ("abba", "2222")];
            let whole = through(&mut concealer(&pairs), &[text.as_bytes()]);
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < text.len()).chain([0, text.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &text.as_bytes()[cut[0]..cut[1]]).collect();
            prop_assert_eq!(through(&mut concealer(&pairs), &pieces), &whole[..]);
            for (text, _) in pairs {
                prop_assert!(!whole.contains(text));
            }
        }

        /// Two secrets of the same length cannot be told from each other by the lengths of what
        /// goes on.
        #[test]
        fn output_lengths_are_independent_of_secret(pieces in prop::collection::vec("[ab\n]{0,12}", 0..10)) {
            let lengths = |secret: &str| {
                let mut concealer = concealer(&[(secret, "00000")]);
                pieces.iter().map(|piece| concealer.take(piece.as_bytes()).unwrap().len()).collect::<Vec<_>>()
            };
            prop_assert_eq!(lengths("aabab"), lengths("bbaab"));
        }
    }
}
