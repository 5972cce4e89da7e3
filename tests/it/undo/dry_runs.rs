//! Dry runs of commands: their reports, and that the tree stays unchanged.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::path::Path;
use std::time::Instant;

use pretty_assertions::assert_eq;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::calls;
use crate::harness::{DEADLINE, Reply, Server};
use crate::interception::started_as_nobody;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

const FAILED: &str = "[a dry run has no named sockets (EACCES), no rename of existing directories \
    (EXDEV), no writes to files of other groups (EOVERFLOW) and less room (ENOSPC): a real run \
    may succeed]\n";

fn tree() -> Tree {
    let tree = Tree::new();
    fs::set_permissions(tree.root(), fs::Permissions::from_mode(0o755)).unwrap();
    tree.dir("work").dir("tmp");
    tree
}

/// User and group id without a name, which is not the kernel's overflow id.
const USER: u32 = 4242;

/// Starts a server as this user, or as another one, who then owns the whole tree.
fn start(tree: &Tree, as_other: bool, more: &[&str]) -> Server {
    let allowed = format!("{}:rw", tree.text("work"));
    let copy = tree.text("replay");
    let [user, group] = ["reuid", "regid"].map(|name| format!("--{name}={USER}"));
    let program = if as_other {
        for root in [tree.path("work"), tree.path("tmp"), tree.state().to_owned()] {
            for entry in walkdir::WalkDir::new(root) {
                lchown(entry.unwrap().path(), Some(USER), Some(USER)).unwrap();
            }
        }
        started_as_nobody(tree.root());
        vec!["setpriv", &user, &group, "--clear-groups", "--", &copy]
    } else {
        vec![env!("CARGO_BIN_EXE_replay")]
    };
    let line = [
        "--mcp-server",
        "--allow",
        &allowed,
        "--sandbox",
        "namespaces",
    ];
    let tmp = tree.text("tmp");
    let line = [&program[..], &line, more].concat();
    Server::start_program(tree, &line, &[("TMPDIR", &tmp)]).opened(NEWEST_HANDSHAKE)
}

/// Runs the test as this user and, if that is root, as another one too.
fn as_each_user(test: impl Fn(bool)) {
    test(false);
    if rustix::process::geteuid().is_root() {
        test(true);
    }
}

fn dry(server: &mut Server, line: &str) -> Reply {
    server.call("execute_command", json!({"command": line, "dryRun": true}))
}

#[track_caller]
fn assert_reply(reply: &Reply, texts: &[&str], would_change: &Value) {
    assert_eq!(reply.all_texts(), texts);
    let output = &reply.result()["structuredContent"];
    assert_eq!(
        (&output["wouldChange"], output.get("changed")),
        (would_change, None)
    );
}

#[test]
fn dry_run_lists_changes_without_making_them() {
    as_each_user(|as_other| {
        let tree = tree();
        for file in [
            "a",
            "b",
            "d/e",
            "d/f",
            "replaced/in/deep",
            "replaced/old",
            "same",
        ] {
            tree.file(format!("work/{file}"), format!("{file}\n"));
        }
        tree.hard_link("work/a", "work/also").link("a", "work/l");
        fs::write(
            tree.path("work")
                .join(std::ffi::OsStr::from_bytes(b"n\xff")),
            "n",
        )
        .unwrap();
        let mut server = start(&tree, as_other, &[]);
        let before = tree.fingerprint("work");
        let mut run = |line: &str, texts: &[&str], would_change: &Value| {
            assert_reply(&dry(&mut server, line), texts, would_change);
            assert!(before == tree.fingerprint("work"), "{line}");
        };
        // Files that are only read, or rewritten unchanged, are not reported, even if the overlay
        // has copies.
        run(
            "cat a >/dev/null; chmod 600 b; chmod 644 b; touch x; rm x; mkdir y; rmdir y; cp -p same t; cat t >same; touch -r t \
             same; rm t; pwd | sed 's|.*/||'",
            &["work\n[dry run: nothing would be changed]\n[exit code: 0]"],
            &json!({}),
        );
        let diff = "edited a\n--- a\n+++ a\n@@ -1 +1,2 @@\n a\n+more\ndeleted b\n--- b\n+++ b\n@@ -1 +0,0 @@\n-b\ncreated new";
        run(
            "echo more >>a; rm b; mkdir new; echo n >new/file; cat a",
            &[
                "a\nmore\n[dry run: would be edited a, deleted b, created new; nothing was \
                 changed; a moved file counts as deleted and created]\n[exit code: 0]",
                &format!("[diff]\n{diff}"),
            ],
            &json!({"edited": 1, "created": 1, "deleted": 1, "diff": diff}),
        );
        let diff = "touched b\ndeleted d\ndeleted d/e\n--- d/e\n+++ d/e\n@@ -1 +0,0 @@\n-d/e\ndeleted d/f\n--- d/f\n+++ d/f\n\
                    @@ -1 +0,0 @@\n-d/f\nedited l\n[a link to a]\ndeleted replaced/in/deep\n--- replaced/in/deep\n+++ replaced/in/deep\n@@ -1 +0,0 @@\n\
                    -replaced/in/deep\ncreated replaced/new\n--- replaced/new\n+++ replaced/new\n@@ -0,0 +1 @@\n\
                    +x\ndeleted replaced/old\n--- replaced/old\n+++ replaced/old\n@@ -1 +0,0 @@\n-replaced/old";
        run(
            "chmod 600 b; rm -r d; ln -sf b l; rm -r replaced; mkdir -p replaced/in; echo x >replaced/new; echo oops >&2; exit 3",
            &[
                &format!(
                    "(no output)\n{FAILED}[dry run: would be 1 edited, 1 created, 5 deleted, 1 \
                     touched; nothing was changed; a moved file counts as deleted and \
                     created]\n[exit code: 3]"
                ),
                "[stderr]\noops\n",
                &format!("[diff]\n{diff}"),
            ],
            &json!({"edited": 1, "created": 1, "deleted": 5, "touched": 1, "diff": diff}),
        );
        // The overlay separates hard links, unlike a real run.
        let diff = "edited also\n--- also\n+++ also\n@@ -1 +1,2 @@\n a\n+x\ndeleted $'n\\377'\n--- $'n\\377'\n+++ $'n\\377'\n\
                    @@ -1 +0,0 @@\n-n\n\\ No newline at end of file";
        run(
            "echo x >>also; rm n*",
            &[
                "(no output)\n[dry run: would be edited also, deleted $'n\\377'; nothing was changed]\n[exit code: 0]",
                &format!("[diff]\n{diff}"),
            ],
            &json!({"edited": 1, "deleted": 1, "diff": diff}),
        );
        let python =
            "import os\ntry: os.rename('d', 'z')\nexcept OSError as error: print(error.errno)";
        run(
            &format!("python3 -c \"{python}\"; mv d z"),
            &[
                "18\n[dry run: would be 1 created, 3 deleted; nothing was changed; a moved file \
                 counts as deleted and created]\n[exit code: 0]",
                "[diff]\ndeleted d\ndeleted d/e\n--- d/e\n+++ d/e\n@@ -1 +0,0 @@\n-d/e\ndeleted d/f\n--- d/f\n+++ d/f\n@@ -1 +0,0 \
                 @@\n-d/f\ncreated z",
            ],
            &json!({"created": 1, "deleted": 3, "diff": "deleted d\ndeleted d/e\n--- d/e\n+++ d/e\n@@ -1 +0,0 @@\n-d/e\ndeleted \
                d/f\n--- d/f\n+++ d/f\n@@ -1 +0,0 @@\n-d/f\ncreated z"}),
        );
        assert_eq!(calls(&mut server), []);
        let reply = server.call("execute_command", json!({"command": "rm b"}));
        assert_eq!(
            reply.text(),
            "(no output)\n[changed: deleted b: undo with call 1]\n[exit code: 0]"
        );
    });
}

#[test]
fn dry_run_neither_follows_links_nor_waits() {
    as_each_user(|as_other| {
        let tree = tree();
        tree.file("work/a", "a")
            .file("work/d/e", "e")
            .file("outside", "secret")
            .fifo("work/p");
        let mut server = start(&tree, as_other, &[]);
        let before = tree.fingerprint("work");
        let outside = tree.text("outside");
        let line = format!(
            "rm a; mkfifo a; ln -s {outside} link; echo x >>d/e; chmod 000 d/e d; mknod w c 0 0; mknod n c 1 3; touch p; chmod 000 ."
        );
        let diff = "touched WORK\nedited a\n[not a regular file]\ntouched d\nedited d/e\n--- \
            d/e\n+++ d/e\n@@ -1 +1 @@\n-e\n\\ No newline at end of file\n+ex\ncreated link\n[a \
            link to OUTSIDE]\ntouched p";
        let diff = diff
            .replace("WORK", &tree.text("work"))
            .replace("OUTSIDE", &outside);
        assert_reply(
            &dry(&mut server, &line),
            &[
                "(no output)\n[dry run: would be 2 edited, 1 created, 3 touched; nothing was changed]\n[exit code: 0]",
                "[stderr]\nmknod: w: Operation not permitted\nmknod: n: Operation not permitted\n",
                &format!("[diff]\n{diff}"),
            ],
            &json!({"edited": 2, "created": 1, "touched": 3, "diff": diff}),
        );
        assert!(before == tree.fingerprint("work"));
        // Deeper than the scan, and more than the reply lists.
        let line = "for i in $(seq 150); do echo >f$i; done; i=0; while [ $i -lt 300 ]; do mkdir d$i; cd d$i; i=$((i+1)); done";
        let reply = dry(&mut server, line);
        let text = reply.text();
        assert_eq!(
            text,
            "(no output)\n[dry run: would be 151 created; nothing was changed]\n[exit code: 0]"
        );
        assert!(
            reply.all_texts()[1].ends_with("[51 more changes]"),
            "{reply:?}"
        );
    });
}

#[test]
fn dry_run_respects_protected_and_hidden_paths() {
    as_each_user(|as_other| {
        let tree = tree();
        tree.file("work/.git/config", "[core]\n")
            .dir("work/.git/hooks")
            .file("work/ro/r", "r")
            .file("work/ro/rw/w", "w");
        tree.file("work/nested/n", "n").file("work/logs/x", "x");
        let [read_only, inner, nested] =
            ["ro", "ro/rw", "nested"].map(|name| tree.text(&format!("work/{name}")));
        let (inner, nested) = (format!("{inner}:rw"), format!("{nested}:rw"));
        let log = tree.text("work/logs/audit.jsonl");
        let more = [
            "--allow", &read_only, "--allow", &inner, "--allow", &nested, "--audit", &log,
        ];
        let mut server = start(&tree, as_other, &more);
        let before = (
            tree.fingerprint("work/.git"),
            tree.fingerprint("work/ro"),
            tree.fingerprint("work/nested"),
        );
        let line = "for f in .git/hooks/pre-commit .git/config ro/r logs/audit.jsonl ro/rw/w nested/n; do \
                    { echo x >>$f; } 2>/dev/null && echo $f; done; cat logs/audit.jsonl; rm -rf logs .git 2>/dev/null; ls -A . .git logs";
        let diff = "deleted logs/x\n--- logs/x\n+++ logs/x\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\nedited nested/n\n--- nested/n\n\
                    +++ nested/n\n@@ -1 +1 @@\n-n\n\\ No newline at end of file\n+nx\nedited ro/rw/w\n--- ro/rw/w\n+++ ro/rw/w\n@@ -1 +1 \
                    @@\n-w\n\\ No newline at end of file\n+wx";
        assert_reply(
            &dry(&mut server, line),
            &[
                "ro/rw/w\nnested/n\n.:\n.git\nlogs\nnested\nro\n\n.git:\nconfig\nhooks\n\nlogs:\naudit.jsonl\n[dry run: would be deleted \
                 logs/x, edited nested/n, edited ro/rw/w; nothing was changed]\n[exit code: 0]",
                &format!("[diff]\n{diff}"),
            ],
            &json!({"edited": 2, "deleted": 1, "diff": diff}),
        );
        let after = (
            tree.fingerprint("work/.git"),
            tree.fingerprint("work/ro"),
            tree.fingerprint("work/nested"),
        );
        assert!(before == after && tree.read("work/logs/x") == "x");
    });
}

#[test]
fn unsupported_dry_run_is_refused() {
    let tree = tree();
    tree.file("work/a", "a").dir("work/m");
    let allowed = format!("{}:rw", tree.text("work"));
    let hint = "nothing was run; without `dryRun` the command changes files, and undo_changes can \
        take that back if undo is on";
    for tier in ["landlock", "off"] {
        let mut server = Server::open(
            &tree,
            NEWEST_HANDSHAKE,
            &["--allow", &allowed, "--sandbox", tier],
        );
        let reason = format!(
            "dryRun is refused: run a command with dryRun: it needs the namespaces tier (overlays \
             in a private root); the tier here is `{tier}`"
        );
        let reply = dry(&mut server, "rm a");
        assert_eq!(
            reply.0["error"]["message"],
            format!("{reason}\nhint: {hint}"),
            "{}",
            reply.whole()
        );
    }
    let mut server = start(&tree, false, &[]);
    let both = server.call(
        "execute_command",
        json!({"command": "rm a", "dryRun": true, "background": true}),
    );
    assert_eq!(
        both.failure().unwrap().message,
        "`dryRun` and `background` cannot both be true: a dry run reports changes only when the \
         command has ended; leave one of them out"
    );
    drop(server);
    let script = format!("mount -t tmpfs none {} && exec \"$@\"", tree.text("work/m"));
    let line = [
        "unshare",
        "-m",
        "sh",
        "-c",
        &script,
        "sh",
        env!("CARGO_BIN_EXE_replay"),
        "--mcp-server",
    ];
    let line = [&line[..], &["--allow", &allowed, "--sandbox", "namespaces"]].concat();
    if std::process::Command::new(line[0])
        .args(&line[1..5])
        .args(["sh", "true"])
        .status()
        .is_ok_and(|status| status.success())
    {
        let mut server = Server::start_program(&tree, &line, &[]).opened(NEWEST_HANDSHAKE);
        let reason = format!(
            "dryRun is refused: lay an overlay over `{}`: something else is mounted below it, \
             which the kernel does not allow to exclude",
            tree.text("work")
        );
        let reply = dry(&mut server, "rm a");
        assert_eq!(
            reply.0["error"]["message"],
            format!("{reason}\nhint: {hint}"),
            "{}",
            reply.whole()
        );
    } else {
        assert!(
            std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none(),
            "private mounts are required"
        );
    }
    if rustix::process::geteuid().is_root() {
        // A server that is not root cannot set a group that is not its own.
        let mut server = start(&tree, true, &[]);
        std::os::unix::fs::chown(tree.path("work"), None, Some(0)).unwrap();
        let reply = dry(&mut server, "rm a");
        let reason = format!(
            "dryRun is refused: give a directory owner, mode and attributes of `{}`, which a dry run needs: Invalid argument (os error 22)",
            tree.text("work")
        );
        assert_eq!(
            reply.0["error"]["message"],
            format!("{reason}\nhint: {hint}"),
            "{}",
            reply.whole()
        );
    }
    assert_eq!(tree.read("work/a"), "a");
}

#[test]
fn dry_run_exceeding_space_is_reported() {
    let tree = tree();
    let mut server = start(&tree, false, &[]);
    let reply = dry(&mut server, "head -c 600M /dev/zero >big");
    assert_eq!(
        reply.all_texts(),
        [
            &format!(
                "(no output)\n{FAILED}[dry run: would be created big; nothing was changed; the \
                 space for the writes of a dry run was used up]\n[exit code: 1]"
            ),
            "[stderr]\nhead: error writing 'standard output': No space left on device\n",
            "[diff]\ncreated big\n[no diff: 0 bytes before, 536870912 after]",
        ]
    );
    assert!(!tree.has("work/big"));
}

#[test]
fn other_commands_cannot_bypass_dry_run_overlays() {
    as_each_user(|as_other| {
        let tree = tree();
        tree.file("work/a", "a");
        let mut server = start(&tree, as_other, &[]);
        let python = |code: &str| {
            format!(
                "python3 -c \"import os, socket, time\ns = socket.socket(socket.AF_UNIX)\n{code}\""
            )
        };
        let hands_out = "s.bind('\\0it'); s.listen(); open('/tmp/ready', 'w')\nwhile True:\n c = s.accept()[0]\n \
                         socket.send_fds(c, [b'x'], [os.open('.', os.O_RDONLY)]); c.recv(1)";
        let background = server.call(
            "execute_command",
            json!({"command": python(hands_out), "background": true}),
        );
        assert!(background.failure().is_none(), "{background:?}");
        let before = tree.fingerprint("work");
        let takes = "s.connect('\\0it'); d = socket.recv_fds(s, 1, 1)[1][0]\nos.unlink('a', dir_fd=d); os.mkdir('b', dir_fd=d); os.fchmod(d, 0o700)";
        let line = format!(
            "while [ ! -e /tmp/ready ]; do sleep 0.01; done\n{}",
            python(takes)
        );
        let reply = dry(&mut server, &line);
        assert!(before == tree.fingerprint("work"));
        let output = &reply.result()["structuredContent"];
        let last = output["stderr"]
            .as_str()
            .unwrap()
            .lines()
            .last()
            .map(str::to_owned);
        assert_eq!(
            last.as_deref(),
            Some("PermissionError: [Errno 13] Permission denied")
        );
        assert_eq!(output["wouldChange"], json!({}));
    });
}

#[test]
fn existing_overlay_attributes_are_ignored() {
    as_each_user(|as_other| {
        let tree = tree();
        tree.file("work/d/e", "e").file("work/a", "a");
        let mut server = start(&tree, as_other, &[]);
        let set = "import os\nfor path in ['.', 'd', 'a']:\n for name in ['opaque', 'redirect', 'origin', 'impure', 'overlay.x']:\n  \
                   os.setxattr(path, 'user.overlay.' + name, b'y')";
        server
            .call(
                "execute_command",
                json!({"command": format!("python3 -c \"{set}\"")}),
            )
            .texts();
        let diff = "edited a\n--- a\n+++ a\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+ax\ncreated d/new";
        assert_reply(
            &dry(&mut server, "ls . d; mkdir d/new; echo x >>a"),
            &[
                ".:\na\nd\n\nd:\ne\n[dry run: would be edited a, created d/new; nothing was changed]\n[exit code: 0]",
                &format!("[diff]\n{diff}"),
            ],
            &json!({"edited": 1, "created": 1, "diff": diff}),
        );
    });
}

#[test]
fn large_files_do_not_hide_other_changes() {
    let tree = tree();
    tree.file("work/a", "a")
        .file("work/many/first", "")
        .file("work/many/second", "");
    fs::File::create(tree.path("work/sparse"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    // Hard links are created faster than files, and ext4 allows 65,000 per file.
    for number in 0..70_000 {
        let file = if number % 2 == 0 { "first" } else { "second" };
        fs::hard_link(
            tree.path("work/many").join(file),
            tree.path("work/many").join(number.to_string()),
        )
        .unwrap();
    }
    tree.file(format!("work/{}/f", "d/".repeat(130)), "f");
    let mut server = start(&tree, false, &[]);
    let diff = "deleted many/4242\ntouched sparse\ndeleted z";
    tree.file("work/z", "");
    assert_reply(
        &dry(&mut server, "rm many/4242 z; touch sparse"),
        &[
            "(no output)\n[dry run: would be deleted many/4242, touched sparse, deleted z; nothing was changed]\n[exit code: 0]",
            &format!("[diff]\n{diff}"),
        ],
        &json!({"deleted": 2, "touched": 1, "diff": diff}),
    );
    assert_reply(
        &dry(&mut server, "find d -name f -delete"),
        &[
            "(no output)\n[dry run: no change was seen; nothing was changed; there are too many \
             files to compare]\n[exit code: 0]",
        ],
        &json!({"gaps": ["there are too many files to compare"]}),
    );
}

/// Returns true if a process runs with this argument.
fn runs(argument: &str) -> bool {
    let lines = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.unwrap().path().join("cmdline")).ok());
    lines.into_iter().any(|line| {
        line.split(|byte| *byte == 0)
            .any(|part| part == argument.as_bytes())
    })
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn dry_run_of_killed_server_leaves_no_trace() {
    as_each_user(|as_other| {
        let tree = tree();
        tree.file("work/a", "a");
        let mut server = start(&tree, as_other, &[]);
        let before = tree.fingerprint("work");
        let argument = format!(
            "4242.{}",
            Path::new(tree.root())
                .to_str()
                .unwrap()
                .bytes()
                .map(u64::from)
                .sum::<u64>()
        );
        let line = format!("rm a; echo b >b; sleep {argument}");
        server.send(
            "tools/call",
            json!({"name": "execute_command", "arguments": {"command": line, "dryRun": true}}),
        );
        wait_until("the command does not run", || runs(&argument));
        kill_process(server.pid(), Signal::KILL).unwrap();
        wait_until("the command runs on", || !runs(&argument));
        wait_until("the private directory is still there", || {
            tree.private_directories("tmp").is_empty()
        });
        assert!(before == tree.fingerprint("work"));
    });
}
