//! State of connections after statements.

use std::time::SystemTime;

use pretty_assertions::assert_eq;

use super::*;
use crate::call::{End, Message, Target};

/// A statement of `PostgreSQL`, which fails if `fails`.
fn query(text: &str, fails: bool) -> Exchange {
    let asked = [
        &b"Q"[..],
        &(text.len() as u32 + 5).to_be_bytes(),
        text.as_bytes(),
        b"\0",
    ]
    .concat();
    let answer = if fails {
        b"E\0\0\0\x05\0"
    } else {
        b"C\0\0\0\x05\0"
    };
    let said = [
        (Side::Client, asked),
        (Side::Server, answer.to_vec()),
        (Side::Server, b"Z\0\0\0\x05I".to_vec()),
    ];
    let messages = said
        .into_iter()
        .map(|(from, bytes)| Message { from, bytes })
        .collect();
    Exchange {
        target: Target {
            host: "db".to_owned(),
            port: 5432,
        },
        tls: false,
        connection: 1,
        sent_at: SystemTime::UNIX_EPOCH,
        answered_at: SystemTime::UNIX_EPOCH,
        end: End::Answered,
        content: Content::Wire(
            Protocol::Postgres,
            Wire {
                messages,
                ..Wire::default()
            },
        ),
    }
}

/// Returns the shapes in force after these statements; `!` marks a statement that fails.
fn after(statements: &[&str]) -> Vec<String> {
    let mut history = History::default();
    for text in statements {
        history.apply_answered(&query(text.trim_end_matches('!'), text.ends_with('!')));
    }
    history.before.done.keys().cloned().collect()
}

#[test]
fn settings_outlast_transaction_but_writes_do_not() {
    let cases: [(&[&str], &[&str]); 17] = [
        (
            &[
                "SET app.tenant = 't1'",
                "CALL enter('x')",
                "INSERT INTO a VALUES (1)",
            ],
            &["call enter ( ? )", "set app.tenant"],
        ),
        (
            &["BEGIN", "INSERT INTO a VALUES (1)"],
            &["insert into a values ( ? )"],
        ),
        (
            &["BEGIN", "INSERT INTO a VALUES (1)", "SET a.b = 1", "COMMIT"],
            &["set a.b"],
        ),
        (&["BEGIN", "SET a.b = 1", "ROLLBACK"], &[]),
        (&["BEGIN", "SET LOCAL a.b = 1"], &["set a.b"]),
        (&["BEGIN", "SET LOCAL a.b = 1", "COMMIT"], &[]),
        (
            &[
                "BEGIN",
                "SELECT set_config('a.b', '1', true)",
                "COMMIT",
                "SELECT set_config('a.c', '1', false)",
            ],
            &["set a.c"],
        ),
        (
            &[
                "BEGIN",
                "SELECT set_config('a.b', '1', true), set_config('a.c', '1', false) AS c",
            ],
            &["set a.b", "set a.c"],
        ),
        (
            &["SELECT set_config('a.b', '1', false), f('x')"],
            &["select set_config ( ? , ? , false ) , f ( ? )"],
        ),
        (
            &["BEGIN NOT ATOMIC SET a.b = 1"],
            &["begin not atomic set a.b = ?"],
        ),
        (
            &[
                "BEGIN",
                "SET a.b = 1",
                "SAVEPOINT s",
                "SET a.c = 1",
                "ROLLBACK TO s",
                "COMMIT",
            ],
            &["set a.b"],
        ),
        (
            &["BEGIN", "SAVEPOINT s", "DELETE FROM a", "RELEASE s"],
            &["delete from a"],
        ),
        (&["SET a.b = 1", "SET ROLE r", "RESET ALL"], &["set role"]),
        (&["SET ROLE r", "RESET ROLE"], &[]),
        (&["SET ROLE r", "DISCARD ALL"], &[]),
        (&["SET a.b = 1!"], &[]),
        (
            &["SET a.b = 1; SELECT f('x')"],
            &["select f ( ? )", "set a.b"],
        ),
    ];
    for (statements, expected) in cases {
        assert_eq!(after(statements), expected, "{statements:?}");
    }
}

#[test]
fn plain_reads_leave_no_state() {
    let reads = [
        "SELECT 1",
        "SELECT version()",
        "select item from orders where id = f(3)",
        "WITH a AS (SELECT 1 FROM b) SELECT * FROM a",
        "SELECT * FROM a WHERE id = 1 FOR UPDATE",
        "SHOW search_path",
        "SELECT 1 / 0",
    ];
    for text in reads {
        assert_eq!(
            (after(&["BEGIN", text]), repeats(&query(text, false))),
            (Vec::new(), true),
            "{text}"
        );
    }
    let others = [
        "SELECT nextval('numbers')",
        "SELECT * FROM set_tenant('t1')",
        "WITH a AS (INSERT INTO b VALUES (1) RETURNING id) SELECT * FROM a",
        "SELECT id INTO c FROM a",
        "UPDATE a SET b = 1",
        "EXECUTE p(1)",
    ];
    for text in others {
        assert_eq!(
            (after(&["BEGIN", text]).len(), repeats(&query(text, false))),
            (1, false),
            "{text}"
        );
    }
}
