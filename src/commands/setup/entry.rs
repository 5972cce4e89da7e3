//! Reads and writes the entry of one server in a client's file. The rest of the file stays the
//! same.

use anyhow::{Context as _, Result, anyhow, bail};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table};

use super::clients::Format;

/// Members of an entry: strings and lists of strings.
pub(crate) type Entry = [(&'static str, Value)];

/// The name of this server in every file.
pub(crate) const NAME: &str = "replay";

/// Byte order mark (U+FEFF), which some editors write.
const MARK: &str = "\u{feff}";

/// Returns the entry of this server, if there is one.
pub(crate) fn get(format: Format, text: &str, servers: &str) -> Result<Option<Value>> {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    match format {
        Format::Json => {
            let object = json(text)?.object_value();
            let entry = object
                .and_then(|object| object.object_value(servers))
                .and_then(|servers| servers.get(NAME));
            Ok(entry.and_then(|entry| entry.to_serde_value()))
        }
        Format::Toml => Ok(toml(text)?
            .get(servers)
            .and_then(|servers| servers.get(NAME))
            .map(of_toml)),
    }
}

/// Returns the text with this entry. Members with equal values keep their formatting.
pub(crate) fn put(format: Format, text: &str, servers: &str, entry: &Entry) -> Result<String> {
    let (mark, text) = text
        .strip_prefix(MARK)
        .map_or(("", text), |rest| (MARK, rest));
    let mut put = match format {
        Format::Json => put_json(text, servers, entry),
        Format::Toml => put_toml(text, servers, entry),
    }?;
    let (lines, windows) = (text.matches('\n').count(), text.matches("\r\n").count());
    // The TOML writer would make all line endings the same.
    if windows > 0 && windows < lines {
        bail!("the file mixes CRLF and LF line endings; use one of them first");
    }
    if windows > 0 {
        put = put.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    Ok(mark.to_owned() + &put)
}

fn json(text: &str) -> Result<CstRootNode> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| {
        anyhow!(
            "the file is not valid JSON: \
        {error}"
        )
    })
}

fn put_json(text: &str, servers_name: &str, entry: &Entry) -> Result<String> {
    let root = json(if text.trim().is_empty() {
        "{\n}\n"
    } else {
        text
    })?;
    let object = root
        .object_value()
        .context("the file does not contain a JSON object")?;
    let no_object = |name: &str| format!("its `{name}` is not an object");
    let servers = object
        .object_value_or_create(servers_name)
        .with_context(|| no_object(servers_name))?;
    let own = servers
        .object_value_or_create(NAME)
        .with_context(|| no_object(NAME))?;
    for (name, value) in entry {
        match own.get(name) {
            Some(there) if there.to_serde_value().as_ref() == Some(value) => {}
            Some(there) => there.set_value(to_json(value)),
            None => drop(own.append(name, to_json(value))),
        }
    }
    let text = root.to_string();
    // Of duplicate names, clients use the last.
    let read: Value = json(&text)?
        .value()
        .and_then(|value| value.to_serde_value())
        .unwrap_or_default();
    if entry
        .iter()
        .any(|(name, value)| read[servers_name][NAME][name] != *value)
    {
        bail!("a name is there twice; remove one of them");
    }
    Ok(text)
}

fn to_json(value: &Value) -> CstInputValue {
    match value {
        Value::Array(list) => CstInputValue::Array(list.iter().map(to_json).collect()),
        text => CstInputValue::String(text.as_str().unwrap_or_default().to_owned()),
    }
}

fn toml(text: &str) -> Result<DocumentMut> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        anyhow!("the file is not valid TOML: {}", error.message())
    })
}

fn put_toml(text: &str, servers: &str, entry: &Entry) -> Result<String> {
    let mut document = toml(text)?;
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let no_table = |name: &str| format!("its `{name}` is not a table");
    let table = document.entry(servers).or_insert_with(implicit);
    let table = table
        .as_table_like_mut()
        .with_context(|| no_table(servers))?;
    let own = table.entry(NAME).or_insert_with(toml_edit::table);
    let own = own.as_table_like_mut().with_context(|| no_table(NAME))?;
    for (name, value) in entry {
        if own.get(name).map(of_toml).as_ref() != Some(value) {
            own.insert(name, to_toml(value));
        }
    }
    Ok(document.to_string())
}

fn to_toml(value: &Value) -> Item {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match value {
        Value::Array(list) => toml_edit::value(list.iter().map(text).collect::<toml_edit::Array>()),
        value => toml_edit::value(text(value)),
    }
}

/// Converts strings, arrays and tables; other types become `null`.
fn of_toml(item: &Item) -> Value {
    if let Some(text) = item.as_str() {
        return text.into();
    }
    if let Some(list) = item.as_array() {
        return list
            .iter()
            .map(|value| value.as_str().map_or(Value::Null, Value::from))
            .collect();
    }
    let members = item.as_table_like().map(|table| table.iter());
    let members =
        members.map(|members| members.map(|(name, item)| (name.to_owned(), of_toml(item))));
    members.map_or(Value::Null, |members| Value::Object(members.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn entry() -> Vec<(&'static str, Value)> {
        vec![
            ("command", json!("/bin/replay")),
            ("args", json!(["--mcp-server", "--allow", "/p q:rw"])),
        ]
    }

    #[test]
    fn empty_file_gets_only_entry() {
        let json = "{\n  \"mcpServers\": {\n    \"replay\": {\n      \"command\": \"/bin/replay\",\n      \"args\": [\"--mcp-server\", \"--allow\", \"/p q:rw\"]\n    }\n  }\n}\n";
        assert_eq!(put(Format::Json, "", "mcpServers", &entry()).unwrap(), json);
        let toml = "[mcp_servers.replay]\ncommand = \"/bin/replay\"\nargs = [\"--mcp-server\", \"--allow\", \"/p q:rw\"]\n";
        assert_eq!(
            put(Format::Toml, "", "mcp_servers", &entry()).unwrap(),
            toml
        );
    }

    #[test]
    fn put_keeps_rest_of_file() {
        let json = "// mine\n{\n\t\"a\": [1,  2], // two\n\t\"context_servers\": {\n\t\t\"other\": {\"command\": \"x\"},\n\t},\n}\n";
        let put_there = put(Format::Json, json, "context_servers", &entry()).unwrap();
        let expected = "// mine\n{\n\t\"a\": [1,  2], // two\n\t\"context_servers\": {\n\t\t\"other\": {\"command\": \"x\"},\n\t\t\"replay\": {\n\t\t\t\"command\": \"/bin/replay\",\n\t\t\t\"args\": [\"--mcp-server\", \"--allow\", \"/p q:rw\"]\n\t\t},\n\t},\n}\n";
        assert_eq!(put_there, expected);
        let toml = "# mine\nmodel = 'o'   # best\n\n[mcp_servers.other]\ncommand = \"x\"\n\n[tail]\na = 1\n";
        let put_there = put(Format::Toml, toml, "mcp_servers", &entry()).unwrap();
        let own = "\n[mcp_servers.replay]\ncommand = \"/bin/replay\"\nargs = [\"--mcp-server\", \"--allow\", \"/p q:rw\"]\n";
        assert_eq!(
            put_there,
            toml.replace("\n[tail]", &format!("{own}\n[tail]"))
        );
    }

    #[test]
    fn put_of_same_entry_changes_no_byte() {
        let json = "{\"mcpServers\":{\"replay\":{\"args\":[ \"--mcp-server\",\"--allow\",\"/p q:rw\" ],\"env\":{},\"command\":\"/bin/replay\"}}}";
        assert_eq!(
            put(Format::Json, json, "mcpServers", &entry()).unwrap(),
            json
        );
        let toml = "mcp_servers = { replay = { args = ['--mcp-server',\n '--allow', '/p q:rw'], command = '/bin/replay', env = {A = '1'} } }\n";
        assert_eq!(
            put(Format::Toml, toml, "mcp_servers", &entry()).unwrap(),
            toml
        );
    }

    #[test]
    fn put_keeps_line_endings_and_bom() {
        for (format, text) in [
            (Format::Json, "{\r\n  \"a\": 1\r\n}\r\n"),
            (Format::Toml, "a = 1\r\n"),
        ] {
            let marked = format!("\u{feff}{text}");
            let put_there = put(format, &marked, "servers", &entry()).unwrap();
            assert!(
                put_there.starts_with("\u{feff}")
                    && get(format, &put_there, "servers").unwrap().is_some()
            );
            assert_eq!(
                put_there.matches('\n').count(),
                put_there.matches("\r\n").count(),
                "{put_there:?}"
            );
            assert_eq!(
                put(format, &put_there, "servers", &entry()).unwrap(),
                put_there
            );
        }
        let mixed = put(Format::Toml, "a = 1\r\nb = 2\n", "servers", &entry())
            .unwrap_err()
            .to_string();
        assert_eq!(
            mixed,
            "the file mixes CRLF and LF line endings; use one of them first"
        );
    }

    #[test]
    fn put_keeps_other_members_of_entry() {
        let json = "{\"servers\": {\"replay\": {\"command\": \"old\", \"args\": [\"--mcp-server\", \"--allow\", \"/p q:rw\"], \"env\": {\"A\": \"1\"}}}}";
        let expected = json.replace("\"old\"", "\"/bin/replay\"");
        assert_eq!(
            put(Format::Json, json, "servers", &entry()).unwrap(),
            expected
        );
        let found = get(Format::Json, json, "servers").unwrap().unwrap();
        assert_eq!(found["command"], "old");
        let toml = "[mcp_servers.replay]\ncommand = \"old\" # mine\nargs = [\"--mcp-server\", \"--allow\", \"/p q:rw\"]\nenv = { A = \"1\" }\n";
        let found = get(Format::Toml, toml, "mcp_servers").unwrap();
        let args = ["--mcp-server", "--allow", "/p q:rw"];
        assert_eq!(
            found,
            Some(json!({"command": "old", "args": args, "env": {"A": "1"}}))
        );
    }

    #[test]
    fn invalid_configuration_is_refused() {
        let said = |format, text| {
            put(format, text, "mcpServers", &entry())
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            said(Format::Json, "[]"),
            "the file does not contain a JSON object"
        );
        assert_eq!(
            said(Format::Json, "{\"mcpServers\": []}"),
            "its `mcpServers` is not an object"
        );
        assert_eq!(
            said(Format::Json, "{\"mcpServers\": {\"replay\": 1}}"),
            "its `replay` is not an object"
        );
        assert_eq!(
            said(Format::Toml, "mcpServers = 1\n"),
            "its `mcpServers` is not a table"
        );
        for twice in [
            "{\"mcpServers\": {}, \"mcpServers\": {\"replay\": {\"command\": \"x\"}}}",
            "{\"mcpServers\": {\"replay\": {\"command\": \"x\", \"command\": \"y\"}}}",
        ] {
            assert_eq!(
                said(Format::Json, twice),
                "a name is there twice; remove one of them"
            );
        }
        assert!(said(Format::Json, "{\"a\": 1 \"b\": 2}").starts_with(
            "the file is not valid \
            JSON: "
        ));
        assert!(said(Format::Toml, "a = \n").starts_with("the file is not valid TOML: "));
    }
}
