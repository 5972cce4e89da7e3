//! A mock over HTTP, and a client of it that can log in.

use std::process::{Command, Stdio};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::BINARY;
use crate::http::client::{Response, Server};
use crate::tree::Tree;

/// A verifier and its challenge (RFC 7636, appendix B).
pub(super) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(super) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

pub(super) const REDIRECT: &str = "http://127.0.0.1:3030/callback";

/// A mock over HTTP.
pub(super) struct Mock {
    pub(super) server: Server,
    pub(super) origin: String,
}

impl Mock {
    /// Serves a manifest with these members and two tools.
    pub(super) fn start(tree: &Tree, members: Value, args: &[&str]) -> Self {
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
    pub(super) fn serve(tree: &Tree, manifest: &str, args: &[&str]) -> Self {
        tree.file("mock.yaml", manifest);
        let serve = ["--tools-from", "mock.yaml", "--http", "127.0.0.1:0"];
        Self::run(tree, &[&serve, args].concat())
    }

    /// Runs `replay mock` with these arguments.
    pub(super) fn run(tree: &Tree, args: &[&str]) -> Self {
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

    pub(super) fn get(&self, path: &str) -> Response {
        self.server.ask("GET", path, &[], &[])
    }

    /// Posts a form.
    pub(super) fn form(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let kind = [("Content-Type", "application/x-www-form-urlencoded")];
        self.server
            .ask("POST", path, &kind, query(fields).as_bytes())
    }

    /// Calls a tool with a token, which may be empty.
    pub(super) fn call(&self, tool: &str, token: &str) -> Response {
        let call =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}});
        let bearer = format!("Bearer {token}");
        let accepts = ("Accept", "application/json, text/event-stream");
        let headers = [accepts, ("Authorization", bearer.as_str())];
        let count = if token.is_empty() { 1 } else { 2 };
        self.server.post_with(&call, &headers[..count])
    }

    /// Registers a public client, and returns its id.
    pub(super) fn register(&self) -> String {
        let asked = json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"});
        let answer = self
            .server
            .ask("POST", "/register", &[], asked.to_string().as_bytes());
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["client_id"].as_str().unwrap().to_owned()
    }

    /// Requests a code with these fields besides the usual ones, and returns the fields of the
    /// redirect.
    pub(super) fn authorize(&self, client: &str, fields: &[(&str, &str)]) -> Vec<(String, String)> {
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
    pub(super) fn code(&self, client: &str, fields: &[(&str, &str)]) -> String {
        let fields = self.authorize(client, fields);
        let code = fields.iter().find(|(name, _)| name == "code");
        code.unwrap_or_else(|| panic!("no code: {fields:?}"))
            .1
            .clone()
    }

    pub(super) fn exchange(&self, client: &str, code: &str, verifier: &str) -> Response {
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
    pub(super) fn tokens(&self, scope: &str) -> (String, Value) {
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
    pub(super) fn token(&self, scope: &str) -> String {
        self.tokens(scope).1["access_token"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    pub(super) fn refresh(&self, client: &str, token: &Value) -> Response {
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
pub(super) fn query(fields: &[(&str, &str)]) -> String {
    let fields = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", value.replace(' ', "+")));
    fields.collect::<Vec<_>>().join("&")
}

/// Returns the text of a tool's result.
pub(super) fn tool_text(answer: &Response) -> Value {
    answer.json()["result"]["content"][0]["text"].clone()
}

/// Returns the status and the error of OAuth.
pub(super) fn error(answer: &Response) -> (u16, String) {
    let error = answer.json()["error"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    (answer.status, error)
}
