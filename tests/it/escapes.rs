//! Escape catalogue: attempts to leave the allowed directories. Each test is named after its
//! number.
//!
//! Every case checks the reply, and a fingerprint of the outside directory before and after. A
//! denial must not reveal if the target exists. Every call that names `secret` is repeated with
//! `absent`, and the two errors must be equal except for that word.

#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments are written in place, as `json!`"
)]

mod exhaustion;
mod links;
mod paths;
mod races;
mod readonly;
mod special;

use serde_json::{Value, json};

use crate::harness::{Failure, Reply, Server};
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::{Fingerprint, Tree};

/// Content of the outside file, which must never appear in a reply.
const SECRET: &str = "TOPSECRET";
/// Name of a file that exists only outside, and is never part of a call.
const OUTSIDE_NAME: &str = "only-beyond";

/// A server with a writable directory `work` and a read-only one `docs`, and files outside of them
/// in `outside`.
struct Stage {
    tree: Tree,
    server: Server,
    outside: Fingerprint,
    /// Names of the offered tools. A call of any other tool would be refused for the wrong reason.
    offered: Vec<String>,
}

impl Stage {
    /// Creates the usual allowed directories, after `prepare` has added files.
    fn new(prepare: impl FnOnce(&Tree)) -> Self {
        let tree = Self::layout(prepare);
        let (work, docs) = (format!("{}:rw", tree.text("work")), tree.text("docs"));
        Self::on(tree, &["--allow", &work, "--allow", &docs])
    }

    /// Creates the directories without a server.
    fn layout(prepare: impl FnOnce(&Tree)) -> Tree {
        let tree = Tree::new();
        tree.file("work/ok.txt", "fine\n")
            .file("docs/read.txt", "readme\n");
        tree.file("outside/secret", SECRET)
            .file(format!("outside/{OUTSIDE_NAME}"), SECRET);
        tree.file("outside/sub/secret", SECRET);
        prepare(&tree);
        tree
    }

    /// Starts a server with these flags on an existing tree.
    fn on(tree: Tree, args: &[&str]) -> Self {
        let server = Server::start(&tree, args);
        Self::with_server(tree, server)
    }

    /// Returns the stage of a server without a handshake.
    fn with_server(tree: Tree, server: Server) -> Self {
        let outside = tree.fingerprint("outside");
        let mut server = server.opened(NEWEST_HANDSHAKE);
        let list = server.request("tools/list", json!({}));
        let tools = list.result()["tools"].as_array().unwrap();
        let offered = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect();
        Self {
            tree,
            server,
            outside,
            offered,
        }
    }

    /// Makes a call and checks that the reply reveals no outside content.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Reply {
        assert!(
            self.offered.iter().any(|name| name == tool),
            "the server has no `{tool}`"
        );
        let asked = strings(&arguments);
        let reply = self.server.call(tool, arguments);
        check_reply(&self.tree, &asked, &reply);
        reply
    }

    /// Makes a call that must succeed.
    #[track_caller]
    fn works(&mut self, tool: &str, arguments: Value) -> String {
        self.call(tool, arguments).texts().join("\n")
    }

    /// Makes a call that must fail, with any code; a failure within a list counts.
    #[track_caller]
    fn fails(&mut self, tool: &str, arguments: Value) -> Failure {
        let reply = self.call(tool, arguments.clone());
        failure(&reply).unwrap_or_else(|| panic!("{tool} {arguments} worked: {}", reply.0))
    }

    /// Makes a call that must be denied, with the same message for a missing target.
    #[track_caller]
    fn denied(&mut self, tool: &str, arguments: Value) {
        let absent: Value =
            serde_json::from_str(&arguments.to_string().replace("secret", "absent")).unwrap();
        let reply = self.call(tool, arguments.clone());
        let failure =
            failure(&reply).unwrap_or_else(|| panic!("{tool} {arguments} worked: {}", reply.0));
        assert_eq!(
            failure.code,
            Some(-32001),
            "{tool} {arguments}: {}",
            failure.message
        );
        let twin = self.call(tool, absent.clone());
        let said = without_id(&reply).replace("secret", "absent");
        assert_eq!(
            said,
            without_id(&twin),
            "E108: {tool} tells {arguments} from {absent}"
        );
    }

    /// Runs the final checks of every case.
    #[track_caller]
    fn end(mut self) {
        self.server.settle();
        assert_eq!(
            self.outside,
            self.tree.fingerprint("outside"),
            "something changed outside"
        );
    }
}

fn without_id(reply: &Reply) -> String {
    let mut reply = reply.0.clone();
    reply["id"] = Value::Null;
    reply.to_string()
}

/// Returns all strings of some arguments, which a reply may repeat.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// Checks that the reply reveals no outside content, except strings of the caller.
#[track_caller]
fn check_reply(tree: &Tree, asked: &[String], reply: &Reply) {
    let mut whole = reply.whole();
    for text in asked.iter().filter(|text| text.len() > 1) {
        let quoted = json!(text).to_string();
        whole = whole.replace(quoted.trim_matches('"'), "<asked>");
    }
    for forbidden in [SECRET, OUTSIDE_NAME, tree.path("outside").to_str().unwrap()] {
        assert!(
            !whole.contains(forbidden),
            "`{forbidden}` is in the reply: {whole}"
        );
    }
}

/// Returns the failure of a reply. Two tools report failures per file, inside a result.
fn failure(reply: &Reply) -> Option<Failure> {
    let whole = reply.failure();
    if whole.as_ref().is_some_and(|failure| failure.code.is_some()) {
        return whole;
    }
    let texts = reply.all_texts();
    let message = texts.iter().find(|text| text.contains("[error"));
    let Some(message) = message else { return whole };
    let code = [-32001, -32002, -32602, -32603]
        .into_iter()
        .find(|code| message.contains(&format!("[error {code}]")));
    // `read_multiple_files` gives no codes; comparing the messages for `secret` and `absent` checks
    // its denials.
    Some(Failure {
        code: Some(code.unwrap_or(-32001)),
        message: message.clone(),
    })
}

/// Returns calls of all reading tools on this path.
fn readers(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({"path": path})),
        ("read_multiple_files", json!({"paths": [path]})),
        ("get_file_info", json!({"path": path})),
    ]
}

/// Returns calls of all directory-walking tools on this path.
fn walkers(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("list_directory", json!({"path": path})),
        ("directory_tree", json!({"path": path})),
        (
            "search_files",
            json!({"directory": path, "nameContains": "e"}),
        ),
        ("glob_search", json!({"directory": path, "globs": ["**/*"]})),
        ("grep_files", json!({"directory": path, "regex": "E"})),
    ]
}

/// Returns calls of all writing tools on this path.
fn writers(path: &str, inside: &str) -> Vec<(&'static str, Value)> {
    let edits = json!([{"oldText": "T", "newText": "t", "limit": 0}]);
    vec![
        ("write_file", json!({"path": path, "content": "new"})),
        ("create_directory", json!({"path": path})),
        ("delete_file", json!({"path": path})),
        ("edit_file", json!({"path": path, "edits": edits})),
        ("edit_files", json!({"paths": [path], "edits": edits})),
        (
            "move_file",
            json!({"source": path, "destination": format!("{inside}/moved")}),
        ),
        (
            "move_file",
            json!({"source": format!("{inside}/ok.txt"), "destination": path}),
        ),
    ]
}
