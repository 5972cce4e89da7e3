//! The server's own cgroup in the view of commands.

use std::path::{Path, PathBuf};
use std::process::Command;

use pretty_assertions::assert_eq;

use crate::tree::Tree;

const LIMITS: [&str; 2] = ["cpu.max", "memory.max"];
/// Shows the mounts of cgroups, the own group, the limits, and an attempt to change them.
const LOOK: &str = "awk '/ - cgroup/ { print $4, $5, $6 }' /proc/self/mountinfo; grep ^0: /proc/self/cgroup; \
    cd /sys/fs/cgroup 2>/dev/null || exit 0; head cpu.max memory.max 2>/dev/null; \
    mkdir replay-test 2>/dev/null && echo changed; true";

/// Directory of this process's cgroup of version 2, if it has limits.
fn limited_cgroup() -> Option<PathBuf> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
        .map(|mount| Path::new(mount).join(own.trim_start_matches('/')))
        .into_iter()
        .find(|dir| LIMITS.iter().any(|file| dir.join(file).exists()))
}

fn replay(tree: &Tree, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_replay"))
        .args(arguments)
        .env("HOME", tree.path("home"))
        .current_dir(tree.path("work"))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn limited_cgroup_is_seen_by_commands() {
    let tree = Tree::new();
    tree.dir("work").dir("home");
    let tier = ["--allow", ".", "--sandbox", "namespaces"];
    let explained = replay(&tree, &[&["sandbox", "explain"], &tier[..]].concat());
    if explained.contains("refused: ") && std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none()
    {
        return;
    }
    let row = explained
        .lines()
        .find_map(|line| line.trim().strip_prefix("/sys/fs/cgroup "));
    let line = [&["sandbox", "run"], &tier[..], &["--", "sh", "-c", LOOK]].concat();
    let seen = replay(&tree, &line);
    let Some(own) = limited_cgroup() else {
        let reason =
            "not there: the server's cgroup of version 2 has no limits of processors and memory";
        assert_eq!(row.map(str::trim), Some(reason));
        assert_eq!(seen, "0::/\n");
        return;
    };
    let limits = Command::new("sh")
        .args(["-c", "head cpu.max memory.max 2>/dev/null"])
        .current_dir(own)
        .output()
        .unwrap();
    let limits = String::from_utf8(limits.stdout).unwrap();
    let shown = "read-only, the cgroup of this server, with its cpu.max and memory.max";
    assert_eq!(row.map(str::trim), Some(shown));
    let mount = "/ /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime";
    assert_eq!(seen, format!("{mount}\n0::/\n{limits}"));
}
