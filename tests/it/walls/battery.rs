//! The attack battery through a real server. The successful attacks are compared as a whole list.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pretty_assertions::assert_eq;
use replay_probe::{
    ATTACK_ARGUMENT, CONTROLS, GROUPS, LANDLOCK_GAPS, Outcome, Promise, Report, Victims, probe,
};
use replay_sandbox::{Network, RawString, Tier};
use serde_json::json;

use super::{Setting, command_result, everywhere, launcher, program};
use crate::harness::Server;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::{Tree, copy_program};

/// Attacks known to succeed in every tier: a lock needs no write access.
const EVERYWHERE: &[&str] = &["lock of a read-only file"];

/// Attacks known to succeed without namespaces. Only a separate mount namespace could hide these
/// targets.
const LANDLOCK: &[&str] = &[
    "stat outside",
    "access outside",
    "readlink outside",
    "chdir outside",
    "O_PATH outside",
    "statfs outside",
    "inotify outside",
    "arguments of others",
    "pidfd of others",
    "list processes outside",
    "list System V objects",
];

/// Returns the attacks that are expected to succeed.
fn expected_attacks(setting: Setting) -> Vec<&'static str> {
    match setting.tier {
        Tier::Landlock if setting.root() => {
            [EVERYWHERE, LANDLOCK, &["memory of the machine"]].concat()
        }
        Tier::Landlock => [EVERYWHERE, LANDLOCK].concat(),
        Tier::Namespaces => EVERYWHERE.to_vec(),
        Tier::Off => Vec::new(),
    }
}

/// Runs the battery in the sandbox of a server.
fn run(setting: Setting, network: Network) -> Report {
    let tree = Tree::new();
    let inner = tree.path("base/ro/replay");
    tree.dir("base/ro").dir("tmp");
    copy_program(&program(), &inner);
    let mut victims = Victims::lay_out(&tree.path("base"), setting.owner).unwrap();
    if let Some(owner) = setting.owner {
        for path in [tree.root(), &tree.path("tmp")] {
            std::os::unix::fs::chown(path, Some(owner.0), Some(owner.1)).unwrap();
        }
    }
    fs::set_permissions(tree.root(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut server = start(&tree, setting, network);
    let stage = victims.stage(
        server.pid().as_raw_nonzero().get().cast_unsigned(),
        Some(launcher(&server)),
    );
    let report = probe(
        &mut victims,
        &stage,
        &inner,
        network,
        &mut |line: &[RawString]| {
            let quoted: Vec<String> = line
                .iter()
                .map(|part| quote(part.0.to_str().unwrap()))
                .collect();
            // The battery runs as the program itself, so that its parent is the supervisor. Without
            // a sandbox, an attack would end the parent and lose the results.
            let command = match setting.tier {
                Tier::Off => format!("({}; true); true", quoted.join(" ")),
                Tier::Namespaces | Tier::Landlock => format!("exec {}", quoted.join(" ")),
            };
            let reply = server.call(
                "execute_command",
                json!({"command": command, "timeout": 60}),
            );
            let ran = command_result(&reply);
            assert!(!ran.stderr.contains("replay:"), "{}", ran.stderr);
            Ok(ran.stdout.into_bytes())
        },
    );
    assert!(server.alive(), "the server was ended");
    report.unwrap()
}

fn start(tree: &Tree, setting: Setting, network: Network) -> Server {
    let roots = [("base/rw", "rw"), ("base/rw2", "rw"), ("base/ro", "ro")];
    let roots = roots.map(|(path, kind)| format!("{}:{kind}", tree.text(path)));
    let program = program();
    let (user, group) = setting.owner.unwrap_or_default();
    let (user, group) = (format!("--reuid={user}"), format!("--regid={group}"));
    let mut line = Vec::new();
    if setting.owner.is_some() {
        line.extend(["setpriv", &user, &group, "--clear-groups", "--"]);
    }
    line.extend([
        program.to_str().unwrap(),
        "--mcp-server",
        "--sandbox",
        setting.tier.as_str(),
    ]);
    // Without namespaces this cannot be requested.
    if network != Network::Loopback {
        line.extend(["--network", network.as_str()]);
    }
    for root in &roots {
        line.extend(["--allow", root]);
    }
    let tmp = tree.text("tmp");
    // Variables that a command must not see.
    let variables = [
        ("TMPDIR", tmp.as_str()),
        ("REPLAY_IT_TOKEN", "x"),
        ("SSH_AUTH_SOCK", "/x"),
        ("BASH_ENV", "/x"),
        ("A_SECRET", "x"),
    ];
    Server::start_program(tree, &line, &variables).opened(NEWEST_HANDSHAKE)
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns the names of the controls that are known not to work.
fn known_broken(tier: Tier) -> Vec<&'static str> {
    let known = CONTROLS
        .iter()
        .filter(|control| control.namespaces_only && tier != Tier::Namespaces);
    known.map(|control| control.name).collect()
}

#[test]
fn only_promised_attacks_succeed() {
    everywhere(|setting| {
        let promise = Promise {
            tier: setting.tier,
            network: Network::Loopback,
            root: setting.root(),
            landlock: true,
        };
        let report = run(setting, promise.network);
        let text = report.text(promise);
        assert_eq!(
            report.through(),
            expected_attacks(setting),
            "{setting:?}\n{text}"
        );
        assert_eq!(report.damage, Vec::<String>::new(), "{setting:?}\n{text}");
        assert_eq!(report.broke_at, None, "{setting:?}\n{text}");
        assert_eq!(
            report.broken(),
            known_broken(setting.tier),
            "{setting:?}\n{text}"
        );
        assert_eq!(
            report.attempts.len(),
            GROUPS
                .iter()
                .map(|(_, attempts)| attempts.len())
                .sum::<usize>()
        );
        assert!(report.holds(promise));
    });
}

#[test]
fn attacks_succeed_only_as_network_permits() {
    everywhere(|setting| {
        let none = run(setting, Network::None);
        assert_eq!(
            (none.through(), none.damage.clone()),
            (expected_attacks(setting), Vec::new()),
            "{setting:?}"
        );
        assert_ne!(
            none.controls.get("loopback"),
            Some(&Outcome::Through(String::new()))
        );
        let promise = Promise {
            tier: setting.tier,
            network: Network::Host,
            root: setting.root(),
            landlock: true,
        };
        let host = run(setting, Network::Host);
        assert_eq!(
            host.faults(promise),
            Vec::<String>::new(),
            "{setting:?}\n{}",
            host.text(promise)
        );
        // The permitted attempts show that the attacks reach their targets.
        assert_eq!(
            host.attempts.get("TCP"),
            Some(&Outcome::Through("connected".to_owned())),
            "{setting:?}"
        );
    });
}

/// Control of the battery: without a sandbox, attacks succeed and their effects are noticed.
#[test]
fn attacks_succeed_without_sandbox() {
    let owner = rustix::process::geteuid()
        .is_root()
        .then_some(super::NOBODY);
    let report = run(
        Setting {
            tier: Tier::Off,
            owner,
        },
        Network::Host,
    );
    let through = report.through();
    let surely = [
        "read outside",
        "write outside",
        "read outside by a link",
        "hard link from outside",
        "move out",
        "write a read-only file",
        "mode of a read-only file",
        "change the mode outside",
        "change times outside",
        "stat outside",
        "environment of others",
        "memory of others by procfs",
        "abstract socket",
        "socket outside",
        "System V memory",
        "POSIX memory",
        "TCP",
        "UDP",
        "program without a file",
        "end a bystander",
    ];
    let missing: Vec<&str> = surely
        .into_iter()
        .filter(|name| !through.contains(name))
        .collect();
    assert_eq!(missing, Vec::<&str>::new(), "{:#?}", report.attempts);
    let damage = report.damage.join("\n");
    for wanted in [
        "/created is new",
        "/removed is gone",
        "mode was 100644",
        "a datagram came",
        "bystander 2 was ended",
    ] {
        assert!(damage.contains(wanted), "no `{wanted}` in {damage}");
    }
    let said = report.text(Promise {
        tier: Tier::Namespaces,
        network: Network::Loopback,
        root: false,
        landlock: true,
    });
    assert!(said.ends_with("NOT every wall held\n"), "{said}");
}

#[test]
fn unreadable_attack_stage_is_reported() {
    let output = std::process::Command::new(program())
        .args([ATTACK_ARGUMENT, "{"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .starts_with("replay: the stage of the attack battery: ")
    );
}

/// `replay sandbox probe`, as the operator calls it.
#[test]
fn sandbox_probe_command_reports_results() {
    let probe = |flags: &[&str]| {
        let mut command = std::process::Command::new(program());
        let output = command
            .args(["sandbox", "probe"])
            .args(flags)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    for setting in super::settings()
        .into_iter()
        .filter(|setting| setting.owner.is_none())
    {
        let (code, said, errors) =
            probe(&["--sandbox", setting.tier.as_str(), "--log-level", "off"]);
        assert_eq!((code, errors.as_str()), (Some(0), ""), "{said}");
        assert!(
            said.starts_with(&format!("walls: {}", setting.tier.as_str())),
            "{said}"
        );
        assert!(said.ends_with("every promised wall held\n"), "{said}");
        assert_eq!(said.matches("through: ").count(), 0, "{said}");
    }
    let (code, said, errors) = probe(&["--sandbox", "off"]);
    let refused = "replay: probe attacks the walls around commands, and --sandbox off removes \
        them; leave it out\n";
    assert_eq!(
        (code, said.as_str(), errors.as_str()),
        (Some(2), "", refused)
    );
}

/// `replay sandbox explain` says of every attempt that Landlock alone does not stop what it leaves.
#[test]
fn explanation_names_every_gap_of_landlock() {
    let words = [
        ("stat outside", "stat"),
        ("access outside", "access"),
        ("readlink outside", "readlink"),
        ("chdir outside", "chdir"),
        ("O_PATH outside", "O_PATH"),
        ("statfs outside", "statfs"),
        ("inotify outside", "inotify"),
        ("arguments of others", "arguments"),
        ("pidfd of others", "pidfd_open"),
        ("list processes outside", "list all processes"),
        ("list System V objects", "System V"),
    ];
    assert_eq!(words.map(|(attempt, _)| attempt), LANDLOCK_GAPS);
    let tree = tempfile::tempdir().unwrap();
    let output = std::process::Command::new(program())
        .args(["sandbox", "explain", "--sandbox", "landlock", "--allow"])
        .arg(tree.path())
        .output()
        .unwrap();
    let explained = String::from_utf8(output.stdout).unwrap();
    let gaps = explained.split_once("\nnot held\n").unwrap().1;
    for (attempt, word) in words {
        assert!(gaps.contains(word), "{attempt}: {gaps}");
    }
}
