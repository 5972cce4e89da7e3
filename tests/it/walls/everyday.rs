//! Everyday work inside the walls: `tests/everyday.sh`, compared with what is known to fail.

use pretty_assertions::assert_eq;
use replay::sandbox::Tier;
use serde_json::json;

use super::{Walls, everywhere};

/// What needs sockets, terminals or a /tmp of its own, or touches a process by its number, which only namespaces give.
const LANDLOCK: [&str; 7] = [
    "localhost server",
    "python manager",
    "python process pool",
    "renice of itself",
    "script in a terminal",
    "unix socket",
    "writing to /tmp",
];

#[test]
fn everyday_work() {
    everywhere(|setting| {
        // The toolchains of who runs the tests lie below a home that others may not enter.
        let own = ["PATH", "HOME"].map(|name| (name, std::env::var(name).unwrap_or_default()));
        let own: Vec<(&str, &str)> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let variables = if setting.owner.is_none() { own.as_slice() } else { &[] };
        let mut walls = Walls::start(setting, &["--max-command-timeout-secs", "300"], variables);
        walls.tree.file("work/everyday.sh", include_str!("../../everyday.sh"));
        // In the background, since this may take long on a slow machine.
        let reply = walls
            .try_run(json!({"command": "sh everyday.sh > said 2>&1; echo over", "timeout": 300, "background": true}));
        let id = reply.result()["structuredContent"]["commandId"].clone();
        while walls.server.call("follow_command", json!({"commandId": id, "waitSecs": 10})).result()["structuredContent"]
            ["running"]
            == true
        {}
        let said = walls.works("cat said");
        let mut failed: Vec<&str> = said
            .lines()
            .filter_map(|line| line.strip_prefix("FAIL "))
            .map(|line| line.split(':').next().unwrap())
            .collect();
        failed.sort_unstable();
        let skipped: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("skip ")).collect();
        let known: Vec<&str> = match setting.tier {
            Tier::Landlock => LANDLOCK.into_iter().filter(|name| !skipped.contains(name)).collect(),
            Tier::Namespaces | Tier::Off => Vec::new(),
        };
        assert_eq!(failed, known, "{setting:?}\n{said}");
        assert!(said.lines().count() > 40, "{setting:?}\n{said}");
        walls.end();
    });
}
