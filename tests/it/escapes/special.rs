//! 3. Hard links, special files, procfs and mounts.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Stage, readers, walkers, writers};
use crate::harness::Server;

#[test]
fn e44_hard_link_is_readable() {
    let mut stage = Stage::new(|tree| {
        tree.file("beyond/shared", "shared text\n")
            .hard_link("beyond/shared", "work/h");
    });
    let (file, dir) = (stage.tree.text("work/h"), stage.tree.text("work"));
    assert_eq!(
        stage.works("read_file", json!({"path": file})),
        "shared text\n"
    );
    assert!(
        stage
            .works("read_multiple_files", json!({"paths": [file]}))
            .contains("shared text")
    );
    assert!(
        stage
            .works("grep_files", json!({"directory": dir, "regex": "shared"}))
            .contains("shared text")
    );
    stage.end();
}

#[test]
fn e45_write_to_hard_link_keeps_other_name() {
    let mut stage = Stage::new(|tree| {
        for name in ["one", "two", "three"] {
            tree.file(format!("beyond/{name}"), "old\n")
                .hard_link(&format!("beyond/{name}"), &format!("work/{name}"));
        }
    });
    let [one, two, three] =
        ["one", "two", "three"].map(|name| stage.tree.text(&format!("work/{name}")));
    let edits = json!([{"oldText": "old", "newText": "new"}]);
    stage.works("write_file", json!({"path": one, "content": "new\n"}));
    stage.works("edit_file", json!({"path": two, "edits": edits}));
    stage.works("edit_files", json!({"paths": [three], "edits": edits}));
    for name in ["one", "two", "three"] {
        assert_eq!(stage.tree.read(&format!("work/{name}")), "new\n");
        assert_eq!(
            stage.tree.read(&format!("beyond/{name}")),
            "old\n",
            "{name}"
        );
    }
    stage.end();
}

#[test]
fn e47_procfs_path_is_denied() {
    let mut stage = Stage::new(|_| {});
    let inside = stage.tree.text("work");
    for path in [
        "/proc/self/environ",
        "/proc/self/maps",
        "/proc/1/root/etc/passwd",
        "/proc/self/cwd/ok.txt",
        "/dev/stdin",
    ] {
        for (tool, arguments) in [readers(path), walkers(path), writers(path, &inside)].concat() {
            stage.denied(tool, arguments);
        }
    }
    assert_eq!(stage.tree.read("work/ok.txt"), "fine\n");
    stage.end();
}

#[test]
fn e48_symlinks_into_procfs_are_denied() {
    let mut stage = Stage::new(|_| {});
    let server = format!("/proc/{}/fd/0", stage.server.pid());
    let mut targets = vec![server];
    for target in [
        "/proc/self/fd/0",
        "/proc/self/fd/1",
        "/proc/self/root/etc/passwd",
        "/dev/fd/3",
        "/dev/stdin",
        "/proc/self/environ",
    ] {
        targets.push(target.to_owned());
    }
    for (number, target) in targets.iter().enumerate() {
        stage.tree.link(target, format!("work/p{number}"));
        let path = stage.tree.text(&format!("work/p{number}"));
        for (tool, arguments) in readers(&path) {
            stage.denied(tool, arguments);
        }
        let edits = json!([{"oldText": "a", "newText": "b"}]);
        stage.denied("edit_file", json!({"path": path, "edits": edits}));
        // Replacing the symlink itself is allowed; its target must not change.
        stage.call("write_file", json!({"path": path, "content": "{}\n"}));
    }
    for target in ["/proc/self/cwd", "/proc/self/root", "/proc/self/cwd/.."] {
        stage.tree.link(target, "work/magic");
        let path = stage.tree.text("work/magic/outside/secret");
        stage.denied("read_file", json!({"path": path}));
        stage.denied("write_file", json!({"path": path, "content": "x"}));
        std::fs::remove_file(stage.tree.path("work/magic")).unwrap();
    }
    stage.end();
}

#[test]
fn e49_kernel_filesystem_is_refused_in_allow() {
    for allow in ["/proc", "/sys", "/dev", "/proc/self", "/sys/kernel"] {
        let tree = Stage::layout(|_| {});
        let mut server = Server::start(&tree, &["--allow", allow]);
        let status = server.wait_exit();
        assert!(
            !status.success() && status.code().is_some(),
            "`{allow}`: {status:?}"
        );
        assert!(!server.stderr().is_empty());
    }
}

/// Limit for an immediate answer: far below the deadline of the harness, but enough on a busy
/// machine.
pub(super) const AT_ONCE: Duration = Duration::from_secs(40);

#[test]
fn e50_fifo_read_does_not_block() {
    let mut stage = Stage::new(|tree| {
        tree.fifo("work/f").fifo("docs/f").link("f", "work/lf");
    });
    let started = Instant::now();
    for name in ["work/f", "docs/f", "work/lf"] {
        let path = stage.tree.text(name);
        stage.fails("read_file", json!({"path": path}));
        stage.fails("read_multiple_files", json!({"paths": [path]}));
        stage.fails(
            "edit_file",
            json!({"path": path, "edits": [{"oldText": "a", "newText": "b"}]}),
        );
        stage.fails(
            "edit_files",
            json!({"paths": [path], "edits": [{"oldText": "a", "newText": "b"}]}),
        );
    }
    let path = stage.tree.text("work");
    for (tool, arguments) in walkers(&path) {
        stage.works(tool, arguments);
    }
    assert!(started.elapsed() < AT_ONCE, "{:?}", started.elapsed());
    stage.end();
}

#[test]
fn e51_fifo_write_is_refused() {
    let mut stage = Stage::new(|tree| {
        tree.fifo("work/f");
    });
    let _socket = std::os::unix::net::UnixListener::bind(stage.tree.path("work/s")).unwrap();
    let started = Instant::now();
    for name in ["work/f", "work/s"] {
        let path = stage.tree.text(name);
        stage.fails("write_file", json!({"path": path, "content": "x"}));
        assert!(
            !std::fs::symlink_metadata(&path).unwrap().is_file(),
            "{name} was replaced"
        );
        stage.fails("read_file", json!({"path": path}));
    }
    assert!(started.elapsed() < AT_ONCE, "{:?}", started.elapsed());
    stage.end();
}

fn peak_kilobytes(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn e53_sparse_terabyte_file_is_handled() {
    let mut stage = Stage::new(|tree| {
        tree.file("work/zeros", "")
            .file("work/text-then-zeros", "needle in text\n".repeat(4096));
    });
    for name in ["zeros", "text-then-zeros"] {
        let file = OpenOptions::new()
            .write(true)
            .open(stage.tree.path(format!("work/{name}")))
            .unwrap();
        if file.set_len(1 << 40).is_err() {
            file.set_len(1 << 34).unwrap();
        }
        let path = stage.tree.text(&format!("work/{name}"));
        stage.fails("read_file", json!({"path": path}));
        stage.fails("read_multiple_files", json!({"paths": [path]}));
        stage.fails(
            "edit_file",
            json!({"path": path, "edits": [{"oldText": "needle", "newText": "x"}]}),
        );
        assert!(
            stage
                .works("get_file_info", json!({"path": path}))
                .contains("size")
        );
        // Any answer is accepted, within the deadline of the harness.
        stage.call(
            "grep_files",
            json!({"directory": path, "regex": "needle|\\x00"}),
        );
    }
    let dir = stage.tree.text("work");
    stage.works("grep_files", json!({"directory": dir, "regex": "fine"}));
    let peak = peak_kilobytes(&stage.server);
    assert!(peak < 400_000, "{peak} kB");
    stage.end();
}

#[test]
fn e54_file_resized_during_read_is_handled() {
    let mut stage = Stage::new(|tree| {
        tree.file("work/moving", "line\n".repeat(1000));
    });
    let stop = AtomicBool::new(false);
    let (path, dir) = (stage.tree.text("work/moving"), stage.tree.text("work"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = File::options().append(true).open(&path).unwrap();
            let text = "another line of text\n".repeat(2000);
            for round in 0_u32.. {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                file.write_all(text.as_bytes()).unwrap();
                if round % 50 == 49 {
                    file.set_len(if round % 100 == 99 { 0 } else { 777 })
                        .unwrap();
                }
            }
        });
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until {
            stage.call(
                "grep_files",
                json!({"directory": dir, "regex": "e", "maxResults": 10_000}),
            );
            stage.call("read_file", json!({"path": path}));
            stage.call(
                "edit_file",
                json!({"path": path, "edits": [{"oldText": "zzz", "newText": ""}], "dryRun": true}),
            );
        }
        stop.store(true, Ordering::SeqCst);
    });
    stage.end();
}

/// Returns a wrapper that makes mounts in a private mount namespace. Returns `None` and prints the
/// reason if mounts are not permitted.
fn with_mounts(script: &str) -> Option<Vec<String>> {
    let probe = Command::new("unshare")
        .args(["-m", "mount", "-t", "tmpfs", "none", "/tmp"])
        .output();
    if !probe.is_ok_and(|output| output.status.success()) {
        #[expect(clippy::print_stderr, reason = "a skipped test says so")]
        {
            eprintln!("skipped: private mounts are not permitted here");
        }
        assert!(
            std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none(),
            "private mounts are required"
        );
        return None;
    }
    let script = format!("set -e; {script}; exec \"$@\"");
    Some(
        ["unshare", "-m", "sh", "-c", &script, "sh"]
            .map(str::to_owned)
            .to_vec(),
    )
}

fn mounted(tree: crate::tree::Tree, wrapper: &[String], args: &[&str]) -> Stage {
    let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
    let server = Server::start_under(&tree, &wrapper, args);
    Stage::with_server(tree, server)
}

#[test]
fn e55_operator_mount_is_followed() {
    let tree = Stage::layout(|tree| {
        tree.dir("work/m").file("beyond/f", "mounted\n");
    });
    let script = format!(
        "mount --bind '{}' '{}'",
        tree.text("beyond"),
        tree.text("work/m")
    );
    let Some(wrapper) = with_mounts(&script) else {
        return;
    };
    let allow = format!("{}:rw", tree.text("work"));
    let mut stage = mounted(tree, &wrapper, &["--allow", &allow]);
    let (file, dir) = (stage.tree.text("work/m/f"), stage.tree.text("work"));
    assert_eq!(stage.works("read_file", json!({"path": file})), "mounted\n");
    assert!(
        stage
            .works("directory_tree", json!({"path": dir}))
            .contains("\"f\"")
    );
    // The parent of the mount is its mount point, not its source.
    let up = stage.tree.text("work/m/../ok.txt");
    assert_eq!(stage.works("read_file", json!({"path": up})), "fine\n");
    stage.end();
}

#[test]
fn symlink_reached_by_second_mount_is_denied() {
    for (script, allowed) in [
        ("mount --bind work/m other", "other/link"),
        (
            "mount -t tmpfs none work/m; ln -s ../outside work/m/link; mount --bind work/m other",
            "other/link",
        ),
        ("mount --bind work/m other; ln -s other/link own", "own"),
    ] {
        let tree = Stage::layout(|tree| {
            tree.dir("work/m")
                .dir("other")
                .link("../../outside", "work/m/link");
        });
        let Some(wrapper) = with_mounts(&format!("cd '{}'; {script}", tree.root().display()))
        else {
            return;
        };
        let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
        let (work, allowed) = (format!("{}:rw", tree.text("work")), tree.text(allowed));
        let mut server =
            Server::start_under(&tree, &wrapper, &["--allow", &work, "--allow", &allowed]);
        assert_eq!(server.wait_exit().code(), Some(2));
        let goes = format!(
            "`{allowed}` goes through the link `{}`",
            tree.text("other/link")
        );
        let said = server.stderr();
        assert!(
            said.contains(&goes) && said.contains(&format!("directory `{}`:", tree.text("work"))),
            "{said}"
        );
    }
}

#[test]
fn e57_full_disk_keeps_old_contents() {
    let tree = Stage::layout(|tree| {
        tree.dir("work/small");
    });
    let small = tree.text("work/small");
    let script = format!(
        "mount -t tmpfs -o size=256k tmpfs '{small}'; head -c 150000 /dev/zero | tr '\\0' a > '{small}/f'"
    );
    let Some(wrapper) = with_mounts(&script) else {
        return;
    };
    let allow = format!("{}:rw", tree.text("work"));
    let mut stage = mounted(tree, &wrapper, &["--allow", &allow]);
    let file = format!("{small}/f");
    let original = "a".repeat(150_000);
    stage.fails(
        "write_file",
        json!({"path": file, "content": "b".repeat(400_000)}),
    );
    stage.fails(
        "edit_file",
        json!({"path": file, "edits": [{"oldText": "a", "newText": "bb", "limit": 0}]}),
    );
    stage.fails(
        "write_file",
        json!({"path": format!("{small}/new"), "content": "c".repeat(400_000)}),
    );
    assert!(
        stage.works("read_file", json!({"path": file})) == original,
        "the original file changed"
    );
    let names = stage.works("list_directory", json!({"path": small}));
    assert_eq!(
        names.lines().filter(|line| line.starts_with('[')).count(),
        1,
        "something was left: {names}"
    );
    stage.works("write_file", json!({"path": file, "content": "short\n"}));
    assert_eq!(stage.works("read_file", json!({"path": file})), "short\n");
    stage.end();
}

#[test]
fn hung_filesystem_blocks_only_its_calls() {
    let tree = Stage::layout(|tree| {
        tree.dir("work/hung").file("work/f", "fine\n");
    });
    // The server itself holds the other end of the mount, and never reads from it.
    let script = format!(
        "exec 3<>/dev/fuse; mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 none '{}'",
        tree.text("work/hung")
    );
    let Some(wrapper) = with_mounts(&script) else {
        return;
    };
    let allow = format!("{}:rw", tree.text("work"));
    let mut stage = mounted(
        tree,
        &wrapper,
        &[
            "--allow",
            &allow,
            "--sandbox",
            "off",
            "--stall-timeout-secs",
            "1",
        ],
    );
    let (dir, file) = (stage.tree.text("work"), stage.tree.text("work/f"));
    let hung = [
        ("grep_files", json!({"regex": "fine", "directory": dir})),
        ("glob_search", json!({"globs": ["**/*"], "directory": dir})),
        ("directory_tree", json!({"path": dir})),
        ("read_file", json!({"path": stage.tree.text("work/hung/x")})),
    ];
    // More calls than may run concurrently.
    let mut waiting = BTreeSet::new();
    for (tool, arguments) in hung.iter().cycle().take(100) {
        let id = stage
            .server
            .send("tools/call", json!({"name": tool, "arguments": arguments}));
        waiting.insert(id.to_string());
    }
    assert_eq!(stage.works("read_file", json!({"path": file})), "fine\n");
    while !waiting.is_empty() {
        let reply = stage.server.recv();
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(
            message.starts_with("the filesystem has not answered for 1 s (--stall-timeout-secs)"),
            "{reply}"
        );
        assert!(
            waiting.remove(&reply["id"].to_string()),
            "answered twice: {reply}"
        );
    }
    assert_eq!(stage.works("read_file", json!({"path": file})), "fine\n");
    // Hanging threads do not prevent the server from exiting.
    stage.server.close_stdin();
    assert!(stage.server.wait_exit().success());
}

#[test]
fn e59_odd_names_cannot_forge_output() {
    const ODD: [&str; 7] = [
        "new\nline",
        "a\n[FILE] forged",
        "esc\u{1b}[31mred",
        "rtl\u{202e}txt.exe",
        "-rf",
        "b\n.etc.forged:1:line",
        "tab\tname",
    ];
    let mut stage = Stage::new(|tree| {
        for name in ODD {
            tree.file(format!("work/odd/{name}"), "needle\n");
        }
    });
    let dir = stage.tree.text("work/odd");
    let list = stage.works("list_directory", json!({"path": dir}));
    assert_eq!(
        list.lines()
            .filter(|line| line.starts_with("[FILE] "))
            .count(),
        ODD.len(),
        "{list}"
    );
    assert!(!list.lines().any(|line| line == "[FILE] forged"), "{list}");
    let grep = stage.works("grep_files", json!({"directory": dir, "regex": "needle"}));
    assert!(
        !grep.lines().any(|line| line.starts_with(".etc.forged")),
        "{grep}"
    );
    assert_eq!(
        grep.lines()
            .filter(|line| line.contains(":1:needle"))
            .count(),
        ODD.len(),
        "{grep}"
    );
    let found = stage.works(
        "search_files",
        json!({"directory": dir, "nameContains": "e"}),
    );
    let globbed = stage.works("glob_search", json!({"directory": dir, "globs": ["**/*"]}));
    for text in [&list, &grep, &found, &globbed] {
        assert!(
            !text.contains('\u{1b}'),
            "a raw escape character in {text:?}"
        );
        assert!(
            !text.contains('\u{202e}'),
            "a raw direction override in {text:?}"
        );
        assert!(
            !text
                .lines()
                .any(|line| line.starts_with("line") || line.starts_with(".etc")),
            "{text:?}"
        );
    }
    for name in ODD {
        let path = format!("{dir}/{name}");
        assert_eq!(
            stage.works("read_file", json!({"path": path})),
            "needle\n",
            "{name:?}"
        );
    }
    stage.end();
}
