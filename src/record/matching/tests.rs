mod bytes;
mod callers;
mod calls;
mod databases;
mod fields;
mod grpc;
mod noise;
mod own_values;
mod polls;
mod random;
mod timing;
mod turns;
mod workers;

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::learned_noise::Lesson;

use replay_base::limits::MAX_MISSES_TOLD;

use super::*;
use crate::call::{Dns, HttpResponse};
use crate::redact::Secrets;
use calls::{
    JSON, answered, ask, exchange, get, http, learned, me, post, redacted_book, request, wire,
};

#[test]
fn identical_calls_get_answers_in_order() {
    let calls = ["1", "2", "3"].map(|answer| answered(post("{}"), answer));
    let book = Recordings::new(calls.to_vec(), Noise::default());
    let answers: Vec<_> = (0..4).map(|_| ask(&book, &post("{}"))).collect();
    let used =
        "POST http://shop:80/orders: all 3 recordings of this call were used already; record a \
         run that makes the call more often"
            .to_owned();
    assert_eq!(
        answers,
        [
            Ok("1".to_owned()),
            Ok("2".to_owned()),
            Ok("3".to_owned()),
            Err(used)
        ]
    );
    let report = book.report();
    assert_eq!(
        (report.replayed, report.missed_count, report.unused.len()),
        (3, 1, 0)
    );
    assert!(!report.is_isolated());
}

#[test]
fn last_reusable_or_read_recording_repeats() {
    for (asked, reusable, again) in [
        (post("{}"), true, 0),
        (get("/n"), false, 2),
        (request("HEAD", "/n", "", ""), false, 2),
    ] {
        let mut recordings = Recording::number(
            ["1", "2"]
                .map(|answer| answered(asked.clone(), answer))
                .to_vec(),
        );
        recordings[1].reusable = reusable;
        let book = Recordings::of(recordings, Noise::default(), Secrets::default());
        let answers: Vec<_> = (0..4).map(|_| ask(&book, &asked).unwrap()).collect();
        assert_eq!(answers, ["1", "2", "2", "2"]);
        assert_eq!(
            (book.report().is_isolated(), book.report().again),
            (true, again)
        );
    }
}

#[test]
fn equivalent_requests_match() {
    let same = [
        (
            post(r#"{"a":1,"b":[2]}"#),
            post("{ \"b\": [2],\n \"a\": 1 }"),
        ),
        (get("/s?b=2&a=1&a=0"), get("/s?a=1&a=0&b=2")),
        (get("/s?a=1&api_key=x"), get("/s?a=1&api_key=y")),
        (
            request("POST", "/f", "application/x-www-form-urlencoded", "a=1&b=2"),
            request(
                "POST",
                "/f",
                "Application/X-WWW-Form-Urlencoded; charset=utf-8",
                "b=2&a=1",
            ),
        ),
        (
            request(
                "POST",
                "/m",
                "multipart/form-data; boundary=xx",
                "--xx\r\nA: b\r\n\r\n1\r\n--xx--\r\n",
            ),
            request(
                "POST",
                "/m",
                "multipart/form-data; boundary=\"y\"",
                "--y\r\nA: b\r\n\r\n1\r\n--y--\r\n",
            ),
        ),
        // A media type without a body does not matter.
        (request("GET", "/", JSON, ""), request("GET", "/", "", "")),
    ];
    for (recorded, asked) in same {
        let book = Recordings::new(vec![answered(recorded, "x")], Noise::default());
        assert_eq!(ask(&book, &asked), Ok("x".to_owned()), "{asked:?}");
    }
}

#[test]
fn different_requests_do_not_match() {
    let with = |name: &str, value: &str| {
        let mut call = get("/r");
        http(&mut call)
            .request
            .headers
            .push((name.to_owned(), value.into()));
        call
    };
    let at = |host: &str, port| Exchange {
        target: Target {
            host: host.to_owned(),
            port,
        },
        ..get("/r")
    };
    let mut named = get("/r");
    http(&mut named).request.authority = "other".to_owned();
    let other = [
        (post(r#"{"a":1}"#), post(r#"{"a":1.0}"#)),
        (post(r#"{"a":[1,2]}"#), post(r#"{"a":[2,1]}"#)),
        (
            post(r#"{"id":9007199254740993}"#),
            post(r#"{"id":9007199254740992}"#),
        ),
        (get("/s?a=1&a=0"), get("/s?a=0&a=1")),
        (get("/s?a"), get("/s?a=")),
        (get("/s?a=1"), get("/s")),
        (get("/s"), get("/S")),
        (get("/s"), request("HEAD", "/s", "", "")),
        (
            request("POST", "/", "text/plain", "{\"a\":1}"),
            request("POST", "/", "text/plain", "{ \"a\":1}"),
        ),
        (
            request("POST", "/", "text/plain", "x"),
            request("POST", "/", "text/html", "x"),
        ),
        (request("POST", "/", "", "x"), request("POST", "/", "", "")),
        (with("Range", "bytes=0-1"), with("range", "bytes=2-3")),
        (with("X-Amz-Target", "A.Get"), with("X-Amz-Target", "A.Put")),
        (get("/r"), at("shop", 81)),
        (get("/r"), at("127.0.0.1", 80)),
        (get("/r"), named),
        (
            wire(Protocol::Redis, b"*1\r\n$4\r\nPING\r\n", b"x", false),
            wire(Protocol::Generic, b"*1\r\n$4\r\nPING\r\n", b"", false),
        ),
    ];
    for (recorded, asked) in other {
        let recorded = if matches!(recorded.content, Content::Http(_)) {
            answered(recorded, "x")
        } else {
            recorded
        };
        let book = Recordings::new(vec![recorded], Noise::default());
        assert!(book.find(&asked).is_err(), "{asked:?}");
    }
    let same = Recordings::new(
        vec![answered(with("Range", "bytes=0-1"), "x")],
        Noise::default(),
    );
    assert_eq!(ask(&same, &with("range", "bytes=0-1")), Ok("x".to_owned()));
    let date = Recordings::new(vec![answered(with("Date", "a"), "x")], Noise::default());
    assert_eq!(ask(&date, &with("Date", "b")), Ok("x".to_owned()));
}

#[test]
fn miss_reports_closest_recording_with_differences() {
    let calls = [
        answered(get("/orders"), "no"),
        answered(post(r#"{"items":[{"id":"a","qty":2}],"note":"x"}"#), "yes"),
        answered(post(r#"{"other":true}"#), "no"),
    ];
    let book = Recordings::new(calls.to_vec(), Noise::default());
    let miss = book
        .find(&post(r#"{"items":[{"id":"a","qty":3},1],"vip":true}"#))
        .unwrap_err();
    let expected = Miss {
        asked: "POST http://shop:80/orders".to_owned(),
        why: Why::Differs,
        closest: Some(ClosestRecording {
            name: "mock-2".to_owned(),
            differences: vec![
                "body.items.qty: recorded 2, asked 3".to_owned(),
                "body.note: recorded `x`, not asked".to_owned(),
                "body.items: asked 1, not recorded".to_owned(),
                "body.vip: asked true, not recorded".to_owned(),
                "this call was not recorded: record the program again".to_owned(),
            ],
        }),
        bound: false,
        times: 1,
    };
    assert_eq!(miss, expected);

    let miss = book.find(&get("/order?page=2&password=p")).unwrap_err();
    let expected = "GET http://shop:80/order?page=2&password=*: no recording of this call; the \
        closest is `mock-1`\n  path: recorded `/orders`, asked `/order`\n  query.page: asked `2`, \
        not recorded\n  query.password: asked `*`, not recorded\n  this call was not recorded: \
        record the program again";
    assert_eq!(miss.to_string(), expected);

    let nothing = book
        .find(&wire(Protocol::Redis, b"PING\r\n", b"", false))
        .unwrap_err();
    assert_eq!(
        nothing.to_string(),
        "Redis db:5432 PING: no call of this protocol was recorded; record the program again"
    );
    book.missed(
        &Target {
            host: "a".to_owned(),
            port: 1,
        },
        "a connection was refused",
    );
    let report = book.report();
    assert_eq!(
        report.missed.last().unwrap().asked,
        "a connection was refused (a:1)"
    );
    assert_eq!((report.replayed, report.missed_count), (0, 4));
    let unused: Vec<_> = report
        .unused
        .iter()
        .map(|it| (it.name.as_str(), it.call.as_str()))
        .collect();
    let expected = [
        ("mock-1", "GET http://shop:80/orders"),
        ("mock-2", "POST http://shop:80/orders"),
        ("mock-3", "POST http://shop:80/orders"),
    ];
    assert_eq!(unused, expected);
}

#[test]
fn sql_miss_shows_statement_text() {
    let query = |sql: &str| {
        [
            b"Q",
            &(sql.len() as u32 + 5).to_be_bytes()[..],
            sql.as_bytes(),
            &[0],
        ]
        .concat()
    };
    let book = Recordings::new(
        vec![wire(Protocol::Postgres, &query("SELECT 1"), b"x", false)],
        Noise::default(),
    );
    let miss = book
        .find(&wire(Protocol::Postgres, &query("SELECT 2"), b"", false))
        .unwrap_err();
    let expected = "Postgres db:5432 SELECT 2: no recording of this call; the closest is \
        `mock-1`\n  message 1: recorded `SELECT 1`, asked `SELECT 2`\n  only values differ. If \
        the program was changed, record again. If they change in each run, add `noise: {req: \
        [literal.1]}` below `name: mock-1`, or run `replay calls noise SET OTHER --write`";
    assert_eq!(miss.to_string(), expected);
}

#[test]
fn session_recording_repeats_for_any_password() {
    let auth = |password: &str| {
        let text = format!("*2\r\n$4\r\nAUTH\r\n${}\r\n{password}\r\n", password.len());
        wire(Protocol::Redis, text.as_bytes(), b"+OK\r\n", true)
    };
    let book = Recordings::new(vec![auth("[redacted]")], Noise::default());
    for password in ["one", "another"] {
        assert_eq!(ask(&book, &auth(password)), Ok("+OK\r\n".to_owned()));
    }
    let target = Target {
        host: "db".to_owned(),
        port: 5432,
    };
    assert_eq!(book.sessions(&target, Protocol::Redis).len(), 1);
    assert_eq!(book.sessions(&target, Protocol::MySql).len(), 0);
    assert_eq!(book.protocol(&target), Some(Protocol::Redis));
    assert_eq!(
        book.protocol(&Target {
            host: "db".to_owned(),
            port: 1
        }),
        None
    );
    assert_eq!(book.report().unused, []);
}

#[test]
fn mongo_message_numbers_are_ignored() {
    let message = |number: u8, body: &[u8]| {
        let bytes = [
            &[20, 0, 0, 0, number, 0, 0, 0, 0, 0, 0, 0, 0xdd, 7, 0, 0],
            body,
        ]
        .concat();
        wire(Protocol::Mongo, &bytes, b"x", false)
    };
    let book = Recordings::new(vec![message(1, b"abcd")], Noise::default());
    assert_eq!(ask(&book, &message(9, b"abcd")), Ok("x".to_owned()));
    assert!(book.find(&message(9, b"abce")).is_err());
}

#[test]
fn dns_last_answer_repeats_without_limit() {
    let dns = |host: &str, answers: &[&str]| {
        let answers = answers.iter().map(|it| (*it).to_owned()).collect();
        exchange(
            host,
            53,
            Content::Dns(Dns {
                name: "a.b".to_owned(),
                kind: "A".to_owned(),
                code: 0,
                answers,
            }),
        )
    };
    let book = Recordings::new(
        vec![dns("10.0.0.1", &["x"]), dns("10.0.0.1", &["y"])],
        Noise::default(),
    );
    let answers: Vec<_> = (0..3)
        .map(|_| ask(&book, &dns("10.0.0.2", &[])).unwrap())
        .collect();
    assert_eq!(answers, ["x", "y", "y"]);
    assert_eq!(
        book.protocol(&Target {
            host: "10.0.0.1".to_owned(),
            port: 53
        }),
        None
    );
}

#[test]
fn recordings_without_target_answer_last() {
    let at = |host: &str, port, answer: &str| {
        let call = Exchange {
            target: Target {
                host: host.to_owned(),
                port,
            },
            ..post("{}")
        };
        if answer.is_empty() {
            call
        } else {
            answered(call, answer)
        }
    };
    let calls = vec![
        at("", 0, "anywhere"),
        at("shop", 0, "port unknown"),
        at("shop", 80, "exact"),
    ];
    let book = Recordings::new(calls, Noise::default());
    let answers: Vec<_> = (0..3)
        .map(|_| ask(&book, &at("shop", 80, "")).unwrap())
        .collect();
    assert_eq!(answers, ["exact", "port unknown", "anywhere"]);
    let mut named = Recording::number(vec![at("shop", 80, "named")]);
    named[0].named = true;
    let book = Recordings::of(named, Noise::default(), Secrets::default());
    assert_eq!(ask(&book, &at("127.0.0.1", 80, "")), Ok("named".to_owned()));
    assert!(book.find(&at("shop", 80, "")).is_err());

    let foreign = Exchange {
        target: Target {
            host: String::new(),
            port: 0,
        },
        ..wire(Protocol::MySql, b"q", b"x", true)
    };
    let book = Recordings::new(vec![foreign], Noise::default());
    let target = Target {
        host: "db".to_owned(),
        port: 3306,
    };
    assert_eq!(
        (
            book.protocol(&target),
            book.sessions(&target, Protocol::MySql).len()
        ),
        (Some(Protocol::MySql), 1)
    );
}

#[test]
fn declared_noise_is_left_out() {
    let recorded = answered(
        post(r#"{"at":"2024-01-01","items":[{"id":1,"qty":2}],"trace":{"a":1}}"#),
        "x",
    );
    let asked = post(r#"{"at":"2025-02-02","items":[{"id":7,"qty":2}],"trace":{"b":[]}}"#);
    let mut noise = Noise::default();
    noise
        .declare(Some(&recorded), &learned(&["body.items.id", "trace"]))
        .unwrap();
    let values = DeclaredNoise {
        values: vec![r"^\d{4}-\d\d-\d\d$".to_owned()],
        ..DeclaredNoise::default()
    };
    noise.declare(None, &values).unwrap();
    let book = Recordings::new(vec![recorded.clone()], noise.clone());
    assert_eq!(ask(&book, &asked), Ok("x".to_owned()));

    let book = Recordings::new(vec![recorded], noise);
    let miss = book
        .find(&post(
            r#"{"at":"2025-02-02","items":[{"id":7,"qty":3}],"trace":{}}"#,
        ))
        .unwrap_err();
    assert_eq!(
        miss.closest.unwrap().differences[0],
        "body.items.qty: recorded 2, asked 3"
    );

    let broken = DeclaredNoise {
        values: vec!["(".to_owned()],
        ..DeclaredNoise::default()
    };
    assert!(
        Noise::default()
            .declare(None, &broken)
            .unwrap_err()
            .starts_with("the noise pattern `(` is invalid: ")
    );
}

#[test]
fn http_noise_is_learned_from_two_recordings() {
    let run = |ids: [u32; 2], times: [u32; 2]| {
        let body = |id: u32, qty: u32| post(&format!(r#"{{"id":"{id}","qty":{qty}}}"#));
        vec![
            body(ids[0], 1),
            body(ids[1], 2),
            get(&format!("/s?t={}&q=a", times[0])),
            get(&format!("/s?t={}&q=b", times[1])),
        ]
    };
    let one = run([10, 11], [5, 6]);
    let (noise, lessons) = learn(&one, &run([20, 21], [7, 8]));
    assert_eq!(noise.learned(&one[0]), Some(learned(&["body.id"])));
    let shown: Vec<_> = lessons
        .iter()
        .flat_map(|lesson| {
            lesson.changes.iter().map(|it| {
                (
                    lesson.place.as_str(),
                    it.field.as_str(),
                    it.values.1.as_str(),
                )
            })
        })
        .collect();
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(
        shown.contains(&("HTTP shop:80 POST /orders", "body.id", "20")),
        "{shown:?}"
    );
    assert_eq!(noise.learned(&one[2]), Some(learned(&["query.t"])));
    let calls = one.into_iter().map(|call| answered(call, "x")).collect();
    let book = Recordings::new(calls, noise);
    let third = run([30, 31], [9, 9]);
    assert!(third.iter().all(|call| book.find(call).is_ok()));
}

#[test]
fn reordered_calls_teach_no_noise() {
    let one = [post(r#"{"q":1}"#), post(r#"{"q":2}"#)];
    let two = [post(r#"{"q":2}"#), post(r#"{"q":1}"#)];
    assert!(learn(&one, &two).0.is_empty());
    // Other shapes, other numbers of calls, whole bodies.
    assert_eq!(learn(&one, &[post(r#"{"r":1}"#), post(r#"{"r":2}"#)]).1, []);
    let fewer = learn(&one, &[post(r#"{"q":3}"#)]).1;
    let expected = Lesson {
        place: "HTTP shop:80 POST /orders".to_owned(),
        calls: (2, 1),
        changes: Vec::new(),
    };
    assert_eq!(fewer, [expected]);
    let text = |body: &str| [request("POST", "/t", "text/plain", body)];
    assert!(learn(&text("a"), &text("b")).0.is_empty());
}

#[test]
fn recording_is_served_once_across_threads() {
    const THREADS: usize = 8;
    const CALLS: usize = 100_000;
    let calls = (0..CALLS)
        .map(|number| answered(get(&format!("/n/{}", number % 1000)), &number.to_string()))
        .collect();
    let book = Recordings::new(calls, Noise::default());
    let start = Barrier::new(THREADS);
    let mut given: Vec<usize> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (book, start) = (&book, &start);
                scope.spawn(move || {
                    start.wait();
                    let mut given = Vec::new();
                    for number in (thread..CALLS).step_by(THREADS) {
                        given.push(
                            ask(book, &get(&format!("/n/{}", number % 1000)))
                                .unwrap()
                                .parse()
                                .unwrap(),
                        );
                    }
                    given
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    given.sort_unstable();
    assert_eq!(given, (0..CALLS).collect::<Vec<_>>());
    assert_eq!(book.report().replayed, CALLS as u64);
}

#[test]
fn report_lists_limited_number_of_misses() {
    let book = Recordings::new(
        (0..5)
            .map(|number| answered(get(&format!("/{number}")), "x"))
            .collect(),
        Noise::default(),
    );
    for number in 0..MAX_MISSES_TOLD + 5 {
        assert!(book.find(&get(&format!("/x{number}"))).is_err());
    }
    let report = book.report();
    assert_eq!(
        (report.missed.len(), report.missed_count),
        (MAX_MISSES_TOLD, MAX_MISSES_TOLD as u64 + 5)
    );
}

#[test]
fn authorization_selects_among_several_recorded_callers() {
    let from = |who: &str, answer: &str| {
        let mut call = get("/me");
        if !who.is_empty() {
            http(&mut call)
                .request
                .headers
                .push(("Authorization".to_owned(), format!("Bearer {who}").into()));
        }
        let mut call = answered(call, answer);
        Secrets::default().calls(std::slice::from_mut(&mut call));
        call
    };
    let ask_as = |book: &Recordings, who: &str| ask(book, &from(who, ""));
    let book = Recordings::new(
        vec![from("alice", "a"), from("bob", "b"), from("", "nobody")],
        Noise::default(),
    );
    assert_eq!(ask_as(&book, "bob"), Ok("b".to_owned()));
    assert!(ask_as(&book, "mallory").is_err());
    assert_eq!(ask_as(&book, ""), Ok("nobody".to_owned()));
    assert_eq!(ask_as(&book, "alice"), Ok("a".to_owned()));
    // Anonymous calls are distinguished too; the only credential may differ in a replay.
    let book = Recordings::new(
        vec![
            from("", "nobody"),
            from("alice", "a"),
            from("", "still nobody"),
        ],
        Noise::default(),
    );
    assert_eq!(ask_as(&book, ""), Ok("nobody".to_owned()));
    assert_eq!(ask_as(&book, "dummy"), Ok("a".to_owned()));
    assert_eq!(ask_as(&book, ""), Ok("still nobody".to_owned()));
    let book = Recordings::new(
        vec![from("alice", "a"), from("", "nobody")],
        Noise::default(),
    );
    assert_eq!(ask_as(&book, ""), Ok("nobody".to_owned()));
    assert_eq!(ask_as(&book, "alice"), Ok("a".to_owned()));
    // A single credential may differ in a replay.
    let book = Recordings::new(vec![from("alice", "a")], Noise::default());
    assert_eq!(ask_as(&book, "dummy"), Ok("a".to_owned()));
}

#[test]
fn single_body_secret_matches_several_select_answer() {
    let login = |password: &str| {
        let body =
            format!(r#"{{"user":"a","password":"{password}","db":{{"apiKey":["{password}"]}}}}"#);
        answered(post(&body), "in")
    };
    let mut kept = login("q1w2e3");
    Secrets::default().calls(std::slice::from_mut(&mut kept));
    for recorded in [login("q1w2e3"), kept] {
        let book = Recordings::new(vec![recorded], Noise::default());
        let other = post(r#"{"user":"b","password":"z9y8x7","db":{"apiKey":["z9y8x7"]}}"#);
        let told = book.find(&other).unwrap_err().closest.unwrap().differences;
        let declare = told
            .last()
            .is_some_and(|line| line.contains("`noise: {req: [body.user]}`"));
        assert_eq!(
            (told.len(), told[0].as_str(), declare),
            (2, "body.user: recorded `a`, asked `b`", true)
        );
        assert_eq!(ask(&book, &login("a1b2c3")), Ok("in".to_owned()));
    }
    // A single token is a secret, which may differ in a replay. Several tokens select the answer,
    // independent of other headers.
    let page = |token: &str, who: &str| {
        let mut call = answered(get(&format!("/list?token={token}")), token);
        http(&mut call)
            .request
            .headers
            .push(("X-Api-Key".to_owned(), who.into()));
        call
    };
    let recorded = |tokens: &[&str]| {
        let mut calls: Vec<_> = tokens.iter().map(|token| page(token, "me")).collect();
        Secrets::default().calls(&mut calls);
        Recordings::new(calls, Noise::default())
    };
    let [a, b, c, z] = ["q1w2e3a", "q1w2e3b", "q1w2e3c", "q1w2e3z"];
    assert_eq!(ask(&recorded(&[a]), &page(z, "you")), Ok(a.to_owned()));
    let book = recorded(&[a, b, c]);
    assert_eq!(ask(&book, &page(c, "you")), Ok(c.to_owned()));
    assert_eq!(ask(&book, &page(a, "you")), Ok(a.to_owned()));
    assert!(book.find(&page(z, "me")).is_err());
}

#[test]
fn tls_and_accept_header_distinguish_calls() {
    let with = |tls: bool, accept: &str, answer: &str| {
        let mut call = answered(get("/report"), answer);
        http(&mut call)
            .request
            .headers
            .push(("Accept".to_owned(), accept.into()));
        call.tls = tls;
        call
    };
    let book = Recordings::new(
        vec![
            with(false, "text/csv", "csv"),
            with(false, "text/html", "html"),
        ],
        Noise::default(),
    );
    assert!(ask(&book, &with(true, "text/csv", "")).is_err());
    assert_eq!(
        ask(&book, &with(false, "text/html", "")),
        Ok("html".to_owned())
    );
    assert_eq!(
        ask(&book, &with(false, "text/csv", "")),
        Ok("csv".to_owned())
    );
}

#[test]
fn repeated_miss_is_reported_once_with_count() {
    let book = Recordings::new(vec![answered(get("/a"), "x")], Noise::default());
    for path in ["/b", "/c", "/b", "/b"] {
        assert!(book.find(&get(path)).is_err());
    }
    let report = book.report();
    let told: Vec<_> = report
        .missed
        .iter()
        .map(|miss| (miss.asked.as_str(), miss.times))
        .collect();
    assert_eq!(
        told,
        [("GET http://shop:80/b", 3), ("GET http://shop:80/c", 1)]
    );
    assert_eq!(report.missed_count, 4);
}

#[test]
fn miss_reports_tls_difference() {
    let encrypted = Exchange {
        tls: true,
        ..answered(get("/a"), "x")
    };
    let named = Recording {
        named: true,
        ..Recording::number(vec![encrypted.clone()]).remove(0)
    };
    let told = |book: Recordings, asked: &Exchange| {
        book.find(asked).unwrap_err().closest.unwrap().differences
    };
    let again = "this call was not recorded: record the program again";
    let plain = "encryption: recorded yes, asked no";
    assert_eq!(
        told(
            Recordings::new(vec![encrypted.clone()], Noise::default()),
            &get("/a")
        ),
        [plain, again]
    );
    let path = "path: recorded `/a`, asked `/b`";
    assert_eq!(
        told(
            Recordings::of(vec![named], Noise::default(), Secrets::default()),
            &get("/b")
        ),
        [path, again]
    );
    let asked = Exchange {
        tls: true,
        ..get("/b")
    };
    assert_eq!(
        told(Recordings::new(vec![encrypted], Noise::default()), &asked),
        [path, again]
    );
}

#[test]
fn miss_on_replayed_connection_explains_no_forwarding() {
    let recorded = wire(Protocol::Redis, b"PING\r\n", b"+PONG\r\n", false);
    let book = Recordings::new(vec![recorded], Noise::default()).passing_on(true);
    let miss = book
        .find(&wire(Protocol::Redis, b"GET a\r\n", b"", false))
        .unwrap_err();
    assert_eq!(
        miss.to_string(),
        "Redis db:5432 GET a: no recording of this call; the connection is answered from the \
         recording, so the call did not go to the real server; the closest is `mock-1`\n  message \
         1: recorded `PING`, asked `GET a`\n  this call was not recorded: record the program again"
    );
    assert!(!book.find(&get("/a")).unwrap_err().bound);
    let target = Target {
        host: "db".to_owned(),
        port: 5432,
    };
    book.forwarded(&target);
    let told = book.report().missed.last().unwrap().to_string();
    assert_eq!(
        told,
        "a connection to db:5432: this target was not recorded, so the call went to the real \
         server"
    );
}

#[test]
fn several_secrets_in_one_field_select_answer() {
    type Make<'a> = &'a dyn Fn(&str) -> Exchange;
    let form = |pairs: &str| {
        let mut call = post(pairs);
        http(&mut call).request.headers = vec![(
            "content-type".to_owned(),
            b"application/x-www-form-urlencoded".to_vec(),
        )];
        call
    };
    let ways: [Make<'_>; 7] = [
        &|who| get(&format!("/bot123456:AA{who:-<33}/sendMessage?chat_id=1")),
        &|who| post(&format!(r#"{{"access_token":"{who}","q":1}}"#)),
        &|who| post(&format!(r#"{{"password":"{who}","client_secret":"same"}}"#)),
        &|who| get(&format!("/me?access_token={who}")),
        &|who| get(&format!("/me?api_key={who}&sig=same")),
        &|who| get(&format!("/me?user%5Bpassword%5D={who}")),
        &|who| form(&format!("user=x&password={who}")),
    ];
    for (index, way) in ways.into_iter().enumerate() {
        let kept = |names: &[&str]| {
            let mut calls: Vec<_> = names.iter().map(|who| answered(way(who), who)).collect();
            Secrets::default().calls(&mut calls);
            Recordings::new(calls, Noise::default())
        };
        let book = kept(&["alice", "bob"]);
        let missed = book.find(&way("somebody")).unwrap_err();
        let told = missed.closest.unwrap().differences;
        assert!(
            told[0].contains("recorded `") && told[0].contains("red"),
            "{index}: {told:?}"
        );
        // Secrets are not recorded, so they are not noise.
        assert!(
            told.len() == 2 && told[1].starts_with("`redacted...`"),
            "{index}: {told:?}"
        );
        assert_eq!(ask(&book, &way("bob")), Ok("bob".to_owned()), "{index}");
        assert_eq!(ask(&book, &way("alice")), Ok("alice".to_owned()), "{index}");
        // A single secret may differ in a replay.
        assert_eq!(
            ask(&kept(&["alice"]), &way("somebody")),
            Ok("alice".to_owned()),
            "{index}"
        );
    }
}

#[test]
fn per_request_signatures_do_not_select_answer() {
    let by = |fields: [(&str, &str); 2], answer: &str| {
        let mut call = answered(get("/me"), answer);
        let fields = fields.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
        http(&mut call).request.headers.extend(fields);
        call
    };
    let signed = |n: &str, answer: &str| {
        let n = &format!("v0={n}a2114d57b48eac39b9ad189dd8316235");
        let scheme = format!("AWS4-HMAC-SHA256 Signature={n}");
        by(
            [("Authorization", &scheme), ("X-Slack-Signature", n)],
            answer,
        )
    };
    let book = Recordings::new(
        vec![signed("1", "one"), signed("2", "two")],
        Noise::default(),
    );
    assert_eq!(ask(&book, &signed("3", "")), Ok("one".to_owned()));
    assert_eq!(ask(&book, &signed("4", "")), Ok("two".to_owned()));
}
