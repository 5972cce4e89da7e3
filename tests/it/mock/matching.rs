//! Lookups in cassettes: `--match`, and messages about a missing exchange.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{ask, call, request};
use crate::tree::Tree;

/// Writes a cassette with these exchanges of `tools/call`; the results are numbered.
fn record(tree: &Tree, header: Value, params: &[Value]) {
    let exchanges = params.iter().enumerate().map(|(index, params)| {
        json!({"method": "tools/call", "params": params, "result": {"n": index + 1}})
    });
    let opened = json!({"method": "initialize", "params": {}, "result": {"capabilities": {}}});
    let lines: Vec<String> = [header, opened]
        .into_iter()
        .chain(exchanges)
        .map(|line| line.to_string())
        .collect();
    tree.file("c.jsonl", lines.join("\n"));
}

/// Plays calls with these parameters. Returns the numbers of the results, and the messages of
/// errors.
fn play(tree: &Tree, flags: &[&str], params: &[Value]) -> Vec<Value> {
    let asked: Vec<Value> = params
        .iter()
        .map(|params| request(1, "tools/call", params.clone()))
        .collect();
    let args = [&["mock", "--cassette", "c.jsonl"], flags].concat();
    let ended = ask(tree, &args, &asked);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let outcome = |mut reply: Value| {
        if let Some(result) = reply.get_mut("result") {
            return result["n"].take();
        }
        let message = reply["error"]["message"].take();
        let text = message.as_str().unwrap();
        assert!(ended.stderr.contains(text), "{}", ended.stderr);
        message
    };
    ended.messages().into_iter().map(outcome).collect()
}

fn params(x: u64) -> Value {
    json!({"name": "a", "arguments": {"x": x, "y": 0}})
}

#[test]
fn cassette_match_selects_answers() {
    let tree = Tree::new();
    let header = json!({"cassette": 1});
    record(&tree, header, &[params(1), params(2), params(1)]);
    let turned = json!({"task": {}, "arguments": {"y": 0, "x": 1}, "name": "a"});
    let asked = [params(1), params(1), params(1), params(2), params(2)];
    for (flags, expected) in [
        (&[][..], [1, 3, 3, 2, 2]),
        (&["--match", "hash"], [1, 3, 3, 2, 2]),
        (&["--match", "params"], [1, 1, 1, 2, 2]),
        (&["--match", "order"], [1, 2, 3, 2, 2]),
    ] {
        assert_eq!(play(&tree, flags, &asked), expected, "{flags:?}");
    }
    assert_eq!(play(&tree, &["--match", "params"], &[turned]), [1]);

    // The flag overrides the header.
    record(
        &tree,
        json!({"cassette": 1, "match": "params"}),
        &[params(1), params(1)],
    );
    let asked = [params(1), params(1)];
    assert_eq!(play(&tree, &[], &asked), [1, 1]);
    assert_eq!(play(&tree, &["--match", "hash"], &asked), [1, 2]);
}

#[test]
fn cassette_in_order_ignores_parameters() {
    let tree = Tree::new();
    record(&tree, json!({"cassette": 1}), &[params(1), params(2)]);
    let asked = [params(7), params(8), params(9), params(2)];
    let spent = "the cassette has no exchange of tools/call left: all 2 are used; add it \
        with --on-miss record --target CMD";
    assert_eq!(
        play(&tree, &["--match", "order"], &asked),
        [json!(1), json!(2), json!(spent), json!(2)]
    );
}

#[test]
fn missing_exchange_is_explained_by_nearest() {
    let tree = Tree::new();
    let other = json!({"name": "other", "arguments": {"x": 9, "y": 1}});
    record(&tree, json!({"cassette": 1}), &[params(1), other]);
    let asked = json!({"name": "a", "arguments": {"x": 9, "y": 1, "z/z": [null]}});
    let nearest = "the cassette has no exchange for tools/call with {\"name\":\"a\",\"arguments\":{\"x\":9,\"y\":1,\
        \"z/z\":[null]}}; the most similar one differs at `/arguments/x`: asked 9, recorded 1; `/arguments/y`: asked \
        1, recorded 0; `/arguments/z~1z`: asked [null], recorded nothing; add it with --on-miss record --target CMD, \
        or take the answers in their order with --match order";
    assert_eq!(play(&tree, &[], &[asked]), [nearest]);

    let list = [request(1, "tools/list", json!({}))];
    let missed = ask(&tree, &["mock", "--cassette", "c.jsonl"], &list);
    let message = "the cassette has no exchange for tools/list, only for initialize, tools/call; add it with \
        --on-miss record --target CMD";
    assert_eq!(missed.messages()[0]["error"]["message"], message);
}

#[test]
fn cassette_with_unknown_match_is_refused() {
    let tree = Tree::new();
    record(
        &tree,
        json!({"cassette": 1, "match": "exact"}),
        &[params(1)],
    );
    let refused = ask(
        &tree,
        &["mock", "--cassette", "c.jsonl"],
        &[call(1, "a", json!({}))],
    );
    let reason = "c.jsonl:1:1: the header is invalid: unknown variant `exact`, expected one of `hash`, `params`, `order`";
    assert_eq!(
        (refused.status, refused.stderr.contains(reason)),
        (Some(2), true),
        "{}",
        refused.stderr
    );
}
