//! Conversations from the Redis documentation.

use crate::call::{Protocol, Side};
use crate::redact::Secrets;
use crate::test_support::{
    Outcome, Played, ScriptedMessage, UNTIL_MORE, book, client, record, record_left, replays,
    server,
};

fn recorded(conversation: &[ScriptedMessage]) -> Outcome {
    let outcome = record(Protocol::Redis, conversation);
    let all = |side| {
        conversation
            .iter()
            .filter(|(from, _)| *from == side)
            .flat_map(|(_, b)| b.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(outcome.to_server, all(Side::Client));
    assert_eq!(outcome.to_client, all(Side::Server));
    outcome
}

fn command(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n{word}\r\n", word.len()).into_bytes());
    }
    bytes
}

fn call(said: &[(Side, &str)]) -> (bool, Vec<(Side, String)>) {
    (
        false,
        said.iter()
            .map(|(side, text)| (*side, (*text).to_owned()))
            .collect(),
    )
}

const C: Side = Side::Client;
const S: Side = Side::Server;

#[test]
fn redis_pipelined_commands_are_separate_calls() {
    let conversation = [
        client(b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$4\r\n1\r\n2\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\nINCR n\r\n"),
        server(b"+OK\r\n$4\r\n1\r\n2\r\n:41\r\n"),
        client(b"*2\r\n$3\r\nGET\r\n$1\r\nb\r\n"),
        server(b"$-1\r\n"),
    ];
    let outcome = recorded(&conversation);
    assert_eq!(
        outcome.messages(),
        [
            call(&[
                (C, r"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$4\r\n1\r\n2\r\n"),
                (S, r"+OK\r\n")
            ]),
            call(&[
                (C, r"*2\r\n$3\r\nGET\r\n$1\r\na\r\n"),
                (S, r"$4\r\n1\r\n2\r\n")
            ]),
            call(&[(C, r"INCR n\r\n"), (S, r":41\r\n")]),
            call(&[(C, r"*2\r\n$3\r\nGET\r\n$1\r\nb\r\n"), (S, r"$-1\r\n")]),
        ]
    );
    replays(Protocol::Redis, &conversation, &outcome);
}

#[test]
fn resp3_replies_are_parsed() {
    let reply = "|1\r\n+key-popularity\r\n%1\r\n$1\r\na\r\n,0.19\r\n*3\r\n:1\r\n~2\r\n#t\r\n_\r\n%2\r\n+a\r\n(3492890328409238509\r\n+b\r\n=7\r\ntxt:abc\r\n";
    let conversation = [
        client(command(&["HELLO", "3", "AUTH", "me", "secret"])),
        server(b"%1\r\n$5\r\nproto\r\n:3\r\n"),
        client(command(&["X"])),
        server(reply),
        client(command(&["Y"])),
        server(b"!21\r\nSYNTAX invalid syntax\r\n"),
    ];
    let outcome = recorded(&conversation);
    let said = outcome.messages();
    assert_eq!(said.len(), 3);
    assert_eq!(
        said[0].1[0].1,
        r"*5\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$6\r\nsecret\r\n"
    );
    assert_eq!(said[1].1[1].1, reply.escape_default().to_string());
    replays(Protocol::Redis, &conversation, &outcome);
}

#[test]
fn redis_transaction_is_one_call() {
    let commands = [&["MULTI"][..], &["GET", "a"], &["EXEC"]].map(command);
    let conversation = [
        client(&commands[0]),
        server(b"+OK\r\n"),
        client([&commands[1][..], &commands[2]].concat()),
        server(b"+QUEUED\r\n*1\r\n$1\r\n1\r\n"),
        client(&commands[1]),
        server(b"$1\r\n2\r\n"),
    ];
    let outcome = recorded(&conversation);
    let texts = commands
        .each_ref()
        .map(|command| command.escape_ascii().to_string());
    assert_eq!(
        outcome.messages(),
        [
            call(&[
                (C, &texts[0]),
                (S, r"+OK\r\n"),
                (C, &texts[1]),
                (C, &texts[2]),
                (S, r"+QUEUED\r\n"),
                (S, r"*1\r\n$1\r\n1\r\n"),
            ]),
            call(&[(C, &texts[1]), (S, r"$1\r\n2\r\n")]),
        ]
    );
    replays(Protocol::Redis, &conversation, &outcome);
}

#[test]
fn redis_subscription_replays_published_messages() {
    for push in ["*", ">"] {
        let frame = |kind: &str, rest: &str| {
            format!(
                "{push}3\r\n${}\r\n{kind}\r\n$1\r\nc\r\n{rest}\r\n",
                kind.len()
            )
        };
        let conversation = [
            client(command(&["SUBSCRIBE", "c"])),
            server(frame("subscribe", ":1")),
            server(frame("message", "$2\r\nhi")),
            client(command(&["PING"])),
            server(if push == ">" {
                "+PONG\r\n"
            } else {
                "*2\r\n$4\r\npong\r\n$0\r\n\r\n"
            }),
            server(frame("message", "$2\r\nho")),
            client(command(&["UNSUBSCRIBE"])),
            server(frame("unsubscribe", ":0")),
            client(command(&["GET", "a"])),
            server(b"$1\r\n1\r\n"),
        ];
        let outcome = recorded(&conversation);
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        let said = outcome.messages();
        let subscription: Vec<_> = [
            &conversation[0],
            &conversation[1],
            &conversation[2],
            &conversation[5],
        ]
        .map(|(from, bytes)| (*from, text(bytes)))
        .into();
        assert!(said.contains(&(false, subscription)), "{said:#?}");
        assert_eq!(said.len(), 4);
        assert_eq!(outcome.lost, Vec::<String>::new());
        let book = book(&outcome.calls);
        let mut played = Played::new(Protocol::Redis, &book);
        assert_eq!(
            text(&played.ask(&conversation[0].1)),
            text(&conversation[1].1)
        );
        let published = [&conversation[2].1[..], &conversation[5].1].concat();
        assert_eq!(played.pause().as_deref().map(text), Some(text(&published)));
        assert_eq!(played.pause(), None);
    }
}

#[test]
fn redis_overtaken_reply_waits_for_next_command() {
    let (slow, next) = (command(&["WAIT", "1", "0"]), command(&["GET", "b"]));
    // One second each.
    let conversation = [
        client(&slow),
        client(&next),
        server(b":1\r\n"),
        server(b"$1\r\n1\r\n"),
        client(&next),
    ];
    let conversation = [&conversation[..], &[server(b"$1\r\n2\r\n")]].concat();
    let book = book(&recorded(&conversation).calls);
    let mut played = Played::new(Protocol::Redis, &book);
    assert_eq!(played.ask(&slow), [UNTIL_MORE, b":1\r\n"].concat());
    assert_eq!(played.ask(&next), b"$1\r\n1\r\n");
    assert_eq!(played.ask(&next), b"$1\r\n2\r\n");
    // With more input pending, the answer is not delayed.
    let book = crate::test_support::book(&recorded(&conversation).calls);
    let mut played = Played::new(Protocol::Redis, &book);
    assert_eq!(played.ask([slow, next].concat()), b":1\r\n$1\r\n1\r\n");
}

#[test]
fn redis_wait_after_recorded_items_returns_null() {
    let (wait, next) = (command(&["BLPOP", "a", "9"]), command(&["GET", "b"]));
    let item = b"*2\r\n$1\r\na\r\n$1\r\n1\r\n";
    let conversation = [
        client(&wait),
        server(item),
        client(&next),
        server(b"$-1\r\n"),
    ];
    let book = book(&recorded(&conversation).calls);
    let mut played = Played::new(Protocol::Redis, &book);
    assert_eq!(played.ask(&wait), b"");
    assert_eq!(played.ask(&next), [item, &b"$-1\r\n"[..]].concat());
    assert_eq!(played.ask(&wait), b"");
    assert_eq!(played.pause(), Some(b"*-1\r\n".to_vec()));
    let report = book.report();
    assert_eq!((report.missed_count, report.again), (0, 1));
    let other = played.ask(command(&["BLPOP", "b", "9"]));
    assert!(
        other.starts_with(b"-ERR no recording"),
        "{}",
        other.escape_ascii()
    );
}

#[test]
fn redis_passwords_are_redacted_but_distinguished() {
    let refusal = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    let login =
        |password: &str, answer: &str| [client(command(&["AUTH", password])), server(answer)];
    let kept = |conversation: &[ScriptedMessage]| {
        let outcome = recorded(conversation);
        assert!(outcome.messages()[0].0);
        let mut calls = outcome.calls;
        Secrets::default().calls(&mut calls);
        let told = format!("{calls:?}");
        for password in ["secret", "wrong"] {
            assert!(
                !told.contains(format!("{:?}", password.as_bytes()).trim_matches(['[', ']'])),
                "{told}"
            );
        }
        book(&calls)
    };
    let one = kept(&login("secret", "+OK\r\n"));
    for password in ["secret", "other"] {
        assert_eq!(
            Played::new(Protocol::Redis, &one).ask(command(&["AUTH", password])),
            b"+OK\r\n"
        );
    }
    let several = kept(&[login("wrong", refusal), login("secret", "+OK\r\n")].concat());
    let missed = "-ERR no recording answers this call: Redis db.test:7 AUTH r*d92\r\n";
    for (password, answer) in [
        ("secret", "+OK\r\n"),
        ("wrong", refusal),
        ("secret", "+OK\r\n"),
        ("other", missed),
    ] {
        let said = Played::new(Protocol::Redis, &several).ask(command(&["AUTH", password]));
        assert_eq!(String::from_utf8_lossy(&said), answer);
    }
}

#[test]
fn redis_unknown_request_fails_without_disconnect() {
    let conversation = [client(command(&["INCR", "a"])), server(b":1\r\n")];
    let outcome = recorded(&conversation);
    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::Redis, &book);
    let answer = played.ask(command(&["GET", "other"]));
    assert!(
        answer.starts_with(b"-ERR no recording answers this call"),
        "{}",
        answer.escape_ascii()
    );
    assert!(answer.ends_with(b"\r\n"));
    assert_eq!(played.ask(command(&["INCR", "a"])), b":1\r\n");
    // The only recording is used up.
    assert!(played.ask(command(&["INCR", "a"])).starts_with(b"-ERR "));
    assert_eq!(played.ask(command(&["QUIT"])), b"+OK\r\n");
    assert!(played.closed);
    assert_eq!(book.report().missed.len(), 2);
}

#[test]
fn redis_invalid_resp_is_forwarded_as_lost() {
    let conversation = [
        client(command(&["GET", "a"])),
        server(b"$1\r\nnot one byte\r\n"),
        client(b"*1\r\n+x"),
        server(b"?"),
    ];
    let outcome = recorded(&conversation);
    assert_eq!(outcome.calls.len(), 0);
    assert_eq!(
        outcome.lost,
        ["the rest of a connection to `db.test:7`: a string of RESP does not end with CRLF"]
    );
    let deep = [client(command(&["GET", "a"])), server("*1\r\n".repeat(200))];
    assert_eq!(
        recorded(&deep).lost,
        [
            "the rest of a connection to `db.test:7`: a Redis reply is nested deeper than 128 \
             levels"
        ]
    );
    let book = book(&[]);
    let mut played = Played::new(Protocol::Redis, &book);
    assert_eq!(
        played.ask(b"*x\r\n"),
        b"-ERR Protocol error: a RESP length is not a number\r\n"
    );
    assert!(played.closed);
    assert_eq!(book.report().missed.len(), 1);
}

#[test]
fn redis_monitor_or_disconnect_is_reported_lost() {
    assert_eq!(
        recorded(&[
            client(command(&["MONITOR"])),
            server(b"+OK\r\n+1 [0 x] \"a\"\r\n")
        ])
        .lost
        .len(),
        1
    );
    assert_eq!(
        recorded(&[client(command(&["GET", "a"])), server(b"$100\r\nab")]).lost,
        ["a call to `db.test:7`: the connection ended before its answer"]
    );
}

/// Reads a key in database 0, then in databases 1 and 2.
fn databases() -> Vec<ScriptedMessage> {
    let get = || client(command(&["GET", "k"]));
    let select = |number: &str| [client(command(&["SELECT", number])), server(b"+OK\r\n")];
    let value = |value: &str| server(format!("$3\r\n{value}\r\n"));
    [
        vec![get(), value("nil")],
        select("1").into(),
        vec![get(), value("one")],
        select("2").into(),
        vec![get(), value("two")],
    ]
    .concat()
}

#[test]
fn redis_selected_database_selects_answer() {
    let conversation = databases();
    let outcome = recorded(&conversation);
    replays(Protocol::Redis, &conversation, &outcome);
    // The client's messages in one pipeline.
    let at_once = |side| {
        conversation
            .iter()
            .filter(move |(from, _)| *from == side)
            .flat_map(|(_, b)| b.clone())
    };
    let pipelined = [
        client(at_once(C).collect::<Vec<_>>()),
        server(at_once(S).collect::<Vec<_>>()),
    ];
    assert_eq!(recorded(&pipelined).messages(), outcome.messages());

    let book = book(&outcome.calls);
    let ask = |database: &str| {
        let mut played = Played::new(Protocol::Redis, &book);
        if !database.is_empty() {
            played.ask(command(&["SELECT", database]));
        }
        String::from_utf8(played.ask(command(&["GET", "k"]))).unwrap()
    };
    assert_eq!(ask("2"), "$3\r\ntwo\r\n");
    assert!(ask("3").starts_with("-ERR no recording answers this call"));
    assert_eq!(ask("1"), "$3\r\none\r\n");
    assert_eq!(ask(""), "$3\r\nnil\r\n");
    assert_eq!(book.report().missed_count, 2);
}

#[test]
fn redis_user_selects_answer() {
    let get = || client(command(&["GET", "k"]));
    let value = |value: &str| server(format!("$1\r\n{value}\r\n"));
    let login = |words: &[&str], answer: &str| [client(command(words)), server(answer)];
    let conversation = [
        &login(&["AUTH", "default", "pw"], "+OK\r\n")[..],
        &[get(), value("d")],
        &login(&["AUTH", "me", "pw"], "+OK\r\n"),
        &[get(), value("m")],
        &login(&["AUTH", "you", "wrong"], "-WRONGPASS\r\n"),
        &[get(), value("M")],
        &login(
            &["HELLO", "3", "AUTH", "you", "pw"],
            "%1\r\n$5\r\nproto\r\n:3\r\n",
        ),
        &login(&["SELECT", "1"], "+OK\r\n"),
        &[get(), value("y")],
    ]
    .concat();
    let outcome = recorded(&conversation);
    replays(Protocol::Redis, &conversation, &outcome);
    let book = book(&outcome.calls);
    let ask = |before: &[&[&str]]| {
        let mut played = Played::new(Protocol::Redis, &book);
        for words in before {
            played.ask(command(words));
        }
        String::from_utf8(played.ask(command(&["GET", "k"]))).unwrap()
    };
    assert_eq!(
        ask(&[&["HELLO", "3", "AUTH", "you", "other"], &["SELECT", "1"]]),
        "$1\r\ny\r\n"
    );
    assert_eq!(ask(&[&["AUTH", "me", "other"]]), "$1\r\nm\r\n");
    assert_eq!(ask(&[]), "$1\r\nd\r\n");
    assert!(ask(&[&["AUTH", "nobody", "pw"]]).starts_with("-ERR no recording"));
}

#[test]
fn redis_unrecorded_database_is_missed() {
    let outcome = recorded(&databases()[..2]);
    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::Redis, &book);
    assert!(
        played
            .ask(command(&["SELECT", "3"]))
            .starts_with(b"-ERR no recording")
    );
    assert!(
        played
            .ask(command(&["GET", "k"]))
            .starts_with(b"-ERR no recording")
    );
    assert!(
        played
            .ask(command(&["RESET"]))
            .starts_with(b"-ERR no recording")
    );
    assert_eq!(played.ask(command(&["GET", "k"])), b"$3\r\nnil\r\n");
}

#[test]
fn redis_call_without_connection_answers_any_database() {
    let mut calls = recorded(&databases()[..4]).calls;
    calls.truncate(2);
    for call in &mut calls {
        call.connection = 0;
    }
    let book = book(&calls);
    let mut played = Played::new(Protocol::Redis, &book);
    assert_eq!(played.ask(command(&["SELECT", "1"])), b"+OK\r\n");
    assert_eq!(played.ask(command(&["GET", "k"])), b"$3\r\nnil\r\n");
}

#[test]
fn redis_select_in_transaction_applies_on_exec() {
    let transaction = |last: &str, answer: &str| {
        let said = [&["MULTI"][..], &["SELECT", "5"], &[last]]
            .map(command)
            .concat();
        [client(said), server(format!("+OK\r\n+QUEUED\r\n{answer}"))]
    };
    let get = || [client(command(&["GET", "k"])), server(b"$1\r\n1\r\n")];
    let conversation = [
        transaction("DISCARD", "+OK\r\n"),
        get(),
        transaction("EXEC", "*1\r\n+OK\r\n"),
        get(),
    ]
    .concat();
    let outcome = recorded(&conversation);
    let lengths: Vec<_> = outcome
        .messages()
        .iter()
        .map(|(_, said)| said.len())
        .collect();
    assert_eq!(lengths, [6, 2, 6, 2]);
    replays(Protocol::Redis, &conversation, &outcome);
}

#[test]
fn redis_protocol_version_selects_answer() {
    let hash = || command(&["HGETALL", "k"]);
    let (list, map) = (
        "*2\r\n$1\r\na\r\n$1\r\n1\r\n",
        "%1\r\n$1\r\na\r\n$1\r\n1\r\n",
    );
    let hello = || command(&["HELLO", "3"]);
    let second = [client(hash()), server(list)];
    let third = [
        client(hello()),
        server("%1\r\n$5\r\nproto\r\n:3\r\n"),
        client(hash()),
        server(map),
    ];
    let calls = [&second[..], &third]
        .map(|said| record(Protocol::Redis, said).calls)
        .concat();
    let book = book(&calls);
    let mut played = Played::new(Protocol::Redis, &book);
    played.ask(hello());
    assert_eq!(played.ask(hash()), map.as_bytes());
    assert_eq!(
        Played::new(Protocol::Redis, &book).ask(hash()),
        list.as_bytes()
    );
    assert_eq!(book.report().missed_count, 0);
}

#[test]
fn redis_abandoned_call_is_not_answered() {
    let conversation = [
        client(command(&["SELECT", "2"])),
        server("+OK\r\n"),
        client([command(&["BLPOP", "q", "0"]), command(&["GET", "a"])].concat()),
    ];
    let outcome = record_left(Protocol::Redis, &conversation, C);
    let abandoned: Vec<_> = outcome
        .calls
        .iter()
        .map(crate::Exchange::abandoned)
        .collect();
    assert_eq!(
        (abandoned, outcome.lost.len()),
        (vec![false, true, true], 0)
    );
    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::Redis, &book);
    assert_eq!(played.ask(command(&["SELECT", "2"])), b"+OK\r\n");
    assert_eq!(
        (
            played.ask(command(&["BLPOP", "q", "0"])),
            played.held,
            played.closed
        ),
        (vec![], true, false)
    );
    assert_eq!(
        (played.ask(command(&["GET", "a"])), played.closed),
        (vec![], false)
    );
    let report = book.report();
    assert_eq!((report.missed, report.unused), (vec![], vec![]));
    // If the server closes the connection, the calls are lost.
    let lost = record_left(Protocol::Redis, &conversation, S);
    assert_eq!((lost.calls.len(), lost.lost.len()), (1, 2));
}
