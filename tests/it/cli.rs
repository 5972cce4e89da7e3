//! Command line: arguments, output and exit status.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use replay_base::limits;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{Server, ends_within};
use crate::tree::Tree;

fn run(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
    command
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("PATH", "/usr/bin:/bin");
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.stdin(Stdio::null()).output().unwrap()
}

fn parts(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn tool_runs_from_command_line() {
    let tree = Tree::new();
    tree.file("a.txt", "one\ntwo\n");
    let read = run(
        tree.root(),
        &[
            "call",
            "read_file",
            "path=a.txt",
            "offset=2",
            "--allow",
            ".",
        ],
    );
    assert_eq!(
        parts(&read),
        (Some(0), "two\n[lines 2-2 of 2]\n".to_owned(), String::new())
    );

    let json_call = run(
        tree.root(),
        &[
            "call",
            "read_file",
            r#"{"path":"a.txt"}"#,
            "--json",
            "--allow",
            ".",
        ],
    );
    let result: Value = serde_json::from_slice(&json_call.stdout).unwrap();
    assert_eq!(
        result["content"],
        json!([{"type": "text", "text": "one\ntwo\n"}])
    );

    let failed = run(
        tree.root(),
        &["call", "read_file", "path=/etc/hostname", "--allow", "."],
    );
    let root = tree.root().display();
    let message = format!(
        "error: `/etc/hostname` is outside the allowed directories\nhint: allowed directories: {root} (read-only); the operator can allow \
             more with --allow DIR\n"
    );
    assert_eq!(parts(&failed), (Some(1), String::new(), message));

    let command = run(
        tree.root(),
        &[
            "call",
            "execute_command",
            "command=exit 3",
            "--allow",
            ".:rw",
            "--sandbox",
            "off",
        ],
    );
    assert_eq!(
        parts(&command),
        (
            Some(1),
            "(no output)\n[exit code: 3]\n".to_owned(),
            String::new()
        )
    );
}

#[test]
fn closed_stdout_prints_no_error() {
    let tree = Tree::new();
    let note = "replay: the token (shown once), then its line for --token-file; send SIGHUP to a \
        running server to apply it\n";
    for (arguments, told) in [
        (&["tools", "--json"][..], ""),
        (&["token", "new", "alice"][..], note),
        (&["mock", "schema"][..], ""),
        (&["completions", "bash"][..], ""),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
        command
            .args(arguments)
            .current_dir(tree.root())
            .stdin(Stdio::null())
            .stdout(writer);
        assert_eq!(
            parts(&command.output().unwrap()),
            (Some(141), String::new(), told.to_owned()),
            "{arguments:?}"
        );
    }
}

#[test]
fn changed_token_file_note_names_sighup() {
    let tree = Tree::new();
    for (action, note) in [
        (
            "new",
            "replay: the token (shown once); send SIGHUP to a running server to apply it\n",
        ),
        (
            "rotate",
            "replay: the old token is replaced; send SIGHUP to a running server to apply it\n",
        ),
    ] {
        let arguments = ["token", action, "alice", "--file", "tokens"];
        let (code, token, told) = parts(&run(tree.root(), &arguments));
        assert_eq!((code, &*told), (Some(0), note));
        assert!(token.starts_with("rpl_") && token.len() == 48, "{token}");
    }
}

#[test]
fn token_new_rejects_server_flags_with_hint() {
    let tree = Tree::new();
    let refused = run(
        tree.root(),
        &[
            "token",
            "new",
            "alice",
            "--allow",
            "/src/alice:rw",
            "--file",
            "tokens",
        ],
    );
    let message = "error: unexpected argument '--allow' found\n\n  tip: '--allow' is a flag of 'replay \
        --mcp-server'\n\nUsage: replay token new <NAME>\n\nFor more information, try '--help'.\n";
    assert_eq!(
        parts(&refused),
        (Some(2), String::new(), message.to_owned())
    );
    assert!(!tree.has("tokens"));
}

#[test]
fn commands_are_refused_without_usable_sandbox() {
    let tree = Tree::new();
    tree.dir("own");
    let asked = [
        "call",
        "execute_command",
        "command=touch x",
        "--allow",
        ".:rw",
        "--protect",
        "own",
    ];
    let refused = run(
        tree.root(),
        &[&asked[..], &["--sandbox", "landlock"]].concat(),
    );
    let own = tree.text("own");
    let message = format!(
        "error: execute_command is refused: no walls can be built for commands (landlock: `{own}` \
         cannot be kept read-only (--protect, or it configures the server), because Landlock \
         rules only add rights; leave it out, give a narrower read-write directory, or run where \
         user namespaces work)\nhint: use the file tools; the operator can allow commands without \
         a wall with --sandbox off\n"
    );
    assert_eq!(parts(&refused), (Some(1), String::new(), message));
    assert!(!tree.has("x"));
}

/// Returns the error message for an invalid or failing command line.
fn complaint(tree: &Tree, arguments: &[&str]) -> String {
    let (status, stdout, stderr) = parts(&run(tree.root(), arguments));
    assert_eq!(
        (status, stdout.as_str()),
        (Some(2), ""),
        "{arguments:?}: {stderr}"
    );
    stderr
}

#[test]
fn unknown_subcommand_suggests_nearest_or_help() {
    let tree = Tree::new();
    let top = "Usage: replay [OPTIONS] --mcp-server\n       replay <COMMAND>";
    let calls = "Usage: replay calls <COMMAND>";
    for (line, word, tip, usage) in [
        (
            "servr",
            "servr",
            "'replay --help' lists the subcommands",
            top,
        ),
        ("tool", "tool", "the nearest is 'replay tools'", top),
        (
            "record -- ls",
            "record",
            "the nearest is 'replay mock record' or 'replay calls record'",
            top,
        ),
        (
            "calls recrod",
            "recrod",
            "the nearest is 'replay calls record'",
            calls,
        ),
        (
            "calls replay",
            "replay",
            "'replay calls --help' lists the subcommands",
            calls,
        ),
    ] {
        let expected = format!(
            "error: unrecognized subcommand '{word}'\n\n  tip: {tip}\n\n{usage}\n\nFor more information, try '--help'.\n"
        );
        assert_eq!(
            complaint(&tree, &line.split(' ').collect::<Vec<_>>()),
            expected,
            "{line}"
        );
    }
}

#[test]
fn unknown_tool_suggests_nearest_and_list() {
    let tree = Tree::new();
    let list = "  tip: 'replay tools --tools all' lists the tools\n\nFor more information, try '--help'.\n";
    for (typed, similar) in [
        ("grep_file", "  tip: the nearest is 'grep_files'\n"),
        ("foo", ""),
        ("xyz", ""),
    ] {
        let expected = format!("error: invalid value '{typed}' for '<TOOL>'\n\n{similar}{list}");
        assert_eq!(complaint(&tree, &["call", typed]), expected);
    }
    let expected = "error: invalid value 'file' for '--tools <SET,...>'\n  [possible values: files, command, calls, python, tests, \
                    all]\n\n  tip: a similar value exists: 'files'\n\nFor more information, try '--help'.\n";
    assert_eq!(complaint(&tree, &["tools", "--tools", "file"]), expected);
}

#[test]
fn malformed_tool_argument_gets_corrected_form() {
    let tree = Tree::new();
    for (arguments, expected) in [
        (
            &["read_file", "src/lib.rs"][..],
            "`src/lib.rs` is neither key=value nor the only argument as a JSON object; write path=src/lib.rs",
        ),
        (
            &["grep_files", "fn main", "directory=."],
            "`fn main` is neither key=value nor the only argument as a JSON object; write regex='fn main'",
        ),
        (
            &["list_allowed_directories", "x"],
            "`x` is neither key=value nor the only argument as a JSON object",
        ),
        (
            &["read_file", r#"{"path": src}"#],
            "the arguments are not valid JSON: expected value at line 1 column 10; give an object \
             such as '{\"path\":\"VALUE\"}'",
        ),
    ] {
        let said = complaint(&tree, &[&["call"], arguments, &["--allow", "."]].concat());
        assert_eq!(said, format!("replay: {expected}\n"));
    }
}

#[test]
fn unusable_listen_address_is_reported() {
    let tree = Tree::new();
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap().to_string();
    let next = "give another port (0 takes any that is free), or an address that this machine has";
    let cause = "Address already in use (os error 98)";
    let expected = format!("replay: --http {taken} cannot be listened at: {cause}; {next}\n");
    assert_eq!(
        complaint(&tree, &["--mcp-server", "--http", &taken, "--allow", "."]),
        expected
    );
}

#[test]
fn program_hidden_by_sandbox_gets_hint() {
    let tree = Tree::new();
    let missing = ["sandbox", "run", "--allow", ".", "--", "no-such-program"];
    let (status, stdout, stderr) = parts(&run(tree.root(), &missing));
    let (_, hint) = stderr.split_once('\n').unwrap();
    let sees = format!(
        "replay: the program sees installed programs and the allowed directories ({}); --allow DIR adds a directory, \
         --system PATH a program, and HOME is private\n",
        tree.root().display()
    );
    assert_eq!(
        (status, stdout.as_str(), hint),
        (Some(127), "", sees.as_str()),
        "{stderr}"
    );
    let failed = run(
        tree.root(),
        &["sandbox", "run", "--allow", ".", "--", "sh", "-c", "exit 3"],
    );
    assert_eq!(parts(&failed), (Some(3), String::new(), String::new()));
}

#[test]
fn failed_start_names_next_step() {
    let tree = Tree::new();
    for (arguments, expected) in [
        (
            &["tools", "--allow", "/nonexistent"][..],
            "the allowed directory `/nonexistent` does not exist; create it first, or allow \
             another one",
        ),
        (
            &["mock", "--tools-from", "nope.yaml"],
            "`nope.yaml` cannot be read: No such file or directory (os error 2); `replay mock \
             init` creates a manifest, `replay mock record` a cassette",
        ),
    ] {
        assert_eq!(complaint(&tree, arguments), format!("replay: {expected}\n"));
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
    command
        .args(["--mcp-server", "--http", "127.0.0.1:0", "--allow", "."])
        .current_dir(tree.root());
    command.stdin(Stdio::null()).env("REPLAY_TOKEN", "short");
    let expected = "replay: REPLAY_TOKEN must be at least 16 bytes of text; `replay token new NAME` makes one\n";
    assert_eq!(
        parts(&command.output().unwrap()),
        (Some(2), String::new(), expected.to_owned())
    );
}

#[test]
fn server_without_commands_lists_no_sandbox() {
    let tree = Tree::new();
    let mut server = Server::open(
        &tree,
        "2025-11-25",
        &[
            "--allow",
            &tree.root().display().to_string(),
            "--tools",
            "files",
        ],
    );
    let listed = server.call("list_allowed_directories", json!({}));
    assert_eq!(
        listed.result()["structuredContent"]["sandbox"],
        json!({"tier": "none", "network": "none", "gaps": 0})
    );
    server.close_stdin();
    server.recv_to_end();
    server.wait_exit();
    let stderr = server.stderr();
    let said: Vec<&str> = stderr
        .lines()
        .filter_map(|line| line.split_once("  INFO ")?.1.split_once(';'))
        .map(|(said, _)| said)
        .collect();
    assert_eq!(said, ["the tools have no commands"], "{stderr}");
}

#[test]
fn failed_start_reports_reason() {
    let tree = Tree::new();
    tree.file("file", "")
        .file("unknown.json", r#"{"read_onyl": []}"#)
        .file("zero.json", r#"{"limits": {"processes": 0}}"#)
        .file(
            "disagree.json",
            r#"{"allow_network": true, "network": "loopback"}"#,
        )
        .file(
            "baseline.json",
            r#"{"system": "default", "import_baseline": false}"#,
        )
        .file("rules.json", r#"{"extra_rules": ["(deny)"]}"#);
    let cases = [
        (vec!["--allow", "nowhere"], "nowhere` does not exist"),
        (vec!["--allow", "/"], "`/` cannot be an allowed directory"),
        (vec!["--allow", ""], "a value is required"),
        (vec!["--allow", "/proc"], "belongs to the kernel"),
        (vec!["--allow", "file"], "is not a directory"),
        (
            vec!["--sandbox-profile", "unknown.json"],
            "unknown key `read_onyl`; the nearest known one is `read_only`",
        ),
        (
            vec!["--sandbox-profile", "rules.json"],
            "Linux cannot enforce",
        ),
        (vec!["--sandbox-profile", "nowhere.json"], "cannot be read"),
        (
            vec!["--command-timeout-secs", "1000"],
            "--max-command-timeout-secs, which is 600",
        ),
        (
            vec!["--network", "loopback", "--sandbox", "off"],
            "without walls (--sandbox off) commands have the whole network",
        ),
        (
            vec!["--network", "internet"],
            "[possible values: none, loopback, host, replay:SET]",
        ),
        (
            vec!["--sandbox", "on"],
            "[possible values: require, namespaces, landlock, off]",
        ),
        (vec!["--env", "=1"], "is not a valid variable name"),
        (vec!["--env", "TMPDIR=/tmp"], "it is always private"),
        (
            vec!["--git-identity", "somebody"],
            "is not of the form `Name <mail>`",
        ),
        (vec!["--system", "nowhere"], "nowhere` does not exist"),
        (
            vec!["--allow", ".:rw", "--unprotect", "file"],
            "file`: the path is not protected by default;",
        ),
        (
            vec!["--allow", ".:rw", "--unprotect", ".cursor/rules"],
            "it is in `",
        ),
        (
            vec!["--unprotect", ".vscode"],
            ".vscode`: the path is not protected",
        ),
        (vec!["--system", "/proc"], "belongs to the kernel"),
        (
            vec!["--allow", ".:rw", "--system", "."],
            "is in the allowed directory",
        ),
        (vec!["--home", "read-only"], "HOME is not set"),
        (vec!["--limit-processes", "0"], "0 is not in 8..=4194304"),
        (vec!["--limit-memory-bytes", "1"], "is not in 16777216.."),
        (vec!["--limit-file-bytes", "1G"], "invalid digit"),
        (vec!["--max-commands", "0"], "0 is not in 1..=1024"),
        (
            vec!["--sandbox-profile", "zero.json"],
            "`limits.processes` is 0; it must be from 8 to 4194304",
        ),
        (
            vec!["--sandbox-profile", "disagree.json"],
            "the profile's `allow_network` is true, which contradicts its `network`",
        ),
        (
            vec!["--sandbox-profile", "baseline.json"],
            "its `import_baseline` is false",
        ),
    ];
    for (arguments, reason) in cases {
        let output = run(
            tree.root(),
            &[&["--mcp-server"], arguments.as_slice()].concat(),
        );
        let (status, stdout, stderr) = parts(&output);
        assert_eq!(
            (status, stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}: {stderr}"
        );
        assert!(stderr.contains(reason), "{arguments:?}: {stderr}");
    }
}

#[test]
fn profile_allows_directories() {
    let tree = Tree::new();
    let (docs, work) = (tree.dir("docs").text("docs"), tree.dir("work").text("work"));
    let profile = json!({"read_only": [docs], "read_write": [work], "allow_network": false, "import_baseline": true});
    tree.file("profile.json", profile.to_string());
    let mut server = Server::open(
        &tree,
        "2025-11-25",
        &["--sandbox-profile", &tree.text("profile.json")],
    );
    let directories = json!([{"path": work, "writable": true}, {"path": docs, "writable": false}]);
    let listed = server.call("list_allowed_directories", json!({}));
    assert_eq!(
        listed.result()["structuredContent"]["directories"],
        directories
    );
    assert_eq!(
        listed.text(),
        format!("{work} (read-write)\n{docs} (read-only)")
    );
}

#[test]
fn old_names_are_accepted_with_warning() {
    let tree = Tree::new();
    tree.file("profile.json", r#"{"freeze_sinks": false}"#);
    let arguments = "why connect a.example:5 --allow . --sandbox-profile profile.json \
                     --allow-net a.example:5 --net npm --deny-net b.example";
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let (status, stdout, stderr) = parts(&run(tree.root(), &arguments));
    assert_eq!(status, Some(0), "{stdout}{stderr}");
    assert!(stdout.starts_with("allowed: "), "{stdout}");
    let warning = |place: &str, old: &str, new: &str| {
        format!(
            "replay: {place}: `{old}` is now `{new}`; the next version does not accept `{old}`\n"
        )
    };
    assert_eq!(
        stderr,
        warning("command line", "--allow-net", "--allow-host")
            + &warning("command line", "--net", "--allow-hosts")
            + &warning("command line", "--deny-net", "--deny-host")
            + &warning(
                "the profile `profile.json`",
                "freeze_sinks",
                "freeze_autorun"
            )
    );
}

#[test]
fn network_rule_with_http_warns_of_host_names() {
    let tree = Tree::new();
    // Without a token, a server that other machines reach does not start.
    let arguments = "--mcp-server --http 0.0.0.0:0 --allow . --allow-host mcp.example.com";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let (status, _, stderr) = parts(&run(tree.root(), &arguments));
    let warning = "replay: --allow-host is a rule for the network of commands; for names by which \
        clients reach this server use --http-host\n";
    assert_eq!(
        (status, stderr.starts_with(warning)),
        (Some(2), true),
        "{stderr}"
    );
    let named = [&arguments[..], &["--http-host", "mcp.example.com"]].concat();
    let (status, _, stderr) = parts(&run(tree.root(), &named));
    assert_eq!(
        (status, stderr.contains(warning)),
        (Some(2), false),
        "{stderr}"
    );
}

#[test]
fn calls_without_directories_are_refused_with_hint() {
    let tree = Tree::new();
    let mut server = Server::open(&tree, "2025-11-25", &[]);
    let listed = server.call("list_allowed_directories", json!({}));
    assert_eq!(
        listed.result()["structuredContent"]["directories"],
        json!([])
    );
    for (tool, path) in [
        ("read_file", "/etc/hostname"),
        ("list_directory", "."),
        ("write_file", "a"),
    ] {
        let failure = server
            .call(tool, json!({"path": path, "content": ""}))
            .failure();
        let failure = failure
            .or_else(|| server.call(tool, json!({"path": path})).failure())
            .unwrap();
        assert!(
            matches!(failure.code, Some(-32001 | -32602)),
            "{tool}: {failure:?}"
        );
    }
    let denied = server
        .call("read_file", json!({"path": "/etc/hostname"}))
        .failure()
        .unwrap();
    let message = "`/etc/hostname` is outside the allowed directories\nhint: no directory is \
        allowed; the operator can allow one with --allow DIR";
    assert_eq!(
        (denied.code, denied.message.as_str()),
        (Some(-32001), message)
    );
}

#[test]
fn help_matches_snapshots() {
    let tree = Tree::new();
    let (status, stdout, overview) = parts(&run(tree.root(), &[]));
    assert_eq!(
        (status, stdout.as_str(), overview.lines().count()),
        (Some(2), "", 10)
    );
    let (_, whole, _) = parts(&run(tree.root(), &["help"]));
    let defaults = [
        ("--limit-processes <COUNT>", limits::MAX_COMMAND_PROCESSES),
        ("--limit-open-files <COUNT>", limits::COMMAND_OPEN_FILES),
        ("--max-commands <COUNT>", limits::MAX_COMMANDS as u64),
        (
            "--max-background-commands <COUNT>",
            limits::MAX_BACKGROUND_COMMANDS as u64,
        ),
        (
            "--background-output-bytes <BYTES>",
            limits::BACKGROUND_OUTPUT_BYTES,
        ),
        (
            "--command-timeout-secs <SECS>",
            limits::DEFAULT_COMMAND_TIMEOUT_SECS,
        ),
        (
            "--max-command-timeout-secs <SECS>",
            limits::MAX_COMMAND_TIMEOUT_SECS,
        ),
        (
            "--output-cap-bytes <BYTES>",
            limits::OUTPUT_CAP_BYTES as u64,
        ),
        ("--reply-tokens <TOKENS>", limits::LEAN_REPLY_TOKENS),
    ];
    for (flag, default) in defaults {
        let (_, rest) = whole.split_once(&format!("      {flag}\n")).unwrap();
        let (help, _) = rest.split_once("\n\n").unwrap();
        assert!(
            help.contains(&format!("({default} by default)")),
            "{flag}: {help}"
        );
    }
    let (status, text, _) = parts(&run(tree.root(), &["--help"]));
    assert_eq!(status, Some(0));
    insta::assert_snapshot!("overview", overview);
    insta::assert_snapshot!("help", text);
    let tools = run(tree.root(), &["tools"]);
    insta::assert_snapshot!("tools", String::from_utf8(tools.stdout).unwrap());
}

#[test]
fn imprecise_arguments_are_accepted_or_explained() {
    let tree = Tree::new();
    tree.file("a.rs", "fn a() {}\n").dir("sub");
    let mut server = Server::open(
        &tree,
        "2025-11-25",
        &["--allow", &format!("{}:rw", tree.root().display())],
    );
    let line = format!("{}:1:fn a() {{}}\n[1 matches]", tree.text("a.rs"));
    let one_file = server.call("grep_files", json!({"regex": "fn", "directory": "a.rs"}));
    assert_eq!(one_file.text(), line);
    let bare_glob = server.call("grep_files", json!({"regex": "fn", "globs": "**/*.rs"}));
    assert_eq!(bare_glob.text(), line);
    let failure = |server: &mut Server, tool: &str, arguments: Value| {
        server.call(tool, arguments).failure().unwrap().message
    };
    let home = failure(&mut server, "read_file", json!({"path": "~/a.rs"}));
    assert!(home.ends_with(
        "hint: `~` is not expanded; give an absolute path, or one below the first allowed directory"
    ));
    let uri = failure(&mut server, "read_file", json!({"path": "file:///a.rs"}));
    let expected = "`file:///a.rs` is a URI (`file:`); a path is expected\nhint: give a path; if \
        its first directory is called `file:`, begin it with `./`";
    assert_eq!(uri, expected);
    for (tool, arguments) in [
        ("write_file", json!({"path": "file:///a.rs", "content": ""})),
        ("create_directory", json!({"path": "file:///a.rs"})),
        (
            "move_file",
            json!({"source": "a.rs", "destination": "file:///a.rs"}),
        ),
        (
            "execute_command",
            json!({"command": "true", "cwd": "file:///a.rs"}),
        ),
    ] {
        assert_eq!(failure(&mut server, tool, arguments), expected, "{tool}");
    }
    assert_eq!(
        server
            .call(
                "write_file",
                json!({"path": "./file:/b.rs", "content": "b"})
            )
            .failure(),
        None
    );
    assert_eq!(
        (tree.read("file:/b.rs"), tree.has("a.rs")),
        ("b".to_owned(), true)
    );
    let taken = failure(&mut server, "create_directory", json!({"path": "a.rs"}));
    let expected = format!(
        "`{}` exists and is not a directory\nhint: choose another name, or delete what is there \
         first",
        tree.text("a.rs")
    );
    assert_eq!(taken, expected);
    let into = failure(
        &mut server,
        "move_file",
        json!({"source": "a.rs", "destination": "sub"}),
    );
    let (sub, inside) = (tree.text("sub"), tree.text("sub/a.rs"));
    assert_eq!(
        into,
        format!(
            "`{sub}` is a directory that exists\nhint: to move into it, give `{inside}` as \
            destination"
        )
    );
    let edits = json!([{"oldText": "a()", "newText": "b()"}]);
    let preview = server.call(
        "edit_file",
        json!({"path": "a.rs", "edits": edits, "dryRun": true}),
    );
    assert_eq!(
        preview.result()["structuredContent"]["diff"],
        preview.text()
    );
}

#[test]
fn sandbox_explain_describes_sandbox() {
    let tree = Tree::new();
    tree.dir("work/docs").file(
        "profile.json",
        json!({"env": {"set": {"MY_KEY": "hidden"}}}).to_string(),
    );
    let arguments = [
        "sandbox",
        "explain",
        "--allow",
        "work:rw",
        "--allow",
        "work/docs",
        "--protect",
        "work/keys",
        "--sandbox-profile",
        "profile.json",
        "--limit-cpu-secs",
        "60",
        "--sandbox",
        "off",
    ];
    let (status, stdout, stderr) = parts(&run(tree.root(), &arguments));
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    let (work, docs, keys) = (
        tree.text("work"),
        tree.text("work/docs"),
        tree.text("work/keys"),
    );
    for line in [
        "tier                     off: commands run outside any kernel wall",
        &format!("read-write               {work}"),
        &format!("read-only                {docs}"),
        &format!("by default               {work}/.git/hooks (git)"),
        &format!("--protect                {keys}"),
        "MY_KEY                   (set)",
        "PATH                     /usr/bin:/bin",
        "processor time           60 seconds for each process",
        "commands can do whatever the server's user can",
    ] {
        assert!(
            stdout.lines().any(|shown| shown.trim() == line),
            "{line}\n{stdout}"
        );
    }
    assert!(!stdout.contains("hidden"), "{stdout}");
}

#[test]
fn interrupted_bench_leaves_no_files() {
    let tree = Tree::new();
    let temporary = Tree::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
    command
        .args(["bench", "--rounds", "1000"])
        .current_dir(tree.root())
        .env("TMPDIR", temporary.root())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut bench = command.spawn().unwrap();
    let mut first = String::new();
    let mut stderr = BufReader::new(bench.stderr.take().unwrap());
    stderr.read_line(&mut first).unwrap();
    assert_eq!(first, "measuring: contents, first call\n");
    let pid = Pid::from_child(&bench);
    kill_process(pid, Signal::INT).unwrap();
    assert!(ends_within(pid, Duration::from_mins(1)));
    assert_eq!(bench.wait().unwrap().code(), Some(1));
    assert_eq!(fs::read_dir(temporary.root()).unwrap().count(), 0);
}
