//! Texts replaced by others of the same length in bytes that come in pieces.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, Anchored, Input, MatchKind, StartKind};

use super::Secret;

/// What is put in the place of a text; both are of the same length, so no length that is told elsewhere changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    pub text: Secret,
    pub instead: Vec<u8>,
}

/// Replaces texts in one stream. What may be the beginning of one is held back until it is told.
#[derive(Debug)]
pub struct Concealer {
    texts: Arc<Texts>,
    held: Vec<u8>,
}

#[derive(Debug)]
struct Texts {
    pairs: Vec<Pair>,
    /// `None` if they would take too much memory: then nothing can be passed on.
    matcher: Option<AhoCorasick>,
}

impl Texts {
    fn new(pairs: impl Iterator<Item = Pair>) -> Arc<Self> {
        let pairs: Vec<Pair> = pairs.filter(|pair| pair.text.bytes().len() == pair.instead.len()).collect();
        let mut builder = AhoCorasick::builder();
        builder.match_kind(MatchKind::LeftmostLongest).start_kind(StartKind::Unanchored);
        let matcher = builder.build(pairs.iter().map(|pair| pair.text.bytes())).ok();
        Arc::new(Self { pairs, matcher })
    }
}

impl Concealer {
    pub fn new(pairs: impl Iterator<Item = Pair>) -> Self {
        Self { texts: Texts::new(pairs), held: Vec::new() }
    }

    /// What goes on of what came; `None` if nothing can.
    pub fn take(&mut self, piece: &[u8]) -> Option<Vec<u8>> {
        self.held.extend_from_slice(piece);
        let until = self.replace(false)?;
        let rest = self.held.split_off(until);
        Some(std::mem::replace(&mut self.held, rest))
    }

    /// A text of its own, beside the stream.
    pub fn whole(&self, text: &[u8]) -> Option<Vec<u8>> {
        Self { texts: Arc::clone(&self.texts), held: text.to_vec() }.end()
    }

    /// What was held back, at the end of what belongs together.
    pub fn end(&mut self) -> Option<Vec<u8>> {
        self.replace(true)?;
        Some(std::mem::take(&mut self.held))
    }

    /// Replaces what is there; where the rest begins that waits for more.
    fn replace(&mut self, is_end: bool) -> Option<usize> {
        let texts = Arc::clone(&self.texts);
        let matcher = texts.matcher.as_ref()?;
        let mut from = 0;
        loop {
            let waits = if is_end { self.held.len() } else { self.beginning(from) };
            let input = Input::new(&self.held).range(from..).anchored(Anchored::No);
            match matcher.find(input) {
                Some(found) if found.start() < waits => {
                    self.held[found.range()].copy_from_slice(&texts.pairs[found.pattern().as_usize()].instead);
                    from = found.end();
                }
                _ => return Some(waits),
            }
        }
    }

    /// Where the rest begins that may be the beginning of a text: at the first place.
    fn beginning(&self, from: usize) -> usize {
        let longest = self.texts.pairs.iter().map(|pair| pair.text.bytes().len()).max().unwrap_or_default();
        let first = from.max((self.held.len() + 1).saturating_sub(longest));
        let begins = |at: &usize| {
            let rest = &self.held[*at..];
            self.texts
                .pairs
                .iter()
                .any(|pair| pair.text.bytes().len() > rest.len() && pair.text.bytes().starts_with(rest))
        };
        (first..self.held.len()).find(begins).unwrap_or(self.held.len())
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
        let mut out: Vec<u8> = pieces.iter().flat_map(|piece| concealer.take(piece).unwrap()).collect();
        out.extend(concealer.end().unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_what_may_begin_a_text_waits() {
        let mut concealer = concealer(&[("secret", "******")]);
        assert_eq!(concealer.take(b"a se").unwrap(), b"a ");
        assert_eq!(concealer.take(b"a sec").unwrap(), b"sea ");
        assert_eq!(concealer.take(b"ret\n").unwrap(), b"******\n");
        assert_eq!(concealer.take(b"s").unwrap(), b"");
        assert_eq!(concealer.end().unwrap(), b"s");
    }

    #[test]
    fn texts_that_overlap_are_replaced_whole() {
        let mut concealer = concealer(&[("xyab", "1234"), ("abq", "567"), ("xyabcd", "890123")]);
        let single: Vec<&[u8]> = b"xyabq xyabcd abq xyabc".chunks(1).collect();
        assert_eq!(through(&mut concealer, &single), "1234q 890123 567 1234c");
    }

    proptest! {
        /// However it is cut, a stream comes out as it does in one piece.
        #[test]
        fn pieces_make_no_difference(text in "[ab]{0,40}", cuts in prop::collection::vec(0..40_usize, 0..10)) {
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
    }
}
