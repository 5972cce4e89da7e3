//! XML as a tree: an element is a list of its occurrences below its name, an attribute a member
//! `@name`, a text a member `$`. An element with nothing but text is that text.

use std::fmt::Write as _;

use quick_xml::Reader;
use quick_xml::escape::{escape, resolve_predefined_entity};
use quick_xml::events::{BytesStart, Event};
use serde_json::{Map, Value};

/// Most open elements.
const MAX_DEPTH: usize = 64;

pub(super) fn read(text: &str) -> Result<Value, String> {
    let fault = |_| "it is no XML".to_owned();
    let mut reader = Reader::from_str(text);
    let mut open: Vec<(String, Map<String, Value>)> = vec![(String::new(), Map::new())];
    loop {
        match reader.read_event().map_err(fault)? {
            Event::Start(start) if open.len() < MAX_DEPTH => open.push(element(&start)?),
            Event::Start(_) => return Err("it is too deep".to_owned()),
            Event::Empty(start) => {
                let (name, members) = element(&start)?;
                put(&mut open, name, members)?;
            }
            Event::End(_) => {
                let (name, members) = open.pop().ok_or("it is no XML")?;
                put(&mut open, name, members)?;
            }
            Event::Text(text) => {
                let text = text.decode().map_err(|_| "it is not UTF-8")?;
                add_text(&mut open, &text);
            }
            Event::CData(text) => {
                let text = text.decode().map_err(|_| "it is not UTF-8")?;
                add_text(&mut open, &text);
            }
            Event::GeneralRef(entity) => {
                let resolved = if let Ok(Some(char)) = entity.resolve_char_ref() {
                    char.to_string()
                } else {
                    let name = entity.decode().map_err(|_| "it is not UTF-8")?;
                    let known = resolve_predefined_entity(&name);
                    known.ok_or("it has entities of its own")?.to_owned()
                };
                add_text(&mut open, &resolved);
            }
            Event::DocType(_) => return Err("it has a document type".to_owned()),
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
    match open.pop() {
        Some((_, all)) if open.is_empty() => Ok(Value::Object(all)),
        _ => Err("it has an open element".to_owned()),
    }
}

fn element(start: &BytesStart<'_>) -> Result<(String, Map<String, Value>), String> {
    let utf8 = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| "it is not UTF-8");
    let mut members = Map::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|_| "an attribute is wrong")?;
        let value = utf8(&attribute.value)?;
        let value = quick_xml::escape::unescape(&value)
            .map_err(|_| "an attribute is wrong")?
            .into_owned();
        members.insert(
            format!("@{}", utf8(attribute.key.as_ref())?),
            Value::String(value),
        );
    }
    Ok((utf8(start.name().as_ref())?, members))
}

fn add_text(open: &mut [(String, Map<String, Value>)], text: &str) {
    // Outside the root element there are only blanks.
    let Some((_, members)) = open.iter_mut().skip(1).last() else {
        return;
    };
    match members.get_mut("$") {
        Some(Value::String(known)) => known.push_str(text),
        _ => drop(members.insert("$".to_owned(), Value::String(text.to_owned()))),
    }
}

/// Puts a closed element into the one around it.
fn put(
    open: &mut [(String, Map<String, Value>)],
    name: String,
    mut members: Map<String, Value>,
) -> Result<(), String> {
    let (_, around) = open.last_mut().ok_or("it is no XML")?;
    let text = match members.get("$") {
        Some(Value::String(text)) => text.trim().to_owned(),
        _ => String::new(),
    };
    let value = if members.keys().all(|key| key == "$") {
        Value::String(text)
    } else {
        members.remove("$");
        if !text.is_empty() {
            members.insert("$".to_owned(), Value::String(text));
        }
        Value::Object(members)
    };
    match around
        .entry(name)
        .or_insert_with(|| Value::Array(Vec::new()))
    {
        Value::Array(list) => list.push(value),
        _ => return Err("it is no XML".to_owned()),
    }
    Ok(())
}

pub(super) fn write(value: &Value) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    write_members(&mut text, value, 0);
    text
}

fn write_members(text: &mut String, value: &Value, depth: usize) {
    for (name, elements) in value.as_object().into_iter().flatten() {
        for element in elements.as_array().into_iter().flatten() {
            write_element(text, name, element, depth);
        }
    }
}

fn write_element(text: &mut String, name: &str, element: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    let own = element.as_object().into_iter().flatten();
    let mut tag = name.to_owned();
    for (key, value) in own.filter_map(|(key, value)| Some((key.strip_prefix('@')?, value))) {
        let _ = write!(
            tag,
            " {key}=\"{}\"",
            escape(value.as_str().unwrap_or_default())
        );
    }
    let words = match element {
        Value::Object(members) => members.get("$").and_then(Value::as_str),
        other => other.as_str(),
    };
    let has_elements = element
        .as_object()
        .is_some_and(|members| members.values().any(Value::is_array));
    if has_elements {
        let _ = writeln!(text, "{indent}<{tag}>");
        write_members(text, element, depth + 1);
        let _ = writeln!(text, "{indent}</{name}>");
    } else {
        let words = escape(words.unwrap_or_default());
        let _ = writeln!(text, "{indent}<{tag}>{words}</{name}>");
    }
}
