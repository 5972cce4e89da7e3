//! Redaction of secrets in recordings.

use replay_pattern::{Options, Pattern};
use serde_json::Value;

/// Secrets to redact, and their placeholders.
#[derive(Default)]
pub struct Redactor {
    /// Values and their placeholders.
    values: Vec<(String, String)>,
    patterns: Vec<(String, Pattern)>,
    /// Names and patterns as given.
    given: Vec<(String, String)>,
}

/// Minimum length of a secret value. Shorter values occur in too many other texts.
const MIN_SECRET_BYTES: usize = 6;

impl Redactor {
    /// Redacts the value of a variable everywhere; `[NAME]` replaces it.
    pub fn add_value(&mut self, name: &str, value: &str) {
        if value.len() >= MIN_SECRET_BYTES {
            self.values.push((value.to_owned(), format!("[{name}]")));
        }
    }

    /// Redacts the matches of a pattern. Fails if the pattern is invalid.
    pub fn add_pattern(&mut self, name: &str, pattern: &str) -> Result<(), String> {
        let compiled = Pattern::new(
            pattern,
            Options {
                case_insensitive: false,
            },
        );
        let compiled =
            compiled.map_err(|error| format!("the pattern of `{name}` is invalid: {error}"))?;
        self.patterns.push((format!("[{name}]"), compiled));
        self.given.push((name.to_owned(), pattern.to_owned()));
        Ok(())
    }

    /// Returns the names and patterns.
    pub fn patterns(&self) -> Vec<(String, String)> {
        self.given.clone()
    }

    /// Returns the value without secrets, also in keys.
    pub fn redact(&self, value: &Value) -> Value {
        if self.values.is_empty() && self.patterns.is_empty() {
            return value.clone();
        }
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.redact(item)).collect(),
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(key, value)| (self.text(key), self.redact(value)))
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (value, name) in &self.values {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), name);
            }
        }
        for (name, pattern) in &self.patterns {
            let mut redacted = String::new();
            let mut from = 0;
            // If the search fails, the rest is redacted whole, so that no secret survives.
            loop {
                match pattern.find_at(&text, from) {
                    Ok(Some(found)) if !found.range().is_empty() => {
                        redacted.push_str(&text[from..found.range().start]);
                        redacted.push_str(name);
                        from = found.range().end;
                    }
                    Ok(_) => {
                        redacted.push_str(&text[from..]);
                        break;
                    }
                    Err(_) => {
                        redacted.push_str(name);
                        break;
                    }
                }
            }
            text = redacted;
        }
        text
    }
}

/// Returns true if the name of a variable suggests a secret.
pub fn is_secret(name: &str) -> bool {
    const WORDS: [&str; 6] = [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "CREDENTIAL",
        "API_KEY",
    ];
    let name = name.to_ascii_uppercase();
    WORDS.iter().any(|word| name.contains(word)) || name.ends_with("_KEY")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn redactor_replaces_secrets_in_keys_and_values() {
        let mut redactor = Redactor::default();
        redactor.add_value("GH_TOKEN", "s3cr3t-value");
        redactor.add_value("SHORT_KEY", "abc");
        redactor.add_pattern("mail", r"[a-z]+@[a-z.]+").unwrap();
        let value = json!({"s3cr3t-value": ["x s3cr3t-value y", "to ada@example.com, bob@example.com"], "n": "abc"});
        let expected = json!({"[GH_TOKEN]": ["x [GH_TOKEN] y", "to [mail], [mail]"], "n": "abc"});
        assert_eq!(redactor.redact(&value), expected);
        assert!(redactor.add_pattern("bad", "(").is_err());
        assert_eq!(
            [
                is_secret("OPENAI_API_KEY"),
                is_secret("github_token"),
                is_secret("PATH")
            ],
            [true, true, false]
        );
    }
}
