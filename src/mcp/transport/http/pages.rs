//! Pages about the server: health, metrics, and the descriptions of its tools.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use replay_base::PROGRAM_NAME;
use replay_base::limits::MAX_RECENT_PAGE;
use replay_base::text::html::{begin, escaped};
use serde_json::{Map, Value, json};

use super::feed::NullOutbox;
use super::roster::Roster;
use super::tenant::Tenant;
use crate::protocol::{Body, Incoming, parse};
use crate::sessions::{Admission, Families, Ledger, Session};

/// Maximum number of pages of a tool list.
const MAX_PAGES: usize = 100;

/// `/health/detailed`, as JSON.
pub(super) fn health(
    roster: &Roster,
    ledger: &Ledger,
    uptime: Duration,
    tenant: &Arc<Tenant>,
) -> String {
    let tenants: Vec<Value> = roster
        .seen_by(tenant)
        .iter()
        .map(|tenant| {
            let (running, waiting) = tenant.load();
            let usage = (tenant.usage)();
            let python = usage
                .python
                .iter()
                .map(|(name, word)| json!({"name": name, "status": word}));
            json!({
                "name": tenant.name,
                "sessions": tenant.sessions.len(),
                "callsRunning": running,
                "callsWaiting": waiting,
                "commandsRunning": usage.commands,
                "backgroundCommandsRunning": usage.background,
                "pythonSessions": python.collect::<Vec<Value>>(),
            })
        })
        .collect();
    let mut health = json!({
        "status": if ledger.is_well() { "ok" } else { "failing" },
        "version": env!("CARGO_PKG_VERSION"),
        "uptimeSeconds": uptime.as_secs(),
        "tenants": tenants,
    });
    if tenant.is_operator() {
        for (name, standing) in ledger.health() {
            health[name] = standing;
        }
    }
    health.to_string()
}

/// Counters of the whole server, which only operators see.
#[derive(Clone, Copy)]
pub(super) struct ServerCounters {
    pub unauthorized: u64,
    /// Number of exported spans, and of dropped spans.
    pub spans: Option<(u64, u64)>,
}

/// `/metrics`, in the text format of Prometheus.
pub(super) fn metrics(
    roster: &Roster,
    whole: ServerCounters,
    uptime: Duration,
    tenant: &Arc<Tenant>,
) -> String {
    exposition(
        &roster.seen_by(tenant),
        tenant.is_operator().then_some(whole),
        uptime,
    )
}

fn exposition(tenants: &[Arc<Tenant>], whole: Option<ServerCounters>, uptime: Duration) -> String {
    let mut families = Families::default();
    for tenant in tenants {
        let label = format!("tenant=\"{}\"", tenant.name);
        tenant.metrics.samples(&format!("{label},"), &mut families);
        let (running, waiting) = tenant.load();
        let (connections, websockets) = tenant.connections();
        let usage = (tenant.usage)();
        for (name, help, value) in [
            (
                "mcp_sessions",
                "Sessions that are open.",
                tenant.sessions.len(),
            ),
            ("mcp_connections", "Connections that are open.", connections),
            (
                "mcp_websockets",
                "Open connections that are WebSockets.",
                websockets,
            ),
            ("mcp_calls_running", "Calls that run.", running),
            ("mcp_calls_waiting", "Calls that wait for a slot.", waiting),
            (
                "mcp_commands_running",
                "Commands in the foreground.",
                usage.commands,
            ),
            (
                "mcp_background_commands_running",
                "Commands in the background.",
                usage.background,
            ),
            (
                "mcp_python_sessions",
                "Python sessions whose interpreter runs.",
                usage.interpreters(),
            ),
        ] {
            families.other(name, help, "gauge", &label, value as u64);
        }
        let (name, help) = (
            "mcp_sessions_displaced_total",
            "Sessions ended to make room for others (--max-sessions).",
        );
        families.other(
            name,
            help,
            "counter",
            &label,
            tenant.sessions.displaced.load(Relaxed),
        );
    }
    if let Some(ServerCounters {
        unauthorized,
        spans,
    }) = whole
    {
        let help = "Requests without a valid token.";
        families.other("mcp_unauthorized_total", help, "counter", "", unauthorized);
        if let Some((exported, dropped)) = spans {
            let help = "Spans accepted by a collector.";
            families.other("mcp_spans_exported_total", help, "counter", "", exported);
            let help = "Spans dropped for want of memory or a collector.";
            families.other("mcp_spans_dropped_total", help, "counter", "", dropped);
        }
    }
    families.other(
        "mcp_uptime_seconds",
        "Time since the start of the server.",
        "gauge",
        "",
        uptime.as_secs(),
    );
    families.text()
}

/// Returns the tools as a client of the newest handshake revision sees them, from all pages of the
/// list.
fn tools(tenant: &Tenant) -> Vec<Value> {
    let session = Session::new(Arc::clone(&tenant.service));
    let mut tools = Vec::new();
    let mut cursor = Value::Null;
    for _ in 0..MAX_PAGES {
        let mut message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
        if cursor.is_string() {
            message["params"]["cursor"] = cursor;
        }
        let message = message.to_string();
        let Incoming::Request(request) = parse(message.as_bytes()) else {
            break;
        };
        let Admission::Admitted(ticket) = session.admit(&request) else {
            break;
        };
        let Some(Ok(Body::Raw(list))) = session.serve(&ticket, &request, &NullOutbox) else {
            break;
        };
        let mut list: Value = serde_json::from_str(&list).unwrap_or_default();
        if let Value::Array(page) = list["tools"].take() {
            tools.extend(page);
        }
        cursor = list["nextCursor"].take();
        if !cursor.is_string() {
            break;
        }
    }
    tools
}

/// `/openapi.json`: `POST /mcp` with one schema per tool (`OpenAPI` 3.1.1, whose schemas are those
/// of JSON Schema 2020-12).
pub(super) fn openapi(tenant: &Tenant) -> String {
    let mut schemas = Map::new();
    let mut calls = Vec::new();
    for tool in tools(tenant) {
        let name = tool["name"].as_str().unwrap_or_default();
        let mut params = json!({"type": "object", "required": ["name"],
            "properties": {"name": {"const": name}, "arguments": tool["inputSchema"]}});
        if tool["inputSchema"]["required"]
            .as_array()
            .is_some_and(|required| !required.is_empty())
        {
            params["required"] = json!(["name", "arguments"]);
        }
        let call = json!({
            "title": tool["title"],
            "description": tool["description"],
            "type": "object",
            "required": ["jsonrpc", "id", "method", "params"],
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "id": {"type": ["integer", "string"]},
                "method": {"const": "tools/call"},
                "params": params,
            },
        });
        schemas.insert(name.to_owned(), call);
        calls.push(json!({"$ref": format!("#/components/schemas/{name}")}));
    }
    let answer = |description: &str| {
        json!({"description": description,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/reply"}}}})
    };
    schemas.insert(
        "reply".to_owned(),
        json!({"type": "object", "required": ["jsonrpc", "id"], "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {"type": ["integer", "string", "null"]},
            "result": {"type": "object", "properties": {
                "content": {"type": "array", "items": {"type": "object"}},
                "structuredContent": {"type": "object"},
                "isError": {"type": "boolean"}}},
            "error": {"type": "object", "required": ["code", "message"],
                "properties": {"code": {"type": "integer"}, "message": {"type": "string"}}}}}),
    );
    let document = json!({
        "openapi": "3.1.1",
        "info": {
            "title": PROGRAM_NAME,
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A server of the Model Context Protocol. Every call of a tool is a JSON-RPC 2.0 request to /mcp.",
        },
        "security": [if tenant.is_anyone() { json!({}) } else { json!({"token": []}) }],
        "paths": {
            "/mcp": {"post": {
                "summary": "Call a tool",
                "operationId": "call",
                "requestBody": {"required": true, "content": {"application/json": {"schema": {"oneOf": calls}}}},
                "responses": {
                    "200": answer("The result, or an error of the tool"),
                    "400": answer("A message that cannot be served"),
                    "401": answer("No token, or one that is not known"),
                    "413": answer("A message that is too long"),
                    "429": answer("Too many requests; Retry-After says when to try again"),
                    "503": answer("Too many calls wait already; Retry-After says when to try again"),
                },
            }},
            "/health": {"get": {"summary": "Whether the server is there", "operationId": "health", "security": [{}],
                "responses": {"200": {"description": "It is"}}}},
            "/health/detailed": {"get": {"summary": "How the server does", "operationId": "health_detailed",
                "responses": {"200": {"description": "Version, time since the start, sessions, calls, commands"}}}},
            "/": {"get": {"summary": "A page for a person who looks on", "operationId": "page", "security": [{}],
                "responses": {"200": {"description": "The page, without data"}}}},
            "/activity": {"get": {"summary": "What runs, and the calls that ended last", "operationId": "activity",
                "parameters": [
                    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 0, "maximum": MAX_RECENT_PAGE}},
                    {"name": "before", "in": "query", "schema": {"type": "integer"}, "description": "As an earlier reply has it"}],
                "responses": {"200": {"description": "The server, its tenants, and calls without their texts"}}}},
            "/activity/{id}": {"get": {"summary": "One call with its arguments and its reply", "operationId": "activity_call",
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}],
                "responses": {"200": {"description": "The call"}, "404": {"description": "It is not remembered"}}}},
            "/activity/stream": {"get": {"summary": "Calls as they begin, get on and end", "operationId": "activity_stream",
                "parameters": [{"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}}],
                "responses": {"200": {"description": "Events `call`, and `gap` where some are lost",
                    "content": {"text/event-stream": {}}}}}},
            "/metrics": {"get": {"summary": "What was counted", "operationId": "metrics",
                "responses": {"200": {"description": "The text format of Prometheus"}}}},
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas,
        },
    });
    document.to_string()
}

/// Links to other pages of this server.
pub(super) const ELSEWHERE: &str = "<nav aria-label=\"Pages\"><a href=\"./\">Calls</a><a href=\"docs\" aria-current=\"page\">Tools</a></nav>";

/// `/docs`: the tools as a self-contained page.
pub(super) fn docs(tenant: &Tenant) -> String {
    let tools = tools(tenant);
    let mut page = begin("tools", ELSEWHERE);
    // A write to a `String` cannot fail.
    let _ = write!(
        page,
        "<p>Each is called with a JSON-RPC request to <code>POST /mcp</code>; <code>/openapi.json</code> has the schemas.</p>\n<ul>"
    );
    for tool in &tools {
        let name = escaped(tool["name"].as_str().unwrap_or_default());
        let _ = write!(
            page,
            "<li><a href=\"#{name}\"><code>{name}</code></a> {}</li>",
            escaped(text(&tool["title"]))
        );
    }
    page.push_str("</ul>\n");
    for tool in &tools {
        let name = escaped(text(&tool["name"]));
        let description = escaped(text(&tool["description"]));
        let _ = write!(
            page,
            "<h2 id=\"{name}\"><code>{name}</code></h2><p>{description}</p>"
        );
        parameters(&mut page, &tool["inputSchema"]);
        let example = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool["name"], "arguments": example(&tool["inputSchema"])}});
        let _ = writeln!(page, "<pre>{}</pre>", escaped(&example.to_string()));
    }
    page.push_str("</main></body></html>\n");
    page
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn parameters(page: &mut String, schema: &Value) {
    let Some(properties) = schema["properties"]
        .as_object()
        .filter(|properties| !properties.is_empty())
    else {
        return;
    };
    page.push_str(
        "<div class=\"table\"><table><tr><th>Parameter</th><th>Type</th><th>Meaning</th></tr>",
    );
    for (name, property) in properties {
        let is_required = schema["required"]
            .as_array()
            .is_some_and(|names| names.contains(&json!(name)));
        let kind = match (&property["enum"], &property["type"]) {
            (Value::Array(values), _) => values.iter().map(text).collect::<Vec<_>>().join(" | "),
            (_, Value::String(kind)) => kind.clone(),
            (_, other) => other.to_string(),
        };
        let kind = escaped(&kind);
        let required = if is_required { ", required" } else { "" };
        let meaning = escaped(text(&property["description"]));
        let _ = write!(
            page,
            "<tr><td><code>{}</code></td><td class=\"soft\">{kind}{required}</td><td>{meaning}</td></tr>",
            escaped(name)
        );
    }
    page.push_str("</table></div>");
}

/// Example arguments: the required ones, each as a value of its type.
fn example(schema: &Value) -> Value {
    let required = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let members = required.map(|name| {
        let property = &schema["properties"][name];
        let value = match (property["enum"].get(0), property["type"].as_str()) {
            (Some(first), _) => first.clone(),
            (None, Some("integer" | "number")) => json!(1),
            (None, Some("boolean")) => json!(true),
            (None, Some("array")) => match property["items"]["type"].as_str() {
                Some("object") => json!([example(&property["items"])]),
                _ => json!(["..."]),
            },
            (None, Some("object")) => example(property),
            _ => json!("..."),
        };
        (name.to_owned(), value)
    });
    Value::Object(members.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::http::Usage;
    use crate::transport::http::tests::{tenant, tenant_with};

    #[test]
    fn metrics_page_lists_all_counters() {
        let alice = tenant_with("alice", 1, || Usage {
            commands: 2,
            background: 1,
            python: vec![
                ("default".to_owned(), "idle"),
                ("a".to_owned(), "busy"),
                ("b".to_owned(), "dead"),
            ],
        });
        let bob = tenant("bob", 1);
        alice
            .metrics
            .count("read_file", "ok", Duration::from_millis(3));
        alice
            .metrics
            .count("read_file", "denied", Duration::from_micros(500));
        alice
            .metrics
            .count("unknown", "denied", Duration::from_millis(1));
        bob.metrics
            .count("run_tests", "failed", Duration::from_secs(301));
        bob.metrics.rate_limited.store(7, Relaxed);
        bob.metrics.turned_away.store(1, Relaxed);
        bob.metrics.received_bytes.store(1024, Relaxed);
        bob.metrics.sent_bytes.store(u64::MAX, Relaxed);
        insta::assert_snapshot!(exposition(
            &[alice, bob],
            Some(ServerCounters {
                unauthorized: 3,
                spans: Some((5, 1))
            }),
            Duration::from_hours(24)
        ));
    }
}
