use std::collections::BTreeSet;

use replay_sandbox::{Network, Tier};

use super::*;

#[test]
fn names_are_unique_and_gaps_are_attempts() {
    let names: Vec<&str> = GROUPS
        .iter()
        .flat_map(|(_, attempts)| *attempts)
        .map(|attempt| attempt.name)
        .collect();
    let unique: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(unique.len(), names.len());
    let landlock = Promise {
        tier: Tier::Landlock,
        network: Network::Host,
        root: true,
        landlock: true,
    };
    let off = Promise {
        tier: Tier::Off,
        network: Network::Host,
        root: true,
        landlock: true,
    };
    let left = names.iter().filter(|name| landlock.leaves(name)).count();
    let gaps = [
        report::GAPS,
        &report::LANDLOCK_GAPS,
        report::LANDLOCK_ROOT_GAPS,
        report::HOST_NETWORK,
    ];
    assert_eq!(
        left,
        gaps.iter().map(|names| names.len()).sum::<usize>(),
        "a gap names no attempt"
    );
    assert!(names.iter().all(|name| off.leaves(name)));
    let namespaces = |landlock| Promise {
        tier: Tier::Namespaces,
        network: Network::None,
        root: true,
        landlock,
    };
    let left = |promise: Promise| {
        names
            .iter()
            .copied()
            .filter(|name| promise.leaves(name))
            .collect::<Vec<_>>()
    };
    assert_eq!(left(namespaces(true)), report::GAPS);
    let known = [report::GAPS, report::ROOT_GAPS_WITHOUT_LANDLOCK].concat();
    assert_eq!(left(namespaces(false)), known);
}

#[test]
fn report_separates_breaches_from_known_gaps() {
    let text = concat!(
        r#"{"begins":"TCP"}"#,
        "\n",
        r#"{"attempt":["TCP",{"through":"connected"}]}"#,
        "\n",
        r#"{"begins":"stat outside"}"#,
        "\n",
        r#"{"attempt":["stat outside",{"through":"9 bytes"}]}"#,
        "\n",
        r#"{"begins":"kill"}"#,
        "\n",
    );
    let report = Report::read(text.as_bytes());
    assert_eq!(report.through(), ["stat outside", "TCP"]);
    let strict = Promise {
        tier: Tier::Namespaces,
        network: Network::Loopback,
        root: true,
        landlock: true,
    };
    let faults = [
        "the battery stopped at: kill",
        "got through: stat outside",
        "got through: TCP",
    ];
    assert_eq!(report.faults(strict), faults);
    let landlock = Promise {
        tier: Tier::Landlock,
        network: Network::None,
        root: true,
        landlock: true,
    };
    assert_eq!(
        report.faults(landlock),
        ["the battery stopped at: kill", "got through: TCP"]
    );
    let open = Promise {
        tier: Tier::Landlock,
        network: Network::Host,
        root: true,
        landlock: true,
    };
    assert!(!report.holds(open));
    assert!(
        Report {
            broke_at: None,
            ..report
        }
        .holds(open)
    );
}

#[test]
fn a_report_says_why_something_was_not_possible() {
    let line = r#"{"attempt":["TCP",{"not_possible":"no such process"}]}"#;
    let report = Report::read(line.as_bytes());
    let text = report.text(Promise {
        tier: Tier::Namespaces,
        network: Network::Loopback,
        root: true,
        landlock: true,
    });
    let told: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("not possible: "))
        .collect();
    assert_eq!(
        told,
        ["not possible: TCP, connect(2) to 127.0.0.1: no such process"]
    );
}

#[test]
fn victims_report_their_damage() {
    let dir = tempfile::tempdir().unwrap();
    let mut victims = Victims::lay_out(dir.path(), None).unwrap();
    assert_eq!(victims.damage(false).unwrap(), Vec::<String>::new());
    let stage = victims.stage(std::process::id(), None);
    std::fs::write(stage.beyond("new"), "x").unwrap();
    std::fs::remove_file(stage.beyond("removed")).unwrap();
    std::os::unix::net::UnixStream::connect(stage.beyond("socket")).unwrap();
    std::net::TcpStream::connect(("127.0.0.1", stage.tcp)).unwrap();
    let damage = victims.damage(false).unwrap().join("\n");
    for wanted in [
        "/new is new",
        "/removed is gone",
        "/socket\" (pathname)",
        "a TCP connection came",
    ] {
        assert!(damage.contains(wanted), "no `{wanted}` in {damage}");
    }
}
