//! Kernel filesystems mounted below an allowed directory, as during an image build.

use pretty_assertions::assert_eq;
use replay_sandbox::Tier;
use serde_json::{Value, json};

use super::{CommandResult, SECRET, Setting, command_result};
use crate::harness::{Reply, Server};
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

/// Server in its own mount namespace, with an image being built below `work`.
struct Image {
    tree: Tree,
    server: Server,
}

impl Image {
    /// Starts the server. Returns `None`, with a message, if private mounts are not permitted.
    fn start(tier: Tier, flags: &[&str]) -> Option<Self> {
        let permitted = std::process::Command::new("unshare")
            .args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"])
            .output();
        if !permitted.is_ok_and(|output| output.status.success()) {
            assert!(
                std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none(),
                "private mounts are required"
            );
            return None;
        }
        let tree = Tree::new();
        for name in ["proc", "sys", "dev", "tmp", "late"] {
            tree.dir(format!("work/rootfs/{name}"));
        }
        tree.file("work/pattern", "")
            .file("work/ok.txt", "fine\n")
            .dir("tmp");
        let root = tree.text("work/rootfs");
        let script = format!(
            "set -e; mount -t proc proc {root}/proc; mount -t sysfs sysfs {root}/sys; \
             mount -t devtmpfs devtmpfs {root}/dev; mount -t devpts devpts {root}/dev/pts; \
             mount -t tmpfs -o size=0 none {root}/tmp; echo stored > {root}/tmp/file; \
             mount --bind /proc/sys/kernel/core_pattern {}; exec \"$@\"",
            tree.text("work/pattern")
        );
        let (work, tmp) = (format!("{}:rw", tree.text("work")), tree.text("tmp"));
        let server = env!("CARGO_BIN_EXE_replay");
        let line = [
            "unshare",
            "-m",
            "sh",
            "-c",
            &script,
            "sh",
            server,
            "--mcp-server",
            "--allow",
            &work,
        ];
        let line = [&line[..], &["--sandbox", tier.as_str()], flags].concat();
        // Environment of the server, which must not leak.
        let variables = [("TMPDIR", tmp.as_str()), ("OF_THE_SERVER", SECRET)];
        let server = Server::start_program(&tree, &line, &variables).opened(NEWEST_HANDSHAKE);
        Some(Self { tree, server })
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Reply {
        let reply = self.server.call(tool, arguments);
        assert!(
            !reply.whole().contains(SECRET),
            "{tool}: the server's environment: {}",
            reply.whole()
        );
        reply
    }

    fn at(&self, name: &str) -> String {
        self.tree.text(&format!("work/{name}"))
    }

    #[track_caller]
    fn sh(&mut self, command: &str) -> CommandResult {
        command_result(&self.call("execute_command", json!({"command": command})))
    }
}

/// Mounts a filesystem in the namespace of a running server.
#[track_caller]
fn mount_later(image: &Image, arguments: &[&str]) {
    let inside = format!(
        "--mount=/proc/{}/ns/mnt",
        image.server.pid().as_raw_nonzero()
    );
    let status = std::process::Command::new("nsenter")
        .args([&inside, "mount"])
        .args(arguments)
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn file_tools_refuse_kernel_filesystems() {
    let Some(mut image) = Image::start(Tier::Off, &["--tools", "files"]) else {
        return;
    };
    mount_later(&image, &["-t", "proc", "proc", &image.at("rootfs/late")]);
    let pid = image.server.pid().as_raw_nonzero();
    let refused = |reply: Reply, path: &str| {
        let failure = reply
            .failure()
            .unwrap_or_else(|| panic!("`{path}` is served: {}", reply.whole()));
        let said = format!("`{path}` is on a kernel filesystem");
        assert!(
            failure.code == Some(-32001) && failure.message.starts_with(&said),
            "{failure:?}"
        );
    };
    for name in ["rootfs/proc", "rootfs/late"] {
        for below in [
            "self/environ",
            "sys/kernel/core_pattern",
            &format!("{pid}/root/etc/hostname"),
            "sys",
        ] {
            let path = image.at(&format!("{name}/{below}"));
            // A magic link is treated like any symlink: it leads outside.
            if !below.contains("/root/") {
                refused(image.call("get_file_info", json!({"path": path})), &path);
            }
            assert!(
                image
                    .call("read_file", json!({"path": path}))
                    .failure()
                    .is_some(),
                "{path}"
            );
        }
    }
    for below in [
        "rootfs/proc/sys/kernel/core_pattern",
        "rootfs/sys/kernel/uevent_seqnum",
        "pattern",
    ] {
        let path = image.at(below);
        refused(image.call("read_file", json!({"path": path})), &path);
        refused(
            image.call("write_file", json!({"path": path, "content": "core"})),
            &path,
        );
        let edits = json!([{"oldText": "core", "newText": "core"}]);
        refused(
            image.call("edit_file", json!({"path": path, "edits": edits})),
            &path,
        );
        refused(image.call("delete_file", json!({"path": path})), &path);
    }
    for below in [
        "rootfs/proc",
        "rootfs/proc/sys",
        "rootfs/dev",
        "rootfs/dev/pts",
        "rootfs/sys",
    ] {
        let path = image.at(below);
        for tool in ["list_directory", "directory_tree"] {
            refused(image.call(tool, json!({"path": path})), &path);
        }
        refused(
            image.call("grep_files", json!({"directory": path, "regex": "x"})),
            &path,
        );
        let new = format!("{path}/new");
        refused(
            image.call("write_file", json!({"path": new, "content": "x"})),
            &new,
        );
        refused(image.call("create_directory", json!({"path": new})), &new);
    }
    // A recursive search skips these mounts and finds the files beside them on other filesystems.
    let work = image.at("");
    let found = image
        .call(
            "grep_files",
            json!({"directory": work, "regex": "OF_THE_SERVER|stored|fine|core"}),
        )
        .text();
    assert!(
        found.contains("rootfs/tmp/file") && found.contains("ok.txt"),
        "{found}"
    );
    assert!(
        !found.contains("rootfs/proc")
            && !found.contains("rootfs/late")
            && !found.contains("pattern"),
        "{found}"
    );
    let found = image.call(
        "glob_search",
        json!({"directory": work, "globs": ["**/core_pattern", "**/uevent_seqnum", "**/ptmx"]}),
    );
    assert_eq!(
        found.result()["structuredContent"]["count"],
        0,
        "{}",
        found.whole()
    );
    assert_eq!(
        image
            .call("read_file", json!({"path": image.at("rootfs/tmp/file")}))
            .text(),
        "stored\n"
    );
    image
        .call(
            "write_file",
            json!({"path": image.at("rootfs/tmp/new"), "content": "x"}),
        )
        .text();
    // Removing a tree does not descend into such a mount.
    for below in ["rootfs/dev", "rootfs"] {
        let reply = image.call(
            "delete_file",
            json!({"path": image.at(below), "recursive": true}),
        );
        assert!(reply.failure().is_some(), "{}", reply.whole());
    }
    let inside = format!("/proc/{pid}/root{}", image.at("rootfs/dev/null"));
    assert!(std::fs::symlink_metadata(inside).is_ok());
}

#[test]
fn commands_see_empty_kernel_filesystems() {
    if !super::is_available(Setting {
        tier: Tier::Namespaces,
        owner: None,
    }) {
        return;
    }
    let Some(mut image) = Image::start(Tier::Namespaces, &[]) else {
        return;
    };
    mount_later(&image, &["-t", "proc", "proc", &image.at("rootfs/late")]);
    let seen = image
        .sh("cd rootfs && ls -A proc sys dev late; cat pattern ../pattern tmp/file; ls -A /proc/self/fd | head -1");
    assert_eq!(
        seen.stdout, "dev:\n\nlate:\n\nproc:\n\nsys:\nstored\n0\n",
        "{seen:?}"
    );
    for attempt in [
        "cat rootfs/proc/*/environ",
        "cp rootfs/proc/sys/kernel/core_pattern $TMPDIR/p && cat $TMPDIR/p > rootfs/proc/sys/kernel/core_pattern",
        "cp pattern $TMPDIR/p && [ -s $TMPDIR/p ]",
        ": > pattern",
        "touch rootfs/proc/x",
        "umount rootfs/proc",
        "rmdir rootfs/proc",
        "mv rootfs/proc rootfs/moved",
    ] {
        let ran = image.sh(attempt);
        assert_ne!(ran.code, 0, "{attempt}: {ran:?}");
    }
}

#[test]
fn command_is_refused_without_means_to_cover_mounts() {
    if !super::is_available(Setting {
        tier: Tier::Landlock,
        owner: None,
    }) {
        return;
    }
    let Some(mut image) = Image::start(Tier::Landlock, &[]) else {
        return;
    };
    let failure = image
        .call("execute_command", json!({"command": "true"}))
        .failure()
        .unwrap();
    let path = image.at("");
    assert!(
        failure.message.contains(&path) && failure.message.contains("kernel filesystem"),
        "{failure:?}"
    );
}
