//! Blocks of README.md: each block is run, or parsed as a client parses it; no block is left out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use replay::{TOOLS, Toolset};
use replay_files::policy::protected_by_default;
use serde_json::{Value, json};

use crate::calls::{Ended, REPLAY, Upstream, run};
use crate::derived::committed;
use crate::harness::Server;
use crate::http::client;
use crate::tree::Tree;
use crate::{http, mock};

const README: &str = include_str!("../../README.md");
const REVISION: &str = "2025-11-25";

/// Declares each block of README.md by its language and its beginning, and the function that tests
/// it.
macro_rules! blocks {
    ($($name:ident: $language:literal $begins:literal,)*) => {
        const BLOCKS: &[(&str, &str)] = &[$(($language, $begins)),*];
        mod block {
            $(#[test] fn $name() { super::$name(&super::text_of($language, $begins)); })*
        }
    };
}

blocks! {
    the_first_command: "sh" "cargo run",
    the_second_command: "sh" "sh tests/run.sh",
    clients: "sh" "replay setup",
    python_sdk: "python" "import anyio",
    files: "console" "$ printf 'fn area",
    undo: "console" "$ replay call execute_command",
    walls: "sh" "replay sandbox run",
    recorded_calls: "console" "$ echo 'import",
    a_fake_server: "yaml" "# mock.yaml",
    python_session: "json" "{\"name\": \"run_python_code\"",
    a_team: "sh" "mkdir -p share",
    bench: "sh" "replay bench",
}

/// Returns the fenced blocks of a text: language and contents.
fn fenced(text: &str) -> Vec<(&str, &str)> {
    let pieces: Vec<&str> = text.split("```").collect();
    pieces
        .chunks_exact(2)
        .filter_map(|pair| pair[1].split_once('\n'))
        .collect()
}

fn text_of(language: &str, begins: &str) -> String {
    let is_it = |(known, text): &&(&str, &str)| *known == language && text.starts_with(begins);
    let blocks = fenced(README);
    let (_, text) = blocks
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("no block `{language}` begins with `{begins}`"));
    (*text).to_owned()
}

#[test]
fn every_block_of_readme_works() {
    let found = fenced(README);
    let told: Vec<_> = found
        .iter()
        .map(|(language, text)| (*language, text.lines().next().unwrap()))
        .collect();
    assert_eq!(told.len(), BLOCKS.len(), "{told:#?}");
    for ((language, line), (expected, begins)) in told.iter().zip(BLOCKS) {
        assert!(
            language == expected && line.starts_with(begins),
            "`{language}` `{line}` is not `{expected}` `{begins}`"
        );
    }
}

/// Makes a tree with this program in `bin/`.
fn stage() -> Tree {
    let tree = Tree::new();
    tree.dir("bin").link(REPLAY, "bin/replay");
    tree
}

/// Runs shell text in a directory of the tree, with standard error redirected to standard output.
fn shell(tree: &Tree, directory: &str, text: &str) -> Ended {
    let root = tree.root().display();
    let script = format!(
        "export HOME='{root}' PATH='{root}/bin':\"$PATH\"; cd '{root}/{directory}' && exec 2>&1\n{text}"
    );
    run(tree, &["sh", "-c", &script], |_| {})
}

/// Returns the commands of a console block, each with the output lines that follow it.
fn commands(block: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((command, Vec::new())),
            (None, Some((_, lines))) if !line.is_empty() => lines.push(line),
            _ => {}
        }
    }
    found
}

fn the_first_command(block: &str) {
    let text = block.replace("cargo run --release --locked --", REPLAY);
    let ended = run(
        &Tree::new(),
        &[
            "sh",
            "-c",
            &format!("cd '{}' && {text}", env!("CARGO_MANIFEST_DIR")),
        ],
        |_| {},
    );
    assert_eq!((ended.status, ended.err.as_str()), (0, ""), "{}", ended.out);
    assert!(ended.out.contains("/src/tools/tool.rs:"), "{}", ended.out);
}

fn the_second_command(block: &str) {
    let script = block.trim_end().strip_prefix("sh ").unwrap();
    let ended = run(
        &Tree::new(),
        &[
            "sh",
            "-n",
            &format!("{}/{script}", env!("CARGO_MANIFEST_DIR")),
        ],
        |_| {},
    );
    assert_eq!((ended.status, ended.err.as_str()), (0, ""));
}

/// Starts the program that a client would start, and asks for the allowed directories.
fn start_client_server(
    tree: &Tree,
    command: &str,
    arguments: &[String],
    expected: &Value,
) -> Server {
    let command = if command == "replay" { REPLAY } else { command };
    // As the client does it, in the project.
    let directory = expected["path"].as_str().unwrap();
    let wrapper = ["env", "--chdir", directory, command];
    let line: Vec<&str> = wrapper
        .into_iter()
        .chain(arguments.iter().map(String::as_str))
        .collect();
    let mut server = Server::start_program(tree, &line, &[]).opened(REVISION);
    let listed =
        server.call("list_allowed_directories", json!({})).result()["structuredContent"].clone();
    assert_eq!(listed["directories"], json!([expected]));
    server
}

fn clients(block: &str) {
    let tree = stage();
    tree.dir("project");
    let lines: Vec<&str> = block.lines().collect();
    let [setup, doctor] = lines[..] else {
        panic!("{lines:?}")
    };
    let written = shell(&tree, "project", setup);
    assert_eq!(written.status, 0, "{}", written.out);
    let entry = serde_json::from_str::<Value>(&tree.read("project/.mcp.json")).unwrap()["mcpServers"]["replay"].clone();
    let arguments: Vec<String> = serde_json::from_value(entry["args"].clone()).unwrap();
    let expected = json!({"path": tree.text("project"), "writable": true});
    start_client_server(
        &tree,
        entry["command"].as_str().unwrap(),
        &arguments,
        &expected,
    );
    let told = shell(&tree, "project", doctor).out;
    assert!(
        told.contains(&format!("{} starts ", tree.text("project/.mcp.json"))),
        "{told}"
    );
}

/// Runs the block in `tests/clients/python_client.py` with the SDK.
fn python_sdk(block: &str) {
    let between = |before: &str, after: &str| {
        let (_, rest) = block.split_once(before).unwrap();
        serde_json::from_str::<Value>(rest.split_once(after).unwrap().0).unwrap()
    };
    let arguments: Vec<String> = serde_json::from_value(between("args=", ")")).unwrap();
    let tree = Tree::new();
    tree.file("a.txt", "TODO: rest\nTODO: sleep\n");
    let expected = json!({"path": tree.root(), "writable": false});
    let mut server = start_client_server(
        &tree,
        between("command=", ", args").as_str().unwrap(),
        &arguments,
        &expected,
    );
    let found = server
        .call("grep_files", between("\"grep_files\", ", "))"))
        .text();
    let file = tree.text("a.txt");
    assert_eq!(
        found,
        format!("{file}:1:TODO: rest\n{file}:2:TODO: sleep\n[2 matches]")
    );
}

#[test]
fn overview_examples_work() {
    let tree = stage();
    tree.file("project/main.rs", "fn main() {}\n");
    let overview = shell(&tree, "project", "replay").out;
    let lines = overview
        .lines()
        .filter(|line| line.starts_with("  replay "));
    let examples: Vec<&str> = lines
        .map(|line| line.trim().split("   ").next().unwrap())
        .collect();
    let statuses = examples
        .iter()
        .map(|example| shell(&tree, "project", &format!("{example} </dev/null")).status);
    assert_eq!(statuses.collect::<Vec<_>>(), [0; 6], "{examples:?}");
}

fn files(block: &str) {
    let tree = stage();
    tree.dir("demo");
    for (command, expected) in commands(block) {
        let said = shell(&tree, "demo", command)
            .out
            .replace(&tree.text("demo"), "/home/me/demo");
        assert_eq!(said.lines().collect::<Vec<_>>(), expected, "{command}");
    }
}

/// Uses the tree of the previous block. Without a sandbox, changes of commands are not recorded.
fn undo(block: &str) {
    assert!(
        include_str!("../../docs/undo.md").contains(block),
        "docs/undo.md begins with the same block"
    );
    let tree = stage();
    tree.file("demo/area.rs", "fn area() {}\n");
    for (command, expected) in commands(block) {
        let said = shell(&tree, "demo", command).out;
        assert_eq!(said.lines().collect::<Vec<_>>(), expected, "{command}");
    }
    assert_eq!(tree.read("demo/area.rs"), "fn area() {}\n");
}

fn walls(block: &str) {
    let tree = stage();
    tree.file(".ssh/id_ed25519", "A KEY\n").dir("project");
    let lines: Vec<&str> = block.lines().collect();
    let [run, explain, probe] = lines[..] else {
        panic!("{lines:?}")
    };
    let attempt = shell(&tree, "project", run);
    assert_ne!(
        attempt.status, 0,
        "the last of its commands finds no network: {}",
        attempt.out
    );
    assert!(
        attempt.out.starts_with("bin\n") && !attempt.out.contains("A KEY"),
        "{}",
        attempt.out
    );
    let explained = shell(&tree, "project", explain);
    assert_eq!(
        (explained.status, explained.out.lines().next()),
        (0, Some("walls")),
        "{}",
        explained.out
    );
    let probed = shell(&tree, "project", probe);
    let last = probed.out.lines().last();
    assert_eq!(
        (probed.status, last),
        (0, Some("every promised wall held")),
        "{}",
        probed.out
    );
}

fn recorded_calls(block: &str) {
    let tree = stage();
    let mut upstream = Upstream::start();
    tree.dir("shop");
    let asked = commands(block);
    let [(write, _), (record, recorded), (test, replayed)] = &asked[..] else {
        panic!("{asked:?}")
    };
    assert_eq!(
        shell(
            &tree,
            "shop",
            &write.replace("http://example.com", &(upstream.url() + "/price"))
        )
        .status,
        0
    );
    for (command, expected) in [(record, recorded), (test, replayed)] {
        let ended = shell(&tree, "shop", command);
        let said: Vec<&str> = ended
            .out
            .lines()
            .filter(|line| expected.contains(line))
            .collect();
        assert_eq!((ended.status, &said), (0, expected), "{}", ended.out);
        upstream.stop();
    }
    assert_eq!(upstream.answered(), 1);
}

fn a_fake_server(block: &str) {
    let tree = Tree::new();
    let mut server = mock::open(&tree, REVISION, block, &[]);
    assert_eq!(
        server.call("get_weather", json!({"city": "Denver"})).text(),
        "It is sunny in Denver."
    );
    server.send(
        "tools/call",
        json!({"name": "get_user", "arguments": {"id": "x"}}),
    );
    let failure = server
        .call("get_user", json!({"id": "x"}))
        .failure()
        .unwrap();
    assert_eq!(
        (failure.code, failure.message.as_str()),
        (Some(-32602), "x is no number")
    );
}

fn python_session(block: &str) {
    let (request, reply) = block.split_once('\n').unwrap();
    let [request, mut expected] =
        [request, reply].map(|text| serde_json::from_str::<Value>(text).unwrap());
    let tree = Tree::new();
    let allow = format!("{}:rw", tree.root().display());
    let mut server = Server::open(
        &tree,
        REVISION,
        &["--allow", &allow, "--tools", "files,command,python"],
    );
    let answered = server.call(
        request["name"].as_str().unwrap(),
        request["arguments"].clone(),
    );
    let mut structured = answered.result()["structuredContent"].clone();
    for reply in [&mut structured, &mut expected] {
        assert!(reply["execution_time"].is_f64(), "{reply}");
        reply["execution_time"] = json!(0);
    }
    assert_eq!(structured, expected);
}

fn a_team(block: &str) {
    assert!(
        include_str!("../../docs/http.md").contains(block),
        "docs/http.md begins with the same block"
    );
    let tree = stage();
    let (before, serve) = block.trim_end().rsplit_once('\n').unwrap();
    let ended = shell(&tree, "", before);
    let told: Vec<&str> = ended.out.lines().collect();
    let [note, token] = told[..] else {
        panic!("{}", ended.out)
    };
    assert_eq!(
        (ended.status, note),
        (
            0,
            "replay: the token (shown once); send SIGHUP to a running server to apply it"
        )
    );
    let words: Vec<&str> = serve.split(' ').skip(1).collect();
    let words = words.into_iter().map(|word| {
        if word == "127.0.0.1:8000" {
            "127.0.0.1:0"
        } else {
            word
        }
    });
    let mut command = Command::new(REPLAY);
    command
        .args(words)
        .current_dir(tree.root())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", tree.root())
        .env("XDG_STATE_HOME", tree.state());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let server = client::Server::spawn(command);
    let call = http::call(1, "list_allowed_directories", &json!({}));
    let reply = server
        .post_with(&call, &[("Authorization", &format!("Bearer {token}"))])
        .json();
    let own = json!([{"path": tree.text("share/alice"), "writable": true}]);
    assert_eq!(
        reply["result"]["structuredContent"]["directories"], own,
        "{reply}"
    );
    assert!(
        tree.read("log/audit.jsonl")
            .contains("list_allowed_directories")
    );
}

fn bench(block: &str) {
    let tree = stage();
    tree.file("src/project/a.txt", "TODO: rest\n");
    let ended = shell(&tree, "", block);
    assert_eq!(ended.status, 0, "{}", ended.out);
    for row in [
        "contents, first call",
        "1,000 files edited",
        "the command `true`",
    ] {
        assert!(ended.out.contains(&format!("\n{row} ")), "{}", ended.out);
    }
}

#[test]
fn demo_picture_matches_script() {
    let tree = Tree::new();
    let root = tree.root().to_str().unwrap();
    let walls = run(
        &tree,
        &[
            REPLAY,
            "sandbox",
            "run",
            "--allow",
            root,
            "--sandbox",
            "namespaces",
            "--",
            "true",
        ],
        |_| {},
    );
    if walls.status != 0 {
        assert!(
            std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none(),
            "{}",
            walls.err
        );
        return;
    }
    // Keeps the environment of this test, which locates the compiler. The script has its own
    // deadline.
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/picture.py");
    let drawn = Command::new("python3")
        .arg(script)
        .arg(REPLAY)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        drawn.status.success(),
        "{}",
        String::from_utf8_lossy(&drawn.stderr)
    );
    committed(
        "docs/session.svg",
        std::str::from_utf8(&drawn.stdout).unwrap(),
    );
}

#[test]
fn readme_is_short() {
    let words = |text: &str| text.split_ascii_whitespace().count();
    assert!(
        README.lines().count() <= 250,
        "README.md has {} lines, at most 250",
        README.lines().count()
    );
    assert!(
        words(README) <= 1800,
        "README.md has {} words, at most 1,800",
        words(README)
    );
    let calls = include_str!("../../docs/calls.md");
    assert!(
        calls.lines().count() <= 150,
        "docs/calls.md has {} lines, at most 150",
        calls.lines().count()
    );
}

#[test]
fn readme_names_tools_and_protected_paths() {
    let (python, others): (Vec<_>, Vec<_>) = TOOLS
        .iter()
        .map(|make| make())
        .partition(|tool| tool.toolset() == Toolset::Python);
    for tool in others {
        assert!(
            README.contains(&format!("`{}`", tool.name())),
            "README.md names no `{}`",
            tool.name()
        );
    }
    assert!(
        README.contains(&format!("packages, {} in all", python.len())),
        "there are {} for Python",
        python.len()
    );
    for path in [".mcp.json", ".cursor", ".vscode/mcp.json", ".codex"] {
        assert!(
            README.contains(&format!("`{path}`"))
                && protected_by_default().any(|(known, _)| known == path)
        );
    }
}

/// Links between the documents resolve to a file and, if named, to a heading.
#[test]
fn document_links_resolve() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents: Vec<PathBuf> = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "benches/README.md",
    ]
    .map(|name| root.join(name))
    .to_vec();
    documents.extend(
        std::fs::read_dir(root.join("docs"))
            .unwrap()
            .map(|entry| entry.unwrap().path()),
    );
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    for document in documents {
        let text = std::fs::read_to_string(&document).unwrap();
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split_once(')'))
            .map(|(target, _)| target)
        {
            if target.starts_with("https://") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() {
                document.clone()
            } else {
                document.parent().unwrap().join(file)
            };
            assert!(
                path.exists(),
                "{}: `{target}` is not there",
                document.display()
            );
            assert!(
                heading.is_empty() || headings(&path).contains(heading),
                "{}: no `{target}`",
                document.display()
            );
        }
    }
}

/// Returns the headings of a document as link anchors.
fn headings(document: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(document).unwrap();
    let titles = text.lines().filter(|line| line.starts_with('#'));
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    let name = |title: &str| {
        title
            .trim_start_matches(['#', ' '])
            .to_lowercase()
            .chars()
            .filter(kept)
            .collect::<String>()
    };
    titles.map(|title| name(title).replace(' ', "-")).collect()
}
