//! Possible secrets that redaction left, for review before a set is committed.

use std::collections::HashMap;

use super::stand_in::{is_placeholder, is_uuid};
use crate::call::{Content, Exchange, Side};

/// Minimum length of a possible secret, in bytes.
const FEWEST_BYTES: usize = 20;
/// Maximum length; longer values are data, such as images.
const MOST_BYTES: usize = 512;
/// Minimum entropy per byte, in bits. Words have about three, random base64 at least five.
const FEWEST_BITS: f64 = 3.5;
/// Maximum number of values reported per call.
const MOST_TOLD: usize = 20;

/// A value that may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leftover {
    /// Location of the value: `path`, `field NAME`, `body`, `answer`, `message`.
    pub place: String,
    pub value: String,
}

/// Returns possible secrets of a redacted call: long values with letters, digits and high entropy.
/// Response headers are skipped, because they hold versions and request identifiers.
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
        // Paths and dates consist of short parts.
        && longest >= FEWEST_BYTES / 2
        && !is_uuid(value)
        && !is_placeholder(value)
        && entropy(value) >= FEWEST_BITS
}

/// Returns the Shannon entropy in bits per byte.
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
