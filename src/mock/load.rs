//! Loading of manifests and expectations. Errors give file, line, column, key, and the valid keys.

use std::ffi::OsStr;
use std::path::Path;

use replay_base::limits::MAX_MANIFEST_BYTES;
use replay_mcp::protocol::fault;
use replay_mcp::schema::{Constraint, Validator};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::expectations::Expectations;
use super::fault::MockFault;
use super::http_fault::HttpFault;
use super::manifest::{File, Manifest, RESULT_KEYS, Tool};
use super::problems::{FileProblem, LoadError, MAX_PROBLEMS, SourceText, nearest};
use super::schema;
use super::yaml::{TextPlace, YamlError, YamlNode};

/// Parses a manifest: YAML, or a snapshot of tools/list if the name ends in `.json`. A name without
/// an extension, such as `/dev/stdin`, means YAML. Other extensions are refused.
pub fn load(file: &str, bytes: &[u8]) -> Result<(Manifest, SourceText), LoadError> {
    let fail = |place, message: String| LoadError {
        file: file.to_owned(),
        problems: vec![FileProblem {
            place,
            path: String::new(),
            message,
        }],
    };
    if bytes.len() as u64 > MAX_MANIFEST_BYTES {
        return Err(fail(
            None,
            format!(
                "the file is {} bytes; at most {MAX_MANIFEST_BYTES} are read",
                bytes.len()
            ),
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        fail(
            None,
            format!("the file is not UTF-8 at byte {}", error.valid_up_to()),
        )
    })?;
    match extension(file).to_ascii_lowercase().as_str() {
        "json" => return snapshot(file, text),
        other if !["", "yaml", "yml"].contains(&other) && !is_cassette(text) => {
            let known = "give YAML (.yaml, .yml), or a snapshot of tools/list in JSON (.json)";
            return Err(fail(None, format!("`.{other}` is not a manifest; {known}")));
        }
        _ => {}
    }
    let (read, source) = typed::<File>(
        file,
        text,
        "/mock_server",
        "the manifest is",
        schema::MANIFEST_SCHEMA,
    )?;
    Ok((read.mock_server, source))
}

/// Parses a file of expectations.
pub fn load_expectations(
    file: &str,
    bytes: &[u8],
) -> Result<(Expectations, SourceText), LoadError> {
    typed(
        file,
        &String::from_utf8_lossy(bytes),
        "",
        "the expectations are",
        schema::EXPECTATIONS_SCHEMA,
    )
}

fn is_cassette(text: &str) -> bool {
    text.starts_with("{\"cassette\":")
}

/// Parses YAML, validates it against the schema of its type, and deserializes it.
fn typed<T: DeserializeOwned>(
    file: &str,
    text: &str,
    root: &'static str,
    what: &str,
    schema: &str,
) -> Result<(T, SourceText), LoadError> {
    let fail = |place: TextPlace, message| LoadError {
        file: file.to_owned(),
        problems: vec![FileProblem {
            place: (place.line > 0).then_some(place),
            path: String::new(),
            message,
        }],
    };
    if is_cassette(text) {
        return Err(fail(
            TextPlace::default(),
            "the file is a cassette; serve it with --cassette".to_owned(),
        ));
    }
    let node = YamlNode::parse(text).map_err(|(place, reason)| fail(place, reason.to_string()))?;
    let value = node.value();
    if value.is_null() {
        return Err(fail(TextPlace::default(), format!("{what} empty")));
    }
    let source = SourceText {
        file: file.to_owned(),
        node: Some(node),
        root,
    };
    let schema = serde_json::from_str(schema).unwrap_or_default();
    let problems = against_schema(&source, &value, &schema);
    if !problems.is_empty() {
        return Err(source.error(problems));
    }
    let read =
        serde_json::from_value(value).map_err(|error| fail(TextPlace::default(), fault(&error)))?;
    Ok((read, source))
}

fn extension(file: &str) -> &str {
    Path::new(file)
        .extension()
        .and_then(OsStr::to_str)
        .unwrap_or_default()
}

fn against_schema(source: &SourceText, value: &Value, whole: &Value) -> Vec<FileProblem> {
    let Ok(validator) = Validator::new(whole) else {
        return Vec::new();
    };
    let Some(node) = &source.node else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    for wrong in validator.faults(value, MAX_PROBLEMS) {
        let pointer = wrong.place.as_str();
        let path = schema::dotted("", pointer);
        if let Constraint::Unexpected(unexpected) = &wrong.kind {
            for key in unexpected
                .iter()
                .take(MAX_PROBLEMS.saturating_sub(problems.len()))
            {
                let place = Some(node.key_place(pointer, key));
                let valid = valid_keys(whole, &wrong.keyword);
                let message = unknown(&path, key, &valid);
                problems.push(FileProblem {
                    place,
                    path: path.clone(),
                    message,
                });
            }
        } else {
            let fault = wrong.value.as_str().filter(|_| pointer.ends_with("/fault"));
            let reason = |text: &str| {
                if pointer.contains("/faults/") {
                    text.parse::<HttpFault>().err()
                } else {
                    text.parse::<MockFault>().err()
                }
            };
            let message = match fault.and_then(reason) {
                Some(reason) => format!("`{path}`: {reason}"),
                // The root has no name.
                None => {
                    schema::describe(&wrong, "").replace("`` ", "the manifest ") + next_step(&wrong)
                }
            };
            problems.push(FileProblem {
                place: Some(node.place(pointer)),
                path,
                message,
            });
        }
    }
    problems
}

fn next_step(wrong: &replay_mcp::schema::Fault<'_>) -> &'static str {
    let is_bare =
        wrong.place.is_empty() && wrong.kind == Constraint::Required("mock_server".to_owned());
    if is_bare {
        "; indent all of it below `mock_server:`"
    } else {
        ""
    }
}

fn unknown(path: &str, key: &str, valid: &[String]) -> String {
    let whose = if path.is_empty() {
        "the manifest".to_owned()
    } else {
        format!("`{path}`")
    };
    if key == "when" && valid.iter().any(|known| known == "match") {
        return format!(
            "{whose} has a `when`, which is not evaluated; use `match:`, as in match: {{ city: {{ \
             regex: \"^A\" }} }}; valid: {}",
            valid.join(", ")
        );
    }
    let near = nearest(key, valid.iter().map(String::as_str));
    format!(
        "{whose} has no key `{key}`{near}; valid: {}",
        valid.join(", ")
    )
}

/// Returns the valid keys of the object that the path `path` in the schema leads to.
fn valid_keys(schema: &Value, path: &str) -> Vec<String> {
    let Some((object, _)) = path.rsplit_once('/') else {
        return Vec::new();
    };
    let properties = schema
        .pointer(&format!("{object}/properties"))
        .and_then(Value::as_object);
    let mut keys: Vec<String> = properties
        .into_iter()
        .flatten()
        .map(|(key, _)| key.clone())
        .collect();
    // An item of a sequence is an answer or a result; which one was meant is unknown.
    if path.contains("/Reply/") {
        keys.extend(RESULT_KEYS.map(str::to_owned));
    }
    keys
}

/// Parses `{"tools": [...]}`, or a whole reply to tools/list.
fn snapshot(file: &str, text: &str) -> Result<(Manifest, SourceText), LoadError> {
    let fail = |place, message: String| LoadError {
        file: file.to_owned(),
        problems: vec![FileProblem {
            place: Some(place),
            path: String::new(),
            message,
        }],
    };
    let mut value: Value = serde_json::from_str(text).map_err(|error| {
        let place = TextPlace {
            line: error.line() as u64,
            column: error.column() as u64,
        };
        fail(place, format!("the file is not JSON: {}", fault(&error)))
    })?;
    // JSON is YAML except for a few characters and very long keys, and the YAML parser gives
    // positions.
    let node = match YamlNode::parse(text) {
        Ok(node) => Some(node),
        Err((place, twice @ YamlError::Twice(_))) => return Err(fail(place, twice.to_string())),
        Err((_, YamlError::Other(_))) => None,
    };
    let mut root = "";
    if value.get("result").is_some_and(Value::is_object) {
        (value, root) = (value["result"].take(), "/result");
    }
    let source = SourceText {
        file: file.to_owned(),
        node,
        root,
    };
    let wrong =
        |pointer: &str, message: String| source.error(vec![source.problem(pointer, message)]);
    let is_there = value.get("tools").is_some();
    let Some(Value::Array(entries)) = value.get_mut("tools").map(Value::take) else {
        let got = if is_there {
            "`tools` is not an array"
        } else {
            "there is no `tools`"
        };
        let message = format!(
            "{got}; a JSON manifest is a snapshot of tools/list: an object with an array `tools`"
        );
        return Err(wrong("/tools", message));
    };
    let mut tools = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let pointer = format!("/tools/{index}");
        let Value::Object(mut members) = entry else {
            return Err(wrong(
                &pointer,
                format!("`tools[{index}]` is not an object"),
            ));
        };
        let Some(Value::String(name)) = members.remove("name") else {
            return Err(wrong(
                &pointer,
                format!("`tools[{index}]` has no `name`, or its `name` is not a string"),
            ));
        };
        let input_schema = members
            .remove("inputSchema")
            .or_else(|| members.remove("input_schema"));
        let description = members
            .remove("description")
            .and_then(|text| text.as_str().map(str::to_owned));
        tools.push(Tool {
            name,
            description,
            input_schema,
            output_schema: members.remove("outputSchema"),
            extra: members,
            title: None,
            annotations: None,
            copies: None,
            skip_validation: false,
            behaviour: super::manifest::Behaviour::default(),
        });
    }
    Ok((
        Manifest {
            tools,
            ..Manifest::default()
        },
        source,
    ))
}
