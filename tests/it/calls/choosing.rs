//! Selection of the recorded set if the command line names none.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::tools::{open, structured_content};
use super::{REPLAY, Upstream, client, replay, run};
use crate::tree::Tree;

#[test]
fn latest_set_of_same_command_is_replayed() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", client(&[upstream.url() + "/a"]));
    tree.file("other.py", client(&[upstream.url() + "/b"]));
    for program in ["shop.py", "shop.py", "other.py"] {
        assert_eq!(
            replay(&tree, &["calls", "record", "--", "python3", program]).status,
            0
        );
    }
    drop(upstream);
    let tested = replay(&tree, &["calls", "test", "--", "python3", "shop.py"]);
    assert_eq!(
        (tested.status, tested.out.as_str(), tested.err.as_str()),
        (
            0,
            "{\"n\":2,\"path\":\"/a\"}\n",
            "replay: replayed 1 call of shop-http-2\n"
        )
    );
    let tested = replay(&tree, &["calls", "test", "--", "python3", "./other.py"]);
    assert_eq!(
        (tested.status, tested.out.as_str(), tested.err.as_str()),
        (
            0,
            "{\"n\":3,\"path\":\"/b\"}\n",
            "replay: replayed 1 call of other-http\nreplay: of 3 mock \
             sets, other-http is the latest (none was recorded with this command); --mock NAME \
             selects another set\n"
        )
    );
    let named = replay(
        &tree,
        &[
            "calls",
            "test",
            "--mock",
            "shop-http",
            "--",
            "python3",
            "shop.py",
        ],
    );
    assert_eq!(named.err, "replay: replayed 1 call of shop-http\n");
}

#[test]
fn noise_write_keeps_command_of_set() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    for number in [1, 2] {
        tree.file(
            "shop.py",
            client(&[format!("{}/a?t={number}", upstream.url())]),
        );
        assert_eq!(
            replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status,
            0
        );
    }
    drop(upstream);
    let file = || tree.read("keploy/shop-http/mocks.yaml");
    let before = file();
    let learned = replay(
        &tree,
        &["calls", "noise", "shop-http", "shop-http-2", "--write"],
    );
    assert_eq!(learned.status, 0, "{}", learned.err);
    let line = |file: &str| {
        file.lines()
            .find(|line| line.starts_with("# Command: "))
            .map(str::to_owned)
    };
    assert!(file() != before && line(&before).is_some(), "{before}");
    assert_eq!(line(&file()), line(&before));
    // The second set is newer, although noise was added to the first.
    let listed = replay(&tree, &["calls", "list"]).out;
    let names: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split('\t').next())
        .collect();
    assert_eq!(names, ["shop-http-2", "shop-http"]);
}

#[test]
fn sets_are_stored_in_recorder_start_directory() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    tree.dir("below");
    tree.file("below/shop.py", client(&[format!("{}/a", upstream.url())]));
    let command = format!(
        "cd below && exec {REPLAY} calls record --allow {}:ro --allow .:rw -- python3 shop.py",
        tree.path(".").display()
    );
    let recorded = run(&tree, &["sh", "-c", &command], |_| {});
    assert_eq!(
        (
            recorded.status,
            tree.path("below/keploy/shop-http/mocks.yaml").exists()
        ),
        (0, true),
        "{recorded:?}"
    );
}

#[test]
fn tool_replays_latest_set_of_command() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    let mut server = open(&tree, &["--network", "host"]);
    for (program, path) in [("shop.py", "/a"), ("other.py", "/b")] {
        tree.file(format!("work/{program}"), client(&[upstream.url() + path]));
        let recorded = structured_content(&server.call(
            "keploy_mock_record",
            json!({"command": format!("python3 {program}")}),
        ));
        assert_eq!(recorded["message"], "Recorded 1 mocks (HTTP)", "{recorded}");
    }
    drop(upstream);
    let tested =
        structured_content(&server.call("keploy_mock_test", json!({"command": "python3 shop.py"})));
    assert_eq!(
        (&tested["configuration"]["mockName"], &tested["notes"]),
        (
            &json!("shop-http"),
            &json!([
                "of 2 mock sets, `shop-http` is the latest one recorded with this command and was \
                 replayed; `other-http` is the latest of all: `mockName` selects another set"
            ])
        ),
        "{tested}"
    );
}
