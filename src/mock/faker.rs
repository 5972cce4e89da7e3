//! Generated values that are the same for the same seed.

use serde_json::Value;

const FIRST: [&str; 12] = [
    "Ada",
    "Alan",
    "Barbara",
    "Claude",
    "Donald",
    "Edsger",
    "Frances",
    "Grace",
    "John",
    "Katherine",
    "Leslie",
    "Tony",
];
const LAST: [&str; 12] = [
    "Allen", "Backus", "Dijkstra", "Hoare", "Hopper", "Johnson", "Knuth", "Lamport", "Liskov",
    "Lovelace", "Shannon", "Turing",
];
const WORDS: [&str; 12] = [
    "anchor", "basin", "cedar", "delta", "ember", "fjord", "grove", "harbor", "inlet", "juniper",
    "kelp", "lagoon",
];

/// Kinds of generated values.
pub(crate) const KINDS: [&str; 7] = [
    "first_name",
    "last_name",
    "name",
    "email",
    "int",
    "word",
    "uuid",
];

/// Pseudorandom number generator (Steele, Lea and Flood, Fast splittable pseudorandom number
/// generators, 2014).
pub(crate) fn splitmix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Hashes a text (FNV-1a), to derive a seed from a name.
pub(crate) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns a value of this kind; `None` if the kind is unknown.
pub(crate) fn value(kind: &str, seed: u64) -> Option<Value> {
    let one = splitmix(seed ^ hash("first"));
    let other = splitmix(one);
    let pick = |words: [&'static str; 12], number: u64| words[(number % 12) as usize];
    let (first, last) = (pick(FIRST, one), pick(LAST, other));
    Some(match kind {
        "first_name" => first.into(),
        "last_name" => last.into(),
        "name" => format!("{first} {last}").into(),
        "email" => format!(
            "{}.{}@example.com",
            first.to_lowercase(),
            last.to_lowercase()
        )
        .into(),
        "int" => (one % 1_000_000).into(),
        "word" => pick(WORDS, one).into(),
        "uuid" => {
            // Version 4 of RFC 9562, with generated random bits.
            let (high, low) = (one & !0xf000 | 0x4000, other & !(0xc << 60) | 0x8 << 60);
            let high = format!(
                "{:08x}-{:04x}-{:04x}",
                high >> 32,
                high >> 16 & 0xffff,
                high & 0xffff
            );
            format!("{high}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff).into()
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faker_same_seed_gives_same_values() {
        for kind in KINDS {
            assert!(value(kind, 1).is_some(), "{kind}");
            assert_eq!(value(kind, 1), value(kind, 1));
        }
        assert_eq!(value("none", 1), None);
        let uuid = value("uuid", 5).unwrap();
        let uuid = uuid.as_str().unwrap();
        assert_eq!(
            (uuid.len(), uuid.as_bytes()[14], uuid.as_bytes()[8]),
            (36, b'4', b'-')
        );
    }
}
