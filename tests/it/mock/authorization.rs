//! Tests of simulated authorization, and of faults over HTTP.

use std::process::{Command, Stdio};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::BINARY;
use crate::http::client::{Response, Server};
use crate::tree::Tree;

/// A verifier and its challenge (RFC 7636, appendix B).
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

const REDIRECT: &str = "http://127.0.0.1:3030/callback";

/// Documentation with an example.
const DOCS: &str = include_str!("../../../docs/mock.md");

/// A mock over HTTP.
struct Mock {
    server: Server,
    origin: String,
}

impl Mock {
    /// Serves a manifest with these members and two tools.
    fn start(tree: &Tree, members: Value, args: &[&str]) -> Self {
        let mut manifest = json!({"name": "notes", "tools": [
            {"name": "read", "response": {"content": [{"type": "text", "text": "note"}]}},
            {"name": "write", "response": {"content": [{"type": "text", "text": "kept"}]}},
        ]});
        for (key, value) in members.as_object().unwrap() {
            manifest[key] = value.clone();
        }
        Self::serve(tree, &json!({"mock_server": manifest}).to_string(), args)
    }

    /// Serves this manifest.
    fn serve(tree: &Tree, manifest: &str, args: &[&str]) -> Self {
        tree.file("mock.yaml", manifest);
        let serve = ["--tools-from", "mock.yaml", "--http", "127.0.0.1:0"];
        Self::run(tree, &[&serve, args].concat())
    }

    /// Runs `replay mock` with these arguments.
    fn run(tree: &Tree, args: &[&str]) -> Self {
        let mut command = Command::new(BINARY);
        command
            .arg("mock")
            .args(args)
            .current_dir(tree.root())
            .env_clear()
            .env("HOME", tree.root())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let server = Server::spawn(command);
        let origin = format!("http://{}", server.address);
        Self { server, origin }
    }

    fn get(&self, path: &str) -> Response {
        self.server.ask("GET", path, &[], &[])
    }

    /// Posts a form.
    fn form(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let kind = [("Content-Type", "application/x-www-form-urlencoded")];
        self.server
            .ask("POST", path, &kind, query(fields).as_bytes())
    }

    /// Calls a tool with a token, which may be empty.
    fn call(&self, tool: &str, token: &str) -> Response {
        let call =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}});
        let bearer = format!("Bearer {token}");
        let accepts = ("Accept", "application/json, text/event-stream");
        let headers = [accepts, ("Authorization", bearer.as_str())];
        let count = if token.is_empty() { 1 } else { 2 };
        self.server.post_with(&call, &headers[..count])
    }

    /// Registers a public client, and returns its id.
    fn register(&self) -> String {
        let asked = json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"});
        let answer = self
            .server
            .ask("POST", "/register", &[], asked.to_string().as_bytes());
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["client_id"].as_str().unwrap().to_owned()
    }

    /// Requests a code with these fields besides the usual ones, and returns the fields of the
    /// redirect.
    fn authorize(&self, client: &str, fields: &[(&str, &str)]) -> Vec<(String, String)> {
        let usual = [
            ("client_id", client),
            ("redirect_uri", REDIRECT),
            ("response_type", "code"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("state", "s"),
        ];
        let usual = usual
            .iter()
            .filter(|(name, _)| !fields.iter().any(|(other, _)| other == name));
        let all: Vec<(&str, &str)> = usual.copied().chain(fields.iter().copied()).collect();
        let answer = self.get(&format!("/authorize?{}", query(&all)));
        assert_eq!(answer.status, 302, "{answer:?}");
        let location = answer.header("location").unwrap();
        let (base, fields) = location.split_once('?').unwrap();
        assert_eq!(base, REDIRECT);
        let fields = fields.split('&').filter_map(|field| field.split_once('='));
        fields
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// Returns the code of a request for it.
    fn code(&self, client: &str, fields: &[(&str, &str)]) -> String {
        let fields = self.authorize(client, fields);
        let code = fields.iter().find(|(name, _)| name == "code");
        code.unwrap_or_else(|| panic!("no code: {fields:?}"))
            .1
            .clone()
    }

    fn exchange(&self, client: &str, code: &str, verifier: &str) -> Response {
        self.form(
            "/token",
            &[
                ("grant_type", "authorization_code"),
                ("client_id", client),
                ("code", code),
                ("code_verifier", verifier),
                ("redirect_uri", REDIRECT),
            ],
        )
    }

    /// Returns the answer of the token endpoint to a new client with these scopes.
    fn tokens(&self, scope: &str) -> (String, Value) {
        let client = self.register();
        let scope = [("scope", scope)];
        let fields = if scope[0].1.is_empty() {
            &[][..]
        } else {
            &scope
        };
        let code = self.code(&client, fields);
        let answer = self.exchange(&client, &code, VERIFIER);
        assert_eq!(answer.status, 200, "{answer:?}");
        (client, answer.json())
    }

    /// Returns a token with these scopes.
    fn token(&self, scope: &str) -> String {
        self.tokens(scope).1["access_token"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    fn refresh(&self, client: &str, token: &Value) -> Response {
        self.form(
            "/token",
            &[
                ("grant_type", "refresh_token"),
                ("client_id", client),
                ("refresh_token", token.as_str().unwrap()),
            ],
        )
    }
}

/// Encodes a form of plain values.
fn query(fields: &[(&str, &str)]) -> String {
    let fields = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", value.replace(' ', "+")));
    fields.collect::<Vec<_>>().join("&")
}

/// Returns the text of a tool's result.
fn said(answer: &Response) -> Value {
    answer.json()["result"]["content"][0]["text"].clone()
}

/// Returns the status and the error of OAuth.
fn error(answer: &Response) -> (u16, String) {
    let error = answer.json()["error"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    (answer.status, error)
}

#[test]
fn request_without_token_gets_place_of_metadata() {
    let tree = Tree::new();
    let mock = Mock::start(&tree, json!({"auth": {"scopes": ["notes"]}}), &[]);
    let refused = mock.call("read", "");
    assert_eq!(refused.status, 401);
    let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", mock.origin);
    let challenge = format!("Bearer scope=\"notes\", resource_metadata=\"{metadata}\"");
    assert_eq!(refused.header("www-authenticate"), Some(challenge.as_str()));
    let resource = mock.get("/.well-known/oauth-protected-resource/mcp").json();
    assert_eq!(
        resource,
        json!({
            "resource": format!("{}/mcp", mock.origin),
            "authorization_servers": [mock.origin],
            "scopes_supported": ["notes"],
            "bearer_methods_supported": ["header"],
            "resource_name": "a mock of replay",
        })
    );
    let server = mock.get("/.well-known/oauth-authorization-server").json();
    let openid = mock.get("/.well-known/openid-configuration").json();
    assert_eq!(server, openid);
    assert_eq!(server["issuer"], json!(mock.origin));
    assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
    let unknown = mock.call("read", "unknown");
    assert_eq!(error(&unknown), (401, "invalid_token".to_owned()));
}

#[test]
fn token_of_code_flow_is_accepted() {
    for form in ["opaque", "jwt"] {
        let tree = Tree::new();
        let mock = Mock::start(&tree, json!({"auth": {"tokens": form}}), &[]);
        let (_, answer) = mock.tokens("");
        let token = answer["access_token"].as_str().unwrap();
        assert_eq!(token.split('.').count(), if form == "jwt" { 3 } else { 1 });
        assert_eq!(answer["expires_in"], 3600);
        assert_eq!(said(&mock.call("read", token)), "note");
    }
}

#[test]
fn code_request_with_fault_is_refused() {
    let tree = Tree::new();
    let auth = json!({"auth": {"scopes": ["notes"], "require_resource": true}});
    let mock = Mock::start(&tree, auth, &[]);
    let client = mock.register();
    let resource = format!("{}/mcp", mock.origin);
    let cases = [
        (vec![("code_challenge_method", "plain")], "invalid_request"),
        (vec![("code_challenge", "")], "invalid_request"),
        (
            vec![("response_type", "token")],
            "unsupported_response_type",
        ),
        (vec![("scope", "other")], "invalid_scope"),
        (vec![], "invalid_target"),
        (
            vec![("resource", "http://127.0.0.1:1/mcp")],
            "invalid_target",
        ),
    ];
    for (fields, expected) in cases {
        let answer = mock.authorize(&client, &fields);
        let found = answer.iter().find(|(name, _)| name == "error").unwrap();
        assert_eq!(found.1, expected, "{fields:?}");
    }
    mock.code(&client, &[("resource", &resource)]);
    let elsewhere = query(&[("client_id", &client), ("redirect_uri", "http://other/cb")]);
    assert_eq!(mock.get(&format!("/authorize?{elsewhere}")).status, 400);
}

#[test]
fn code_is_exchanged_once_and_with_its_verifier() {
    let tree = Tree::new();
    let mock = Mock::start(&tree, json!({"auth": {}}), &[]);
    let client = mock.register();
    let invalid = (400, "invalid_grant".to_owned());
    let code = mock.code(&client, &[]);
    assert_eq!(error(&mock.exchange(&client, &code, "wrong")), invalid);
    let code = mock.code(&client, &[]);
    assert_eq!(mock.exchange(&client, &code, VERIFIER).status, 200);
    assert_eq!(error(&mock.exchange(&client, &code, VERIFIER)), invalid);
    let other = mock.register();
    let code = mock.code(&client, &[]);
    assert_eq!(error(&mock.exchange(&other, &code, VERIFIER)), invalid);
}

#[test]
fn used_refresh_token_ends_its_grant() {
    let tree = Tree::new();
    let mock = Mock::start(&tree, json!({"auth": {}}), &[]);
    let (client, first) = mock.tokens("");
    let second = mock.refresh(&client, &first["refresh_token"]).json();
    let token = second["access_token"].as_str().unwrap();
    assert_eq!(said(&mock.call("read", token)), "note");
    let invalid = (400, "invalid_grant".to_owned());
    for token in [&first, &second] {
        let again = mock.refresh(&client, &token["refresh_token"]);
        assert_eq!(error(&again), invalid);
    }
}

#[test]
fn tool_with_scope_needs_step_up() {
    let tree = Tree::new();
    let auth = json!({"auth": {"scopes": ["read"], "tool_scopes": {"write": ["write"]}}});
    let mock = Mock::start(&tree, auth, &[]);
    let refused = mock.call("write", &mock.token("read"));
    assert_eq!(error(&refused), (403, "insufficient_scope".to_owned()));
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(challenge.contains("scope=\"read write\""), "{challenge}");
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "write"}});
    let bearer = format!("Bearer {}", mock.token("read"));
    let batch = mock
        .server
        .post_with(&json!([call]), &[("Authorization", bearer.as_str())]);
    assert_eq!(batch.status, 403);
    assert_eq!(said(&mock.call("write", &mock.token("read write"))), "kept");
}

#[test]
fn other_grants_give_tokens() {
    let tree = Tree::new();
    let clients = json!([{"client_id": "robot", "client_secret": "key"}]);
    let mock = Mock::start(&tree, json!({"auth": {"clients": clients}}), &[]);
    let who = [("client_id", "robot"), ("client_secret", "key")];
    let own = [&who[..], &[("grant_type", "client_credentials")]].concat();
    let own = mock.form("/token", &own);
    let token = own.json()["access_token"].as_str().unwrap().to_owned();
    assert_eq!(said(&mock.call("read", &token)), "note");
    let wrong = [("client_id", "robot"), ("grant_type", "client_credentials")];
    let refused = mock.form("/token", &wrong);
    assert_eq!(error(&refused), (401, "invalid_client".to_owned()));
    let device = mock.form("/device_authorization", &who).json();
    let grant = "urn:ietf:params:oauth:grant-type:device_code";
    let code = device["device_code"].as_str().unwrap();
    let poll = [&who[..], &[("grant_type", grant), ("device_code", code)]].concat();
    let pending = (400, "authorization_pending".to_owned());
    assert_eq!(error(&mock.form("/token", &poll)), pending);
    assert_eq!(mock.form("/token", &poll).status, 200);
}

#[test]
fn page_asks_for_consent() {
    let tree = Tree::new();
    let mock = Mock::start(&tree, json!({"auth": {"consent": "page"}}), &[]);
    let client = mock.register();
    let asked = query(&[
        ("client_id", &client),
        ("redirect_uri", REDIRECT),
        ("response_type", "code"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", "%22%3E%3Cscript%3E"),
    ]);
    let page = mock.get(&format!("/authorize?{asked}"));
    assert_eq!(page.status, 200);
    assert!(page.text().contains("<button>Allow</button>"), "{page:?}");
    assert!(page.text().contains("This page is a mock."), "{page:?}");
    assert!(!page.text().contains("<script>"), "{page:?}");
    let allowed = mock.form(&format!("/authorize?{asked}"), &[]);
    assert_eq!(allowed.status, 302);
}

#[test]
fn request_with_fault_gets_it_the_given_times() {
    let cases = [
        ("unauthorized", 401),
        ("token-echo", 401),
        ("rate-limited:1", 429),
        ("bad-gateway", 502),
        ("redirect", 307),
        ("insufficient-scope", 403),
        ("version-refused", 400),
        ("header-mismatch", 400),
    ];
    for (fault, status) in cases {
        let tree = Tree::new();
        let rule = json!({"fault": fault, "after": 1, "times": 1, "tool": "read"});
        let mock = Mock::start(&tree, json!({"auth": {}, "faults": [rule]}), &[]);
        let token = mock.token("");
        let statuses = ["read", "write", "read", "read"].map(|tool| mock.call(tool, &token).status);
        assert_eq!(statuses, [200, 200, status, 200], "{fault}");
    }
}

#[test]
fn forgotten_session_stays_forgotten() {
    let tree = Tree::new();
    let args = ["--journal", "journal.jsonl"];
    let faults = json!({"faults": [{"fault": "forget-session", "times": 1}]});
    let mut mock = Mock::start(&tree, faults, &args);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let ask = |session: &str| {
        let headers = [("Mcp-Session-Id", session)];
        let count = usize::from(!session.is_empty());
        mock.server.post_with(&list, &headers[..count]).status
    };
    // A request without a session has none to forget.
    let statuses = ["", "one", "one", "two", "one"].map(ask);
    assert_eq!(statuses, [200, 404, 404, 200, 404]);
    mock.server.terminate();
    mock.server.wait();
    let journal = tree.read("journal.jsonl");
    let mut lines = journal
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let event = lines.find(|line| line["method"] == "http/fault").unwrap();
    let shown = json!({"fault": "forget-session", "method": "tools/list", "tool": null});
    assert_eq!(event["params"], shown);
}

#[test]
fn page_of_this_machine_may_ask_and_read() {
    let tree = Tree::new();
    let mock = Mock::start(&tree, json!({}), &[]);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let from = |origin: &str| mock.server.post_with(&list, &[("Origin", origin)]);
    let answer = from("http://localhost:6274");
    let shared = answer.header("access-control-allow-origin");
    assert_eq!((answer.status, shared), (200, Some("*")));
    assert_eq!(from("http://page.example").status, 403);
    let asked = mock.server.ask("OPTIONS", "/mcp", &[], &[]);
    let names = asked.header("access-control-allow-headers");
    assert_eq!((asked.status, names), (204, Some("*, Authorization")));
}

#[test]
fn token_with_fault_is_refused_by_resource() {
    for fault in ["wrong-audience", "expired-token"] {
        let tree = Tree::new();
        let rule = json!({"fault": fault, "times": 1});
        let mock = Mock::start(&tree, json!({"auth": {}, "faults": [rule]}), &[]);
        let (client, first) = mock.tokens("");
        let bad = mock.call("read", first["access_token"].as_str().unwrap());
        assert_eq!(error(&bad), (401, "invalid_token".to_owned()), "{fault}");
        let second = mock.refresh(&client, &first["refresh_token"]).json();
        let good = mock.call("read", second["access_token"].as_str().unwrap());
        assert_eq!(said(&good), "note", "{fault}");
    }
}

#[test]
fn cut_answer_is_not_complete() {
    for fault in ["cut", "gone"] {
        let tree = Tree::new();
        let mock = Mock::start(&tree, json!({"faults": [{"fault": fault}]}), &[]);
        let mut client = mock.server.connect();
        let call =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read"}});
        client.send_message(&call, &[("Accept", "application/json")]);
        if fault == "cut" {
            assert_eq!(client.head().status, 200);
        }
        assert!(client.is_hung_up(), "{fault}");
    }
}

#[test]
fn cut_stream_is_resumed_once() {
    let tree = Tree::new();
    let rule = json!({"fault": "cut-resumable", "times": 1});
    let mock = Mock::start(&tree, json!({"faults": [rule]}), &[]);
    let cut = mock.call("read", "");
    assert_eq!(cut.text(), "id: event-1\nretry: 50\ndata: \n\n");
    let resume = || {
        let headers = [
            ("Accept", "text/event-stream"),
            ("Last-Event-ID", "event-1"),
        ];
        mock.server.ask("GET", "/mcp", &headers, &[])
    };
    let rest = resume().events();
    assert_eq!(rest[0]["result"]["content"][0]["text"], "note");
    assert_eq!(resume().status, 405);
}

#[test]
fn duplicate_event_has_the_same_id() {
    let tree = Tree::new();
    let mock = Mock::start(
        &tree,
        json!({"faults": [{"fault": "duplicate-event"}]}),
        &[],
    );
    let text = mock.call("read", "").text();
    let events: Vec<&str> = text.split_terminator("\n\n").collect();
    assert_eq!(events.len(), 2);
    assert_eq!(events[0], events[1]);
    assert!(events[0].starts_with("id: event-1\ndata: {"), "{text}");
}

#[test]
fn handshake_with_fault_differs() {
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"}}});
    let tree = Tree::new();
    let mock = Mock::start(
        &tree,
        json!({"faults": [{"fault": "unknown-revision"}]}),
        &[],
    );
    let answer = mock.server.post(&initialize).json();
    assert_eq!(answer["result"]["protocolVersion"], "2099-01-01");
    let mock = Mock::start(&tree, json!({"faults": [{"fault": "odd-session"}]}), &[]);
    let opened = mock.server.post(&initialize);
    let session = opened.header("mcp-session-id").unwrap();
    assert!(
        session.starts_with("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
        "{session}"
    );
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "prompts/list"});
    let used = mock.server.post_with(&list, &[("Mcp-Session-Id", session)]);
    assert_eq!(used.status, 200);
}

#[test]
fn authorization_server_with_fault_misleads() {
    let cases = [("wrong-issuer", "issuer"), ("link-local", "token_endpoint")];
    for (fault, member) in cases {
        let tree = Tree::new();
        let mock = Mock::start(
            &tree,
            json!({"auth": {}, "faults": [{"fault": fault}]}),
            &[],
        );
        let document = mock.get("/.well-known/oauth-authorization-server").json();
        let value = document[member].as_str().unwrap();
        assert!(!value.starts_with(&mock.origin), "{fault}: {value}");
    }
    for (fault, field) in [("mix-up", "iss"), ("wrong-state", "state")] {
        let tree = Tree::new();
        let mock = Mock::start(
            &tree,
            json!({"auth": {}, "faults": [{"fault": fault}]}),
            &[],
        );
        let client = mock.register();
        let fields = mock.authorize(&client, &[]);
        let value = &fields.iter().find(|(name, _)| name == field).unwrap().1;
        let right = if field == "iss" {
            mock.origin.replace(':', "%3A").replace('/', "%2F")
        } else {
            "s".to_owned()
        };
        assert_ne!(*value, right, "{fault}");
    }
}

#[test]
fn redirected_token_is_noted() {
    let tree = Tree::new();
    tree.file(
        "expect.yaml",
        "expect:\n\
         - { method: http/token, match: { pkce: true, ok: true }, times: 1 }\n\
         - { method: http/elsewhere, match: { authorization: true }, times: 0 }\n",
    );
    let members = json!({"auth": {}, "faults": [{"fault": "redirect"}]});
    for follows in [false, true] {
        let mut mock = Mock::start(&tree, members.clone(), &["--expect", "expect.yaml"]);
        let token = mock.token("");
        let redirected = mock.call("read", &token);
        let other = redirected.header("location").unwrap();
        if follows {
            let address = other.trim_start_matches("http://").trim_end_matches("/mcp");
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            let head = format!(
                "GET /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
                 Connection: close\r\n\r\n"
            );
            std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
            let mut answer = String::new();
            std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
        }
        mock.server.terminate();
        let status = mock.server.wait();
        assert_eq!(
            status.code(),
            Some(i32::from(follows)),
            "{}",
            mock.server.log()
        );
    }
}

#[test]
fn early_retry_after_429_is_noted() {
    let tree = Tree::new();
    tree.file(
        "expect.yaml",
        "expect:\n- { method: http/retry, match: { early: true }, times: 1 }\n",
    );
    let rule = json!({"fault": "rate-limited:600", "times": 1});
    let mut mock = Mock::start(
        &tree,
        json!({"faults": [rule]}),
        &["--expect", "expect.yaml"],
    );
    let limited = mock.call("read", "");
    assert_eq!(
        (limited.status, limited.header("retry-after")),
        (429, Some("600"))
    );
    assert_eq!(said(&mock.call("read", "")), "note");
    mock.server.terminate();
    assert_eq!(mock.server.wait().code(), Some(0));
}

#[test]
fn server_card_follows_from_manifest() {
    let tree = Tree::new();
    let members = json!({"version": "2", "title": "Notes", "card": {"websiteUrl": "http://x"}});
    let mock = Mock::start(&tree, members, &[]);
    let card = mock.get("/.well-known/mcp.json").json();
    let expected = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": "local.mock/notes",
        "version": "2",
        "description": "A mock of an MCP server",
        "remotes": [{
            "type": "streamable-http",
            "url": format!("{}/mcp", mock.origin),
            "supportedProtocolVersions":
                ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
        }],
        "title": "Notes",
        "websiteUrl": "http://x",
    });
    assert_eq!(card, expected);
    assert_eq!(
        mock.get("/.well-known/mcp/server-card.json").json(),
        expected
    );
}

#[test]
fn name_of_another_machine_is_refused() {
    let tree = Tree::new();
    let mock = Mock::start(&tree, json!({"auth": {}}), &[]);
    let path = "/.well-known/oauth-authorization-server";
    let headers = [("Host", "mock.example")];
    assert_eq!(mock.server.ask("GET", path, &headers, &[]).status, 403);
}

#[test]
fn example_of_docs_serves_client_that_meets_its_expectations() {
    let tree = Tree::new();
    let section = DOCS.split("## Authorization").nth(1).unwrap();
    let mut blocks = section.split("```yaml\n").skip(1);
    let mut example = || blocks.next().unwrap().split("```").next().unwrap();
    let (manifest, expectations) = (example(), example());
    tree.file("expect.yaml", expectations);
    let mut mock = Mock::serve(&tree, manifest, &["--expect", "expect.yaml"]);
    let client = mock.register();
    let resource = format!("{}/mcp", mock.origin);
    let code = mock.code(&client, &[("resource", &resource), ("scope", "read write")]);
    let first = mock.exchange(&client, &code, VERIFIER).json();
    let token = first["access_token"].as_str().unwrap();
    let statuses = [(); 5].map(|()| mock.call("read_note", token).status);
    assert_eq!(statuses, [401, 200, 200, 429, 200]);
    let second = mock.refresh(&client, &first["refresh_token"]).json();
    let token = second["access_token"].as_str().unwrap();
    assert_eq!(said(&mock.call("write_note", token)), "kept");
    mock.server.terminate();
    assert_eq!(mock.server.wait().code(), Some(0), "{}", mock.server.log());
}

#[test]
fn proxy_applies_faults_to_real_server() {
    let tree = Tree::new();
    let real = Mock::start(&tree, json!({}), &[]);
    tree.file(
        "faults.yaml",
        "mock_server: { auth: {}, faults: [{ fault: bad-gateway, times: 1 }] }",
    );
    tree.file(
        "expect.yaml",
        "expect:\n- { tool: read, times: 1 }\n- { method: http/token, times: 1 }\n\
         - { method: tools/list, match: {}, times: 1 }\n",
    );
    let target = format!("{}/mcp", real.origin);
    let mut proxy = Mock::run(
        &tree,
        &[
            "proxy",
            "--target",
            &target,
            "--faults-from",
            "faults.yaml",
            "--expect",
            "expect.yaml",
            "--http",
            "127.0.0.1:0",
        ],
    );
    assert_eq!(proxy.call("read", "").status, 401);
    let token = proxy.token("");
    assert_eq!(proxy.call("read", &token).status, 502);
    assert_eq!(said(&proxy.call("read", &token)), "note");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let bearer = format!("Bearer {token}");
    let listed = proxy
        .server
        .post_with(&list, &[("Authorization", bearer.as_str())]);
    assert_eq!(listed.status, 200);
    proxy.server.terminate();
    assert_eq!(
        proxy.server.wait().code(),
        Some(0),
        "{}",
        proxy.server.log()
    );
}

#[test]
fn proxy_of_url_records_answers_and_applies_fault_flags() {
    let tree = Tree::new();
    let real = Mock::start(&tree, json!({}), &[]);
    let target = format!("{}/mcp", real.origin);
    let mut proxy = Mock::run(
        &tree,
        &[
            "proxy",
            "--target",
            &target,
            "--fault",
            "read=bad-gateway",
            "--fault",
            "write=cut",
            "--fault-times",
            "1",
            "--output",
            "tape.jsonl",
            "--journal",
            "journal.jsonl",
        ],
    );
    let statuses = [(); 3].map(|()| proxy.call("read", "").status);
    assert_eq!(statuses, [502, 200, 200]);
    let call = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "write"}});
    let batch = json!([call(5), call(6)]);
    assert_eq!(proxy.server.post_with(&batch, &[]).status, 200);
    proxy.server.terminate();
    assert_eq!(
        proxy.server.wait().code(),
        Some(0),
        "{}",
        proxy.server.log()
    );
    let lines = |name: &str| -> Vec<Value> {
        let text = tree.read(name);
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let entry = |name: &str, text: &str| {
        let result = json!({"content": [{"type": "text", "text": text}]});
        json!({"method": "tools/call", "params": {"name": name}, "result": result})
    };
    let mut kept = lines("tape.jsonl");
    for line in &mut kept {
        line.as_object_mut().unwrap().remove("ms");
    }
    let (read, write) = (entry("read", "note"), entry("write", "kept"));
    assert_eq!(kept[1..], [&read, &read, &write, &write].map(Clone::clone));
    let ids: Vec<Value> = lines("journal.jsonl")
        .iter()
        .map(|line| {
            json!([
                line["number"],
                line["id"],
                line["result"] == write["result"]
            ])
        })
        .collect();
    assert_eq!(
        ids,
        [
            // The fault that the proxy applied.
            json!([1, null, false]),
            json!([2, 1, false]),
            json!([3, 1, false]),
            json!([4, 5, true]),
            json!([5, 6, true])
        ]
    );
}

#[test]
fn fault_flag_applies_to_requests_over_http() {
    let tree = Tree::new();
    let manifest = "mock_server: { tools: [] }";
    let mut mock = Mock::serve(
        &tree,
        manifest,
        &["--fault", "unauthorized", "--fault-times", "1"],
    );
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let statuses = [(); 2].map(|()| mock.server.post_with(&list, &[]).status);
    assert_eq!(statuses, [401, 200]);
    mock.server.terminate();
    mock.server.wait();
}

#[test]
fn message_that_front_cannot_read_reaches_no_tool() {
    let tree = Tree::new();
    let mock = Mock::start(
        &tree,
        json!({"auth": {"tool_scopes": {"write": ["write"]}}}),
        &[],
    );
    let token = format!("Bearer {}", mock.token(""));
    let headers = [
        ("Content-Type", "application/json"),
        ("Authorization", token.as_str()),
    ];
    let call = |more: &str| {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"write"}}{more}}}"#
        );
        mock.server
            .ask("POST", "/mcp", &headers, text.as_bytes())
            .status
    };
    assert_eq!([call(""), call(r#","y":1e999"#)], [403, 400]);
}

#[test]
fn refused_refresh_leaves_token_and_its_scopes() {
    let tree = Tree::new();
    let auth = json!({"auth": {"scopes": ["a"], "tool_scopes": {"write": ["b"]}}});
    let mock = Mock::start(&tree, auth, &[]);
    let client = mock.register();
    let code = mock.code(&client, &[("scope", "a")]);
    let first = mock.exchange(&client, &code, VERIFIER).json();
    let refresh = |token: &Value, scope: &str| {
        let fields = [
            ("grant_type", "refresh_token"),
            ("client_id", client.as_str()),
            ("refresh_token", token.as_str().unwrap()),
            ("scope", scope),
        ];
        mock.form("/token", &fields).json()
    };
    let wider = refresh(&first["refresh_token"], "a b");
    assert_eq!(wider["error"], "invalid_scope");
    let same = refresh(&first["refresh_token"], "a");
    assert_eq!(same["scope"], "a", "{same}");
}

#[test]
fn fault_of_login_waits_for_code() {
    let tree = Tree::new();
    let members = json!({
        "auth": {"consent": "page"},
        "faults": [{"fault": "wrong-state", "times": 1}],
    });
    let mock = Mock::start(&tree, members, &[]);
    let client = mock.register();
    let asked = query(&[
        ("client_id", &client),
        ("redirect_uri", REDIRECT),
        ("response_type", "code"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", "s"),
    ]);
    assert_eq!(mock.get("/authorize?client_id=unknown").status, 400);
    assert_eq!(mock.get(&format!("/authorize?{asked}")).status, 200);
    let states = [(); 2].map(|()| {
        let allowed = mock.form(&format!("/authorize?{asked}"), &[]);
        let location = allowed.header("location").unwrap().to_owned();
        location.contains("state=another")
    });
    assert_eq!(states, [true, false]);
}
