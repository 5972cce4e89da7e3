//! Preference for the recordings of the same test and of the same process.

use std::sync::Arc;

use pretty_assertions::assert_eq;
use replay_sandbox::intercept::Caller;

use super::*;

/// Returns a book of one call with these answers, each with its test and process.
fn book(recorded: &[(&str, Option<&str>, Option<&str>)]) -> Recordings {
    let text = |name: Option<&str>| name.map(Arc::from);
    let calls = recorded
        .iter()
        .map(|(answer, ..)| answered(get("/next"), answer));
    let mut recordings = Recording::number(calls.collect());
    for (recording, (_, test, process)) in recordings.iter_mut().zip(recorded) {
        recording.worker = Worker {
            test: text(*test),
            process: text(*process),
        };
    }
    Recordings::of(recordings, Noise::default(), Secrets::default())
}

/// Registers a connection of a process with its parent.
fn connect(book: &Recordings, connection: u64, pids: [u32; 2], place: &str) -> Exchange {
    let caller = Caller {
        pids: pids.to_vec(),
        place: place.to_owned(),
    };
    book.workers().connected(connection, caller);
    Exchange {
        connection,
        ..get("/next")
    }
}

#[test]
fn call_prefers_own_test_then_no_test() {
    let book = book(&[
        ("a1", Some("a"), None),
        ("b1", Some("b"), None),
        ("all", None, None),
        ("b2", Some("b"), None),
    ]);
    let asked = connect(&book, 1, [20, 10], "");
    book.workers().begin("b", 10);
    let answers: Vec<_> = (0..4).map(|_| ask(&book, &asked).unwrap()).collect();
    assert_eq!(answers, ["b1", "b2", "all", "a1"]);
    assert_eq!(book.report().of_other_workers, 1);
}

#[test]
fn writes_of_other_tests_leave_order_of_own_answers() {
    let post = |call: Exchange| match call.content {
        Content::Http(mut http) => {
            http.request.method = "POST".to_owned();
            Exchange {
                content: Content::Http(http),
                ..call
            }
        }
        _ => call,
    };
    let recorded = [("1", "a"), ("2", "b"), ("3", "a"), ("4", "b")];
    let calls = recorded.map(|(answer, _)| answered(post(get("/next")), answer));
    let mut recordings = Recording::number(calls.to_vec());
    for (recording, (_, test)) in recordings.iter_mut().zip(recorded) {
        recording.worker.test = Some(test.into());
    }
    let book = Recordings::of(recordings, Noise::default(), Secrets::default());
    let [first, second] =
        [(1, 20), (2, 30)].map(|(connection, pid)| post(connect(&book, connection, [pid, 10], "")));
    book.workers().begin("a", 20);
    book.workers().begin("b", 30);
    let asked = [&first, &first, &second, &second];
    let answers = asked.map(|asked| ask(&book, asked).unwrap());
    assert_eq!(answers, ["1", "3", "2", "4"]);
}

#[test]
fn call_outside_tests_leaves_their_recordings() {
    let book = book(&[("a1", Some("a"), None), ("all", None, None)]);
    let asked = connect(&book, 1, [20, 10], "");
    book.workers().begin("a", 10);
    book.workers().end("a", 10);
    book.workers().begin("a", 30);
    let answers: Vec<_> = (0..2).map(|_| ask(&book, &asked).unwrap()).collect();
    assert_eq!(answers, ["all", "a1"]);
    assert_eq!(book.report().of_other_workers, 0);
}

#[test]
fn call_prefers_paired_process() {
    let book = book(&[
        ("0", None, Some("0")),
        ("1", None, Some("1")),
        ("1 again", None, Some("1")),
    ]);
    let first = connect(&book, 1, [20, 10], "1");
    let other = connect(&book, 2, [21, 10], "7");
    let answers = [&first, &other, &first].map(|asked| ask(&book, asked).unwrap());
    assert_eq!(answers, ["1", "0", "1 again"]);
    assert_eq!(book.report().of_other_workers, 0);
    let book = self::book(&[("0", None, Some("0")), ("1", None, Some("1"))]);
    let first = connect(&book, 1, [20, 10], "1");
    assert_eq!([(); 2].map(|()| ask(&book, &first).unwrap()), ["1", "0"]);
    assert_eq!(book.report().of_other_workers, 1);
}

#[test]
fn unknown_process_has_only_open_test() {
    let workers = Workers::default();
    let test = || workers.at(1, SystemTime::now()).test;
    workers.begin("a", 10);
    assert_eq!(test().as_deref(), Some("a"));
    workers.begin("b", 20);
    assert_eq!(test(), None);
    workers.end("a", 10);
    assert_eq!(test().as_deref(), Some("b"));
    workers.begin("all", 0);
    assert_eq!(test().as_deref(), Some("all"));
}
