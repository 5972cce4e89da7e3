//! What to say of a call that nothing answers where a recording differs from it in nothing but what can be declared as noise. Only
//! ever told.

use super::noise::Fields;
use super::parts::Parts;
use crate::limits::MAX_DIFFERENCES;
use crate::record::exchange::{Content, Exchange, Protocol, Wire};

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
    if recorded.state() != asked.state() || recorded.bare() != asked.bare() {
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
    for (value, _) in differing {
        if !names.contains(&value.name.as_str()) {
            names.push(&value.name);
        }
    }
    let declare = declare(&names, name)?;
    Some(format!(
        "only values differ: if they are others in each run, {declare}, or fix the clock, seed or id that makes them"
    ))
}

/// Of a request of HTTP in which nothing but fields of its head differs.
fn of_fields(differences: &[String], name: &str) -> Option<String> {
    let names: Option<Vec<&str>> = differences
        .iter()
        .map(|line| line.split_once(": ").map(|(name, _)| name).filter(|name| name.starts_with("header.")))
        .collect();
    let declare = declare(&names?, name)?;
    Some(format!("if that is another in each run, {declare}"))
}

fn declare(names: &[&str], name: &str) -> Option<String> {
    let is_told = !names.is_empty() && names.len() <= MAX_DIFFERENCES;
    is_told.then(|| {
        let names = names.join(", ");
        format!(
            "add `noise: {{req: [{names}]}}` below `name: {name}`, learn it with `replay calls noise SET OTHER --write`"
        )
    })
}
