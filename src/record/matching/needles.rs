//! Many texts that are looked for at once, so that it takes one pass however many there are.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// Bytes by which needles are told apart first; none is shorter.
const BEGIN_BYTES: usize = 4;

/// Texts that are looked for, each with something that is known of it.
#[derive(Debug)]
pub(super) struct Needles<T> {
    all: HashMap<Vec<u8>, T>,
    /// How long those are that begin with these bytes, the longest first.
    lengths: HashMap<[u8; BEGIN_BYTES], BTreeSet<Reverse<usize>>>,
    /// The first two bytes of all, so that most places are passed over without more.
    firsts: Vec<bool>,
}

impl<T> Default for Needles<T> {
    fn default() -> Self {
        Self { all: HashMap::new(), lengths: HashMap::new(), firsts: vec![false; 1 << 16] }
    }
}

impl<T> Needles<T> {
    /// Adds one, unless it is known or too short.
    pub(super) fn add(&mut self, text: Vec<u8>, known: T) {
        if let Some(begin) = text.first_chunk::<BEGIN_BYTES>() {
            self.lengths.entry(*begin).or_default().insert(Reverse(text.len()));
            self.firsts[pair(begin)] = true;
            self.all.entry(text).or_insert(known);
        }
    }

    /// Shows each place where one stands; of those that begin at one place the longest that is meant, and none in another.
    pub(super) fn find<'a>(
        &'a self,
        bytes: &[u8],
        is_meant: impl Fn(&Range<usize>, &T) -> bool,
        tell: &mut dyn FnMut(Range<usize>, &'a T),
    ) {
        let mut end = 0;
        for (at, two) in bytes.windows(2).enumerate() {
            if at < end || !self.firsts[pair(two)] {
                continue;
            }
            let lengths = bytes[at..].first_chunk::<BEGIN_BYTES>().and_then(|begin| self.lengths.get(begin));
            let found = lengths.into_iter().flatten().find_map(|Reverse(length)| {
                let place = at..at + length;
                let known = self.all.get(bytes.get(place.clone())?)?;
                is_meant(&place, known).then_some((place, known))
            });
            if let Some((place, known)) = found {
                end = place.end;
                tell(place, known);
            }
        }
    }
}

fn pair(bytes: &[u8]) -> usize {
    usize::from(bytes[0]) << 8 | usize::from(bytes[1])
}
