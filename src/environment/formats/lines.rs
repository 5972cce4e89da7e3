//! Syntaxes with a key and a value on each line: npm, Yarn 1, pip, Java properties and `go env`.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Reads npm's ini (<https://docs.npmjs.com/cli/configuring-npm/npmrc>): `key = value`, lists as
/// `key[] = value`, and a key without a value, which is true. Sections do not occur.
pub(super) fn read_npmrc(text: &str) -> Value {
    let mut all = Map::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with([';', '#', '[']) {
            continue;
        }
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim_end(), Value::String(unquoted(value.trim()))),
            None => (line, Value::Bool(true)),
        };
        match key.strip_suffix("[]") {
            None => drop(all.insert(unquoted(key), value)),
            Some(key) => match all.get_mut(key) {
                Some(Value::Array(list)) => list.push(value),
                _ => drop(all.insert(unquoted(key), Value::Array(vec![value]))),
            },
        }
    }
    Value::Object(all)
}

pub(super) fn write_npmrc(value: &Value) -> String {
    let mut text = String::new();
    for (key, value) in members(value) {
        let (mark, values) = match value {
            Value::Array(list) => ("[]", &list[..]),
            one => ("", std::slice::from_ref(one)),
        };
        for value in values {
            let _ = match value {
                Value::Bool(true) => writeln!(text, "{key}{mark}"),
                value => writeln!(text, "{key}{mark}={}", quoted_if_needed(value)),
            };
        }
    }
    text
}

/// Reads the configuration of Yarn 1: key and value, each a word or quoted.
pub(super) fn read_yarnrc(text: &str) -> Result<Value, String> {
    let mut all = Map::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let end = match line.strip_prefix('"') {
            Some(quoted) => quoted.find('"').ok_or("a quote has no end")? + 2,
            None => line.find(char::is_whitespace).unwrap_or(line.len()),
        };
        let (key, value) = line.split_at(end);
        all.insert(unquoted(key), Value::String(unquoted(value.trim())));
    }
    Ok(Value::Object(all))
}

pub(super) fn write_yarnrc(value: &Value) -> String {
    let mut text = String::new();
    for (key, value) in members(value) {
        let _ = writeln!(
            text,
            "{} {}",
            Value::from(key.as_str()),
            Value::from(plain(value))
        );
    }
    text
}

/// Reads Python's ini (configparser) as pip does: keys in lower case with dashes, and indented lines
/// that continue a value.
pub(super) fn read_ini(text: &str) -> Result<Value, String> {
    let mut all = Map::new();
    let mut place: Option<(String, Option<String>)> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            place = Some((name.to_owned(), None));
            continue;
        }
        let Some((section, last)) = &mut place else {
            return Err("its first line is outside a section".to_owned());
        };
        let Value::Object(section) = all
            .entry(section.clone())
            .or_insert_with(|| Value::Object(Map::new()))
        else {
            continue;
        };
        let continued = last
            .as_ref()
            .filter(|_| line.starts_with([' ', '\t']))
            .and_then(|key| section.get_mut(key));
        if let Some(Value::String(value)) = continued {
            value.push('\n');
            value.push_str(trimmed);
            continue;
        }
        let (key, value) = trimmed.split_once(['=', ':']).ok_or("a line has no `=`")?;
        let key = key.trim().to_lowercase().replace('_', "-");
        section.insert(key.clone(), Value::String(value.trim().to_owned()));
        *last = Some(key);
    }
    Ok(Value::Object(all))
}

pub(super) fn write_ini(value: &Value) -> String {
    let mut text = String::new();
    for (section, keys) in members(value) {
        let _ = writeln!(text, "[{section}]");
        for (key, value) in members(keys) {
            let _ = writeln!(text, "{key} = {}", plain(value).replace('\n', "\n    "));
        }
    }
    text
}

/// Reads `java.util.Properties`, and `go env` files, which are a part of it. Of escapes only `\:`
/// and `\=` are undone, and a backslash at the end of a line joins it with the next one.
pub(super) fn read_properties(text: &str) -> Value {
    let mut all = Map::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut line = line.trim_start().to_owned();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        while line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1 {
            line.pop();
            line.push_str(lines.next().unwrap_or_default().trim_start());
        }
        let line = line.replace("\\:", "\u{1}").replace("\\=", "\u{2}");
        let (key, value) = line.split_once(['=', ':']).unwrap_or((&line, ""));
        let whole = |text: &str| text.trim().replace('\u{1}', ":").replace('\u{2}', "=");
        all.insert(whole(key), Value::String(whole(value)));
    }
    Value::Object(all)
}

pub(super) fn write_properties(value: &Value) -> String {
    let mut text = String::new();
    for (key, value) in members(value) {
        let _ = writeln!(text, "{key}={}", plain(value));
    }
    text
}

/// Writes YAML with one line for each member, whose value is JSON. Bundler reads no other form of
/// keys than plain ones.
pub(super) fn write_yaml(value: &Value) -> String {
    let mut text = String::new();
    for (key, value) in members(value) {
        let is_plain = key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b":_-./@".contains(&byte))
            && !key.starts_with(['-', '@'])
            && !key.is_empty();
        let key = if is_plain {
            key.clone()
        } else {
            Value::from(key.as_str()).to_string()
        };
        let _ = writeln!(text, "{key}: {value}");
    }
    text
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Text of a value on a line.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Takes the quotes off a value.
fn unquoted(value: &str) -> String {
    if value.len() >= 2 && value.starts_with('"') && value.ends_with('"') {
        let inner = &value[1..value.len() - 1];
        return serde_json::from_str(value).unwrap_or_else(|_| inner.to_owned());
    }
    let single = value
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''));
    single.unwrap_or(value).to_owned()
}

/// Text of a value for npm's ini, which reads JSON strings.
fn quoted_if_needed(value: &Value) -> String {
    let text = plain(value);
    let is_plain = !text.is_empty()
        && text.trim() == text
        && !text.contains(['\n', '"', '\'', ';', '#', '\\', '[']);
    if is_plain {
        text
    } else {
        Value::from(text).to_string()
    }
}
