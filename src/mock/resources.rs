//! Resources and resource templates: list entries, contents, and matching of URIs.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Map, Value, json};

use super::entry::put;
use super::manifest;
use super::sync::lock;
use super::template::{Template, TemplateScope};

#[derive(Debug)]
pub struct CatalogResource {
    pub uri: String,
    /// Its entry in resources/list.
    pub entry: String,
    pub updates: Vec<manifest::Update>,
    content: Mutex<Value>,
}

impl CatalogResource {
    pub fn new(from: &manifest::Resource) -> Self {
        let mut content = Map::new();
        content.insert("uri".to_owned(), from.uri.clone().into());
        put(&mut content, "mimeType", from.content.mime_type.as_ref());
        let (key, text) = content_member(&from.content);
        content.insert(key.to_owned(), text.into());
        Self {
            uri: from.uri.clone(),
            entry: entry("uri", &from.uri, &from.content),
            updates: from.updates.clone(),
            content: Mutex::new(Value::Object(content)),
        }
    }

    pub fn read(&self) -> Value {
        let content = lock(&self.content).clone();
        json!({ "contents": [content] })
    }

    /// Replaces the text.
    pub fn update(&self, text: &str) {
        lock(&self.content)["text"] = text.into();
    }
}

/// A resource template of the manifest.
#[derive(Debug)]
pub struct ResourceFamily {
    /// The URI template as written.
    pub uri: String,
    /// Its entry in resources/templates/list.
    pub entry: String,
    /// Completions by name.
    pub complete: BTreeMap<String, Vec<String>>,
    pattern: UriPattern,
    mime_type: Option<String>,
    content: (&'static str, Template),
}

impl ResourceFamily {
    pub fn new(from: &manifest::ResourceTemplate, pattern: UriPattern) -> Self {
        let (key, text) = content_member(&from.content);
        Self {
            uri: from.uri_template.clone(),
            entry: entry("uriTemplate", &from.uri_template, &from.content),
            complete: from.complete.clone(),
            pattern,
            mime_type: from.content.mime_type.clone(),
            content: (key, Template::new(&text.into())),
        }
    }

    /// Answers resources/read for a URI that the template matches.
    pub fn read(&self, uri: &str, mut scope: TemplateScope<'_>) -> Option<Value> {
        scope
            .names
            .insert("uri".to_owned(), Value::Object(self.pattern.matches(uri)?));
        let mut content = Map::new();
        content.insert("uri".to_owned(), uri.into());
        put(&mut content, "mimeType", self.mime_type.as_ref());
        let (key, template) = &self.content;
        // A placeholder alone may yield a value that is not a string.
        let text = match template.fill(&scope) {
            Value::String(text) => text,
            other => other.to_string(),
        };
        content.insert((*key).to_owned(), text.into());
        Some(json!({ "contents": [content] }))
    }
}

/// Returns a list entry with `named` as its `member`. The specification requires a name.
fn entry(member: &str, named: &str, from: &manifest::Content) -> String {
    let mut entry = Map::new();
    entry.insert(member.to_owned(), named.into());
    entry.insert(
        "name".to_owned(),
        from.name.as_deref().unwrap_or(named).into(),
    );
    put(&mut entry, "description", from.description.as_ref());
    put(&mut entry, "mimeType", from.mime_type.as_ref());
    entry.extend(from.extra.clone());
    Value::Object(entry).to_string()
}

/// Returns the member and the value of a content: text or base64.
fn content_member(from: &manifest::Content) -> (&'static str, String) {
    match &from.blob {
        Some(blob) => ("blob", blob.clone()),
        None => ("text", from.text.clone().unwrap_or_default()),
    }
}

/// A URI template of level 1 (RFC 6570): `{name}` matches text without `/`, `{+name}` any text.
#[derive(Debug)]
pub struct UriPattern(Vec<UriPiece>);

#[derive(Debug)]
enum UriPiece {
    Literal(String),
    Name { name: String, slashes: bool },
}

impl UriPattern {
    pub fn new(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                return Err(format!(
                    "`{text}` has an opening brace without a closing one"
                ));
            };
            if !before.is_empty() {
                pieces.push(UriPiece::Literal(before.to_owned()));
            }
            let (name, slashes) = name
                .strip_prefix('+')
                .map_or((name, false), |name| (name, true));
            let named = !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !named || matches!(pieces.last(), Some(UriPiece::Name { .. })) {
                return Err(format!(
                    "`{text}`: braces must contain one name, or + and a name, with text between \
                     two expressions"
                ));
            }
            pieces.push(UriPiece::Name {
                name: name.to_owned(),
                slashes,
            });
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(UriPiece::Literal(rest.to_owned()));
        }
        Ok(Self(pieces))
    }

    fn matches(&self, uri: &str) -> Option<Map<String, Value>> {
        let mut values = Map::new();
        let mut rest = uri;
        let mut pieces = self.0.iter().peekable();
        while let Some(piece) = pieces.next() {
            match piece {
                UriPiece::Literal(text) => rest = rest.strip_prefix(text.as_str())?,
                UriPiece::Name { name, slashes } => {
                    let length = match pieces.peek() {
                        // The last literal must match at the end of the URI, even if it occurs
                        // earlier too.
                        Some(UriPiece::Literal(text)) if self.ends_with(text) => {
                            rest.strip_suffix(text.as_str())?.len()
                        }
                        Some(UriPiece::Literal(text)) => rest.find(text.as_str())?,
                        _ => rest.len(),
                    };
                    let value = &rest[..length];
                    if value.is_empty() || !slashes && value.contains('/') {
                        return None;
                    }
                    values.insert(name.clone(), value.into());
                    rest = &rest[length..];
                }
            }
        }
        rest.is_empty().then_some(values)
    }

    fn ends_with(&self, literal: &String) -> bool {
        matches!(self.0.last(), Some(UriPiece::Literal(last)) if std::ptr::eq(last, literal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uri_template_matches_names() {
        let matched = |pattern: &str, uri: &str| {
            UriPattern::new(pattern)
                .unwrap()
                .matches(uri)
                .map(Value::Object)
        };
        assert_eq!(
            matched("test://t/{id}/data", "test://t/5/data"),
            Some(json!({"id": "5"}))
        );
        assert_eq!(matched("test://t/{id}/data", "test://t//data"), None);
        assert_eq!(matched("test://t/{id}/data", "test://t/5/6/data"), None);
        assert_eq!(
            matched("f:///{+path}", "f:///a/b"),
            Some(json!({"path": "a/b"}))
        );
        assert_eq!(
            matched("a/{x}-{y}.j", "a/1-2.j.j"),
            Some(json!({"x": "1", "y": "2.j"}))
        );
        for wrong in ["{", "{}", "{a}{b}", "{a,b}", "{?q}"] {
            assert!(UriPattern::new(wrong).is_err(), "{wrong}");
        }
    }
}
