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
