//! What to say of a call that nothing answers where a recording differs from it in nothing but what can be declared as noise. Only
//! ever told.

use super::noise::Fields;
use super::parts::Parts;
use crate::limits::MAX_DIFFERENCES;
use crate::record::call::{Content, Exchange, Protocol, Wire};
use crate::record::protocol::parts::Part;
use crate::record::redact::places;

/// The next step of who has such a call. `name` is that of the recording.
pub(super) fn next_step(
    recorded: &Exchange,
    asked: &Exchange,
    differences: &[String],
    noise: &Fields,
    name: &str,
) -> Option<String> {
    match (&recorded.content, &asked.content) {
        (Content::Wire(_, one), Content::Wire(protocol, other)) if recorded.target == asked.target => {
            of_values(*protocol, one, other, noise, name)
        }
        (Content::Http(_), Content::Http(_)) => of_fields(differences, name),
        _ => None,
    }
}

/// Of a call to a database in which nothing but values differs.
fn of_values(protocol: Protocol, recorded: &Wire, asked: &Wire, noise: &Fields, name: &str) -> Option<String> {
    let (recorded, asked) = (Parts::of(protocol, recorded, noise)?, Parts::of(protocol, asked, noise)?);
    if recorded.bare() != asked.bare() {
        return None;
    }
    let values = recorded.values().zip(asked.values());
    let differing: Vec<_> = values.filter(|(one, other)| one.bytes != other.bytes).collect();
    // Arguments are names as well.
    let is_made = |text: &str| text.contains(|letter: char| letter.is_ascii_digit());
    if protocol == Protocol::Redis && !differing.iter().all(|(one, other)| is_made(&one.text) && is_made(&other.text)) {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    // Of a secret the recording says nothing that could be left out.
    let is_secret = |value: &Part| !places(value.text.as_bytes()).is_empty();
    for (value, _) in differing.into_iter().filter(|(one, other)| !is_secret(one) && !is_secret(other)) {
        if !names.contains(&value.name.as_str()) {
            names.push(&value.name);
        }
    }
    declare(&names, name)
}

/// Of a request of HTTP in which nothing but values of its body, its query or its head differs.
fn of_fields(differences: &[String], name: &str) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for line in differences {
        let (place, said) = line.split_once(": ")?;
        let field = without_indexes(place);
        // What is not there in one of the two, or of another length, is more than a value.
        let is_value =
            || said.starts_with("recorded ") && said.contains(", asked ") && !said.contains(" items, asked ");
        let is_left_out = field.starts_with("header.")
            || ["query.", "body."].iter().any(|part| field.starts_with(part)) && is_value();
        if !is_left_out {
            return None;
        }
        if !names.contains(&field) {
            names.push(field);
        }
    }
    declare(&names.iter().map(String::as_str).collect::<Vec<_>>(), name)
}

/// The name that noise has for a place in a body: `items[3].id` is `items.id`.
fn without_indexes(place: &str) -> String {
    let mut parts = place.split('[');
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(']') {
            Some((index, rest)) if !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()) => {
                name.push_str(rest);
            }
            _ => {
                name.push('[');
                name.push_str(part);
            }
        }
    }
    name
}

fn declare(names: &[&str], name: &str) -> Option<String> {
    let is_told = !names.is_empty() && names.len() <= MAX_DIFFERENCES;
    is_told.then(|| {
        let names = names.join(", ");
        format!(
            "only values differ: if they change from run to run, add `noise: {{req: [{names}]}}` below `name: {name}`, learn it \
             with `replay calls noise SET OTHER --write`, or fix the clock, seed or id that makes them"
        )
    })
}
