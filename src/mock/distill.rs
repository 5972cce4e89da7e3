//! Conversion of a cassette to a manifest that gives the same answers, for a person to edit.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use replay_mcp::protocol::SERVER_INFO_KEY;
use serde_json::{Map, Value, json};

use super::cassette::Cassette;

/// Returns the manifest as YAML. The top levels are in block style, for editing; the values below
/// are JSON, which is YAML too.
pub fn distill(cassette: &Cassette) -> String {
    let last = |method: &str| {
        let mut found = cassette
            .entries()
            .iter()
            .filter(|entry| entry.method == method);
        found
            .rfind(|entry| entry.result.is_some())
            .and_then(|entry| entry.result.clone())
            .unwrap_or_default()
    };
    let (opened, discovered) = (last("initialize"), last("server/discover"));
    let info = if opened.is_null() {
        &discovered["_meta"][SERVER_INFO_KEY]
    } else {
        &opened["serverInfo"]
    };
    let instructions = opened
        .get("instructions")
        .or_else(|| discovered.get("instructions"));
    let name = info["name"].as_str().unwrap_or("distilled");
    let mut text = format!(
        "# Distilled from a cassette.\nmock_server:\n  name: {}\n",
        yaml(&Value::from(name))
    );
    for (key, value) in [
        ("title", info.get("title")),
        ("version", info.get("version")),
        ("instructions", instructions),
    ] {
        if let Some(value) = value.filter(|value| value.is_string()) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {key}: {}", yaml(value));
        }
    }
    let mut calls: BTreeMap<String, Vec<(Value, Value)>> = BTreeMap::new();
    for entry in cassette
        .entries()
        .iter()
        .filter(|entry| entry.method == "tools/call")
    {
        let reply = match (&entry.result, &entry.error) {
            (Some(result), _) => json!({ "result": result }),
            (None, error) => json!({ "error": error }),
        };
        let tool = entry.params["name"].as_str().unwrap_or_default().to_owned();
        let arguments = entry
            .params
            .get("arguments")
            .cloned()
            .unwrap_or_else(|| json!({}));
        calls.entry(tool).or_default().push((arguments, reply));
    }
    let pages = cassette
        .entries()
        .iter()
        .filter(|entry| entry.method == "tools/list");
    let pages = pages.filter_map(|entry| entry.result.as_ref()?["tools"].as_array());
    let mut tools: Vec<Value> = Vec::new();
    for tool in pages.flatten() {
        if !tools.iter().any(|known| known["name"] == tool["name"]) {
            tools.push(tool.clone());
        }
    }
    let listed = |name: &&String| tools.iter().any(|tool| tool["name"] == **name);
    let unlisted: Vec<Value> = calls
        .keys()
        .filter(|name| !listed(name))
        .map(|name| json!({ "name": name }))
        .collect();
    tools.extend(unlisted);
    if !tools.is_empty() {
        text.push_str("  tools:\n");
    }
    for tool in &tools {
        let mut members = tool.as_object().cloned().unwrap_or_default();
        let name = members.shift_remove("name").unwrap_or_default();
        let _ = writeln!(text, "    - name: {}", yaml(&name));
        for (from, to) in [
            ("title", "title"),
            ("description", "description"),
            ("inputSchema", "input_schema"),
            ("outputSchema", "output_schema"),
            ("annotations", "annotations"),
        ] {
            if let Some(value) = members.shift_remove(from) {
                let _ = writeln!(text, "      {to}: {}", yaml(&value));
            }
        }
        if !members.is_empty() {
            let _ = writeln!(text, "      extra: {}", yaml(&Value::Object(members)));
        }
        let arms = arms(
            calls
                .get(name.as_str().unwrap_or_default())
                .map_or(&[][..], Vec::as_slice),
        );
        if !arms.is_empty() {
            text.push_str("      responses:\n");
        }
        for (arguments, replies) in arms {
            let _ = writeln!(text, "        - match: {{ equals: {} }}", yaml(&arguments));
            match replies.as_slice() {
                [only] => {
                    for (key, value) in only.as_object().into_iter().flatten() {
                        let _ = writeln!(
                            text,
                            "          {key}: {}",
                            yaml(&escape_placeholders(value))
                        );
                    }
                }
                some => {
                    text.push_str("          sequence:\n");
                    for reply in some {
                        let _ =
                            writeln!(text, "            - {}", yaml(&escape_placeholders(reply)));
                    }
                }
            }
        }
    }
    resources(&mut text, cassette, &last("resources/list"));
    prompts(&mut text, cassette, &last("prompts/list"));
    text
}

/// Groups answers by arguments, in the order in which the arguments first appear.
fn arms(calls: &[(Value, Value)]) -> Vec<(Value, Vec<Value>)> {
    let mut arms: Vec<(Value, Vec<Value>)> = Vec::new();
    for (arguments, reply) in calls {
        match arms.iter_mut().find(|(known, _)| known == arguments) {
            Some((_, replies)) => replies.push(reply.clone()),
            None => arms.push((arguments.clone(), vec![reply.clone()])),
        }
    }
    arms
}

fn resources(text: &mut String, cassette: &Cassette, listed: &Value) {
    let entries = listed["resources"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    if !entries.is_empty() {
        text.push_str("  resources:\n");
    }
    for entry in entries {
        let mut members = entry.as_object().cloned().unwrap_or_default();
        let uri = members.shift_remove("uri").unwrap_or_default();
        let _ = writeln!(text, "    - uri: {}", yaml(&uri));
        for (from, to) in [
            ("name", "name"),
            ("description", "description"),
            ("mimeType", "mime_type"),
        ] {
            if let Some(value) = members.shift_remove(from) {
                let _ = writeln!(text, "      {to}: {}", yaml(&value));
            }
        }
        let read = cassette
            .entries()
            .iter()
            .find(|read| read.method == "resources/read" && read.params["uri"] == uri);
        let content = read
            .and_then(|read| read.result.as_ref()?["contents"].get(0).cloned())
            .unwrap_or_default();
        for key in ["text", "blob"] {
            if let Some(value) = content.get(key) {
                let _ = writeln!(text, "      {key}: {}", yaml(value));
            }
        }
        if !members.is_empty() {
            let _ = writeln!(text, "      extra: {}", yaml(&Value::Object(members)));
        }
    }
}

fn prompts(text: &mut String, cassette: &Cassette, listed: &Value) {
    let entries = listed["prompts"].as_array().map_or(&[][..], Vec::as_slice);
    if !entries.is_empty() {
        text.push_str("  prompts:\n");
    }
    for entry in entries {
        let mut members = entry.as_object().cloned().unwrap_or_default();
        let name = members.shift_remove("name").unwrap_or_default();
        let _ = writeln!(text, "    - name: {}", yaml(&name));
        for key in ["description", "arguments"] {
            if let Some(value) = members.shift_remove(key) {
                let _ = writeln!(text, "      {key}: {}", yaml(&value));
            }
        }
        let got = cassette
            .entries()
            .iter()
            .find(|got| got.method == "prompts/get" && got.params["name"] == name);
        if let Some(messages) = got.and_then(|got| got.result.as_ref()?.get("messages").cloned()) {
            let _ = writeln!(
                text,
                "      messages: {}",
                yaml(&escape_placeholders(&messages))
            );
        }
    }
}

/// Formats a value in YAML flow style. Unlike in JSON, characters that YAML counts as not printable
/// (1.2.2, 5.1) are escaped. A long key gets the `?` mark; without it, a key is limited to 1,024
/// characters (7.4.2).
fn yaml(value: &Value) -> String {
    const LONG_KEY_BYTES: usize = 1000;
    match value {
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(yaml).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                let mark = if key.len() > LONG_KEY_BYTES { "? " } else { "" };
                format!("{mark}{}: {}", yaml(&key.as_str().into()), yaml(value))
            };
            format!(
                "{{{}}}",
                members.iter().map(member).collect::<Vec<_>>().join(", ")
            )
        }
        scalar => {
            let mut text = String::new();
            for character in scalar.to_string().chars() {
                match character {
                    '\u{7f}'..='\u{9f}'
                    | '\u{2028}'
                    | '\u{2029}'
                    | '\u{feff}'
                    | '\u{fffe}'
                    | '\u{ffff}' => {
                        // Writing to a String cannot fail.
                        let _ = write!(text, "\\u{:04x}", u32::from(character));
                    }
                    other => text.push(other),
                }
            }
            text
        }
    }
}

/// Escapes every `${` in the strings of a value, so that the manifest does not fill it in.
fn escape_placeholders(value: &Value) -> Value {
    match value {
        Value::String(text) => text.replace("${", "$${").into(),
        Value::Array(items) => items.iter().map(escape_placeholders).collect(),
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(key, value)| (key.clone(), escape_placeholders(value)))
                .collect::<Map<_, _>>(),
        ),
        other => other.clone(),
    }
}
