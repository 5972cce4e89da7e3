//! Header fields and cookies that select the answer.

use pretty_assertions::assert_eq;

use super::*;
use crate::matching::learned_noise::FieldChange;

fn answers(book: &Recordings, asked: &[Exchange]) -> Vec<Option<String>> {
    asked.iter().map(|asked| ask(book, asked).ok()).collect()
}

fn some(answers: &[&str]) -> Vec<Option<String>> {
    answers
        .iter()
        .map(|answer| Some((*answer).to_owned()).filter(|answer| !answer.is_empty()))
        .collect()
}

#[test]
fn header_with_several_recorded_values_selects_answer() {
    for name in [
        "X-Feature",
        "X-Region",
        "Accept-Encoding",
        "Cache-Control",
        "X-Scope",
        "Origin",
    ] {
        let of = |value: &str| me(&[(name, value)], value);
        let none = || me(&[], "none");
        let book = redacted_book(vec![of("a"), of("b"), none(), of("b")]);
        let asked = [of("b"), none(), of("c"), of("b"), of("a"), none()];
        assert_eq!(
            answers(&book, &asked),
            some(&["b", "none", "", "b", "a", "none"]),
            "{name}"
        );
        // Fields do not select between equal answers.
        let same = |value: &str| me(&[(name, value)], "same");
        assert_eq!(
            answers(
                &redacted_book(vec![same("a"), same("b")]),
                &[same("c"), none()]
            ),
            some(&["same", "same"]),
            "{name}"
        );
        // A single value does not matter.
        assert_eq!(
            answers(&redacted_book(vec![of("a"), of("a")]), &[of("b"), none()]),
            some(&["a", "a"]),
            "{name}"
        );
    }
}

#[test]
fn miss_reports_header_of_unrecorded_value() {
    let of = |value: &str| me(&[("X-Feature", value)], value);
    let miss = redacted_book(vec![of("a"), of("b")])
        .find(&of("c"))
        .unwrap_err();
    let hint = "only values differ. If the program was changed, record again. If they change in \
        each run, add `noise: {req: [header.x-feature]}` below `name: mock-1`, or run `replay \
        calls noise SET OTHER --write`";
    let told = |line: &str| vec![line.to_owned(), hint.to_owned()];
    assert_eq!(
        miss.closest.unwrap().differences,
        told("header.x-feature: recorded `a`, asked `c`")
    );
    let miss = redacted_book(vec![of("a"), of("b")])
        .find(&me(&[], ""))
        .unwrap_err();
    assert_eq!(
        miss.closest.unwrap().differences,
        told("header.x-feature: recorded `a`, not asked")
    );
}

#[test]
fn generated_header_values_pair_with_recorded_ones() {
    let uuid = |n: u32| format!("550e8400-e29b-41d4-a716-44665544000{n}");
    for name in ["X-Request-Id", "X-User-Id", "Idempotency-Key"] {
        let of = |n: u32| me(&[(name, &uuid(n))], &n.to_string());
        let book = redacted_book(vec![of(1), of(2), of(3)]);
        assert_eq!(
            answers(&book, &[of(7), of(3), of(8), of(9), of(7)]),
            some(&["1", "3", "2", "", "1"]),
            "{name}"
        );
        // Repeated values are repeated in a replay.
        assert_eq!(
            answers(
                &redacted_book(vec![of(1), of(2), of(1)]),
                &[of(7), of(8), of(7)]
            ),
            some(&["1", "2", "1"]),
            "{name}"
        );
    }
    let at = |n: u64, answer: &str| {
        let now = SystemTime::now();
        let secs = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_secs()
            + n;
        Exchange {
            sent_at: now,
            ..me(&[("X-Sent", &secs.to_string())], answer)
        }
    };
    assert_eq!(
        answers(
            &Recordings::new(vec![at(1, "1"), at(2, "2")], Noise::default()),
            &[at(7, ""), at(8, "")]
        ),
        some(&["1", "2"])
    );
    // Transport headers are not compared.
    let of = |n: &str| me(&[("traceparent", n), ("grpc-timeout", n), ("date", n)], n);
    assert_eq!(
        answers(&redacted_book(vec![of("1"), of("2")]), &[of("3"), of("4")]),
        some(&["1", "2"])
    );
}

#[test]
fn accept_header_does_not_hide_selecting_header() {
    let of = |role: &str, form: &str| {
        me(
            &[("X-Role", role), ("Accept", form)],
            &format!("{role} {form}"),
        )
    };
    let book = redacted_book(vec![of("admin", "text/csv"), of("user", "text/html")]);
    assert_eq!(
        answers(&book, &[of("admin", "text/html"), of("user", "text/html")]),
        some(&["", "user text/html"])
    );
    let miss = book.find(&of("user", "text/csv")).unwrap_err();
    assert_eq!(
        miss.closest.unwrap().differences[0],
        "header.x-role: recorded `admin`, asked `user`"
    );
}

#[test]
fn declared_noise_ignores_header() {
    let of = |value: &str| me(&[("X-Feature", value)], value);
    let mut noise = Noise::default();
    noise
        .declare(None, &learned(&["header.X-Feature"]))
        .unwrap();
    let book = Recordings::new(vec![of("a"), of("b")], noise);
    assert_eq!(answers(&book, &[of("c"), of("a")]), some(&["a", "b"]));
}

#[test]
fn missing_cookie_or_credential_selects_answer() {
    let cookie = |value: &str| me(&[("Cookie", &format!("sid={value}"))], "with");
    let none = || me(&[], "without");
    let (one, other) = ("0123456789abcdef-alice", "0123456789abcdef-bobby");
    let asked = [none(), cookie(other), none()];
    assert_eq!(
        answers(&redacted_book(vec![cookie(one), none()]), &asked),
        some(&["without", "with", "without"])
    );
    // The only recording answers every caller.
    assert_eq!(
        answers(&redacted_book(vec![cookie(one)]), &[none()]),
        some(&["with"])
    );
    let theme = |value: &str| me(&[("Cookie", &format!("theme={value}"))], value);
    let book = redacted_book(vec![theme("dark"), theme("light"), none()]);
    assert_eq!(
        answers(&book, &[theme("light"), theme("blue"), none()]),
        some(&["light", "", "without"])
    );
    let key = |value: &str| {
        me(
            &[("X-Api-Key", value), ("Authorization", "Bearer same")],
            "with a key",
        )
    };
    let bare = || me(&[("Authorization", "Bearer same")], "bare");
    let book = redacted_book(vec![key("one"), bare()]);
    assert_eq!(
        answers(&book, &[bare(), key("two"), key("one")]),
        some(&["bare", "with a key", "with a key"])
    );
}

#[test]
fn report_counts_calls_with_other_credential() {
    let of = |who: &str| me(&[("Authorization", &format!("Bearer {who}"))], who);
    let book = redacted_book(vec![of("alice"), of("alice"), of("alice")]);
    assert_eq!(
        answers(&book, &[of("alice"), of("eve"), of("eve")]),
        some(&["alice", "alice", "alice"])
    );
    assert_eq!(
        book.report().others,
        BTreeMap::from([("authorization".to_owned(), 2)])
    );
}

#[test]
fn selecting_headers_changing_per_run_become_noise() {
    let uuid = |n: u32| format!("550e8400-e29b-41d4-a716-44665544000{n}");
    // Fields: a number per run and half, a region per call of a half, an id per call, a value per
    // run.
    let call = |run: u32, n: u32| {
        let (half, made) = (format!("{run}-{}", n / 2), uuid(4 * (run % 2) + n));
        let of_run = run.to_string();
        let fields = [
            ("X-Half", half.as_str()),
            ("X-Region", ["eu", "us"][n as usize % 2]),
            ("X-Span", &made),
            ("X-Build", &of_run),
        ];
        me(&fields, &n.to_string())
    };
    let run = |run: u32| (0..4).map(|n| call(run, n)).collect::<Vec<_>>();
    let (noise, lessons) = learn(&run(0), &run(1));
    let change = FieldChange {
        field: "header.x-half".to_owned(),
        values: ("0-0".to_owned(), "1-0".to_owned()),
    };
    assert_eq!(
        lessons,
        [Lesson {
            place: "HTTP shop:80 GET /me".to_owned(),
            calls: (4, 4),
            changes: vec![change]
        }]
    );
    assert_eq!(
        noise.learned(&call(0, 0)),
        Some(learned(&["header.x-half"]))
    );
    let third = run(2);
    assert_eq!(
        answers(&Recordings::new(run(0), Noise::default()), &third),
        some(&["", "", "", ""])
    );
    assert_eq!(
        answers(&Recordings::new(run(0), noise), &third),
        some(&["0", "1", "2", "3"])
    );
}

/// Returns `GET PATH` with these fields.
fn at(path: &str, fields: &[(&str, &str)], answer: &str) -> Exchange {
    let mut call = me(fields, answer);
    http(&mut call).request.path = path.to_owned();
    call
}

#[test]
fn headers_that_never_repeat_leave_choice_to_order() {
    let of = |run: u32, n: u32| {
        let fields = [
            ("X-Invocation", format!("{run}-{n}")),
            ("X-Client-Telemetry", format!("took {run} {n} ms")),
        ];
        let fields = [&fields[0], &fields[1]].map(|(name, value)| (*name, value.as_str()));
        me(&fields, &n.to_string())
    };
    let run = |run: u32| [of(run, 0), of(run, 1), of(run, 2)];
    assert_eq!(
        answers(&redacted_book(run(0).to_vec()), &run(1)),
        some(&["0", "1", "2"])
    );
    // Recorded values still select.
    let [zero, one, two] = run(0);
    assert_eq!(
        answers(&redacted_book(run(0).to_vec()), &[two, zero, one]),
        some(&["2", "0", "1"])
    );
    // One field alone, which does not repeat in other calls either.
    let of = |path: &str, n: u32| at(path, &[("X-Sent", &format!("no {n}"))], &n.to_string());
    let calls = [of("/a", 0), of("/b", 1), of("/b", 2)];
    assert_eq!(
        answers(&redacted_book(calls.to_vec()), &[of("/b", 7), of("/b", 8)]),
        some(&["1", "2"])
    );
}

#[test]
fn tenant_repeated_in_other_calls_selects() {
    let of = |path: &str, who: &str, n: u32| {
        let sent = format!("no {n}");
        at(path, &[("X-Tenant", who), ("X-Sent", &sent)], who)
    };
    let calls = [of("/a", "a", 0), of("/a", "b", 1), of("/b", "a", 2)];
    let book = redacted_book(calls.to_vec());
    assert_eq!(
        answers(
            &book,
            &[of("/a", "b", 5), of("/a", "c", 6), of("/a", "a", 7)]
        ),
        some(&["b", "", "a"])
    );
}

#[test]
fn fewest_headers_that_tell_answers_apart_select() {
    // As DynamoDB is called: one body for several operations.
    let of = |what: &str, half: &str, n: u32| {
        let fields = [
            ("X-Amz-Target", what),
            ("X-Half", half),
            ("X-Invocation", &format!("no {n}")),
        ];
        me(&fields, what)
    };
    let calls = [
        of("Describe", "first", 0),
        of("Delete", "first", 1),
        of("Describe", "other", 2),
        of("Delete", "other", 3),
    ];
    assert_eq!(
        answers(
            &redacted_book(calls.to_vec()),
            &[of("Delete", "new", 7), of("Describe", "new", 8)]
        ),
        some(&["Delete", "Describe"])
    );
}

#[test]
fn times_in_headers_do_not_select() {
    let now = SystemTime::now();
    let of = |secs: u64, n: u32| {
        let at = time::OffsetDateTime::from(now + Duration::from_secs(secs));
        let (date, time) = (at.date(), at.time());
        let text = format!(
            "{:04}{:02}{:02}T{:02}{:02}{:02}Z",
            date.year(),
            u8::from(date.month()),
            date.day(),
            time.hour(),
            time.minute(),
            time.second()
        );
        Exchange {
            sent_at: now,
            ..me(&[("X-Amz-Date", &text)], &n.to_string())
        }
    };
    let book = Recordings::new(vec![of(0, 0), of(0, 1), of(1, 2)], Noise::default());
    assert_eq!(
        answers(&book, &[of(60, 0), of(60, 0), of(61, 0)]),
        some(&["0", "1", "2"])
    );
}
