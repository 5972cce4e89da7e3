//! Reads and changes members of a client's file. The rest of the file stays the same.

use anyhow::{Context as _, Result, anyhow, bail};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use replay_clients::FileFormat;
use serde::Serialize as _;
use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, Table, TableLike};

/// The name of this server in every file.
pub(crate) const NAME: &str = "replay";

/// Byte order mark (U+FEFF), which some editors write.
const MARK: &str = "\u{feff}";

/// Members of a file, at any depth. Objects are completed, other values are replaced.
pub(crate) type Members = Map<String, Value>;

/// Adds members to others. Objects are completed, other values are replaced.
pub(crate) fn join(members: &mut Members, more: &Members) {
    for (name, value) in more {
        match (members.get_mut(name), value) {
            (Some(Value::Object(there)), Value::Object(value)) => join(there, value),
            _ => drop(members.insert(name.clone(), value.clone())),
        }
    }
}

/// Returns the members of a file. An empty file has none.
pub(crate) fn read(format: FileFormat, text: &str) -> Result<Value> {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    match format {
        FileFormat::Json => {
            let value = json(text)?.value().and_then(|value| value.to_serde_value());
            Ok(value.unwrap_or_default())
        }
        FileFormat::Toml => toml_edit::de::from_str(text)
            .map_err(|error| anyhow!("the file is not valid TOML: {}", error.message())),
        FileFormat::Yaml => bail!("a file in YAML is not read"),
    }
}

/// Members that are treated as a whole, each as `a.b.c`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeMembers<'a> {
    /// The entry of this server: what it has beside the new members stays, and lists are replaced.
    pub entry: Option<&'a str>,
    /// Objects and lists that are replaced, order included.
    pub replaced: &'a [String],
}

/// Fits members to those of a file: lists get the items that are there already. Returns also the
/// first member that would lose a value of the file.
pub(crate) fn fit(
    there: &Value,
    members: &Members,
    whole: WholeMembers<'_>,
) -> (Members, Option<String>) {
    let (mut fitted, mut lost) = (Members::new(), None);
    fit_below("", there, members, whole, &mut fitted, &mut lost);
    (fitted, lost)
}

fn fit_below(
    above: &str,
    there: &Value,
    members: &Members,
    whole: WholeMembers<'_>,
    fitted: &mut Members,
    lost: &mut Option<String>,
) {
    for (name, value) in members {
        let (at, there) = (format!("{above}{name}"), &there[name.as_str()]);
        let is_entry = whole.entry == Some(&*at);
        let (new, loses) = match (there, value) {
            (Value::Null, value) => (value.clone(), false),
            _ if whole.replaced.contains(&at) => (value.clone(), !is_same(there, value)),
            (Value::Object(_), Value::Object(inner)) if is_entry => {
                (value.clone(), !has(there, inner))
            }
            (Value::Object(_), Value::Object(inner)) => {
                let mut below = Members::new();
                fit_below(&format!("{at}."), there, inner, whole, &mut below, lost);
                (Value::Object(below), false)
            }
            (Value::Array(there), Value::Array(own)) => {
                let new = own.iter().filter(|item| !there.contains(item));
                (there.iter().chain(new).cloned().collect(), false)
            }
            (there, value) => (value.clone(), there != value),
        };
        if loses {
            lost.get_or_insert(at);
        }
        fitted.insert(name.clone(), new);
    }
}

/// Returns true for equal values whose members have the same order.
fn is_same(one: &Value, other: &Value) -> bool {
    let text = |value| serde_json::to_string(value).ok();
    text(one) == text(other)
}

/// Returns true if a file has all these members.
fn has(there: &Value, members: &Members) -> bool {
    members.iter().all(|(name, value)| match value {
        Value::Object(inner) => has(&there[name], inner),
        value => there[name] == *value,
    })
}

/// Returns the text with these members; `replaced` as in [`WholeMembers`]. Members with equal values
/// keep their formatting.
pub(crate) fn put(
    format: FileFormat,
    text: &str,
    members: &Members,
    replaced: &[String],
) -> Result<String> {
    let (mark, text) = text
        .strip_prefix(MARK)
        .map_or(("", text), |rest| (MARK, rest));
    let mut put = match format {
        FileFormat::Json => put_json(text, members, replaced),
        FileFormat::Toml => put_toml(text, members, replaced),
        FileFormat::Yaml => Ok(yaml(members)),
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

fn put_json(text: &str, members: &Members, replaced: &[String]) -> Result<String> {
    let root = json(if text.trim().is_empty() {
        "{\n}\n"
    } else {
        text
    })?;
    let object = root
        .object_value()
        .context("the file does not contain a JSON object")?;
    complete_json("", &object, members, replaced)?;
    let text = root.to_string();
    // Of duplicate names, clients use the last.
    if !has(&read(FileFormat::Json, &text)?, members) {
        bail!("a name is there twice; remove one of them");
    }
    Ok(text)
}

fn complete_json(
    above: &str,
    object: &CstObject,
    members: &Members,
    replaced: &[String],
) -> Result<()> {
    for (name, value) in members {
        let at = format!("{above}{name}");
        if let Value::Object(inner) = value
            && !replaced.contains(&at)
        {
            let below = object
                .object_value_or_create(name)
                .with_context(|| format!("its `{at}` is not an object; remove it first"))?;
            complete_json(&format!("{at}."), &below, inner, replaced)?;
            continue;
        }
        match object.get(name) {
            // The order of members counts.
            Some(there) if is_same(&there.to_serde_value().unwrap_or_default(), value) => {}
            Some(there) => there.set_value(to_json(value)),
            None => drop(object.append(name, to_json(value))),
        }
    }
    Ok(())
}

fn to_json(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is_true) => CstInputValue::Bool(*is_true),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(to_json).collect()),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| (name.clone(), to_json(value));
            CstInputValue::Object(members.iter().map(member).collect())
        }
    }
}

fn put_toml(text: &str, members: &Members, replaced: &[String]) -> Result<String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        anyhow!("the file is not valid TOML: {}", error.message())
    })?;
    let there = read(FileFormat::Toml, text)?;
    complete_toml("", document.as_table_mut(), &there, members, replaced)?;
    Ok(document.to_string())
}

/// `there` is the content of the table.
fn complete_toml(
    above: &str,
    table: &mut dyn TableLike,
    there: &Value,
    members: &Members,
    replaced: &[String],
) -> Result<()> {
    for (name, value) in members {
        let at = format!("{above}{name}");
        if let Value::Object(inner) = value
            && !replaced.contains(&at)
        {
            let below = table.entry(name).or_insert_with(|| {
                let mut table = Table::new();
                table.set_implicit(true);
                Item::Table(table)
            });
            let below = below
                .as_table_like_mut()
                .with_context(|| format!("its `{at}` is not a table; remove it first"))?;
            complete_toml(&format!("{at}."), below, &there[name], inner, replaced)?;
        } else if there[name] != *value {
            let value = value.serialize(toml_edit::ser::ValueSerializer::new())?;
            table.insert(name, Item::Value(value));
        }
    }
    Ok(())
}

/// Writes members as YAML. Texts are quoted as in JSON, of which YAML is a superset (YAML 1.2.2,
/// 1.2).
fn yaml(members: &Members) -> String {
    fn lines(value: &Value, depth: usize, out: &mut Vec<String>) {
        let indent = "  ".repeat(depth);
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    if value.is_object() || value.is_array() {
                        out.push(format!("{indent}{name}:"));
                        lines(value, depth + 1, out);
                    } else {
                        out.push(format!("{indent}{name}: {value}"));
                    }
                }
            }
            Value::Array(items) => {
                for item in items {
                    let begin = out.len();
                    lines(item, depth + 1, out);
                    if let Some(first) = out.get_mut(begin) {
                        first.replace_range(..indent.len() + 2, &format!("{indent}- "));
                    }
                }
            }
            value => out.push(format!("{indent}{value}")),
        }
    }
    let mut out = Vec::new();
    lines(&Value::Object(members.clone()), 0, &mut out);
    out.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    /// Members of a file with an entry below this name.
    fn entry(servers: &str) -> Members {
        let args = ["--mcp-server", "--allow", "/p q:rw"];
        let entry = json!({servers: {"replay": {"command": "/bin/replay", "args": args}}});
        entry.as_object().unwrap().clone()
    }

    #[test]
    fn empty_file_gets_only_entry() {
        let json = "{\n  \"mcpServers\": {\n    \"replay\": {\n      \"command\": \"/bin/replay\",\n      \"args\": [\"--mcp-server\", \"--allow\", \"/p q:rw\"]\n    }\n  }\n}\n";
        assert_eq!(
            put(FileFormat::Json, "", &entry("mcpServers"), &[]).unwrap(),
            json
        );
        let toml = "[mcp_servers.replay]\ncommand = \"/bin/replay\"\nargs = [\"--mcp-server\", \"--allow\", \"/p q:rw\"]\n";
        assert_eq!(
            put(FileFormat::Toml, "", &entry("mcp_servers"), &[]).unwrap(),
            toml
        );
    }

    #[test]
    fn put_keeps_rest_of_file() {
        let json = "// mine\n{\n\t\"a\": [1,  2], // two\n\t\"context_servers\": {\n\t\t\"other\": {\"command\": \"x\"},\n\t},\n}\n";
        let put_there = put(FileFormat::Json, json, &entry("context_servers"), &[]).unwrap();
        let expected = "// mine\n{\n\t\"a\": [1,  2], // two\n\t\"context_servers\": {\n\t\t\"other\": {\"command\": \"x\"},\n\t\t\"replay\": {\n\t\t\t\"command\": \"/bin/replay\",\n\t\t\t\"args\": [\"--mcp-server\", \"--allow\", \"/p q:rw\"]\n\t\t},\n\t},\n}\n";
        assert_eq!(put_there, expected);
        let toml = "# mine\nmodel = 'o'   # best\n\n[mcp_servers.other]\ncommand = \"x\"\n\n[tail]\na = 1\n";
        let put_there = put(FileFormat::Toml, toml, &entry("mcp_servers"), &[]).unwrap();
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
            put(FileFormat::Json, json, &entry("mcpServers"), &[]).unwrap(),
            json
        );
        let toml = "mcp_servers = { replay = { args = ['--mcp-server',\n '--allow', '/p q:rw'], command = '/bin/replay', env = {A = '1'} } }\n";
        assert_eq!(
            put(FileFormat::Toml, toml, &entry("mcp_servers"), &[]).unwrap(),
            toml
        );
    }

    #[test]
    fn put_keeps_line_endings_and_bom() {
        for (format, text) in [
            (FileFormat::Json, "{\r\n  \"a\": 1\r\n}\r\n"),
            (FileFormat::Toml, "a = 1\r\n"),
        ] {
            let marked = format!("\u{feff}{text}");
            let put_there = put(format, &marked, &entry("servers"), &[]).unwrap();
            assert!(
                put_there.starts_with("\u{feff}")
                    && has(&read(format, &put_there).unwrap(), &entry("servers"))
            );
            assert_eq!(
                put_there.matches('\n').count(),
                put_there.matches("\r\n").count(),
                "{put_there:?}"
            );
            assert_eq!(
                put(format, &put_there, &entry("servers"), &[]).unwrap(),
                put_there
            );
        }
        let mixed = put(FileFormat::Toml, "a = 1\r\nb = 2\n", &entry("servers"), &[])
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
            put(FileFormat::Json, json, &entry("servers"), &[]).unwrap(),
            expected
        );
        assert_eq!(
            lost(json, &entry("servers"), &[]),
            Some("servers.replay".to_owned())
        );
        let toml = "at = 2026-11-29\n[mcp_servers.replay]\ncommand = \"old\" # mine\nargs = [\"--mcp-server\", \"--allow\", \"/p q:rw\"]\nenv = { A = \"1\" }\n";
        let args = ["--mcp-server", "--allow", "/p q:rw"];
        assert_eq!(
            read(FileFormat::Toml, toml).unwrap()["mcp_servers"]["replay"],
            json!({"command": "old", "args": args, "env": {"A": "1"}})
        );
    }

    /// Returns the member of a file in JSON that these members would make lose a value.
    fn lost(json: &str, members: &Members, replaced: &[String]) -> Option<String> {
        let there = read(FileFormat::Json, json).unwrap();
        let entry = Some("servers.replay");
        fit(&there, members, WholeMembers { entry, replaced }).1
    }

    #[test]
    fn lists_are_joined_and_whole_members_replaced() {
        let members =
            json!({"deny": ["a", "b"], "core": ["none"], "rules": {"*": "deny", "r": "allow"}});
        let members = members.as_object().unwrap();
        let replaced = ["core".to_owned(), "rules".to_owned()];
        let json =
            r#"{"deny": ["mine", "b"], "core": ["x"], "rules": {"r": "allow", "*": "deny"}}"#;
        let there = read(FileFormat::Json, json).unwrap();
        let whole = WholeMembers {
            entry: None,
            replaced: &replaced,
        };
        let (fitted, lost) = fit(&there, members, whole);
        assert_eq!(lost.as_deref(), Some("core"));
        let put = put(FileFormat::Json, json, &fitted, &replaced).unwrap();
        let expected = "{\"deny\": [\"mine\", \"b\", \"a\"], \"core\": [\"none\"], \"rules\": {\n    \"*\": \"deny\",\n    \"r\": \"allow\"\n  }}";
        assert_eq!(put, expected);
        let again = read(FileFormat::Json, &put).unwrap();
        assert_eq!(fit(&again, members, whole), (fitted, None));
    }

    #[test]
    fn members_of_every_type_are_put() {
        let members = json!({"a": true, "n": 1, "list": [{"name": "x: y"}, "z"], "o": {"deep": {"b": false}}});
        let members = members.as_object().unwrap();
        for format in [FileFormat::Json, FileFormat::Toml] {
            let text = put(format, "", members, &[]).unwrap();
            assert_eq!(read(format, &text).unwrap(), Value::Object(members.clone()));
        }
        assert_eq!(
            put(FileFormat::Yaml, "", members, &[]).unwrap(),
            "a: true\nn: 1\nlist:\n  - name: \"x: y\"\n  - \"z\"\no:\n  deep:\n    b: false\n"
        );
    }

    #[test]
    fn invalid_configuration_is_refused() {
        let said = |format, text| {
            put(format, text, &entry("mcpServers"), &[])
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            said(FileFormat::Json, "[]"),
            "the file does not contain a JSON object"
        );
        assert_eq!(
            said(FileFormat::Json, "{\"mcpServers\": []}"),
            "its `mcpServers` is not an object; remove it first"
        );
        assert_eq!(
            said(FileFormat::Json, "{\"mcpServers\": {\"replay\": 1}}"),
            "its `mcpServers.replay` is not an object; remove it first"
        );
        assert_eq!(
            said(FileFormat::Toml, "mcpServers = 1\n"),
            "its `mcpServers` is not a table; remove it first"
        );
        for twice in [
            "{\"mcpServers\": {}, \"mcpServers\": {\"replay\": {\"command\": \"x\"}}}",
            "{\"mcpServers\": {\"replay\": {\"command\": \"x\", \"command\": \"y\"}}}",
        ] {
            assert_eq!(
                said(FileFormat::Json, twice),
                "a name is there twice; remove one of them"
            );
        }
        assert!(said(FileFormat::Json, "{\"a\": 1 \"b\": 2}").starts_with(
            "the file is not valid \
            JSON: "
        ));
        assert!(said(FileFormat::Toml, "a = \n").starts_with("the file is not valid TOML: "));
    }
}
