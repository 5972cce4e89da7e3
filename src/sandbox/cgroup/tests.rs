//! Tests of cgroups on a directory tree with the kernel's file names: reads and writes. The
//! kernel's own reactions are not simulated.
#![expect(clippy::disallowed_methods, reason = "the test's own tree")]

use std::fs;

use pretty_assertions::assert_eq;

use super::*;

const BOUNDS: Bounds = Bounds {
    memory_bytes: 1_000_000,
    processes: Some(300),
};

/// Creates the cgroup of a server (process 10) and its launcher (process 11), with the child
/// cgroups. The kernel fills new cgroups with files; a directory starts empty.
fn tree(controllers: &str, hands_down: &str, processes: &str) -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| {
        let path = tree.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    file("cgroup.controllers", controllers);
    file("cgroup.subtree_control", hands_down);
    file("cgroup.procs", processes);
    for empty in [
        "replay-11/cgroup.subtree_control",
        "replay-11/pids.max",
        "replay-11-server/cgroup.procs",
    ] {
        file(empty, "");
    }
    for empty in ["memory.max", "memory.oom.group"] {
        file(&format!("replay-11/0/{empty}"), "");
    }
    file(
        "replay-11/0/memory.events",
        "low 0\nhigh 0\nmax 7\noom 1\noom_kill 3\noom_group_kill 1\n",
    );
    tree
}

fn below(tree: &tempfile::TempDir) -> Result<Groups, String> {
    Groups::below(
        open_dir(CWD, tree.path()).unwrap(),
        BOUNDS,
        Pid::from_raw(10),
        Pid::from_raw(11),
    )
}

fn text(tree: &tempfile::TempDir, path: &str) -> String {
    fs::read_to_string(tree.path().join(path)).unwrap()
}

#[test]
fn leave_restores_original_cgroup() {
    let tree = tree("cpu memory pids\n", "", "10\n11\n");
    let mut groups = below(&tree).unwrap();
    assert_eq!(text(&tree, "replay-11-server/cgroup.procs"), "11");
    // The second write replaces the start of the first.
    assert_eq!(text(&tree, "cgroup.subtree_control"), "+pidsry");
    assert_eq!(text(&tree, "replay-11/cgroup.subtree_control"), "+memory");
    assert_eq!(
        (
            text(&tree, "replay-11/pids.max").as_str(),
            groups.counts_processes()
        ),
        ("300", true)
    );
    let group = groups.make().unwrap();
    assert_eq!(text(&tree, "replay-11/0/memory.max"), "1000000");
    assert_eq!(text(&tree, "replay-11/0/memory.oom.group"), "1");
    assert!(group.was_ended());
    groups.used_by(Pid::from_raw(20), group);
    groups.tidy(|supervisor| supervisor == 20);
    assert_eq!(groups.used.len(), 1);
    groups.leave();
    assert_eq!(
        (
            text(&tree, "cgroup.subtree_control").as_str(),
            text(&tree, "cgroup.procs").as_str()
        ),
        ("-pidsry", "11\n11\n")
    );
    assert!(groups.used.is_empty() && groups.moved.is_empty());
}

#[test]
fn enabled_memory_controller_needs_no_move() {
    let tree = tree("cpu memory\n", "memory\n", "1\n10\n11\n");
    let mut groups = below(&tree).unwrap();
    assert_eq!(text(&tree, "replay-11-server/cgroup.procs"), "");
    groups.leave();
    assert_eq!(
        (
            text(&tree, "cgroup.subtree_control").as_str(),
            text(&tree, "cgroup.procs").as_str()
        ),
        ("memory\n", "1\n10\n11\n")
    );
}

#[test]
fn foreign_cgroup_stays_unchanged() {
    let cases = [
        (
            "cpu pids\n",
            "",
            "10\n11\n",
            "the server's cgroup has no memory controller",
        ),
        (
            "",
            "",
            "10\n11\n",
            "the server's cgroup has no memory controller",
        ),
        (
            "cpu memory\n",
            "",
            "9\n10\n11\n",
            "other processes live in the server's cgroup",
        ),
        // A process that this one cannot see.
        (
            "cpu memory\n",
            "cpu\n",
            "0\n10\n11\n",
            "other processes live in the server's cgroup",
        ),
        (
            "cpu memory\n",
            "",
            "what is this\n",
            "other processes live in the server's cgroup",
        ),
    ];
    for (controllers, hands_down, processes, reason) in cases {
        let tree = tree(controllers, hands_down, processes);
        assert_eq!(below(&tree).unwrap_err(), reason);
        assert_eq!(text(&tree, "cgroup.subtree_control"), hands_down);
        assert_eq!(text(&tree, "cgroup.procs"), processes);
        assert_eq!(text(&tree, "replay-11-server/cgroup.procs"), "");
        assert_eq!(text(&tree, "replay-11/pids.max"), "");
    }
}

#[test]
fn failed_preparation_is_rolled_back() {
    let tree = tree("memory\n", "", "10\n11\n");
    fs::remove_file(tree.path().join("replay-11/cgroup.subtree_control")).unwrap();
    let reason = below(&tree).unwrap_err();
    assert!(
        reason.starts_with("the server's cgroup is not delegated to it: "),
        "{reason}"
    );
    assert_eq!(
        (
            text(&tree, "cgroup.subtree_control").as_str(),
            text(&tree, "cgroup.procs").as_str()
        ),
        ("-pidsry", "11\n11\n")
    );
}

#[test]
fn missing_memory_limit_fails_command() {
    let tree = tree("memory\n", "memory\n", "10\n11\n");
    let mut groups = below(&tree).unwrap();
    fs::remove_file(tree.path().join("replay-11/0/memory.max")).unwrap();
    let fault = groups.make().unwrap_err();
    assert_eq!(
        fault.to_string(),
        "make a cgroup for the command: No such file or directory (os error 2)"
    );
}

#[test]
fn sweep_removes_groups_of_dead_launchers() {
    let tree = tempfile::tempdir().unwrap();
    let own = std::process::id();
    // No process has this number (`PID_MAX_LIMIT` of `linux/threads.h`).
    let gone = 1 << 22;
    for name in [
        format!("replay-{gone}/7"),
        format!("replay-{gone}-server"),
        format!("replay-{own}/7"),
        "replay-x".into(),
        "other".into(),
    ] {
        fs::create_dir_all(tree.path().join(name)).unwrap();
    }
    sweep(&open_dir(CWD, tree.path()).unwrap());
    let mut left: Vec<_> = fs::read_dir(tree.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(
        left,
        [
            "other".to_owned(),
            format!("replay-{own}"),
            "replay-x".into()
        ]
    );
    assert!(tree.path().join(format!("replay-{own}/7")).is_dir());
}

#[test]
fn directory_is_found_from_mountinfo() {
    let unified =
        "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    let hybrid = "31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n32 24 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let inner = "33 24 0:26 /system.slice/x.service /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
    let user = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-u1.scope\n";
    let at =
        |cgroup, mounts| directory(cgroup, mounts).map(|path| path.to_str().unwrap().to_owned());
    assert_eq!(
        at(user, unified).as_deref(),
        Some("/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/run-u1.scope")
    );
    assert_eq!(
        at("9:name=systemd:/\n4:memory:/x\n0::/\n", hybrid).as_deref(),
        Some("/sys/fs/cgroup/unified")
    );
    assert_eq!(
        at("0::/system.slice/x.service/y\n", inner).as_deref(),
        Some("/sys/fs/cgroup/y")
    );
    assert_eq!(at("0::/elsewhere\n", inner), None);
    assert_eq!(at("0::/../outside\n", unified), None);
    assert_eq!(at("4:memory:/x\n", unified), None);
    assert_eq!(
        at(
            "0::/\n",
            "34 24 0:26 / /mnt/a\\040b rw - cgroup2 cgroup rw\n"
        ),
        None
    );
    assert_eq!(at("", ""), None);
}

#[test]
fn only_own_limit_counts_as_ended() {
    assert!(was_ended("oom 1\noom_kill 1\n"));
    // The whole system was out of memory.
    assert!(!was_ended("max 0\noom 0\noom_kill 1\n"));
    // An allocation failed, and no process was killed.
    assert!(!was_ended("oom 5\noom_kill 0\noom_group_kill 0\n"));
    assert!(!was_ended(""));
}
