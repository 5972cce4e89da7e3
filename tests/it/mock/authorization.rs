//! Tests of simulated authorization.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::over_http::{CHALLENGE, Mock, REDIRECT, VERIFIER, error, query, tool_text};
use crate::tree::Tree;

/// Documentation with an example.
const DOCS: &str = include_str!("../../../docs/mock.md");

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
        assert_eq!(tool_text(&mock.call("read", token)), "note");
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
    assert_eq!(tool_text(&mock.call("read", token)), "note");
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
    assert_eq!(
        tool_text(&mock.call("write", &mock.token("read write"))),
        "kept"
    );
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
    assert_eq!(tool_text(&mock.call("read", &token)), "note");
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
        assert_eq!(tool_text(&good), "note", "{fault}");
    }
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
    assert_eq!(tool_text(&mock.call("write_note", token)), "kept");
    mock.server.terminate();
    assert_eq!(mock.server.wait().code(), Some(0), "{}", mock.server.log());
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
