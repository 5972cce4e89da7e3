//! Values with placeholders, such as `${args.city}` in any string of an answer.
//!
//! A string that is only a placeholder takes the value with its type. Within other text the value
//! becomes text. A placeholder without a value is left as written, visible to its author. `$${` is
//! a literal `${`.

use serde_json::{Map, Value};

use super::faker;

/// Most bytes that one `${repeat...}` stands for.
const MAX_MOCK_REPEAT_BYTES: usize = 64 * 1024 * 1024;

/// Values of the placeholders of one answer.
#[derive(Clone, Debug, Default)]
pub struct TemplateScope<'a> {
    /// Value of `args`.
    pub arguments: Option<&'a Value>,
    /// Value of `request.params`.
    pub params: Option<&'a Value>,
    /// Values of other first steps of a path.
    pub names: Map<String, Value>,
    /// Seed of generated values.
    pub seed: u64,
}

impl TemplateScope<'_> {
    fn find(&self, path: &[String]) -> Option<Value> {
        match path {
            [root, kind] if root == "faker" => faker::value(kind, self.seed),
            [root, count, text @ ..] if root == "repeat" => {
                let (count, text) = (count.parse::<usize>().ok()?, text.join("."));
                (count.checked_mul(text.len())? <= MAX_MOCK_REPEAT_BYTES)
                    .then(|| text.repeat(count).into())
            }
            [root, rest @ ..] => {
                let (mut value, steps) = match (root.as_str(), rest) {
                    ("args", rest) => (self.arguments?, rest),
                    ("request", [first, rest @ ..]) if first == "params" => (self.params?, rest),
                    _ => (self.names.get(root)?, rest),
                };
                for step in steps {
                    value = match value {
                        Value::Object(members) => members.get(step)?,
                        Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
                        _ => return None,
                    };
                }
                Some(value.clone())
            }
            [] => None,
        }
    }
}

/// A value that may have placeholders.
#[derive(Clone, Debug, PartialEq)]
pub enum Template {
    /// A value without placeholders.
    Fixed(Value),
    /// A string with placeholders.
    Text(Vec<TemplatePart>),
    /// An array with placeholders within.
    Array(Vec<Template>),
    /// An object with placeholders within.
    Object(Vec<(String, Template)>),
}

/// A part of a string.
#[derive(Clone, Debug, PartialEq)]
pub enum TemplatePart {
    Literal(String),
    /// A placeholder: its path, and its original text.
    Place(Vec<String>, String),
}

impl Template {
    pub fn new(value: &Value) -> Self {
        match value {
            Value::String(text) => match parts(text).as_slice() {
                [] => Self::Fixed(value.clone()),
                [TemplatePart::Literal(text)] => Self::Fixed(text.clone().into()),
                some => Self::Text(some.to_vec()),
            },
            Value::Array(items) => {
                let items: Vec<Self> = items.iter().map(Self::new).collect();
                match fixed(items.iter()) {
                    Some(items) => Self::Fixed(items.into_iter().cloned().collect()),
                    None => Self::Array(items),
                }
            }
            Value::Object(members) => {
                let members: Vec<(String, Self)> = members
                    .iter()
                    .map(|(key, value)| (key.clone(), Self::new(value)))
                    .collect();
                match fixed(members.iter().map(|(_, member)| member)) {
                    Some(values) => {
                        let keys = members.iter().map(|(key, _)| key.clone());
                        Self::Fixed(Value::Object(
                            keys.zip(values.into_iter().cloned()).collect(),
                        ))
                    }
                    None => Self::Object(members),
                }
            }
            _ => Self::Fixed(value.clone()),
        }
    }

    /// Returns the value if it has no placeholders.
    pub fn as_fixed(&self) -> Option<&Value> {
        match self {
            Self::Fixed(value) => Some(value),
            _ => None,
        }
    }

    /// Returns true if a placeholder changes from call to call, even with equal arguments.
    pub fn is_stateful(&self) -> bool {
        match self {
            Self::Fixed(_) => false,
            Self::Text(parts) => parts.iter().any(|part| {
                matches!(part, TemplatePart::Place(path, _) if matches!(path.first().map(String::as_str), Some("call" | "faker")))
            }),
            Self::Array(items) => items.iter().any(Self::is_stateful),
            Self::Object(members) => members.iter().any(|(_, member)| member.is_stateful()),
        }
    }

    /// Fills in the placeholders.
    pub fn fill(&self, scope: &TemplateScope<'_>) -> Value {
        match self {
            Self::Fixed(value) => value.clone(),
            Self::Text(parts) => match parts.as_slice() {
                [TemplatePart::Place(path, written)] => {
                    scope.find(path).unwrap_or_else(|| written.clone().into())
                }
                parts => Value::String(parts.iter().map(|part| part.text(scope)).collect()),
            },
            Self::Array(items) => items.iter().map(|item| item.fill(scope)).collect(),
            Self::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(key, member)| (key.clone(), member.fill(scope)))
                    .collect(),
            ),
        }
    }
}

impl TemplatePart {
    fn text(&self, scope: &TemplateScope<'_>) -> String {
        match self {
            Self::Literal(text) => text.clone(),
            Self::Place(path, written) => match scope.find(path) {
                Some(Value::String(text)) => text,
                Some(value) => value.to_string(),
                None => written.clone(),
            },
        }
    }
}

fn fixed<'a>(items: impl Iterator<Item = &'a Template>) -> Option<Vec<&'a Value>> {
    items.map(Template::as_fixed).collect()
}

fn parts(text: &str) -> Vec<TemplatePart> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            literal.push_str(&rest[..at]);
            literal.push('{');
            rest = &rest[at + 2..];
            continue;
        }
        let Some(length) = rest[at..].find('}') else {
            break;
        };
        literal.push_str(&rest[..at]);
        if !literal.is_empty() {
            parts.push(TemplatePart::Literal(std::mem::take(&mut literal)));
        }
        let written = &rest[at..=at + length];
        parts.push(TemplatePart::Place(
            path(&written[2..length]),
            written.to_owned(),
        ));
        rest = &rest[at + length + 1..];
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        parts.push(TemplatePart::Literal(literal));
    }
    parts
}

/// Returns the text from an unclosed `${` to the end.
pub(crate) fn unclosed_placeholder(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let begun = &rest[at..];
        rest = match begun.find('}') {
            _ if rest[..at].ends_with('$') => &begun[2..],
            Some(length) => &begun[length..],
            None => return Some(begun),
        };
    }
    None
}

/// Splits `a.b[0].c` into steps.
fn path(text: &str) -> Vec<String> {
    let text = text.trim().replace('[', ".").replace(']', "");
    text.split('.').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn placeholders_are_filled_in() {
        let arguments = json!({"n": 5, "s": "x", "l": [{"a": true}], "o": {"k": null}});
        let names = json!({"request": {"id": "7"}});
        let names = names.as_object().unwrap().clone();
        let scope = TemplateScope {
            arguments: Some(&arguments),
            params: None,
            names,
            seed: 1,
        };
        let cases = [
            (json!("${args.n}"), json!(5)),
            (
                json!("n=${args.n} s=${args.s} l=${args.l}"),
                json!("n=5 s=x l=[{\"a\":true}]"),
            ),
            (json!("${args.l[0].a}"), json!(true)),
            (json!("${args.l.0.a}!"), json!("true!")),
            (json!("${args.o.k}"), json!(null)),
            (json!("${request.id}"), json!("7")),
            (json!("${args.none} ${x} ${"), json!("${args.none} ${x} ${")),
            (json!("$${args.n} costs $5"), json!("${args.n} costs $5")),
            (json!("${repeat.3.ab}"), json!("ababab")),
            (
                json!({"a": [1, "${args.s}"], "b": {}}),
                json!({"a": [1, "x"], "b": {}}),
            ),
        ];
        for (template, expected) in cases {
            assert_eq!(
                Template::new(&template).fill(&scope),
                expected,
                "{template}"
            );
        }
        assert!(
            Template::new(&json!({"a": ["x", {"b": 1}]}))
                .as_fixed()
                .is_some()
        );
    }
}
