//! Differences between two JSON values, for messages.

use serde_json::Value;

use super::schema::shorten;

/// A place where two values differ.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// JSON pointer (RFC 6901) of the place.
    pub pointer: String,
    /// The value there in the request, shortened.
    asked: String,
    /// The recorded value there, shortened.
    recorded: String,
}

impl Difference {
    /// Returns the places where the values differ, in the order of the keys of `asked`.
    pub(crate) fn all(asked: &Value, recorded: &Value) -> Vec<Self> {
        let mut found = Vec::new();
        collect("", Some(asked), Some(recorded), &mut found);
        found
    }

    /// Describes the first differences.
    pub(crate) fn list(differences: &[Self]) -> String {
        const SHOWN: usize = 3;
        let shown = differences.iter().take(SHOWN).map(|found| {
            let (pointer, asked, recorded) = (&found.pointer, &found.asked, &found.recorded);
            format!("`{pointer}`: asked {asked}, recorded {recorded}")
        });
        let rest = differences.len().saturating_sub(SHOWN);
        let rest = (rest > 0).then(|| format!("and {rest} more"));
        shown.chain(rest).collect::<Vec<_>>().join("; ")
    }
}

fn collect(
    pointer: &str,
    asked: Option<&Value>,
    recorded: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    let mut member = |key: &str, asked, recorded| {
        let key = key.replace('~', "~0").replace('/', "~1");
        collect(&format!("{pointer}/{key}"), asked, recorded, found);
    };
    match (asked, recorded) {
        (Some(Value::Object(asked)), Some(Value::Object(recorded))) => {
            for (key, value) in asked {
                member(key, Some(value), recorded.get(key));
            }
            for (key, value) in recorded.iter().filter(|(key, _)| !asked.contains_key(*key)) {
                member(key, None, Some(value));
            }
        }
        (Some(Value::Array(asked)), Some(Value::Array(recorded))) => {
            for index in 0..asked.len().max(recorded.len()) {
                member(&index.to_string(), asked.get(index), recorded.get(index));
            }
        }
        _ if asked == recorded => {}
        _ => {
            let text = |value: Option<&Value>| {
                value.map_or_else(|| "nothing".to_owned(), |value| shorten(&value.to_string()))
            };
            found.push(Difference {
                pointer: pointer.to_owned(),
                asked: text(asked),
                recorded: text(recorded),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn differences_have_pointers_and_both_values() {
        let asked = json!({"name": "a", "arguments": {"x/y": 1, "list": [1, 2], "new": null}});
        let recorded = json!({"arguments": {"list": [1, "2", 3], "x/y": 2}, "name": "a"});
        let all = Difference::all(&asked, &recorded);
        assert_eq!(
            Difference::list(&all),
            "`/arguments/x~1y`: asked 1, recorded 2; `/arguments/list/1`: asked 2, recorded \"2\"; \
             `/arguments/list/2`: asked nothing, recorded 3; and 1 more"
        );
        assert_eq!(all[3].pointer, "/arguments/new");
        assert_eq!(Difference::all(&asked, &asked), []);
    }

    #[test]
    fn long_value_is_shortened() {
        let all = Difference::all(&json!(["x".repeat(1000)]), &json!([]));
        let shown = format!("`/0`: asked \"{}..., recorded nothing", "x".repeat(119));
        assert_eq!(Difference::list(&all), shown);
    }
}
