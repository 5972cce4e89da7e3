//! What a transaction has written.

use pretty_assertions::assert_eq;

use super::*;
use crate::record::book::{Book, Noise};

type Step = (Vec<u8>, Vec<u8>);
type Way<'a> = &'a dyn Fn(&str) -> Vec<Step>;

const ASKED: &str = "SELECT v FROM t";

fn says(text: &str) -> Step {
    let word = text.split(' ').next().unwrap_or_default();
    (query(text), done(if word == "INSERT" { "INSERT 0 1" } else { word }))
}

fn inserts(value: &str) -> Step {
    says(&format!("INSERT INTO t VALUES ('{value}')"))
}

fn reads(answer: &str) -> Step {
    (query(ASKED), value(answer))
}

fn transaction(steps: &[Step]) -> Vec<Step> {
    [&[says("BEGIN")][..], steps, &[says("ROLLBACK")]].concat()
}

fn kept(connections: &[Vec<Step>]) -> Vec<Exchange> {
    let calls = connections.iter().flat_map(|steps| {
        let said = steps.iter().flat_map(|(asked, answer)| [client(asked), server(answer)]);
        record(Protocol::Postgres, &login().into_iter().chain(said).collect::<Vec<_>>()).calls
    });
    calls.collect()
}

/// Asks on another connection, and compares what comes.
fn answers(book: &Arc<Book>, steps: &[Step]) {
    let mut played = Played::new(Protocol::Postgres, book);
    played.ask(&login()[0].1);
    for (asked, answer) in steps {
        let got = played.ask(asked);
        assert_eq!(got.escape_ascii().to_string(), answer.escape_ascii().to_string(), "{}", asked.escape_ascii());
    }
}

fn others(book: &Book) -> Vec<String> {
    let report = book.report();
    assert_eq!(report.missed, []);
    report.others.into_keys().collect()
}

#[test]
fn what_was_written_chooses_what_is_read() {
    let returning = |answer: &str| {
        let text = "INSERT INTO line VALUES (1) RETURNING v";
        (query(text), [columns(), row(answer), complete("INSERT 0 1"), ready(b'I')].concat())
    };
    let ways: [Way<'_>; 4] = [
        &|who| vec![inserts(who), reads(who)],
        &|who| vec![inserts(who), inserts("c"), reads(who)],
        // What is written may be answered so, too.
        &|who| vec![inserts(who), returning(who), reads(who)],
        &|who| vec![says("SAVEPOINT s"), inserts(who), says("RELEASE SAVEPOINT s"), reads(who)],
    ];
    for way in ways {
        let [a, b] = ["a", "b"].map(|who| transaction(&way(who)));
        let book = book(&kept(&[a.clone(), b.clone()]));
        answers(&book, &b);
        answers(&book, &a);
        assert_eq!(others(&book), Vec::<String>::new());
    }
}

#[test]
fn a_rollback_to_a_savepoint_goes_back_to_what_was_written_there() {
    let back = || says("ROLLBACK TO SAVEPOINT s");
    let [a, b] = ["a", "b"].map(|who| {
        transaction(&[inserts(who), says("SAVEPOINT s"), inserts("c"), reads(&format!("{who}c")), back(), reads(who)])
    });
    let [short_a, short_b] =
        ["a", "b"].map(|who| transaction(&[inserts(who), says("SAVEPOINT s"), back(), reads(who)]));
    let book = book(&kept(&[a, b]));
    answers(&book, &short_b);
    answers(&book, &short_a);
    assert_eq!(others(&book), Vec::<String>::new());
}

#[test]
fn what_nobody_wrote_is_told_or_missed() {
    let wrote = |who: &str, answer: &str| transaction(&[inserts(who), reads(answer)]);
    let other = transaction(&[inserts("c")]);
    let asked = [says("BEGIN"), inserts("c"), reads("a")];
    let soft = book(&kept(&[wrote("a", "a"), wrote("b", "b"), other.clone()]));
    answers(&soft, &asked);
    assert_eq!(others(&soft), ["writes of its transaction"]);
    // The old answer came back with what was written before it.
    let firm = book(&kept(&[wrote("a", "a"), wrote("b", "b"), wrote("a", "a"), other]));
    let mut played = Played::new(Protocol::Postgres, &firm);
    played.ask(&login()[0].1);
    asked[..2].iter().for_each(|(asked, _)| drop(played.ask(asked)));
    assert_eq!(played.ask(query(ASKED)).first(), Some(&b'E'));
    let told = firm.report().missed[0].closest.clone().unwrap().differences;
    assert_eq!(told, ["`writes of its transaction`: recorded after another one on the connection"]);
}

#[test]
fn secrets_and_noise_change_nothing_of_what_was_written() {
    let login_of = |token: &str| says(&format!("INSERT INTO t (token) VALUES ('{token}')"));
    let logged_in = |who: &str, token: &str| transaction(&[login_of(token), inserts(who), reads(who)]);
    let mut calls = kept(&[logged_in("a", "sk-first-000000001"), logged_in("b", "sk-first-000000001")]);
    crate::record::redact::exchanges(&mut calls);
    let redacted = book(&calls);
    answers(&redacted, &logged_in("b", "sk-other-000000002"));
    answers(&redacted, &logged_in("a", "sk-other-000000002"));
    assert_eq!(others(&redacted), Vec::<String>::new());
    let run = |ids: [&str; 2]| {
        let each = ids.into_iter().zip(["a", "b"]);
        each.map(|(id, who)| {
            transaction(&[inserts(who), says(&format!("INSERT INTO r (id) VALUES ('{id}')")), reads(who)])
        })
        .collect::<Vec<_>>()
    };
    let uuid = |n: u32| format!("550e8400-e29b-41d4-a716-44665544000{n}");
    let [first, second, third] = [1, 3, 5].map(|n| run([&uuid(n), &uuid(n + 1)]));
    let calls = kept(&first);
    let (noise, _) = Noise::learn(&calls, &kept(&second));
    let book = Arc::new(Book::new(calls, noise));
    for steps in &third {
        answers(&book, steps);
    }
    assert_eq!(others(&book), Vec::<String>::new());
}
