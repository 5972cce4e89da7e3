//! Trigram signature of a file: a small Bloom-like bit table with false positives but no false
//! negatives.
//!
//! Upper-case ASCII counts as lower case, in tables and in queries, so one table serves both kinds
//! of search. Each trigram is one bit. The table is filled at a generous size and then folded in
//! half until about a quarter of its bits is set. That is three to four bits for each distinct
//! trigram, a fourteenth of the text in source code.

use super::super::lines::Reading;

/// Smallest signature, in bits; a power of two and at least a word.
const MIN_SIGNATURE_BITS: usize = 512;
/// Largest signature, in bits; a power of two.
const MAX_SIGNATURE_BITS: usize = 1024 * 1024;

/// A trigram's place in every table: its low bits, as many as the table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trigram(u32);

const PLACE_BITS: u32 = MAX_SIGNATURE_BITS.trailing_zeros();

impl Trigram {
    /// Of three bytes, the case of ASCII letters ignored.
    pub fn new(bytes: [u8; 3]) -> Self {
        let [a, b, c] = bytes.map(|byte| u32::from(byte.to_ascii_lowercase()));
        Self::of(a << 16 | b << 8 | c)
    }

    fn of(three: u32) -> Self {
        // Fibonacci hashing: the upper bits of the product depend on all of the trigram.
        Self(three.wrapping_mul(0x9E37_79B1) >> (u32::BITS - PLACE_BITS))
    }
}

/// Trigrams of a file. A file that searches skip as binary has none, since it never matches. A file
/// that is decoded before the search has all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature(Box<[u64]>);

impl Signature {
    /// Returns true if the file may contain the trigram; `false` is certain.
    pub fn may_hold(&self, trigram: Trigram) -> bool {
        // A power of two, or 0.
        let place = trigram.0 as usize & (self.0.len() * 64).wrapping_sub(1);
        self.0
            .get(place / 64)
            .is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> usize {
        self.0.len() * 8
    }

    /// Adds it to bytes that [`Signature::unpack`] reads, without their number, which is
    /// [`Signature::bytes`].
    pub fn pack(&self, out: &mut Vec<u8>) {
        self.0
            .iter()
            .for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    }

    /// `None` if no signature has so many bytes.
    pub fn unpack(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let is_table = words.is_empty() || words.len().is_power_of_two();
        (is_table && rest.is_empty())
            .then(|| Self(words.iter().map(|word| u64::from_le_bytes(*word)).collect()))
    }
}

/// Makes signatures, with a table of its own that it uses again.
#[derive(Debug, Default)]
pub struct Signer {
    table: Vec<u64>,
}

impl Signer {
    /// The signature of a file with this content.
    pub fn sign(&mut self, content: &[u8]) -> Signature {
        match Reading::of(content) {
            Reading::Binary => return Signature(Box::default()),
            Reading::Decoded => return Signature(Box::new([u64::MAX])),
            Reading::Bytes => {}
        }
        let bits = (content.len().saturating_mul(4))
            .clamp(MIN_SIGNATURE_BITS, MAX_SIGNATURE_BITS)
            .next_power_of_two();
        self.table.clear();
        self.table.resize(bits / 64, 0);
        let last = self.table.len() - 1;
        let mut three = 0;
        for byte in content {
            three = (three << 8 | u32::from(byte.to_ascii_lowercase())) & 0x00FF_FFFF;
            let place = Trigram::of(three).0;
            // The first two are no trigrams yet: a bit too many does no harm.
            if let Some(word) = self.table.get_mut((place / 64) as usize & last) {
                *word |= 1 << (place % 64);
            }
        }
        self.fold()
    }

    /// A trigram's place in half the table is its place in the whole one without the highest bit.
    fn fold(&self) -> Signature {
        let mut table = self.table.clone();
        loop {
            let set: u32 = table.iter().map(|word| word.count_ones()).sum();
            let half = table.len() / 2;
            if half * 64 < MIN_SIGNATURE_BITS || set as usize * FOLD_BELOW > table.len() * 64 {
                return Signature(table.into_boxed_slice());
            }
            let (lower, upper) = table.split_at_mut(half);
            lower
                .iter_mut()
                .zip(upper)
                .for_each(|(low, high)| *low |= *high);
            table.truncate(half);
        }
    }
}

/// A table is folded while at most one bit of so many is set; twice as many are set afterwards.
const FOLD_BELOW: usize = 5;

#[cfg(test)]
mod tests {
    use replay_base::limits::BINARY_SNIFF_BYTES;

    use super::*;

    fn holds(signature: &Signature, text: &[u8]) -> bool {
        text.windows(3)
            .all(|three| signature.may_hold(Trigram::new([three[0], three[1], three[2]])))
    }

    #[test]
    fn signature_has_no_false_negatives() {
        let mut text = Vec::new();
        for number in 0_u32..20_000 {
            text.extend_from_slice(
                format!("Word{} \u{e9}\n", number.wrapping_mul(2_654_435_761)).as_bytes(),
            );
            if number.is_power_of_two() {
                let signature = Signer::default().sign(&text);
                assert!(
                    holds(&signature, &text) && holds(&signature, &text.to_ascii_uppercase()),
                    "{number}"
                );
            }
        }
    }

    #[test]
    fn signature_has_few_false_positives() {
        let text: Vec<u8> = (0_u32..400)
            .flat_map(|n| format!("line {n} of {}\n", n * 7919).into_bytes())
            .collect();
        let signature = Signer::default().sign(&text);
        assert!(
            signature.bytes() * 8 < text.len(),
            "{} of {}",
            signature.bytes(),
            text.len()
        );
        let wrong = (b'a'..=b'z').flat_map(|a| (b'a'..=b'z').map(move |b| [a, b'q', b]));
        let wrong = wrong
            .filter(|three| signature.may_hold(Trigram::new(*three)))
            .count();
        assert!(wrong < 300, "{wrong} of 676");
    }

    #[test]
    fn signature_of_small_and_binary_files() {
        let mut signer = Signer::default();
        assert!(holds(&signer.sign(b"abc"), b"abc"));
        assert!(!signer.sign(b"abc").may_hold(Trigram::new(*b"xyz")));
        assert!(!signer.sign(b"").may_hold(Trigram::new(*b"abc")));
        assert_eq!(signer.sign(b"abc\0").bytes(), 0);
        assert!(!signer.sign(b"abc\0").may_hold(Trigram::new(*b"abc")));
        let wide = signer.sign(b"\xff\xfeh\0i\0");
        assert!(holds(&wide, b"whatever") && wide.bytes() == 8);
        let late = [&vec![b'a'; BINARY_SNIFF_BYTES][..], b"\0abc"].concat();
        assert!(holds(&signer.sign(&late), b"\0abc"));
    }
}
