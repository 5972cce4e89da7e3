//! Levels of isolation (`--isolation`) of a recorded program, their availability and the messages
//! about them.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::command_line::record_a_refusal;
use super::tools::{open, structured_content};
use super::{REPLAY, Upstream, client, replay, run};
use crate::tree::Tree;

const SEEN: &str = "only traffic through HTTP_PROXY and similar variables was seen; databases and \
    direct connections were not";

#[test]
fn env_isolation_intercepts_only_proxy_aware_clients() {
    let (tree, mut upstream) = (Tree::new(), Upstream::start());
    tree.file(
        "shop.py",
        client(&[upstream.url() + "/a", upstream.url() + "/b"]),
    );
    let record = |more: &[&str]| {
        let args = [
            &["calls", "record", "--isolation", "env"],
            more,
            &["--", "python3", "shop.py"],
        ]
        .concat();
        replay(&tree, &args)
    };
    for (number, more) in [
        &[][..],
        &["--sandbox", "off"],
        &["--sandbox", "landlock"],
        &["--network", "none"],
    ]
    .iter()
    .enumerate()
    {
        let recorded = record(more);
        let answers = if number < 3 {
            format!(
                "{{\"n\":{},\"path\":\"/a\"}}\n{{\"n\":{},\"path\":\"/b\"}}\n",
                2 * number + 1,
                2 * number + 2
            )
        } else {
            // The proxy is reachable, the server is not.
            "502\n502\n".to_owned()
        };
        assert_eq!(
            (recorded.status, recorded.out.as_str()),
            (0, answers.as_str()),
            "{more:?}: {}",
            recorded.err
        );
        for line in [
            "\nreplay: isolation: env\n".to_owned(),
            format!("\nreplay: {SEEN}\n"),
        ] {
            assert!(recorded.err.contains(&line), "{more:?}: {}", recorded.err);
        }
    }
    upstream.stop();
    for more in [&[][..], &["--sandbox", "off"], &["--network", "loopback"]] {
        let args = [
            &["calls", "test", "--mock", "shop-http", "--isolation", "env"],
            more,
            &["--", "python3", "shop.py"],
        ]
        .concat();
        let tested = replay(&tree, &args);
        assert_eq!(
            tested.out, "{\"n\":1,\"path\":\"/a\"}\n{\"n\":2,\"path\":\"/b\"}\n",
            "{more:?}: {}",
            tested.err
        );
        assert_eq!(
            tested.err,
            format!(
                "replay: replayed 2 calls of shop-http\nreplay: isolation: env\nreplay: {SEEN}\n"
            )
        );
    }
}

#[test]
fn tool_reports_env_isolation() {
    let (tree, mut upstream) = (Tree::new(), Upstream::start());
    let mut server = open(&tree, &["--network", "host", "--isolation", "env"]);
    tree.file("work/order.py", client(&[upstream.url() + "/a"]));
    let recorded = structured_content(
        &server.call("keploy_mock_record", json!({"command": "python3 order.py"})),
    );
    assert_eq!(
        (&recorded["mockCount"], &recorded["isolation"]),
        (&json!(1), &json!("env")),
        "{recorded}"
    );
    upstream.stop();
    let tested = structured_content(
        &server.call("keploy_mock_test", json!({"command": "python3 order.py"})),
    );
    assert_eq!(
        (
            &tested["success"],
            &tested["isolated"],
            &tested["isolation"],
            &tested["notes"]
        ),
        (&json!(true), &json!(false), &json!("env"), &json!([SEEN])),
        "{tested}"
    );
}

#[test]
fn env_isolation_without_reachable_proxy_is_refused() {
    let tree = Tree::new();
    let args = [
        "calls",
        "record",
        "--sandbox",
        "landlock",
        "--network",
        "none",
        "--isolation",
        "env",
        "--",
        "touch ran",
    ];
    let refused = replay(&tree, &args);
    assert!(
        refused.err.starts_with(
            "replay: failed to setup agent: cannot start the command: reach a proxy: "
        ),
        "{refused:?}"
    );
    assert_eq!((refused.status, tree.path("ran").exists()), (2, false));
}

#[test]
fn unavailable_strict_isolation_is_refused() {
    let tree = Tree::new();
    let args = [
        "calls",
        "record",
        "--sandbox",
        "off",
        "--isolation",
        "strict",
        "--",
        "touch ran",
    ];
    let refused = replay(&tree, &args);
    assert_eq!(
        (
            refused.status,
            refused.err.as_str(),
            tree.path("ran").exists()
        ),
        (
            2,
            "replay: failed to setup agent: commands are refused: `--isolation strict` needs a \
             private network for the command, but --sandbox off gives it the system's network; \
             leave one of the two out\n",
            false
        )
    );
}

#[test]
fn nested_supervisor_is_reported_once_with_hint() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", client(&[upstream.url() + "/a"]));
    let outer = [
        REPLAY,
        "calls",
        "record",
        "--sandbox",
        "off",
        "--",
        REPLAY,
        "calls",
        "record",
        "--sandbox",
        "off",
    ];
    let nested = run(&tree, &[&outer[..], &["--", "true"]].concat(), |_| {});
    let first = nested.err.lines().next();
    assert_eq!(
        first,
        Some(
            "replay: failed to setup agent: cannot start the command: another replay or the \
             container runtime already supervises this program, and the kernel allows only one \
             supervisor: Device or resource busy (os error 16); run replay outside of its \
             supervisor, or use `--isolation env` with `--sandbox off`"
        )
    );
    assert_eq!(nested.status, 2);
    // Follow the hint of the message.
    let env = run(
        &tree,
        &[
            &outer[..],
            &["--isolation", "env", "--", "python3", "shop.py"],
        ]
        .concat(),
        |_| {},
    );
    assert_eq!(
        (env.status, env.out.as_str()),
        (0, "{\"n\":1,\"path\":\"/a\"}\n"),
        "{}",
        env.err
    );
}

#[test]
fn recorder_inside_sandbox_is_refused() {
    let tree = Tree::new();
    let mut server = open(&tree, &["--system", REPLAY.rsplit_once('/').unwrap().0]);
    let command = format!("{REPLAY} calls record -- true");
    let inside = server.call("execute_command", json!({"command": command}));
    let told = inside.result()["structuredContent"]["stderr"].clone();
    assert_eq!(
        told,
        "replay: failed to setup agent: commands are refused: this program already runs inside \
         another replay, and the kernel allows only one supervisor; run it outside, or with \
         --sandbox off (and --isolation env to record calls)\n"
    );
}

#[test]
fn recording_works_without_pidfd_getfd() {
    let (tree, mut upstream) = (Tree::new(), Upstream::start());
    tree.file("refuse.py", include_str!("../interception/refuse.py"));
    tree.file("shop.py", client(&[upstream.url() + "/a"]));
    let urls = format!("{}/b", upstream.url());
    let node =
        "require('http').get(process.argv[1], r => r.on('data', d => console.log(String(d))))";
    let mut line = format!("python3 shop.py && curl -sS {urls} && echo");
    if std::path::Path::new("/usr/bin/node").exists() {
        line = format!("{line} && /usr/bin/node -e \"{node}\" {urls}");
    }
    let refused = |args: &[&str]| {
        run(
            &tree,
            &[
                &["python3", "refuse.py", "pidfd_getfd", REPLAY, "calls"],
                args,
                &["--", &line],
            ]
            .concat(),
            |_| {},
        )
    };
    let recorded = refused(&["record"]);
    assert_eq!(recorded.status, 0, "{recorded:?}");
    assert!(
        recorded
            .out
            .starts_with("{\"n\":1,\"path\":\"/a\"}\n{\"n\":2,\"path\":\"/b\"}\n"),
        "{recorded:?}"
    );
    upstream.stop();
    for more in [
        &["--isolation", "strict"][..],
        &["--isolation", "seccomp"],
        &["--sandbox", "landlock"],
        &["--sandbox", "off"],
    ] {
        let tested = refused(&[&["test"], more].concat());
        assert_eq!(
            (tested.status, &tested.out),
            (0, &recorded.out),
            "{more:?}: {}",
            tested.err
        );
    }
}

/// Runs in a network namespace with an additional device whose other end is monitored for packets.
#[test]
fn packets_of_program_never_leave_machine() {
    let tree = Tree::new();
    tree.file("leak.c", include_str!("leak.c"))
        .file("wire.py", include_str!("wire.py"));
    let compiled = run(
        &tree,
        &["gcc", "-O1", "-static", "-pthread", "-o", "leak", "leak.c"],
        |_| {},
    );
    let wire = |line: &[&str]| {
        let network = if rustix::process::geteuid().is_root() {
            "-n"
        } else {
            "-Urn"
        };
        run(
            &tree,
            &[&["unshare", network, "python3", "wire.py"], line].concat(),
            |_| {},
        )
    };
    let leak = tree.text("leak");
    let alone = wire(&[&leak]);
    if compiled.status != 0 || alone.status != 0 {
        assert!(
            std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none(),
            "{compiled:?} {alone:?}"
        );
        return;
    }
    // Without an interception each method sends packets out; the race succeeds by chance.
    for way in [
        "datagram device",
        "datagram route",
        "datagram rthdr",
        "membership",
        "tcp to 198.51.100.7",
    ] {
        assert!(alone.out.contains(&format!("{way}\n")), "{alone:?}");
    }
    record_a_refusal(&tree);
    let sets = std::fs::read_dir(tree.path("keploy")).unwrap();
    let set = sets
        .map(|set| set.unwrap().file_name().into_string().unwrap())
        .next()
        .unwrap();
    for more in [&[][..], &["--sandbox", "landlock"], &["--sandbox", "off"]] {
        let args = [
            &[
                REPLAY,
                "calls",
                "test",
                "--mock",
                &set,
                "--isolation",
                "seccomp",
            ],
            more,
            &["--", &leak],
        ]
        .concat();
        let tested = wire(&args);
        // Connections that the program tries are misses.
        assert_eq!(
            (tested.status, tested.out.as_str()),
            (1, "done\n"),
            "{more:?}: {}",
            tested.err
        );
    }
    // Without a separate network for datagrams, all methods but a race are blocked.
    tree.file("refuse.py", include_str!("../interception/refuse.py"));
    for tier in ["landlock", "off"] {
        let args = [
            "test",
            "--mock",
            &set,
            "--isolation",
            "seccomp",
            "--sandbox",
            tier,
            "--",
            &leak,
            "calm",
        ];
        let tested = wire(
            &[
                &["python3", "refuse.py", "unshare", REPLAY, "calls"][..],
                &args,
            ]
            .concat(),
        );
        // The program may end before its connection is reported, so the status is not checked.
        assert_eq!(tested.out, "done\n", "{tier}: {}", tested.err);
    }
}
