//! Calls that the program abandoned before the answer.

use pretty_assertions::assert_eq;

use super::*;

/// Records a conversation that the program abandons.
fn record_abandoned(conversation: &[ScriptedMessage]) -> Outcome {
    let whole: Vec<_> = login()
        .into_iter()
        .chain(conversation.iter().cloned())
        .collect();
    record_left(Protocol::Postgres, &whole, Side::Client)
}

/// Logs in and sends requests. Returns the answer, and true if the connection is then held.
fn asks(outcome: &Outcome, questions: &[Vec<u8>]) -> (Vec<u8>, bool) {
    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::Postgres, &book);
    played.ask(startup(&[("user", "u"), ("database", "d")]));
    let got = questions
        .iter()
        .flat_map(|question| played.ask(question))
        .collect();
    assert_eq!(
        (book.report().missed, book.report().unused),
        (vec![], vec![])
    );
    (got, played.held && !played.closed)
}

#[test]
fn abandoned_query_replays_partial_answer() {
    let asked = query("SELECT pg_sleep(9)");
    let outcome = record_abandoned(&[client(&asked)]);
    assert_eq!((outcome.calls.len(), outcome.lost.len()), (2, 0));
    assert_eq!(asks(&outcome, std::slice::from_ref(&asked)), (vec![], true));
    let part = [columns(), row("1")].concat();
    let outcome = record_abandoned(&[client(&asked), server(&part)]);
    assert_eq!(asks(&outcome, &[asked]), (part, true));
}

#[test]
fn abandoned_statement_replays_partial_answer() {
    let asked = [
        parse("", "SELECT pg_sleep($1)"),
        bind("", "", "9"),
        execute("", 0),
        only(b'S'),
    ];
    let begun = [vec![], only(b'1'), [only(b'1'), only(b'2')].concat()];
    for answer in begun {
        let outcome = record_abandoned(&[client(asked.concat()), server(&answer)]);
        assert_eq!(outcome.lost.len(), 0);
        assert_eq!(asks(&outcome, &asked), (answer, true));
    }
}
