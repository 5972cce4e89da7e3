//! Sessions that differ, although the text of the statement is equal. Each pair would get each
//! other's answers if the difference were not in the key.

use pretty_assertions::assert_eq;

use super::session::{ASKED, BEGIN, are_told_apart, replay, session, tells_apart};
use super::*;

/// Returns a connection with these messages before a request for a value.
fn messages_before(
    before: &[ScriptedMessage],
    asked: &[u8],
    answer: Vec<u8>,
) -> Vec<ScriptedMessage> {
    let mut whole = session(&[], &[], ASKED, "");
    whole.truncate(whole.len() - 2);
    whole.extend(before.iter().cloned());
    whole.extend([client(asked), server(answer)]);
    whole
}

fn run(text: &str) -> Vec<u8> {
    [parse("", text), bind("", "", ""), execute("", 0)].concat()
}

fn ran(tag: &str) -> Vec<u8> {
    [only(b'1'), only(b'2'), complete(tag)].concat()
}

fn plain(before: &[ScriptedMessage], answer: &str) -> Vec<ScriptedMessage> {
    messages_before(before, &query(ASKED), value(answer))
}

fn book_of(whole: &[ScriptedMessage]) -> Arc<crate::matching::Recordings> {
    book(&record(Protocol::Postgres, whole).calls)
}

fn simple(text: &str, tags: &[&str]) -> [ScriptedMessage; 2] {
    let tags: Vec<u8> = tags.iter().flat_map(|tag| complete(tag)).collect();
    [client(query(text)), server([tags, ready(b'I')].concat())]
}

#[test]
fn execute_of_prepared_statement_changes_state() {
    let set = (
        "PREPARE p AS SELECT set_config('a.b', $1, false)",
        "PREPARE",
    );
    tells_apart(
        &[set, ("EXECUTE p('a')", "SELECT 1")],
        &[set, ("EXECUTE p('b')", "SELECT 1")],
        ASKED,
    );
    tells_apart(&[set], &[set, ("EXECUTE p('b')", "SELECT 1")], ASKED);
    let table = ("CREATE TEMP TABLE v (a text)", "CREATE TABLE");
    let write = ("PREPARE p AS INSERT INTO v VALUES ($1)", "PREPARE");
    let execute = |text| [table, write, (text, "INSERT 0 1")];
    tells_apart(
        &execute("EXECUTE p('a')"),
        &execute("EXECUTE p('b')"),
        "SELECT a FROM v",
    );
}

#[test]
fn setting_functions_distinguish_sessions() {
    let call = |text| [(text, "SELECT 1")];
    tells_apart(
        &call("SELECT set_tenant('a')"),
        &call("SELECT set_tenant('b')"),
        ASKED,
    );
    tells_apart(
        &call("SELECT * FROM app.set_user(1)"),
        &call("SELECT * FROM app.set_user(2)"),
        ASKED,
    );
    tells_apart(
        &[("CALL set_tenant('a')", "CALL")],
        &[("CALL set_tenant('b')", "CALL")],
        ASKED,
    );
    tells_apart(
        &call("SELECT setseed(0.1)"),
        &call("SELECT setseed(0.2)"),
        "SELECT random()",
    );
    tells_apart(
        &call("SELECT dblink_connect('c', 'x')"),
        &call("SELECT dblink_connect('c', 'y')"),
        "SELECT dblink('c', 'SELECT 1')",
    );
    tells_apart(
        &[("DO $$BEGIN SET search_path TO a; END$$", "DO")],
        &[("DO $$BEGIN SET search_path TO b; END$$", "DO")],
        ASKED,
    );
    // The last call counts, as with SET, so a pool may repeat it.
    let twice = session(
        &[],
        &[
            ("SELECT set_tenant('b')", "SELECT 1"),
            ("SELECT set_tenant('a')", "SELECT 1"),
        ],
        ASKED,
        "a",
    );
    let book = book_of(&twice);
    assert_eq!(
        replay(
            &book,
            &session(&[], &call("SELECT set_tenant('a')"), ASKED, "")
        ),
        value("a")
    );
    // These have no effect.
    let calls = [
        (
            "SELECT jsonb_set('{}', '{a}', '1'), setweight(x, 'A') FROM t",
            "SELECT 1",
        ),
        ("UPDATE t SET (a) = (1)", "UPDATE 1"),
    ];
    let pure = session(&[], &calls, ASKED, "a");
    let book = book_of(&pure);
    assert_eq!(replay(&book, &session(&[], &[], ASKED, "")), value("a"));
}

#[test]
fn functions_with_arguments_distinguish_sessions() {
    const READ: &str = "SELECT current_setting('my.x')";
    let call = |text| [(text, "SELECT 1")];
    tells_apart(&call("SELECT setq('a')"), &call("SELECT setq('b')"), READ);
    tells_apart(
        &call("SELECT app.begin_work(1) AS done"),
        &call("SELECT app.begin_work(2) AS done"),
        "SHOW my.x",
    );
    tells_apart(
        &[("CALL enter('a')", "CALL")],
        &[("CALL enter('b')", "CALL")],
        READ,
    );
    // A transaction keeps its connection.
    let inside = |text| [BEGIN, (text, "SELECT 1")];
    tells_apart(
        &inside("SELECT enter('a')"),
        &inside("SELECT enter('b')"),
        ASKED,
    );
    let is_as_fresh = |way: &[(&str, &str)], asked| {
        let book = book_of(&session(&[], way, asked, "a"));
        assert_eq!(
            replay(&book, &session(&[], &[], asked, "")),
            value("a"),
            "{way:?}"
        );
    };
    is_as_fresh(
        &[
            ("SELECT setq('a')", "SELECT 1"),
            ("DISCARD ALL", "DISCARD ALL"),
        ],
        READ,
    );
    is_as_fresh(
        &[
            BEGIN,
            ("SELECT setq('a')", "SELECT 1"),
            ("ROLLBACK", "ROLLBACK"),
        ],
        READ,
    );
    is_as_fresh(
        &call("SELECT coalesce(version(), 'x'), now(), pg_backend_pid(), gen_random_uuid()"),
        READ,
    );
    // Pools hand out connections in any order: a statement without a table has the same answer on
    // each.
    is_as_fresh(&call("SELECT pay(1)"), ASKED);
}

#[test]
fn uncommitted_writes_select_answer_within_transaction() {
    let insert = ("INSERT INTO t VALUES (1)", "INSERT 0 1");
    tells_apart(&[BEGIN, insert], &[], ASKED);
    tells_apart(&[BEGIN, insert], &[BEGIN], ASKED);
    tells_apart(
        &[
            BEGIN,
            (
                "WITH x AS (DELETE FROM t RETURNING v) SELECT v FROM x",
                "SELECT 1",
            ),
        ],
        &[BEGIN],
        ASKED,
    );
    let ways: [&[(&str, &str)]; 4] = [
        &[insert],
        &[BEGIN, insert, ("COMMIT", "COMMIT")],
        &[BEGIN, insert, ("ROLLBACK", "ROLLBACK")],
        &[
            BEGIN,
            ("SAVEPOINT s", "SAVEPOINT"),
            insert,
            ("ROLLBACK TO s", "ROLLBACK"),
        ],
    ];
    for way in ways {
        let book = book_of(&session(&[], way, ASKED, "a"));
        assert_eq!(
            replay(&book, &session(&[], &[], ASKED, "")),
            value("a"),
            "{way:?}"
        );
    }
}

#[test]
fn parameter_status_report_distinguishes_sessions() {
    let reports = |zone: &str| {
        let status = message(b'S', &[format!("TimeZone\0{zone}\0").as_bytes()]);
        [
            client(query(&format!("SELECT f('{zone}')"))),
            server([row(""), complete("SELECT 1"), status, ready(b'I')].concat()),
        ]
    };
    are_told_apart(
        &plain(&reports("Asia/Tokyo"), "a"),
        &plain(&reports("UTC"), "b"),
    );
}

#[test]
fn failed_transaction_answers_aborted_error() {
    let failed = [
        client(query("BEGIN")),
        server([complete("BEGIN"), ready(b'T')].concat()),
        client(query("SELEC")),
        server([error("ERROR", "syntax"), ready(b'E')].concat()),
    ];
    let aborted = || [crate::protocol::postgres::message::aborted(), ready(b'E')].concat();
    are_told_apart(
        &messages_before(&failed, &query(ASKED), aborted()),
        &plain(&[], "b"),
    );
    let rolled_back = [
        &failed[..],
        &[client(query("ROLLBACK")), server(completed("ROLLBACK"))],
    ]
    .concat();
    let book = book_of(&plain(&rolled_back, "a"));
    assert_eq!(replay(&book, &plain(&[], "")), value("a"));
}

#[test]
fn failed_commit_ends_transaction() {
    let before = [
        simple("BEGIN", &["BEGIN"]),
        simple("SET search_path TO one", &["SET"]),
        [
            client(query("COMMIT")),
            server([error("ERROR", "deferred"), ready(b'I')].concat()),
        ],
    ]
    .concat();
    are_told_apart(
        &plain(&before, "none"),
        &plain(&simple("SET search_path TO one", &["SET"]), "one"),
    );
    let book = book_of(&plain(&before, "none"));
    assert_eq!(replay(&book, &plain(&[], "")), value("none"));
}

#[test]
fn pipeline_until_sync_is_one_transaction() {
    let set = "SET search_path TO one";
    let broken = [
        client([run(set), run("SELECT 1/0"), run("SELECT 2"), only(b'S')].concat()),
        server(
            [
                ran("SET"),
                only(b'1'),
                only(b'2'),
                error("ERROR", "zero"),
                ready(b'I'),
            ]
            .concat(),
        ),
    ];
    are_told_apart(
        &plain(&broken, "none"),
        &plain(&simple(set, &["SET"]), "one"),
    );
    let book = book_of(&plain(&broken, "none"));
    assert_eq!(replay(&book, &plain(&[], "")), value("none"));
    // Local settings end with the transaction.
    let local = |to: &str| {
        let asked = [
            run(&format!("SELECT set_config('a.b', '{to}', true)")),
            run(ASKED),
            only(b'S'),
        ]
        .concat();
        let set = [only(b'1'), only(b'2'), row(to), complete("SELECT 1")].concat();
        messages_before(
            &[],
            &asked,
            [
                set.clone(),
                only(b'1'),
                only(b'2'),
                row(to),
                complete("SELECT 1"),
                ready(b'I'),
            ]
            .concat(),
        )
    };
    are_told_apart(&local("a"), &local("b"));
    let mut whole = local("a");
    whole.extend([client(query(ASKED)), server(value("none"))]);
    assert_eq!(replay(&book_of(&whole), &plain(&[], "")), value("none"));
}

#[test]
fn describe_uses_state_before_execution() {
    let described = |text: &str| {
        let asked = [
            parse("", text),
            bind("", "", ""),
            describe('P', ""),
            execute("", 0),
            only(b'S'),
        ]
        .concat();
        let answer = [
            only(b'1'),
            only(b'2'),
            columns(),
            row("x"),
            complete("SELECT 1"),
            ready(b'I'),
        ]
        .concat();
        messages_before(&[], &asked, answer)
    };
    let whole = described("SELECT set_config('a.b', 'x', false)");
    let book = book_of(&whole);
    assert_eq!(
        replay(&book, &whole).escape_ascii().to_string(),
        whole.last().unwrap().1.escape_ascii().to_string()
    );
    assert_eq!(book.report().missed_count, 0);
}

#[test]
fn portal_pages_replay_per_connection() {
    let fetched = |page: &str, end: u8| [row(page), only(end)].concat();
    let begin = || {
        [
            client(
                [
                    parse("s", "SELECT 1"),
                    bind("c", "s", ""),
                    execute("c", 1),
                    only(b'H'),
                ]
                .concat(),
            ),
            server([only(b'1'), only(b'2'), fetched("1", b's')].concat()),
        ]
    };
    let next = |page: &str| {
        [
            client([execute("c", 1), only(b'H')].concat()),
            server(fetched(page, b's')),
        ]
    };
    // Two connections fetch the same pages, recorded one after the other, played in turns.
    let whole = messages_before(
        &[&begin()[..], &next("2"), &next("3")].concat(),
        &only(b'S'),
        ready(b'I'),
    );
    let calls = [(); 2]
        .map(|()| record(Protocol::Postgres, &whole).calls)
        .concat();
    let book = book(&calls);
    let mut played = [(); 2].map(|()| Played::new(Protocol::Postgres, &book));
    let asked: Vec<_> = whole
        .iter()
        .filter(|(from, bytes)| *from == Side::Client && bytes[0] != b'p')
        .collect();
    let mut got = Vec::new();
    for (_, bytes) in asked {
        for one in &mut played {
            got.push(one.ask(bytes));
        }
    }
    let pages: Vec<_> = got[4..8]
        .iter()
        .map(|bytes| bytes.escape_ascii().to_string())
        .collect();
    let expected = ["2", "2", "3", "3"].map(|page| fetched(page, b's').escape_ascii().to_string());
    assert_eq!(pages, expected);
}
