//! What a transaction has written.

use pretty_assertions::assert_eq;

use super::*;

#[test]
fn what_a_transaction_has_written_is_read_in_it_alone() {
    const INSIDE: u16 = 3;
    let count = || query("SELECT COUNT(*) FROM t");
    let told = |text: &str, status| [client(query(text)), server(ok(1, status))];
    let asked = |number| [client(count()), server(value(number))];
    let inside = [told("BEGIN", INSIDE), told("INSERT INTO t VALUES (1)", INSIDE), asked(3)].concat();
    let (book, mut played) = connected(&recorded(0, &inside).calls, 0);
    assert_eq!(played.ask(count()).get(4), Some(&0xff));
    assert_eq!(book.report().missed_count, 1);
    let both = [&inside[..], &told("ROLLBACK", 2), &asked(2)].concat();
    let calls = recorded(0, &both).calls;
    let (_, mut played) = connected(&calls, 0);
    assert_eq!(played.ask(count()), value(2));
    let (_, mut played) = connected(&calls, 0);
    for (from, bytes) in &inside {
        if *from == Side::Client {
            let got = played.ask(bytes.clone());
            assert!(*bytes != count() || got == value(3), "{}", got.escape_ascii());
        }
    }
}

#[test]
fn a_rollback_to_a_savepoint_takes_back_what_was_written() {
    const INSIDE: u16 = 3;
    let count = || query("SELECT COUNT(*) FROM t");
    let told = |text: &str| [client(query(text)), server(ok(1, INSIDE))];
    let asked = |number| [client(count()), server(value(number))];
    let insert = told("INSERT INTO t VALUES (1)");
    for (save, back) in [
        ("SAVEPOINT a", "ROLLBACK TO SAVEPOINT a"),
        ("/* x */ savepoint `a`", "rollback work to A"),
        ("SAVEPOINT a", "ROLLBACK TO a; "),
    ] {
        let rolled_back = [told("BEGIN"), told(save), insert.clone(), told(back)].concat();
        let whole = [&told("BEGIN")[..], &told(save), &insert, &asked(3), &told(back), &asked(2)].concat();
        let calls = recorded(0, &whole).calls;
        let (_, mut played) = connected(&calls, 0);
        for (_, bytes) in rolled_back.iter().filter(|(from, _)| *from == Side::Client) {
            played.ask(bytes.clone());
        }
        assert_eq!(played.ask(count()), value(2), "{back}");
    }
    // What a savepoint is released of stays, and so does what was written before it.
    for kept in [
        [told("SAVEPOINT a"), insert.clone(), told("RELEASE SAVEPOINT a"), told("ROLLBACK TO a")],
        [insert.clone(), told("SAVEPOINT a"), insert.clone(), told("ROLLBACK TO a")],
    ] {
        let before = [&told("BEGIN")[..], &kept.concat()].concat();
        let calls = recorded(0, &[&before[..], &asked(3), &told("ROLLBACK"), &asked(2)].concat()).calls;
        let (_, mut played) = connected(&calls, 0);
        for (_, bytes) in before.iter().filter(|(from, _)| *from == Side::Client) {
            played.ask(bytes.clone());
        }
        assert_eq!(played.ask(count()), value(3));
    }
}
