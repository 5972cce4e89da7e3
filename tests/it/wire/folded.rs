//! Folded output, logs with the whole output, and replies of limited length.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::open_server;
use crate::harness::{Reply, Server};
use crate::schema::NEWEST_HANDSHAKE;

const LINES: &str = "for i in 1 2 3 4 5; do printf 'at %d0%%\\r' $i; done; echo; printf '\\033[1mbegin\\033[0m\\n'; \
    i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo \"case $i of the table is right\"; done; echo end";

fn structured(reply: &Reply) -> Value {
    reply.result()["structuredContent"].clone()
}

/// Returns the bytes of a log. The resource and `read_file` must agree.
fn log(server: &mut Server, uri: &Value) -> String {
    let read = server.request("resources/read", json!({"uri": uri}));
    let text = read.result()["contents"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(server.call("read_file", json!({"path": uri})).text(), text);
    text
}

fn written() -> String {
    let cases: String = (1..=100)
        .map(|i| format!("case {i} of the table is right\n"))
        .collect::<Vec<_>>()
        .concat();
    let progress: String = (1..=5)
        .map(|i| format!("at {i}0%\r"))
        .collect::<Vec<_>>()
        .concat();
    format!("{progress}\n\x1b[1mbegin\x1b[0m\n{cases}end\n")
}

const SHOWN: &str = "at 50%\r\nbegin\ncase 1 of the table is right\n[… 98 lines like these, lines 4 to 101 …]\n\
    case 100 of the table is right\nend\n";

fn shown_note(stream: &str, all: usize, uri: &str) -> String {
    let shown = SHOWN.len();
    format!(
        "{stream}: {shown} of {all} bytes are shown; read_file with path `{uri}` has all of them"
    )
}

#[test]
fn folded_output_is_marked_and_logged_whole() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let reply = server.call(
        "execute_command",
        json!({"command": format!("{LINES}; printf '\\033[1me\\r\\n' >&2; exit 3")}),
    );
    let (told, whole) = (structured(&reply), written());
    let uri = "replay://logs/execute_command-1.log";
    let note = shown_note("stdout", whole.len(), uri);
    assert_eq!(
        told,
        json!({"stdout": SHOWN, "stderr": "\u{1b}[1me\r\n", "exitCode": 3, "timedOut": false, "logs": [uri],
            "notes": [note]})
    );
    assert_eq!(
        reply.all_texts(),
        [
            format!("{SHOWN}[{note}]\n[exit code: 3]"),
            "[stderr]\n\u{1b}[1me\r\n".to_owned()
        ]
    );
    assert_eq!(log(&mut server, &json!(uri)), whole);
    let page = server.call("read_file", json!({"path": uri, "offset": 4, "limit": 2}));
    assert_eq!(
        page.all_texts(),
        [
            "case 2 of the table is right\ncase 3 of the table is right\n",
            "[lines 4-5 of 103; next offset 6]"
        ]
    );
    let gone = server
        .call(
            "read_file",
            json!({"path": "replay://logs/execute_command-9.log"}),
        )
        .failure()
        .unwrap();
    let message = "no log `replay://logs/execute_command-9.log`; the latest are \
        `replay://logs/execute_command-1.log`";
    assert_eq!(
        (gone.code, gone.message.contains(message)),
        (Some(-32602), true),
        "{}",
        gone.message
    );
}

#[test]
fn background_output_is_folded_alike() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    server.call(
        "execute_command",
        json!({"command": LINES, "background": true}),
    );
    let told =
        structured(&server.call("follow_command", json!({"commandId": "c1", "waitSecs": 60})));
    let whole = written();
    let uri = "replay://logs/follow_command-1.log";
    assert_eq!(
        told,
        json!({"output": SHOWN, "cursor": whole.len(), "skippedBytes": 0, "running": false, "exitCode": 0, "log": uri,
            "notes": [shown_note("output", whole.len(), uri)]})
    );
    assert_eq!(log(&mut server, &told["log"]), whole);
}

#[test]
fn reply_uses_its_whole_limit() {
    let (tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let text: String = (0..300)
        .map(|i| format!("{} is a square\n", i * i))
        .collect::<Vec<_>>()
        .concat();
    tree.file("work/squares", &text);
    let both = "cat squares; echo 'error: the first'; cat squares >&2";
    let told = structured(&server.call(
        "execute_command",
        json!({"command": both, "maxTokens": 100, "timeout": 60}),
    ));
    let [stdout, stderr] = ["stdout", "stderr"].map(|name| told[name].as_str().unwrap().to_owned());
    // Half of 300 bytes each, and the line between beginning and end.
    for (shown, whole) in [
        (&stdout, format!("{text}error: the first\n")),
        (&stderr, text.clone()),
    ] {
        let (head, end) = shown.split_once("[... ").unwrap();
        let end = end.split_once("]\n").unwrap().1;
        assert!(
            !head.is_empty() && whole.starts_with(head) && whole.ends_with(end),
            "{shown}"
        );
        assert!((75..=150).contains(&(head.len() + end.len())), "{shown}");
    }
    assert!(stdout.ends_with("error: the first\n"));
    assert_eq!(
        log(&mut server, &told["logs"][0]),
        format!("{text}error: the first\n")
    );
    assert_eq!(log(&mut server, &told["logs"][1]), text);

    let read = server.call("read_file", json!({"path": "squares", "maxTokens": 20}));
    let lines = "0 is a square\n1 is a square\n4 is a square\n9 is a square\n";
    assert_eq!(
        read.all_texts(),
        [lines, "[lines 1-4 of 300; next offset 5]"]
    );
    tree.file("work/long", format!("{}\nend\n", "x".repeat(100)));
    let read = server.call("read_file", json!({"path": "long", "maxTokens": 3}));
    assert_eq!(
        read.all_texts(),
        [
            "xxxxxxxxx",
            "[line 1: bytes 1-9 of 100; column 10 reads on, maxTokens shows more]",
            "[lines 1-1 of 2; next offset 2]"
        ]
    );
    let read = server.call(
        "read_file",
        json!({"path": "long", "offset": 2, "maxTokens": 3}),
    );
    assert_eq!(read.all_texts(), ["end\n", "[lines 2-2 of 2]"]);

    server.call(
        "execute_command",
        json!({"command": "cat squares", "background": true}),
    );
    let told = structured(&server.call(
        "follow_command",
        json!({"commandId": "c1", "waitSecs": 60, "maxTokens": 100}),
    ));
    let shown = told["output"].as_str().unwrap();
    assert!(
        shown.starts_with("0 is a square\n")
            && shown.ends_with("89401 is a square\n")
            && shown.len() < 350,
        "{shown}"
    );
    assert_eq!(
        (&told["cursor"], log(&mut server, &told["log"])),
        (&json!(text.len()), text)
    );
}
