//! Default limit of replies to calls without an explicit limit, and hints about the rest.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::stage;
use crate::harness::Server;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

/// Returns numbered lines. A reply of 100 tokens has 300 bytes: 30 of these lines.
fn lines(count: usize) -> String {
    (1..=count)
        .map(|line| format!("line {line:04}\n"))
        .collect::<Vec<_>>()
        .concat()
}

fn open_server(tokens: &[&str]) -> (Tree, Server) {
    let (tree, allow) = stage();
    let server = Server::open(
        &tree,
        NEWEST_HANDSHAKE,
        &[&["--allow", &*allow, "--sandbox", "off"], tokens].concat(),
    );
    (tree, server)
}

#[test]
fn file_is_cut_at_line_without_explicit_limit() {
    let (tree, mut server) = open_server(&["--reply-tokens", "100"]);
    let all = lines(100);
    tree.file("work/long", &all).file("work/short", lines(30));
    let mut read = |arguments: Value| server.call("read_file", arguments).all_texts();
    assert_eq!(read(json!({"path": "short"})), [lines(30)]);
    assert_eq!(
        read(json!({"path": "long"})),
        [&all[..300], "[lines 1-30 of 100; next offset 31]"]
    );
    assert_eq!(
        read(json!({"path": "long", "offset": 81})),
        [&all[800..], "[lines 81-100 of 100]"]
    );
    assert_eq!(
        read(json!({"path": "long", "offset": 61})),
        [&all[600..900], "[lines 61-90 of 100; next offset 91]"]
    );
    for whole in [
        json!({"limit": 100}),
        json!({"head": 100}),
        json!({"maxTokens": 1000}),
        json!({"offset": -100}),
    ] {
        let mut arguments = whole;
        arguments["path"] = json!("long");
        assert_eq!(read(arguments), std::slice::from_ref(&all));
    }
    tree.file("work/one", "x".repeat(1000));
    assert_eq!(
        read(json!({"path": "one"})),
        [
            "x".repeat(300),
            "[line 1: bytes 1-300 of 1000; column 301 reads on, maxTokens shows more]".to_owned()
        ]
    );
    // A character of two bytes is not split.
    tree.file("work/two", format!("a\n{}\nb\n", "é".repeat(350)));
    let of_two = |column| json!({"path": "two", "offset": 2, "column": column, "maxTokens": 100});
    let place = "[lines 2-2 of 3; next offset 3]".to_owned();
    let part =
        "[line 2: bytes 301-600 of 700; column 601 reads on, maxTokens shows more]".to_owned();
    assert_eq!(read(of_two(301)), ["é".repeat(150), part, place]);
    assert_eq!(
        read(of_two(601)),
        [
            format!("{}\nb\n", "é".repeat(50)),
            "[lines 2-3 of 3]".to_owned()
        ]
    );
    let refusal = server
        .call("read_file", of_two(702))
        .failure()
        .unwrap()
        .message;
    assert!(
        refusal.contains("`column` of read_file is 702; line 2 has 700 bytes"),
        "{refusal}"
    );
}

#[test]
fn several_files_share_reply_limit() {
    let (tree, mut server) = open_server(&["--reply-tokens", "100"]);
    tree.file("work/a", lines(20))
        .file("work/b", lines(20))
        .file("work/c", lines(1));
    let read = server
        .call("read_multiple_files", json!({"paths": ["a", "b", "c"]}))
        .all_texts();
    let note = |shown| {
        format!(
            "[{shown} of 20 lines are shown, since the reply is full; read_file with offset 11 reads on]"
        )
    };
    assert_eq!(
        read,
        [
            format!("a:\n{}", lines(20)),
            format!("b:\n{}\n{}", lines(10), note(10)),
            "c:\n\n[0 of 1 lines are shown, since the reply is full; read_file with offset 1 reads on]".to_owned()
        ]
    );
}

#[test]
fn notebook_among_several_files_is_cells() {
    let (tree, mut server) = open_server(&[]);
    let cell = json!({"cell_type": "markdown", "metadata": {}, "source": ["# Title"]});
    let notebook = json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]});
    tree.file("work/book.ipynb", notebook.to_string());
    let one = server
        .call("read_file", json!({"path": "book.ipynb"}))
        .text();
    let several = server
        .call("read_multiple_files", json!({"paths": ["book.ipynb"]}))
        .text();
    assert!(
        one.contains("# Title") && !one.contains("cell_type"),
        "{one}"
    );
    assert_eq!(several, format!("book.ipynb:\n{one}"));
}

#[test]
fn directory_and_tree_report_omitted_entries() {
    let (tree, mut server) = open_server(&["--reply-tokens", "100"]);
    for file in 0..40 {
        tree.file(format!("work/big/file{file:02}"), "");
    }
    tree.file("work/src/main", "").file("work/zz", "");
    let listed = server.call("list_directory", json!({"path": "big"}));
    let texts = listed.all_texts();
    assert_eq!(texts[0].lines().count(), 21);
    assert_eq!(
        texts[1],
        "[21 of 40 entries are listed, since the reply is full; glob_search and search_files find the others by name]"
    );
    assert_eq!(
        listed.result()["structuredContent"]["entries"]
            .as_array()
            .unwrap()
            .len(),
        21
    );
    let shown = server.call("directory_tree", json!({"path": "."}));
    let texts = shown.all_texts();
    let mut expected = json!({"name": "work", "type": "directory", "children": [
        {"name": "big", "type": "directory", "leftOut": 40},
        {"name": "hello.txt", "type": "file"},
        {"name": "src", "type": "directory", "children": [{"name": "main", "type": "file"}]},
        {"name": "zz", "type": "file"}]});
    assert_eq!(serde_json::from_str::<Value>(&texts[0]).unwrap(), expected);
    let note = "5 of 45 entries are shown, since the reply is full; left out: 40 below `big`; list \
                one of them by path, or set depth";
    assert_eq!(texts[1], format!("[{note}]"));
    expected["notes"] = json!([note]);
    assert_eq!(shown.result()["structuredContent"], expected);
    let whole = server
        .call("directory_tree", json!({"path": ".", "depth": 9}))
        .all_texts();
    assert_eq!(whole.len(), 1);
}

#[test]
fn long_output_is_cut_in_middle() {
    let (_tree, mut server) = open_server(&["--reply-tokens", "100"]);
    let command = "for i in 1 2 3; do for word in a b c d e f g h i j k l m n o p q r s t; do echo $word $i $word; done; done";
    let reply = server.call("execute_command", json!({"command": command}));
    let told = reply.result()["structuredContent"].clone();
    assert!(told["stdout"].as_str().unwrap().len() < 350, "{told}");
    let mut uri = told["logs"][0].as_str().unwrap().to_owned();
    let (mut all, mut parts) = (String::new(), 0);
    loop {
        let read = server.request("resources/read", json!({"uri": uri}));
        let contents = read.result()["contents"].clone();
        assert_eq!(contents[0]["uri"], uri);
        all.push_str(contents[0]["text"].as_str().unwrap());
        parts += 1;
        let Some(next) = contents[1]["uri"].as_str() else {
            break;
        };
        assert_eq!(
            next.split_once("?offset=").unwrap().1,
            all.len().to_string()
        );
        assert!(
            contents[1]["text"].as_str().unwrap().contains(next),
            "{contents}"
        );
        next.clone_into(&mut uri);
    }
    let words = |number: u32| ('a'..='t').map(move |word| format!("{word} {number} {word}\n"));
    let expected = (1..=3).flat_map(words).collect::<Vec<_>>().concat();
    assert_eq!((all, parts), (expected, 2));
    let beyond = format!("{}?offset=361", told["logs"][0].as_str().unwrap());
    assert_eq!(
        server
            .request("resources/read", json!({"uri": beyond}))
            .code(),
        -32002
    );
}

#[test]
fn default_reply_limit_is_300_kb() {
    for (tokens, shown) in [(&[][..], 28_181), (&["--reply-tokens", "0"][..], 40_000)] {
        let (tree, mut server) = open_server(tokens);
        tree.file("work/long", lines(40_000));
        assert_eq!(
            server.call("read_file", json!({"path": "long"})).text(),
            lines(shown)
        );
    }
}

#[test]
fn cut_list_is_marked_in_structured_reply() {
    let (tree, mut server) = open_server(&["--reply-tokens", "100"]);
    for number in 0..60 {
        tree.file(format!("work/many/file{number:02}"), "");
    }
    tree.file("work/few/one", lines(50));
    let mut data = |tool: &str, arguments: Value| {
        server.call(tool, arguments).result()["structuredContent"].clone()
    };
    let listed = data("list_directory", json!({"path": "many"}));
    assert_eq!(
        (&listed["truncated"], &listed["total"]),
        (&json!(true), &json!(60))
    );
    assert!(listed["entries"].as_array().unwrap().len() < 60);
    let whole = data("list_directory", json!({"path": "few"}));
    assert_eq!((whole.get("truncated"), whole.get("total")), (None, None));
    let drawn = data("directory_tree", json!({"path": "."}));
    let [few, _, many] = &drawn["children"].as_array().unwrap()[..] else {
        panic!("{drawn}")
    };
    assert_eq!(
        many,
        &json!({"name": "many", "type": "directory", "leftOut": 60})
    );
    assert_eq!(few.get("leftOut"), None);
    let first = data("directory_tree", json!({"path": "many"}));
    let shown = first["children"].as_array().unwrap().len();
    assert_eq!(first["leftOut"], 60 - shown, "{first}");
    let found = data(
        "search_files",
        json!({"directory": ".", "nameContains": "file", "max": 5}),
    );
    assert_eq!(
        (&found["truncated"], &found["count"]),
        (&json!(true), &json!(5))
    );
    let text = server
        .call(
            "search_files",
            json!({"directory": ".", "nameContains": "file", "max": 5}),
        )
        .all_texts();
    assert_eq!(
        text[1],
        "[truncated: the first 5 of 60 names; raise max or search a smaller directory]"
    );
    let cut = server.call(
        "grep_files",
        json!({"directory": "few", "regex": "line", "maxBytes": 100}),
    );
    let cut = &cut.result()["structuredContent"];
    assert_eq!(
        (&cut["truncated"], &cut["count"]),
        (&json!(true), &json!(50))
    );
    assert!(cut["matches"].as_array().unwrap().len() < 50, "{cut}");
}

#[test]
fn diff_of_dry_run_is_bounded() {
    let (tree, mut server) = open_server(&["--reply-tokens", "100"]);
    tree.file("work/a", lines(1000)).file("work/b", lines(1000));
    let edits = json!([{"oldText": "line", "newText": "LINE", "limit": 0}]);
    let one = server.call(
        "edit_file",
        json!({"path": "a", "edits": edits, "dryRun": true}),
    );
    let texts = one.texts();
    assert!(
        texts[1].contains(" more lines of the diff, "),
        "{}",
        texts[1]
    );
    let text = &texts[0];
    assert!(
        text.len() < 350 && one.result()["structuredContent"]["diff"] == json!(text),
        "{text}"
    );
    let both = server.call(
        "edit_files",
        json!({"paths": ["a", "b"], "edits": edits, "dryRun": true}),
    );
    let length: usize = both.all_texts().iter().map(String::len).sum();
    assert!(length < 700, "{length}");
    let second = &both.result()["structuredContent"]["files"][1]["diff"];
    assert_eq!(second, "");
    let notes = both.result()["structuredContent"]["notes"].clone();
    let notes = notes.as_array().unwrap();
    let last = notes.last().unwrap().as_str().unwrap();
    assert!(
        last.ends_with("are left out; try the edits on fewer places or files"),
        "{last}"
    );
}
