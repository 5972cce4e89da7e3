//! Memory budget of concurrent calls: the total stays below `--memory-mib`, and only large requests
//! wait or are refused.

use std::fs::File;
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use rustix::process::Pid;
use serde_json::{Value, json};

use crate::harness::{DEADLINE, Failure, Reply, Server};
use crate::http::client::Client;
use crate::http::tenants::pair_on;
use crate::tree::Tree;

/// Value of `--memory-mib` in these tests.
const MEMORY_MIB: u64 = 64;
/// Other memory of the program: code, stacks, thread buffers and memory retained by the allocator.
const BESIDE_MIB: u64 = 96;

/// Returns the peak memory of a process, in MiB.
#[track_caller]
fn peak_mib(pid: Pid) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    peak.trim()
        .trim_end_matches(" kB")
        .trim()
        .parse::<u64>()
        .unwrap()
        / 1024
}

#[track_caller]
fn is_within(pid: Pid) {
    let peak = peak_mib(pid);
    assert!(peak < MEMORY_MIB + BESIDE_MIB, "{peak} MiB");
}

fn server(tree: &Tree) -> Server {
    let allow = format!("{}:rw", tree.text("work"));
    let memory = MEMORY_MIB.to_string();
    let flags = [
        "--allow",
        &allow,
        "--tools",
        "files",
        "--memory-mib",
        &memory,
        "--reply-tokens",
        "0",
    ];
    Server::open(tree, "2025-11-25", &flags)
}

/// Creates a sparse file.
fn sparse(tree: &Tree, name: &str, bytes: u64) {
    tree.file(name, "");
    File::options()
        .write(true)
        .open(tree.path(name))
        .unwrap()
        .set_len(bytes)
        .unwrap();
}

/// Sends a call this many times concurrently, and returns all replies.
fn call_concurrently(
    server: &mut Server,
    times: usize,
    tool: &str,
    arguments: impl Fn(usize) -> Value,
) -> Vec<Reply> {
    let ids: Vec<Value> = (0..times)
        .map(|index| {
            server.send(
                "tools/call",
                json!({"name": tool, "arguments": arguments(index)}),
            )
        })
        .collect();
    ids.iter().map(|id| server.reply_to(id)).collect()
}

/// Asserts that each reply is an answer or an out-of-memory error, with at least one answer.
#[track_caller]
fn assert_answered_or_out_of_memory(replies: &[Reply], is_answer: impl Fn(&Reply) -> bool) {
    let refused = |reply: &Reply| {
        reply.failure().is_some_and(|Failure { code, message }| {
            code == Some(-32603) && message.contains("--memory-mib")
        })
    };
    for reply in replies {
        assert!(is_answer(reply) || refused(reply), "{}", reply.0);
    }
    assert!(replies.iter().any(is_answer));
}

#[test]
fn edits_of_large_files_stay_within_budget() {
    let tree = Tree::new();
    for index in 0..8 {
        sparse(&tree, &format!("work/{index}"), 40 << 20);
    }
    let mut server = server(&tree);
    let edits = json!([{"oldText": "nowhere", "newText": "x"}]);
    let replies = call_concurrently(
        &mut server,
        8,
        "edit_file",
        |index| json!({"path": index.to_string(), "edits": edits}),
    );
    assert_answered_or_out_of_memory(&replies, |reply| {
        reply
            .failure()
            .is_some_and(|failure| failure.message.contains("oldText not found"))
    });
    is_within(server.pid());
}

#[test]
fn request_above_budget_fails_immediately_with_limit() {
    let tree = Tree::new();
    sparse(&tree, "work/a", 100 << 20);
    let mut server = server(&tree);
    let begun = Instant::now();
    let reply = server.call(
        "edit_file",
        json!({"path": "a", "edits": [{"oldText": "a", "newText": "b"}]}),
    );
    let most = (MEMORY_MIB - MEMORY_MIB / 4) * 1024 * 1024 / 16 * 14;
    // The request counts as well.
    let free = most - 141;
    let message = format!(
        "`{}` is too large for the memory that is free now: {} bytes of memory are needed, and \
         {free} of the {most} that may be held (--memory-mib) are free\nhint: ask for less at \
         once, or have the operator raise --memory-mib",
        tree.text("work/a"),
        100 << 20,
    );
    assert_eq!(
        reply.failure(),
        Some(Failure {
            code: Some(-32603),
            message
        })
    );
    assert!(
        begun.elapsed() < Duration::from_secs(9),
        "it was waited for"
    );
}

#[test]
fn multiline_searches_stay_within_budget() {
    let tree = Tree::new();
    for index in 0..4 {
        tree.file(
            format!("work/{index}"),
            "0123456789abcde\n".repeat(2 << 20) + "last\n",
        );
    }
    let mut server = server(&tree);
    let arguments = json!({"regex": "last\\n", "directory": tree.text("work"), "multiline": true});
    let replies = call_concurrently(&mut server, 6, "grep_files", |_| arguments.clone());
    assert_answered_or_out_of_memory(&replies, |reply| {
        reply.0["result"]["structuredContent"]["count"] == 4
    });
    is_within(server.pid());
}

#[test]
fn long_line_is_buffered_only_within_budget() {
    let tree = Tree::new();
    for index in 0..4 {
        tree.file(format!("work/{index}"), "x".repeat(30 << 20) + "\nlast\n");
    }
    let mut server = server(&tree);
    let arguments = json!({"regex": "^last", "directory": tree.text("work")});
    let replies = call_concurrently(&mut server, 6, "grep_files", |_| arguments.clone());
    // A buffer of 30 MiB grows to 47 MiB.
    for reply in &replies {
        let is_refused = reply
            .failure()
            .is_some_and(|failure| failure.message.contains("--memory-mib"));
        assert!(
            is_refused || reply.0["result"]["structuredContent"]["count"] == 4,
            "{}",
            reply.0
        );
    }
    is_within(server.pid());
}

#[test]
fn large_replies_wait_and_stay_within_budget() {
    let tree = Tree::new();
    tree.file("work/large.txt", "0123456789abcde\n".repeat(500_000));
    let mut server = server(&tree);
    let replies = call_concurrently(
        &mut server,
        24,
        "read_file",
        |_| json!({"path": "large.txt"}),
    );
    assert_answered_or_out_of_memory(&replies, |reply| {
        reply.failure().is_none() && reply.text().len() == 8_000_000
    });
    is_within(server.pid());
}

#[test]
fn ignore_rules_are_bounded_and_counted() {
    let tree = Tree::new();
    tree.file("work/x/a.txt", "a\n").file(
        "work/.gitignore",
        format!("{}*\n", "?".repeat(19)).repeat(1000),
    );
    let mut server = server(&tree);
    let arguments = json!({"regex": "a", "directory": tree.text("work"), "ignored": false});
    let replies = call_concurrently(&mut server, 8, "grep_files", |_| arguments.clone());
    assert_answered_or_out_of_memory(&replies, |reply| {
        reply.0["result"]["structuredContent"]["count"] == 1
    });
    is_within(server.pid());
    // Larger files would need a thousand times their size.
    for text in ["a\n".repeat(8193), "a".repeat(128 * 1024 + 1)] {
        tree.file("work/x/.gitignore", text);
        let message = format!(
            "`{}` has more than 8192 rules or 131072 bytes, so nothing was searched\nhint: set \
             `ignored: true`, and exclude files with `excludeGlobs`",
            tree.text("work/x/.gitignore")
        );
        let refused = Some(Failure {
            code: Some(-32603),
            message,
        });
        assert_eq!(
            server.call("grep_files", arguments.clone()).failure(),
            refused
        );
        let tree_of = json!({"path": tree.text("work"), "ignored": false});
        assert_eq!(server.call("directory_tree", tree_of).failure(), refused);
    }
    assert_eq!(
        server
            .call(
                "grep_files",
                json!({"regex": "a", "directory": tree.text("work/x")})
            )
            .failure(),
        None
    );
}

#[test]
fn globs_are_limited_in_number_and_length() {
    let tree = Tree::new();
    tree.file("work/a.rs", "a\n");
    let mut server = server(&tree);
    let begun = Instant::now();
    let many: Vec<String> = (0..100_000).map(|index| format!("**/{index}*")).collect();
    let bytes: usize = many.iter().map(String::len).sum();
    let refused = |parameter: &str, count: usize, bytes: usize| {
        let message = format!(
            "`{parameter}` has {count} globs of {bytes} bytes together; at most 1024 globs of 65536 bytes together are \
             allowed: use `**` and `{{a,b}}`, or several calls"
        );
        Some(Failure {
            code: Some(-32602),
            message,
        })
    };
    let globs = json!({"regex": "a", "globs": many});
    assert_eq!(
        server.call("grep_files", globs).failure(),
        refused("globs", 100_000, bytes)
    );
    let exclude = json!({"regex": "a", "directory": tree.text("work"), "excludeGlobs": many});
    assert_eq!(
        server.call("grep_files", exclude).failure(),
        refused("excludeGlobs", 100_000, bytes)
    );
    let edit = json!({"paths": many, "edits": [{"oldText": "a", "newText": "b"}]});
    assert_eq!(
        server.call("edit_files", edit).failure(),
        refused("paths", 100_000, bytes)
    );
    let long: Vec<String> = vec!["a".repeat(4096) + "*"; 16];
    assert_eq!(
        server
            .call("grep_files", json!({"regex": "a", "globs": long}))
            .failure(),
        refused("globs", 16, 16 * 4097)
    );
    let allowed: Vec<String> = (0..1024)
        .map(|index| format!("**/a*{index}"))
        .chain(["*.rs".to_owned()])
        .skip(1)
        .collect();
    let found = server.call(
        "grep_files",
        json!({"regex": "a", "directory": tree.text("work"), "globs": allowed}),
    );
    assert_eq!(found.result()["structuredContent"]["count"], 1);
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn large_calls_in_journal_stay_within_budget() {
    let tree = Tree::new();
    for index in 0..8000 {
        tree.file(format!("work/{}/{index}", index % 40), "");
    }
    let (allow, memory) = (format!("{}:rw", tree.text("work")), MEMORY_MIB.to_string());
    let flags = [
        "--allow",
        &allow,
        "--tools",
        "files,command",
        "--memory-mib",
        &memory,
    ];
    let mut server = Server::open(&tree, "2025-11-25", &flags);
    let changed = server.call("execute_command", json!({"command": "chmod -R go-r ."}));
    let Some(call) = changed.result()["structuredContent"]["changed"]["call"].as_u64() else {
        assert!(
            std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none(),
            "{}",
            changed.0
        );
        return;
    };
    let replies = call_concurrently(&mut server, 32, "list_changes", |_| json!({"call": call}));
    assert_answered_or_out_of_memory(&replies, |reply| {
        reply.0["result"]["structuredContent"]["calls"][0]["call"] == call
    });
    let replies = call_concurrently(
        &mut server,
        8,
        "undo_changes",
        |_| json!({"calls": [call], "dryRun": true}),
    );
    assert_answered_or_out_of_memory(&replies, |reply| {
        reply.0["result"]["structuredContent"]["undone"].is_array()
    });
    is_within(server.pid());
}

#[test]
fn change_notes_count_against_command_budget() {
    let tree = Tree::new();
    for index in 0..20_000 {
        tree.file(format!("work/{}/{index}", index % 40), "");
    }
    let (allow, limit) = (format!("{}:rw", tree.text("work")), (16 << 20).to_string());
    let flags = [
        "--allow",
        &allow,
        "--tools",
        "files,command",
        "--limit-memory-bytes",
        &limit,
    ];
    let mut server = Server::open(&tree, "2025-11-25", &flags);
    let changed = server.call("execute_command", json!({"command": "chmod -R go-r ."}));
    let output = &changed.result()["structuredContent"];
    if output["changed"]["call"].is_null() {
        assert!(
            std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none(),
            "{}",
            changed.0
        );
        return;
    }
    let lost = output["changed"]["lost"].as_str().unwrap_or_default();
    assert!(lost.contains("--limit-memory-bytes"), "{}", changed.0);
    let stderr = output["stderr"].as_str().unwrap();
    assert!(
        output["exitCode"] == 1 && stderr.contains("No space left on device"),
        "{}",
        changed.0
    );
    let kept = output["changed"]["touched"].as_u64().unwrap();
    assert!((5000..20_000).contains(&kept), "{kept}");
}

#[test]
fn greedy_token_leaves_equal_share_to_other() {
    let tree = Tree::new();
    for index in 0..16 {
        sparse(&tree, &format!("alice/{index}"), 20 << 20);
    }
    sparse(&tree, "bob/20", 20 << 20);
    let memory = MEMORY_MIB.to_string();
    let pair = pair_on(
        tree,
        &[
            "--memory-mib",
            &memory,
            "--rate-limit",
            "0",
            "--sandbox",
            "off",
        ],
    );
    let edits = json!([{"oldText": "nowhere", "newText": "x"}]);
    let edit = |path: String| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "edit_file", "arguments": {"path": path, "edits": edits, "dryRun": true}}})
    };
    let waiting: Vec<Client> = (0..16)
        .map(|index| {
            let mut client = pair.server.connect().with_long_timeout();
            let path = pair.tree.text(&format!("alice/{index}"));
            client.send_message(&edit(path), &[("Authorization", &pair.alice)]);
            client
        })
        .collect();
    let read = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "read_file", "arguments": {"path": pair.tree.text("bob/b.txt")}}});
    for _ in 0..20 {
        let reply = pair.ask(&pair.bob, &read, &[]).json();
        assert_eq!(reply["result"]["content"][0]["text"], "of bob\n", "{reply}");
    }
    let search = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "grep_files",
        "arguments": {"regex": "nowhere", "directory": pair.tree.text("bob"), "multiline": true}}});
    // On a slow machine this call may be refused before the edits release their memory.
    let until = Instant::now() + DEADLINE;
    let own = loop {
        let own = pair.ask(&pair.bob, &search, &[]).json();
        if own.get("error").is_none() || Instant::now() > until {
            break own;
        }
    };
    assert_eq!(own["result"]["structuredContent"]["count"], 0, "{own}");
    for mut client in waiting {
        let reply = client.response().json();
        let said = reply["error"]["message"].as_str().unwrap();
        assert!(
            said.contains("oldText not found") || said.contains("--memory-mib"),
            "{reply}"
        );
    }
    is_within(Pid::from_raw(pair.server.pid().try_into().unwrap()).unwrap());
}
