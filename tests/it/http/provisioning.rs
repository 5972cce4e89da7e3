//! Tokens added to the token file while the server runs. They are served immediately, if the
//! sandbox of the server permits their directories.

use std::process::Command;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::call;
use super::client::{Server, command};
use super::reload::reload;
use super::tenants::token;
use crate::tree::Tree;

struct Stage {
    tree: Tree,
    server: Server,
}

impl Stage {
    /// Starts a server with one token, and a directory for the directories of further tokens.
    fn new(flags: &[&str]) -> Self {
        let tree = Tree::new();
        tree.dir("src/alice")
            .dir("src/bob")
            .dir("elsewhere")
            .dir("read")
            .dir("tmp")
            .dir("logs");
        token(
            &tree,
            &["alice", "--own", &format!("{}:rw", tree.text("src/alice"))],
        );
        let [file, src, read] = ["tokens.jsonl", "src", "read"].map(|name| tree.text(name));
        let usual = [
            "--token-file",
            &file,
            "--allow",
            &format!("{src}:rw"),
            "--allow",
            &read,
            "--rate-limit",
            "0",
        ];
        let mut command = command(&tree, &[&usual, flags].concat());
        command.env("TMPDIR", tree.path("tmp"));
        let server = Server::spawn(command);
        Self { tree, server }
    }

    fn call(&self, token: &str, tool: &str, arguments: &Value) -> Value {
        self.server
            .post_with(&call(1, tool, arguments), &[("Authorization", token)])
            .json()
    }

    #[track_caller]
    fn tool_output(&self, token: &str, tool: &str, arguments: &Value) -> Value {
        let reply = self.call(token, tool, arguments);
        assert!(reply["result"].is_object(), "{reply}");
        reply["result"]["structuredContent"].clone()
    }

    #[track_caller]
    fn shell(&self, token: &str, line: &str) -> String {
        let ran = self.tool_output(token, "execute_command", &json!({"command": line}));
        ran["stdout"].as_str().unwrap().to_owned()
    }

    fn status(&self, token: &str) -> u16 {
        self.server
            .post_with(
                &super::request(1, "ping", &json!({})),
                &[("Authorization", token)],
            )
            .status
    }

    /// Returns the output of `replay token`.
    #[track_caller]
    fn tokens(&self, action: &[&str]) -> String {
        let file = self.tree.text("tokens.jsonl");
        let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
        let output = command
            .arg("token")
            .args(action)
            .args(["--file", &file])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the number of private directories of commands.
    fn scratches(&self) -> usize {
        self.tree.private_directories("tmp").len()
    }
}

#[test]
fn new_token_is_served_without_restart() {
    for tier in ["namespaces", "landlock", "off"] {
        let stage = Stage::new(&["--sandbox", tier, "--tools", "files,command,python"]);
        assert!(
            tier == "off"
                || stage
                    .server
                    .log()
                    .contains("walls around the server: landlock"),
            "{}",
            stage.server.log()
        );
        let own = format!("{}:rw", stage.tree.text("src/bob"));
        let bob = format!(
            "Bearer {}",
            stage.tokens(&["new", "bob", "--own", &own]).trim_end()
        );
        assert_eq!(stage.status(&bob), 401);
        reload(&stage.server, "the tokens were read again");
        assert!(
            stage.server.log().contains("`bob` is active"),
            "{}",
            stage.server.log()
        );
        if stage.call(&bob, "execute_command", &json!({"command": "true"}))["error"].is_object() {
            assert!(tier != "off", "commands are refused without walls");
            continue;
        }
        // Files, commands, Python and background output of the new token. Without a sandbox HOME is
        // shared.
        let home = if tier == "off" {
            ""
        } else {
            "; echo planted | tee ~/.profile $TMPDIR/x"
        };
        let planted = if tier == "off" {
            "of bob\n"
        } else {
            "of bob\nplanted\n"
        };
        stage.tool_output(
            &bob,
            "write_file",
            &json!({"path": "a.txt", "content": "of bob\n"}),
        );
        assert_eq!(
            stage.tool_output(&bob, "list_changes", &json!({}))["calls"][0]["changed"],
            "created a.txt",
            "{tier}"
        );
        assert_eq!(
            stage.shell(&bob, &format!("cat a.txt{home}")),
            planted,
            "{tier}"
        );
        let read = stage.tool_output(
            &bob,
            "run_python_code",
            &json!({"code": "open('a.txt').read()"}),
        );
        assert_eq!(read["result"], "'of bob\\n'", "{tier}: {read}");
        stage.tool_output(
            &bob,
            "execute_command",
            &json!({"command": "echo behind", "background": true}),
        );
        let followed = stage.tool_output(
            &bob,
            "follow_command",
            &json!({"commandId": "c1", "waitSecs": 10}),
        );
        assert_eq!(followed["output"], "behind\n", "{tier}: {followed}");
        let outside = stage.call(
            &bob,
            "read_file",
            &json!({"path": stage.tree.text("src/alice")}),
        );
        assert_eq!(outside["error"]["code"], -32001, "{tier}: {outside}");
        // A rotated token keeps its files, but loses the private directories of its commands.
        let next = format!("Bearer {}", stage.tokens(&["rotate", "bob"]).trim_end());
        let before = stage.scratches();
        reload(&stage.server, "the tokens were read again");
        assert_eq!(
            [&bob, &next].map(|token| stage.status(token)),
            [401, 200],
            "{tier}"
        );
        assert_eq!(
            stage.shell(&next, "cat a.txt; cat ~/.profile $TMPDIR/x 2> /dev/null"),
            "of bob\n",
            "{tier}"
        );
        assert_eq!(stage.scratches(), before, "{tier}");
        // Also the first token, whose private directory belongs to the server.
        let alice = format!("Bearer {}", stage.tokens(&["rotate", "alice"]).trim_end());
        reload(&stage.server, "the tokens were read again");
        stage.tool_output(
            &alice,
            "write_file",
            &json!({"path": "b.txt", "content": "of alice\n"}),
        );
        assert_eq!(stage.shell(&alice, "cat b.txt"), "of alice\n", "{tier}");
        stage.tokens(&["revoke", "bob"]);
        reload(&stage.server, "`bob` has no token any more");
        assert_eq!(
            [&alice, &next].map(|token| stage.status(token)),
            [200, 401],
            "{tier}"
        );
        let Stage { tree, mut server } = stage;
        server.terminate();
        server.wait();
        assert_eq!(
            tree.private_directories("tmp"),
            Vec::<std::path::PathBuf>::new(),
            "{tier}"
        );
    }
}

#[test]
fn token_beyond_sandbox_waits_for_restart() {
    let stage = Stage::new(&["--sandbox", "off", "--tools", "files"]);
    let [elsewhere, read] = ["elsewhere", "read"].map(|name| stage.tree.text(name));
    for (name, own, why) in [
        (
            "far",
            format!("{elsewhere}:rw"),
            format!(
                "`{elsewhere}` is not below a directory of the server's start, or is only \
                 readable there: restart the server with `--allow` for a directory above those of \
                 all tokens"
            ),
        ),
        (
            "seen",
            elsewhere.clone(),
            format!(
                "`{elsewhere}` is not below a directory of the server's start: restart the server"
            ),
        ),
        (
            "writes",
            format!("{read}:rw"),
            format!(
                "`{read}` is not below a directory of the server's start, or is only readable \
                 there"
            ),
        ),
        (
            "gone",
            format!("{elsewhere}/none"),
            format!(
                "the allowed directory `{elsewhere}/none` does not exist; create it first, or \
                 allow another one"
            ),
        ),
    ] {
        let new = format!(
            "Bearer {}",
            stage.tokens(&["new", name, "--own", &own]).trim_end()
        );
        reload(&stage.server, "the tokens were read again");
        let said = format!("`{name}` is not active: {why}");
        assert!(
            stage.server.log().contains(&said),
            "{said}: {}",
            stage.server.log()
        );
        assert_eq!(stage.status(&new), 503, "{name}");
        stage.tokens(&["revoke", name]);
        reload(&stage.server, "the tokens were read again");
        assert_eq!(stage.status(&new), 401, "{name}");
    }
    // A read-only directory is sufficient for a read-only token.
    stage.tree.file("read/a.txt", "for all\n");
    let reader = format!(
        "Bearer {}",
        stage.tokens(&["new", "reader", "--own", &read]).trim_end()
    );
    reload(&stage.server, "`reader` is active");
    let reply = stage.call(&reader, "read_file", &json!({"path": "a.txt"}));
    assert_eq!(
        reply["result"]["content"][0]["text"], "for all\n",
        "{reply}"
    );
}

#[test]
fn new_tokens_appear_in_audit_log() {
    let tree = Tree::new();
    tree.dir("logs");
    let log = tree.text("logs/audit.jsonl");
    let stage = Stage::new(&["--sandbox", "off", "--tools", "files", "--audit", &log]);
    let own = format!("{}:rw", stage.tree.text("src/bob"));
    let bob = stage.tokens(&["new", "bob", "--own", &own, "--own-tools", "files,command"]);
    reload(&stage.server, "the tokens were read again");
    assert!(
        stage.server.log().contains("`bob` is not active"),
        "{}",
        stage.server.log()
    );
    let why = "could be read by commands without walls (--sandbox off)";
    assert!(stage.server.log().contains(why), "{}", stage.server.log());
    assert_eq!(stage.status(&format!("Bearer {}", bob.trim_end())), 503);
    stage.tokens(&["revoke", "bob"]);
    let bob = stage.tokens(&["new", "bob", "--own", &own]);
    reload(&stage.server, "`bob` is active");
    let bob = format!("Bearer {}", bob.trim_end());
    stage.tool_output(
        &bob,
        "write_file",
        &json!({"path": "a.txt", "content": "x"}),
    );
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let said: Vec<_> = lines
        .iter()
        .map(|line| [&line["event"], &line["client"]].map(Value::clone))
        .collect();
    assert_eq!(
        said,
        ["client", "begin", "call"].map(|event| [json!(event), json!("bob")])
    );
    let grant =
        json!({"client": "bob", "path": stage.tree.text("src/bob"), "access": "read-write"});
    assert_eq!(lines[0]["grants"], json!([grant]));
}
