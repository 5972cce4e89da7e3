//! Validation of each line of the server against the official JSON schema of its revision.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

/// Revisions that open with `initialize`, oldest first.
pub const HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// Newest handshake revision, the default of a session without `initialize`.
pub const NEWEST_HANDSHAKE: &str = "2025-11-25";
/// Revision without a handshake.
pub const STATELESS: &str = "2026-07-28";
pub const REVISIONS: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];

const SOURCES: [&str; 5] = [
    include_str!("../../testdata/schemas/2024-11-05/schema.json"),
    include_str!("../../testdata/schemas/2025-03-26/schema.json"),
    include_str!("../../testdata/schemas/2025-06-18/schema.json"),
    include_str!("../../testdata/schemas/2025-11-25/schema.json"),
    include_str!("../../testdata/schemas/2026-07-28/schema.json"),
];

/// Compiled validators by (revision, definition). A definition that a revision lacks is `None`.
type Compiled = HashMap<(String, String), Option<&'static Validator>>;
static COMPILED: LazyLock<Mutex<Compiled>> = LazyLock::new(Mutex::default);

fn validator(revision: &str, definition: &str) -> Option<&'static Validator> {
    let mut compiled = COMPILED
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    *compiled
        .entry((revision.to_owned(), definition.to_owned()))
        .or_insert_with(|| {
            let index = REVISIONS
                .iter()
                .position(|known| *known == revision)
                .expect("a known revision");
            let mut schema: Value = serde_json::from_str(SOURCES[index]).unwrap();
            let key = if schema.get("$defs").is_some() {
                "$defs"
            } else {
                "definitions"
            };
            schema[key].get(definition)?;
            schema["$ref"] = json!(format!("#/{key}/{definition}"));
            // Older drafts ignore all siblings of a `$ref`, including the required definitions.
            if key == "definitions" {
                let target = schema.as_object_mut().unwrap().remove("$ref").unwrap();
                schema["allOf"] = json!([{ "$ref": target }]);
            }
            Some(Box::leak(Box::new(
                jsonschema::validator_for(&schema).expect("a schema that compiles"),
            )))
        })
}

/// Checks `value` against a named definition of a revision.
pub fn check(revision: &str, definition: &str, value: &Value) -> Result<(), String> {
    let Some(validator) = validator(revision, definition) else {
        return Err(format!(
            "revision {revision} has no definition `{definition}`"
        ));
    };
    let faults: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "not a {definition} of {revision}: {}",
            faults.join("; ")
        ))
    }
}

/// Checks a reply to `method` under the revision of its request. `method` is empty for a reply
/// without a request.
pub fn check_reply(revision: &str, method: &str, reply: &Value) -> Result<(), String> {
    if reply.get("error").is_some() {
        return check_error(revision, reply);
    }
    let envelope = if revision < "2025-11-25" {
        "JSONRPCResponse"
    } else {
        "JSONRPCResultResponse"
    };
    check(revision, envelope, reply)?;
    let result = &reply["result"];
    let definition = match method {
        "initialize" => "InitializeResult",
        "ping" => "EmptyResult",
        "server/discover" => "DiscoverResult",
        "tools/call" => "CallToolResult",
        "tools/list" => "ListToolsResult",
        "resources/list" => "ListResourcesResult",
        "resources/read" => "ReadResourceResult",
        _ => "Result",
    };
    check(revision, definition, result)?;
    match method {
        "tools/call" => check_call(revision, result),
        "tools/list" => result["tools"]
            .as_array()
            .unwrap()
            .iter()
            .try_for_each(|tool| check_tool(revision, tool)),
        _ => Ok(()),
    }
}

/// Checks an error reply. The reply to an unreadable request has `id: null`, even if the schema
/// forbids it.
pub fn check_error(revision: &str, reply: &Value) -> Result<(), String> {
    let mut reply = reply.clone();
    if reply.get("id") == Some(&Value::Null) {
        reply["id"] = json!(0);
    } else if reply.get("id").is_none() {
        return Err("an error without an `id` member".to_owned());
    }
    let definition = if revision < "2025-11-25" {
        "JSONRPCError"
    } else {
        "JSONRPCErrorResponse"
    };
    check(revision, definition, &reply)?;
    let code = reply["error"]["code"].as_i64().unwrap();
    match code {
        -32022 => check(revision, "UnsupportedProtocolVersionError", &reply),
        // 2026-07-28, basic/index: "MUST NOT be emitted"; -32001 lies in a range that it
        // discourages.
        -32001 | -32002 | -32042 if revision == STATELESS => {
            Err(format!("code {code} on {revision}"))
        }
        _ => Ok(()),
    }
}

/// Checks a notification of the server. The server sends only these.
pub fn check_notification(revision: &str, message: &Value) -> Result<(), String> {
    check(revision, "ServerNotification", message)?;
    match message["method"].as_str().unwrap_or_default() {
        "notifications/progress" => {
            check(revision, "ProgressNotification", message)?;
            absent(
                revision,
                "2025-03-26",
                "progress",
                &message["params"],
                &["message"],
            )
        }
        "notifications/message" => check(revision, "LoggingMessageNotification", message),
        // Only the lists and resources of a mock change. The general notification schema has
        // checked these.
        "notifications/resources/updated"
        | "notifications/tools/list_changed"
        | "notifications/resources/list_changed"
        | "notifications/prompts/list_changed" => Ok(()),
        method => Err(format!(
            "a notification that this server has no reason to send: `{method}`"
        )),
    }
}

/// Checks that a client of an old revision gets no fields of later ones, even where the schema
/// allows them.
fn check_call(revision: &str, result: &Value) -> Result<(), String> {
    absent(
        revision,
        "2025-06-18",
        "a call's result",
        result,
        &["structuredContent"],
    )?;
    absent(
        revision,
        "2026-07-28",
        "a call's result",
        result,
        &["resultType"],
    )?;
    for block in result["content"].as_array().unwrap() {
        let kind = block["type"].as_str().unwrap_or_default();
        let since = match kind {
            "audio" => "2025-03-26",
            "resource_link" => "2025-06-18",
            _ => "2024-11-05",
        };
        if revision < since {
            return Err(format!("a `{kind}` block on {revision}"));
        }
        absent(revision, "2025-06-18", "a block", block, &["_meta"])?;
    }
    Ok(())
}

fn check_tool(revision: &str, tool: &Value) -> Result<(), String> {
    absent(revision, "2025-03-26", "a tool", tool, &["annotations"])?;
    absent(
        revision,
        "2025-06-18",
        "a tool",
        tool,
        &["title", "outputSchema", "_meta"],
    )?;
    absent(
        revision,
        "2025-11-25",
        "a tool",
        tool,
        &["icons", "execution"],
    )?;
    if revision == STATELESS {
        absent("", STATELESS, "a tool", tool, &["execution"])?;
    }
    Ok(())
}

fn absent(
    revision: &str,
    since: &str,
    what: &str,
    value: &Value,
    members: &[&str],
) -> Result<(), String> {
    match members
        .iter()
        .find(|member| revision < since && value.get(member).is_some())
    {
        Some(member) => Err(format!(
            "{what} with `{member}` on {revision}, which has it since {since}"
        )),
        None => Ok(()),
    }
}

#[test]
fn schemas_reject_invalid_replies() {
    for revision in REVISIONS {
        let mut call = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "x"}]}});
        if revision == STATELESS {
            call["result"]["resultType"] = json!("complete");
        }
        check_reply(revision, "tools/call", &call).unwrap();
        call["result"]["content"][0]["text"] = json!(1);
        assert!(
            check_reply(revision, "tools/call", &call).is_err(),
            "{revision}"
        );

        let mut error =
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no"}});
        check_reply(revision, "", &error).unwrap();
        error["error"]["code"] = json!("-32700");
        assert!(check_reply(revision, "", &error).is_err(), "{revision}");
        assert!(
            check_error(
                revision,
                &json!({"jsonrpc": "2.0", "error": {"code": 1, "message": ""}})
            )
            .is_err()
        );
    }
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
        "params": {"progressToken": 1, "progress": 1, "message": "one"}});
    check_notification("2025-03-26", &progress).unwrap();
    assert!(check_notification("2024-11-05", &progress).is_err());
}
