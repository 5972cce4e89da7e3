//! What a transaction has written.

use pretty_assertions::assert_eq;

use super::pooled::another;
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

#[test]
fn what_was_written_chooses_what_is_read() {
    const INSIDE: u16 = 3;
    let told = |text: &str| [client(query(text)), server(ok(1, INSIDE))];
    let asked = |number| [client(query("SELECT v FROM t")), server(value(number))];
    let prepare = [client(message(0, b"\x16INSERT INTO t VALUES (?)")), server(prepared(1, 0))];
    let insert = |who: u8| told(&format!("INSERT INTO t VALUES ({who})"));
    let ways: [&dyn Fn(u8) -> Vec<Said>; 4] = [
        &|who| [insert(who), asked(who)].concat(),
        &|who| [prepare.clone(), [client(execute(1, true, who)), server(ok(1, INSIDE))], asked(who)].concat(),
        &|who| {
            let returning = format!("INSERT INTO t VALUES ({who}) RETURNING v");
            [[client(query(&returning)), server(value(who))], asked(who)].concat()
        },
        &|who| {
            let save = [told("SAVEPOINT a"), insert(9), told("ROLLBACK TO SAVEPOINT a")].concat();
            [&insert(who)[..], &save, &asked(who)].concat()
        },
    ];
    for way in ways {
        let [a, b] =
            [7, 8].map(|who| [&told("BEGIN")[..], &way(who), &[client(query("ROLLBACK")), server(ok(1, 2))]].concat());
        let (book, _) = connected(&[recorded(0, &a).calls, recorded(0, &b).calls].concat(), 0);
        for steps in [b, a] {
            let mut played = another(&book);
            for pair in steps.chunks(2) {
                let got = played.ask(&pair[0].1).escape_ascii().to_string();
                assert_eq!(got, pair[1].1.escape_ascii().to_string(), "{}", pair[0].1.escape_ascii());
            }
        }
        assert_eq!((book.report().missed, book.report().others.len()), (vec![], 0));
    }
}
