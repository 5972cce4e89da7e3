//! `replay setup` and `replay doctor`, on a machine with the configuration files of clients.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

use crate::calls::{Ended, REPLAY, run};
use crate::harness::Server;
use crate::tree::Tree;

/// Makes a home with a project in it.
fn home() -> Tree {
    let tree = Tree::new();
    tree.dir("project");
    tree
}

fn replay(tree: &Tree, arguments: &[&str]) -> Ended {
    run(
        tree,
        &[
            &[
                "sh",
                "-c",
                "export HOME=$PWD; cd project && exec \"$@\"",
                "sh",
                REPLAY,
            ],
            arguments,
        ]
        .concat(),
        |_| {},
    )
}

/// Runs `replay` and returns exit status, standard output and standard error. The tree is replaced
/// by `~` and this program by `REPLAY`.
fn replay_output(tree: &Tree, arguments: &[&str]) -> (i32, String, String) {
    let Ended { status, out, err } = replay(tree, arguments);
    let root = tree.root().to_str().unwrap();
    let text = |text: String| {
        let text = text.replace(REPLAY, "REPLAY").replace(root, "~");
        // The available sandbox tiers depend on the machine.
        let lines = text
            .lines()
            .filter(|line| !line.starts_with("walls around"));
        lines.fold(String::new(), |text, line| text + line + "\n")
    };
    (status, text(out), text(err))
}

#[test]
fn setup_prints_entry_in_client_format() {
    let tree = home();
    let entry =
        |allow: &str| json!({"command": "REPLAY", "args": ["--mcp-server", "--allow", allow]});
    for (client, servers, path) in [
        ("claude", "mcpServers", "~/project/.mcp.json"),
        (
            "claude-desktop",
            "mcpServers",
            "~/.config/Claude/claude_desktop_config.json",
        ),
        ("cursor", "mcpServers", "~/project/.cursor/mcp.json"),
        ("vscode", "servers", "~/project/.vscode/mcp.json"),
        ("gemini", "mcpServers", "~/.gemini/settings.json"),
        ("zed", "context_servers", "~/.config/zed/settings.json"),
    ] {
        let (status, printed, words) = replay_output(&tree, &["setup", client]);
        // The others may start the server elsewhere.
        let is_in_project = ["claude", "gemini", "zed"].contains(&client);
        let mut expected = entry(if is_in_project {
            ".:rw"
        } else {
            "~/project:rw"
        });
        if client == "vscode" {
            expected["type"] = json!("stdio");
        }
        let printed: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(
            (status, printed),
            (0, json!({servers: {"replay": expected}})),
            "{client}"
        );
        let told = format!("this belongs in {path}; add --write to write it\n");
        assert!(words.starts_with(&told), "{words}");
    }
    let (_, printed, _) = replay_output(
        &tree,
        &[
            "setup", "codex", "--allow", ".", "--allow", "/tmp:rw", "--", "--tools", "all",
        ],
    );
    let args = r#"["--mcp-server", "--allow", ".", "--allow", "/tmp:rw", "--tools", "all"]"#;
    assert_eq!(
        printed,
        format!("[mcp_servers.replay]\ncommand = \"REPLAY\"\nargs = {args}\n")
    );
    assert!(!tree.has(".codex") && !tree.has("project/.mcp.json"));
}

#[test]
fn written_entry_starts_server() {
    let tree = home();
    let wrote = replay_output(&tree, &["setup", "claude", "--write"]);
    let words = "wrote ~/project/.mcp.json\nthe walls do not hold the shell and file tools of Claude Code itself; --only switches them off\nnext: start `claude` in this directory, and approve the server\n";
    assert_eq!(wrote, (0, String::new(), words.to_owned()));
    let written: Value = serde_json::from_str(&tree.read("project/.mcp.json")).unwrap();
    let entry = &written["mcpServers"]["replay"];
    let args: Vec<&str> = entry["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    let line = [&[entry["command"].as_str().unwrap()], &args[..]].concat();
    // As the client does it, in the project.
    let line = [&["sh", "-c", "cd project && exec \"$@\"", "sh"], &line[..]].concat();
    let mut server = Server::start_program(&tree, &line, &[]).opened("2025-11-25");
    let listed =
        server.call("list_allowed_directories", json!({})).result()["structuredContent"].clone();
    assert_eq!(
        listed["directories"],
        json!([{"path": tree.text("project"), "writable": true}])
    );
}

/// Returns the printed or written files of `setup CLIENT --only`, and the messages.
fn only(client: &str, files: &[&str]) -> (Vec<Value>, String) {
    let tree = home();
    let (status, _, words) = replay_output(&tree, &["setup", client, "--only", "--write"]);
    assert_eq!(status, 0, "{client}: {words}");
    let read = |file: &&str| {
        let text = tree.read(file).replace(REPLAY, "REPLAY");
        serde_json::from_str(&text).unwrap_or_else(|_| toml_edit::de::from_str(&text).unwrap())
    };
    (files.iter().map(read).collect(), words)
}

#[test]
fn own_tools_of_client_are_switched_off() {
    let line = json!(["REPLAY", "--mcp-server", "--allow", ".:rw"]);
    let (files, _) = only("opencode", &[".config/opencode/opencode.json"]);
    let entry = json!({"type": "local", "command": line, "enabled": true});
    let permission = json!({"*": "deny", "bash": "deny", "replay_*": "allow"});
    assert_eq!(
        files[0],
        json!({"mcp": {"replay": entry}, "permission": permission})
    );
    let (files, words) = only(
        "gemini",
        &[".gemini/settings.json", ".gemini/policies/replay.toml"],
    );
    let entry = json!({"command": "REPLAY", "args": line.as_array().unwrap()[1..]});
    assert_eq!(files[0], json!({"mcpServers": {"replay": entry}}));
    assert_eq!(
        files[1],
        json!({"rule": [
            {"toolName": "*", "decision": "deny", "priority": 900},
            {"mcpName": "replay", "toolName": "*", "decision": "allow", "priority": 950},
        ]})
    );
    assert!(
        words.contains("wrote ~/.gemini/policies/replay.toml\n"),
        "{words}"
    );
    let (_, words) = only("claude", &[]);
    assert!(
        words.ends_with("next: start `claude --tools \"\"`\n"),
        "{words}"
    );
}

#[test]
fn own_tools_are_switched_off_after_plain_setup() {
    let tree = home();
    let file = ".config/opencode/opencode.jsonc";
    tree.file(file, "{ // mine\n}\n");
    for flags in [&["--write"][..], &["--only", "--write"], &["--write"]] {
        let line = [&["setup", "opencode"], flags].concat();
        let (status, _, words) = replay_output(&tree, &line);
        assert_eq!(status, 0, "{words}");
    }
    let text = tree.read(file);
    assert!(
        text.contains("// mine") && text.contains("\"replay_*\": \"allow\""),
        "{text}"
    );
    assert!(!tree.has(".config/opencode/opencode.json"));
}

#[test]
fn own_settings_are_replaced_only_by_force() {
    let tree = home();
    let file = ".qwen/settings.json";
    let own = "{\"tools\": {\"core\": [\"shell\"]}, \"permissions\": {\"deny\": [\"mine\"]}}";
    tree.file(file, own);
    let write = ["setup", "qwen", "--only", "--write"];
    let (status, _, words) = replay_output(&tree, &write);
    let refusal =
        "replay: `~/.qwen/settings.json` has another `tools.core`; add --force to replace it\n";
    assert_eq!((status, words.as_str()), (2, refusal));
    assert_eq!(tree.read(file), own);
    let forced = [&write[..], &["--force"]].concat();
    assert_eq!(replay_output(&tree, &forced).0, 0);
    let written: Value = serde_json::from_str(&tree.read(file)).unwrap();
    assert_eq!(written["tools"]["core"], json!(["none"]));
    assert_eq!(written["permissions"]["deny"][0], "mine");
}

#[test]
fn client_without_switch_refuses_only() {
    let tree = home();
    let (status, printed, words) = replay_output(&tree, &["setup", "cursor", "--only", "--write"]);
    let refusal = "replay: Cursor cannot switch its own shell and file tools off, and they work \
        outside the walls; leave out --only\n";
    assert_eq!((status, printed.as_str(), words.as_str()), (2, "", refusal));
    assert!(!tree.has("project/.cursor"));
}

#[test]
fn yaml_is_printed_and_not_written() {
    let tree = home();
    let (status, printed, words) = replay_output(&tree, &["setup", "continue"]);
    let entry = "mcpServers:\n  - name: \"replay\"\n    command: \"REPLAY\"\n    args:\n      - \
        \"--mcp-server\"\n      - \"--allow\"\n      - \".:rw\"\n";
    assert_eq!((status, printed.as_str()), (0, entry));
    assert!(
        words.starts_with("this belongs in ~/.continue/config.yaml\n"),
        "{words}"
    );
    let (_, printed, _) = replay_output(&tree, &["setup", "goose", "--only"]);
    let [own, developer] = [
        "  replay:\n    enabled: true\n",
        "  developer:\n    enabled: false\n",
    ];
    assert!(
        printed.contains(own) && printed.ends_with(developer),
        "{printed}"
    );
    let (status, _, words) = replay_output(&tree, &["setup", "goose", "--write"]);
    let refusal = "replay: `~/.config/goose/config.yaml` is YAML, which this command does not \
        change; leave out --write, and add what it prints\n";
    assert_eq!((status, words.as_str()), (2, refusal));
}

#[test]
fn generic_entry_names_directory() {
    let tree = home();
    let (status, printed, words) = replay_output(&tree, &["setup", "generic"]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        (status, &printed["mcpServers"]["replay"]["args"]),
        (0, &json!(["--mcp-server", "--allow", "~/project:rw"]))
    );
    assert!(
        words.starts_with("this belongs in the configuration of your client\n"),
        "{words}"
    );
}

#[test]
fn old_flags_are_written_with_new_names() {
    let tree = home();
    let arguments = ["setup", "claude", "--", "--net", "npm", "--freeze-sinks"];
    let (status, printed, words) = replay_output(&tree, &arguments);
    assert_eq!(status, 0, "{words}");
    let entry: Value = serde_json::from_str(&printed).unwrap();
    let args = &entry["mcpServers"]["replay"]["args"];
    assert_eq!(
        *args,
        json!([
            "--mcp-server",
            "--allow",
            ".:rw",
            "--allow-hosts",
            "npm",
            "--freeze-autorun"
        ])
    );
    let warning = "replay: command line: `--net` is now `--allow-hosts`; the next version does not accept `--net`\n";
    assert!(words.starts_with(warning), "{words}");
}

#[test]
fn setup_keeps_other_content_of_file() {
    let tree = home();
    let before = "# mine\nmodel = \"o\"\n\n[mcp_servers.other]\ncommand = \"x\"\n";
    tree.file(".codex/config.toml", before);
    std::fs::set_permissions(
        tree.path(".codex/config.toml"),
        std::fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    let write = ["setup", "codex", "--write"];
    let next = "the walls do not hold the shell and file tools of Codex itself; --only switches them off\nnext: start `codex`; `/mcp` lists the server\n";
    assert_eq!(
        replay_output(&tree, &write),
        (
            0,
            String::new(),
            format!("wrote ~/.codex/config.toml\n{next}")
        )
    );
    let written = tree.read(".codex/config.toml");
    assert!(written.starts_with(before), "{written}");
    assert_eq!(
        std::fs::metadata(tree.path(".codex/config.toml"))
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o640
    );
    assert_eq!(
        replay_output(&tree, &write).2,
        format!("~/.codex/config.toml has this entry already\n{next}")
    );
    assert_eq!(tree.read(".codex/config.toml"), written);

    let other = ["setup", "codex", "--write", "--allow", "."];
    let (status, diff, words) = replay_output(&tree, &other);
    let refusal = "replay: `~/.codex/config.toml` has another `mcp_servers.replay`; add --force to \
        replace it\n";
    assert_eq!((status, words.as_str()), (2, refusal));
    let changed = "-args = [\"--mcp-server\", \"--allow\", \".:rw\"]\n+args = [\"--mcp-server\", \"--allow\", \".\"]\n";
    assert!(
        diff.starts_with("--- ~/.codex/config.toml\n") && diff.ends_with(changed),
        "{diff}"
    );
    assert_eq!(tree.read(".codex/config.toml"), written);
    assert_eq!(
        replay_output(&tree, &[&other[..], &["--force"]].concat()).0,
        0
    );
    assert_eq!(
        tree.read(".codex/config.toml"),
        written.replace(".:rw", ".")
    );
}

#[test]
fn setup_warns_when_agents_can_change_file() {
    let tree = home();
    let (status, _, words) = replay_output(
        &tree,
        &["setup", "claude-desktop", "--write", "--allow", "..:rw"],
    );
    let path = "~/.config/Claude/claude_desktop_config.json";
    let told = format!(
        "wrote {path}\nagents can change this file, and so remove their walls; protect it: -- \
         --protect {path}\nthe walls do not hold the shell and file tools of Claude Desktop itself\nnext: quit Claude Desktop and start it again\n"
    );
    assert_eq!((status, words), (0, told));
}

#[test]
fn path_with_space_is_shell_quoted() {
    let tree = home();
    tree.dir("my files");
    let config = format!("XDG_CONFIG_HOME={}", tree.text("my files"));
    let home = format!("HOME={}", tree.text("."));
    let words = [
        "env",
        &home,
        &config,
        REPLAY,
        "setup",
        "claude-desktop",
        "--write",
        "--allow",
        &tree.text("my files:rw"),
    ];
    let told = run(&tree, &words, |_| {})
        .err
        .replace(tree.root().to_str().unwrap(), "~");
    assert!(
        told.contains("protect it: -- --protect '~/my files/Claude/claude_desktop_config.json'\n"),
        "{told}"
    );
}

#[test]
fn codex_entry_is_written_to_its_file() {
    let tree = home();
    tree.dir("codex");
    let home = format!("CODEX_HOME={}", tree.text("codex"));
    let words = [
        "env",
        &home,
        REPLAY,
        "setup",
        "codex",
        "--write",
        "--allow",
        &tree.text("project"),
    ];
    assert_eq!(run(&tree, &words, |_| {}).status, 0);
    assert!(
        tree.read("codex/config.toml")
            .starts_with("[mcp_servers.replay]\n")
            && !tree.has(".codex")
    );
}

#[test]
fn unwritable_configuration_is_left_unchanged() {
    let tree = home();
    tree.file("project/.mcp.json", "{}");
    std::fs::set_permissions(
        tree.path("project/.mcp.json"),
        std::fs::Permissions::from_mode(0o444),
    )
    .unwrap();
    let refusal = "replay: `~/project/.mcp.json` is read-only; make it writable first (chmod \
        u+w)\n";
    assert_eq!(
        replay_output(&tree, &["setup", "claude", "--write"]),
        (2, String::new(), refusal.to_owned())
    );
    assert_eq!(tree.read("project/.mcp.json"), "{}");
}

#[test]
fn setup_follows_no_link_out_of_project() {
    let tree = home();
    tree.file("victim.json", "{}")
        .link(tree.path("victim.json"), "project/.mcp.json");
    let (status, _, words) = replay_output(&tree, &["setup", "claude", "--write"]);
    assert_eq!(status, 2);
    let refusal = "replay: `~/project/.mcp.json` cannot be changed: the path goes through a link \
        out of `~/project`, which an agent may have made; replace the link by a file\n";
    assert_eq!(words, refusal);
    assert_eq!(tree.read("victim.json"), "{}");
}

#[test]
fn setup_refuses_invalid_server_flags() {
    let tree = home();
    for (flags, expected) in [
        (
            &["--", "--toolz", "all"][..],
            "the flags after `--`: unexpected argument '--toolz' found",
        ),
        (
            &["--", "--http", "127.0.0.1:1"],
            "a client starts its own server and uses stdin and stdout; leave out --http and \
             subcommands",
        ),
        (
            &["--allow", "gone:rw"],
            "the allowed directory `~/project/gone` does not exist",
        ),
    ] {
        let (status, printed, words) =
            replay_output(&tree, &[&["setup", "claude", "--write"], flags].concat());
        assert_eq!((status, printed.as_str()), (2, ""), "{words}");
        assert!(words.starts_with(&format!("replay: {expected}")), "{words}");
    }
    tree.file("project/.mcp.json", "{\"mcpServers\": ");
    let (status, _, words) = replay_output(&tree, &["setup", "claude", "--write"]);
    assert_eq!(status, 2);
    assert!(
        words.starts_with("replay: `~/project/.mcp.json`: the file is not valid JSON: "),
        "{words}"
    );
    assert_eq!(tree.read("project/.mcp.json"), "{\"mcpServers\": ");
}

#[test]
fn doctor_summarises_state() {
    let tree = home();
    tree.file(
        ".gemini/settings.json",
        r#"{"mcpServers": {"replay": {"command": "/gone/replay"}}}"#,
    );
    let moved = r#"{"mcpServers": {"replay": {"command": "/bin/sh", "args": ["--mcp-server", "--allow", "/gone"]}}}"#;
    tree.file(".cursor/mcp.json", moved);
    assert_eq!(replay_output(&tree, &["setup", "vscode", "--write"]).0, 0);
    let (status, text, words) = replay_output(&tree, &["doctor"]);
    assert!(text.lines().count() <= 40, "{text}");
    assert_eq!(words, "");
    let stands = replay(&tree, &["sandbox", "run", "--allow", ".", "--", "true"]).status == 0;
    assert_eq!(status, i32::from(!stands), "{text}");
    assert!(
        text.contains("  ~/project/.vscode/mcp.json starts REPLAY (--client vscode)\n"),
        "{text}"
    );
    assert!(
        text.contains("  ~/.gemini/settings.json starts `/gone/replay`, which does not exist\n"),
        "{text}"
    );
    let gone = "  ~/.cursor/mcp.json starts /bin/sh: its directory `/gone` does not exist\n";
    assert!(text.contains(gone), "{text}");
    assert!(
        text.contains("  run: replay setup gemini --write --force\n"),
        "{text}"
    );
    let report: Value = serde_json::from_str(&replay(&tree, &["doctor", "--json"]).out).unwrap();
    assert_eq!(report["commands"].is_string(), stands);
    assert_eq!(report["findings"][0]["about"], "program");
}

#[test]
fn setup_and_doctor_propose_same_flags() {
    let tree = home();
    tree.file("project/package.json", "{}").dir(".npm/_cacache");
    let words = "~/project has package.json, and commands reach no network;";
    let flags = "--allow-hosts npm --downloads npm\n";
    let (_, _, told) = replay_output(&tree, &["setup", "claude"]);
    let note = format!("{words} so that they can install packages and keep them: -- {flags}");
    assert!(told.contains(&note), "{told}");
    let (_, told, _) = replay_output(&tree, &["doctor"]);
    assert!(told.contains(&format!("  {words} {flags}")), "{told}");
}

/// Inside a sandbox, no second one can be created.
#[test]
fn doctor_explains_refused_commands() {
    let tree = home();
    let program = std::path::Path::new(REPLAY)
        .parent()
        .unwrap()
        .to_str()
        .unwrap();
    let walls = [
        "sandbox", "run", "--allow", ".:rw", "--allow", program, "--",
    ];
    if replay(&tree, &[&walls[..], &["true"]].concat()).status != 0 {
        assert!(std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none());
        return;
    }
    let (status, text, _) = replay_output(&tree, &[&walls[..], &[REPLAY, "doctor"]].concat());
    assert_eq!(status, 1, "{text}");
    assert!(
        text.contains("this program already runs inside another replay"),
        "{text}"
    );
    assert!(
        text.ends_with("commands are refused: no walls can be built\n"),
        "{text}"
    );
}
