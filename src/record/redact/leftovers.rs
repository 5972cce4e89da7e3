//! What looks like a secret and was left, so that a person sees it before a set is committed.

use std::collections::HashMap;

use super::stand_in::{is_stand_in, is_uuid};
use crate::record::call::{Content, Exchange, Side};

/// Shortest value that looks like a secret, in bytes.
const FEWEST_BYTES: usize = 20;
/// Longest one: what is longer is data, such as a picture.
const MOST_BYTES: usize = 512;
/// Fewest bits of entropy of a byte: of words there are about three, of random base64 five or more.
const FEWEST_BITS: f64 = 3.5;
/// Most values of one call that are told.
const MOST_TOLD: usize = 20;

/// A value that looks like a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leftover {
    /// Where it stands: `path`, `field NAME`, `body`, `answer`, `message`.
    pub place: String,
    pub value: String,
}

/// What looks like a secret in a call whose secrets were replaced: long, letters and digits mixed,
/// and of high entropy. Fields of the heads of answers are not looked at: numbers of versions and
/// requests are all that stands there.
pub fn left_over(call: &Exchange) -> Vec<Leftover> {
    let mut left = Vec::new();
    let mut look = |place: &str, text: &[u8]| {
        for value in text.split(|byte| !(byte.is_ascii_alphanumeric() || b"-_+/=.$".contains(byte)))
        {
            let value = value.trim_ascii();
            if looks_secret(value) && left.len() < MOST_TOLD {
                let one = Leftover {
                    place: place.to_owned(),
                    value: String::from_utf8_lossy(value).into_owned(),
                };
                if !left.contains(&one) {
                    left.push(one);
                }
            }
        }
    };
    match &call.content {
        Content::Http(http) | Content::Grpc(http) => {
            look("path", http.request.path.as_bytes());
            for (name, value) in &http.request.headers {
                look(&format!("field {name}"), value);
            }
            look("body", &http.request.body);
            look(
                "answer",
                http.response
                    .as_ref()
                    .map_or(&[][..], |response| &response.body),
            );
        }
        Content::Wire(_, wire) => {
            for message in &wire.messages {
                look(
                    if message.from == Side::Client {
                        "message"
                    } else {
                        "answer"
                    },
                    &message.bytes,
                );
            }
        }
        Content::Dns(_) => {}
    }
    left
}

fn looks_secret(value: &[u8]) -> bool {
    let has = |is_one: fn(&u8) -> bool| value.iter().any(is_one);
    let longest = value
        .split(|byte| !byte.is_ascii_alphanumeric())
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0);
    (FEWEST_BYTES..=MOST_BYTES).contains(&value.len())
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        // A path and a date are made of short parts.
        && longest >= FEWEST_BYTES / 2
        && !is_uuid(value)
        && !is_stand_in(value)
        && entropy(value) >= FEWEST_BITS
}

/// Bits that a byte of this text tells (Shannon).
fn entropy(value: &[u8]) -> f64 {
    let mut counts: HashMap<u8, usize> = HashMap::new();
    for byte in value {
        *counts.entry(*byte).or_default() += 1;
    }
    let share = |count: usize| count as f64 / value.len() as f64;
    counts
        .into_values()
        .map(|count| -share(count) * share(count).log2())
        .sum()
}
