//! Storage of a recording, its fallback directories, and the exit status of the program.

use std::process::Command;

use pretty_assertions::assert_eq;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_process};

use super::{REPLAY, Upstream, client, replay, run};
use crate::harness::DEADLINE;
use crate::tree::Tree;

/// Returns true if mounts are possible in a mount namespace of the test.
fn can_mount() -> bool {
    let mut unshare = Command::new("unshare");
    unshare.args([
        "--map-root-user",
        "--mount",
        "mount",
        "-t",
        "tmpfs",
        "none",
        "/mnt",
    ]);
    unshare.status().is_ok_and(|status| status.success())
}

/// Runs a script in its own mount namespace.
fn mounted(tree: &Tree, script: &str) -> super::Ended {
    run(
        tree,
        &["unshare", "--map-root-user", "--mount", "sh", "-ec", script],
        |_| {},
    )
}

#[test]
fn unwritable_directory_is_reported_before_program_runs() {
    if !can_mount() {
        return;
    }
    let tree = Tree::new();
    tree.dir("sets");
    let record = format!("{REPLAY} calls record --sandbox off --path sets -- touch ran");
    let read_only = mounted(
        &tree,
        &format!("mount -t tmpfs -o ro none sets; exec {record}"),
    );
    let next = "; give a writable directory with free space as `path`; nothing was run\n";
    for (part, at) in [
        ("replay: no mock set can be written to `sets`: ", true),
        (next, false),
    ] {
        assert!(
            if at {
                read_only.err.starts_with(part)
            } else {
                read_only.err.ends_with(part)
            },
            "{read_only:?}"
        );
    }
    assert_eq!((read_only.status, tree.path("ran").exists()), (2, false));
    let full = mounted(
        &tree,
        &format!(
            "mount -t tmpfs -o size=64k none sets; head -c 60000 /dev/zero >sets/x; exec {record}"
        ),
    );
    assert!(
        full.err
            .starts_with("replay: no mock set can be written to `sets`: ")
            && full.err.ends_with(next),
        "{full:?}"
    );
    assert_eq!((full.status, tree.path("ran").exists()), (2, false));
    // The attempt leaves no files.
    let good = replay(
        &tree,
        &[
            "calls",
            "record",
            "--sandbox",
            "off",
            "--path",
            "sets",
            "--",
            "ls -A sets",
        ],
    );
    assert_eq!((good.status, good.out.as_str()), (0, ""), "{}", good.err);
}

#[test]
fn recording_is_stored_elsewhere_when_directory_vanishes() {
    if !can_mount() {
        return;
    }
    let (tree, upstream) = (Tree::new(), Upstream::start());
    tree.dir("sets").dir("temporary");
    tree.file("shop.py", client(&[upstream.url() + "/a"]));
    let record = |path: &str, then: &str| {
        format!("{REPLAY} calls record --sandbox off --path {path} -- 'python3 shop.py; {then}'")
    };
    // The default directory accepts the set.
    let line = record("sets", "mount -o remount,ro sets");
    let moved = mounted(&tree, &format!("mount -t tmpfs none sets; exec {line}"));
    let told: Vec<&str> = moved.err.lines().collect();
    assert_eq!(
        told[0],
        format!(
            "replay: recorded 1 call (HTTP) as shop-http: {}",
            tree.text("./keploy/shop-http/mocks.yaml")
        )
    );
    assert!(
        told[1].starts_with("replay: the set could not be written to `sets`: "),
        "{moved:?}"
    );
    assert!(
        tree.read("keploy/shop-http/mocks.yaml")
            .contains("name: mock-1")
    );
    // No allowed directory is writable.
    let inner = record("sets", "mount -o remount,ro,bind .");
    let script = format!(
        "mount --bind . .; cd .; mount -t tmpfs none temporary; cd \"$PWD\"; export TMPDIR=/dev/shm; {inner} || true"
    );
    let lost = mounted(&tree, &script);
    let (before, directory) = lost
        .err
        .split_once("the calls are in ")
        .unwrap_or_else(|| panic!("{lost:?}"));
    assert_eq!(before.lines().last(), Some("replay: "), "{lost:?}");
    let directory = directory
        .split_once(
            "; move it to sets/shop-http once there is room: 1 recorded call could not be \
            written to sets: ",
        )
        .unwrap_or_else(|| panic!("{lost:?}"))
        .0;
    let kept = std::fs::read_to_string(format!("{directory}/mocks.yaml")).unwrap();
    std::fs::remove_dir_all(directory).unwrap();
    assert!(kept.contains("name: mock-1"), "{kept}");
}

#[test]
fn signal_of_program_is_in_exit_status() {
    let tree = Tree::new();
    for (line, status) in [
        ("kill -INT $$", 130),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
    ] {
        for sandbox in ["namespaces", "landlock", "off"] {
            let ended = replay(
                &tree,
                &["calls", "record", "--sandbox", sandbox, "--", line],
            );
            assert_eq!(ended.status, status, "{line}, {sandbox}: {}", ended.err);
        }
    }
    for sandbox in ["namespaces", "landlock", "off"] {
        let args = [
            "calls",
            "record",
            "--sandbox",
            sandbox,
            "--timeout-secs",
            "1",
            "--",
            "sleep 100",
        ];
        let timed_out = replay(&tree, &args);
        assert_eq!(timed_out.status, 143, "{sandbox}: {}", timed_out.err);
    }
}

/// Returns a program that sends one request, writes to `asked`, waits for a signal and runs
/// `on_signal` with its number `s`.
fn waiting_program(url: &str, on_signal: &str) -> String {
    format!(
        "{}
import os, signal
def heard(s, _):
    open('got', 'a').write(signal.Signals(s).name)
    {on_signal}
for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(s, heard)
open('asked', 'w').write('x')
while True:
    signal.pause()
",
        client(&[format!("{url}/a")])
    )
}

/// Records a program, and sends `signal` after its request.
fn record_with_signal(tree: &Tree, signal: Signal) -> super::Ended {
    run(
        tree,
        &[REPLAY, "calls", "record", "--", "python3", "shop.py"],
        |process| {
            let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK;
            let asked =
                rustix::fs::open(tree.path("asked"), flags, rustix::fs::Mode::empty()).unwrap();
            let mut asked = [PollFd::new(&asked, PollFlags::IN)];
            let deadline = Timespec::try_from(DEADLINE).unwrap();
            assert_eq!(
                poll(&mut asked, Some(&deadline)),
                Ok(1),
                "the program asked nothing"
            );
            kill_process(process, signal).unwrap();
        },
    )
}

#[test]
fn interrupted_recording_keeps_calls_and_forwards_signal() {
    let die = "signal.signal(s, signal.SIG_DFL); os.kill(os.getpid(), s)";
    for (signal, name, status) in [
        (Signal::INT, "SIGINT", 130),
        (Signal::TERM, "SIGTERM", 143),
        (Signal::HUP, "SIGHUP", 129),
        (Signal::QUIT, "SIGQUIT", 131),
    ] {
        let (tree, upstream) = (Tree::new(), Upstream::start());
        tree.file("shop.py", waiting_program(&upstream.url(), die))
            .fifo("asked");
        let ended = record_with_signal(&tree, signal);
        assert_eq!(
            (ended.status, tree.read("got").as_str()),
            (status, name),
            "{}",
            ended.err
        );
        assert!(
            ended
                .err
                .starts_with("replay: recorded 1 call (HTTP) as shop-http: "),
            "{}",
            ended.err
        );
    }
}

#[test]
fn program_handles_interrupt_with_its_own_status() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", waiting_program(&upstream.url(), "os._exit(7)"))
        .fifo("asked");
    let ended = record_with_signal(&tree, Signal::INT);
    assert_eq!(
        (ended.status, tree.read("got").as_str()),
        (7, "SIGINT"),
        "{}",
        ended.err
    );
}

#[test]
fn invalid_number_in_set_is_reported_with_line() {
    let tree = Tree::new();
    let head = "version: api.keploy.io/v1beta1\nkind: Http\nname: mock-1\nspec:\n";
    let req = "    req:\n        method: GET\n        proto_major: 1\n        proto_minor: 1\n        url: /a\n";
    let resp = |code: u16| format!("    resp:\n        status_code: {code}\n        body: x\n");
    let port = "    metadata:\n        targetHost: 127.0.0.1\n        targetPort: \"99999\"\n";
    for (text, told) in [
        (
            format!("{head}{port}{req}{}", resp(200)),
            ":7: `spec.metadata.targetPort`: expected a port from 0 to 65535, got `99999`",
        ),
        (
            format!("{head}{req}{}", resp(0)),
            ":11: `spec.resp.status_code`: expected a status code from 100 to 999, got `0`",
        ),
    ] {
        tree.file("keploy/one/mocks.yaml", &text);
        let refused = replay(
            &tree,
            &["calls", "test", "--mock", "one", "--", "touch ran"],
        );
        assert!(
            refused
                .err
                .starts_with(&format!("replay: ./keploy/one/mocks.yaml{told}")),
            "{refused:?}"
        );
        assert_eq!((refused.status, tree.path("ran").exists()), (2, false));
        assert_eq!(tree.read("keploy/one/mocks.yaml"), text);
    }
}

#[test]
fn oversized_set_is_refused_before_reading() {
    let tree = Tree::new();
    let grown = |name: &str, bytes: u64| {
        std::fs::File::options()
            .write(true)
            .open(tree.path(name))
            .unwrap()
            .set_len(bytes)
            .unwrap();
    };
    tree.file("keploy/large/mocks.yaml", "");
    grown("keploy/large/mocks.yaml", 6 << 20);
    let document = "version: api.keploy.io/v1beta1\nkind: Http\nname: mock-1\nspec:\n    req:\n        method: GET\n        url: /a\n    \
         resp:\n        status_code: 200\n        body_ref: {path: bodies/a}\n";
    tree.file("keploy/apart/mocks.yaml", document)
        .file("keploy/apart/bodies/a", "");
    grown("keploy/apart/bodies/a", 12 << 20);
    // Searches reserve a quarter of 16 MiB. Two sixteenths of the rest are reserved for ending
    // calls.
    let most = (12 << 20) / 16 * 14;
    let taken = 3 * document.len();
    for (set, wanted, free) in [
        ("large", 3 * (6 << 20), most),
        ("apart", 12 << 20, most - taken),
    ] {
        let shown = replay(&tree, &["calls", "show", "--memory-mib", "16", set]);
        let told = format!(
            "replay: {wanted} bytes of memory are needed, and {free} of the {most} that may be held (--memory-mib) are free; ask for \
             less at once, or have the operator raise --memory-mib\n"
        );
        assert_eq!((shown.status, shown.err), (2, told));
    }
    let enough = replay(&tree, &["calls", "show", "--memory-mib", "32", "apart"]);
    assert_eq!(enough.status, 0, "{}", enough.err);
}
