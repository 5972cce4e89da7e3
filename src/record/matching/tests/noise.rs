//! Noise in requests to databases.

use pretty_assertions::assert_eq;

use super::databases::{call, mysql, postgres, query, redis};
use super::*;
use crate::protocol::mongo::bson::{self, Element, kind};

/// Returns `Bind` and `Execute` of a statement with these values.
fn bound(text: &str, values: &[Option<&str>]) -> Vec<Vec<u8>> {
    let value = |value: Option<&str>| {
        let length = value
            .map_or(u32::MAX, |value| value.len() as u32)
            .to_be_bytes();
        [&length[..], value.unwrap_or_default().as_bytes()].concat()
    };
    let values: Vec<Vec<u8>> = values.iter().copied().map(value).collect();
    let count = (values.len() as u16).to_be_bytes();
    let bind = postgres(
        b'B',
        &[
            b"\0",
            text.as_bytes(),
            b"\0\0\0",
            &count,
            &values.concat(),
            b"\0\0",
        ],
    );
    vec![bind, postgres(b'E', &[b"\0\0\0\0\0"])]
}

/// Returns a `find` with the filter `{NAME: id, n: n}`.
fn find(id: &str, n: i32) -> Vec<Vec<u8>> {
    let text = |text: &str| {
        [
            &(text.len() as u32 + 1).to_le_bytes()[..],
            text.as_bytes(),
            b"\0",
        ]
        .concat()
    };
    let (id, n) = (text(id), n.to_le_bytes());
    let filter = bson::document(&[
        Element {
            kind: kind::STRING,
            name: b"id",
            value: &id,
        },
        Element {
            kind: kind::INT32,
            name: b"n",
            value: &n,
        },
    ]);
    let (orders, shop) = (text("orders"), text("shop"));
    let command = bson::document(&[
        Element {
            kind: kind::STRING,
            name: b"find",
            value: &orders,
        },
        Element {
            kind: kind::DOCUMENT,
            name: b"filter",
            value: &filter,
        },
        Element {
            kind: kind::STRING,
            name: b"$db",
            value: &shop,
        },
    ]);
    let head = [command.len() as u32 + 21, 7, 0, 2013, 0]
        .map(u32::to_le_bytes)
        .concat();
    vec![[&head[..], &[0], &command].concat()]
}

fn prepared(text: &str, value: &str) -> Vec<Vec<u8>> {
    let values = [&[value.len() as u8][..], value.as_bytes()].concat();
    let execute = [&b"\x17\0\0\0\0\0\x01\0\0\0\0\x01\xfd\0"[..], &values].concat();
    vec![
        mysql(0x16, text),
        [&(execute.len() as u32).to_le_bytes()[..3], &[0], &execute].concat(),
    ]
}

/// Builds a call from a value that differs in each run, and one that does not.
type Make = fn(&str, &str) -> Vec<Vec<u8>>;

const WAYS: [(Protocol, &str, Make); 9] = [
    (Protocol::Postgres, "literal.1", |id, n| {
        vec![query(&format!("INSERT INTO t VALUES ('{id}', {n}1)"))]
    }),
    (Protocol::Postgres, "param.2", |id, n| {
        bound("INSERT INTO t VALUES ($1, $2)", &[Some(n), Some(id)])
    }),
    (Protocol::Postgres, "comment.1", |id, n| {
        vec![query(&format!("SELECT {n}1 /* trace={id} */"))]
    }),
    (Protocol::MySql, "literal.2", |id, n| {
        vec![mysql(3, &format!("SELECT '{n}', \"{id}\""))]
    }),
    (Protocol::MySql, "param.1", |id, n| {
        prepared(&format!("SELECT '{n}', ?"), id)
    }),
    (Protocol::Redis, "arg.2", |id, n| {
        vec![redis(&["SET", &format!("lock:{n}"), id, "NX"])]
    }),
    (Protocol::Redis, "arg.4", |id, n| {
        vec![redis(&["EVALSHA", "5e1", "1", n, id])]
    }),
    (Protocol::Redis, "arg.3", |id, n| {
        vec![
            redis(&["MULTI"]),
            redis(&["GET", n]),
            redis(&["SET", "a", id]),
            redis(&["EXEC"]),
        ]
    }),
    (Protocol::Mongo, "body.filter.id", |id, n| {
        find(id, i32::try_from(n.len()).unwrap())
    }),
];

fn declared(fields: &[&str], values: &[&str]) -> DeclaredNoise {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    DeclaredNoise {
        fields: texts(fields),
        values: texts(values),
    }
}

fn noise_of(of: &Exchange, declared: &DeclaredNoise) -> Noise {
    let mut noise = exact();
    noise.declare(Some(of), declared).unwrap();
    noise
}

/// Ignores only declared or learned noise.
fn exact() -> Noise {
    let mut noise = Noise::default();
    noise.exactly(true);
    noise
}

const IDS: [&str; 3] = [
    "3f1c9a52-0d6e-4a7b-9c58-1b2d3e4f5a6b",
    "b7e0d4c1-9f3a-4e2b-8d6c-0a1b2c3d4e5f",
    "c0ffee00-1234-4abc-8def-5566778899aa",
];

#[test]
fn declared_noise_ignores_only_declared_values() {
    for (protocol, field, way) in WAYS {
        let recorded = call(protocol, way(IDS[0], "a"), "one");
        let pattern = declared(&[], &["^[0-9a-f]{8}-[0-9a-f]{4}-|trace="]);
        for declared in [declared(&[field], &[]), pattern] {
            let book = || Recordings::new(vec![recorded.clone()], noise_of(&recorded, &declared));
            let asked = call(protocol, way(IDS[1], "a"), "");
            assert_eq!(
                ask(&book(), &asked),
                Ok("one".to_owned()),
                "{protocol:?} {field}"
            );
            assert!(
                book().find(&call(protocol, way(IDS[1], "bb"), "")).is_err(),
                "{protocol:?} {field}"
            );
        }
        // Without the noise it is a miss with a hint how to declare it.
        let miss = Recordings::new(vec![recorded.clone()], exact()).find(&call(
            protocol,
            way(IDS[1], "a"),
            "",
        ));
        let last = miss
            .unwrap_err()
            .closest
            .unwrap()
            .differences
            .pop()
            .unwrap();
        let expected = format!(
            "only values differ. If the program was changed, record again. If they change in each \
             run, add `noise: {{req: [{field}]}}` below `name: mock-1`, or run `replay calls \
             noise SET OTHER --write`"
        );
        assert_eq!(last, expected, "{protocol:?} {field}");
    }
}

#[test]
fn database_noise_is_learned_from_two_recordings() {
    for (protocol, field, way) in WAYS {
        let one = |id: &str| vec![call(protocol, way(id, "a"), "one")];
        let (noise, lessons) = learn(&one(IDS[0]), &one(IDS[1]));
        assert_eq!(lessons.len(), 1, "{protocol:?} {field}: {lessons:?}");
        assert_eq!(
            (lessons[0].calls, lessons[0].changes[0].field.as_str()),
            ((1, 1), field)
        );
        assert_eq!(
            noise.learned(&one(IDS[0])[0]),
            Some(learned(&[field])),
            "{protocol:?} {field}"
        );
        assert_eq!(noise.unlike(&one(IDS[0]), &one(IDS[1])), 0);
        let book = Recordings::new(one(IDS[0]), noise);
        assert_eq!(
            ask(&book, &call(protocol, way(IDS[2], "a"), "")),
            Ok("one".to_owned()),
            "{protocol:?} {field}"
        );
        // Equal values in both recordings are not noise.
        let (noise, lessons) = learn(&one(IDS[0]), &one(IDS[0]));
        assert!(noise.is_empty() && lessons.is_empty());
        // A further difference makes another call.
        let others = |id: &str, n: &str| {
            vec![
                call(protocol, way(id, "a"), ""),
                call(protocol, way(id, n), ""),
            ]
        };
        let (noise, _) = learn(&others(IDS[0], "bb"), &others(IDS[1], "ccc"));
        let book = Recordings::new(others(IDS[0], "bb"), noise);
        assert!(
            book.find(&call(protocol, way(IDS[2], "ccc"), "")).is_err(),
            "{protocol:?} {field}"
        );
    }
}

#[test]
fn exact_values_win_over_noise() {
    let way = |id: &str| bound("SELECT * FROM t WHERE id = $1", &[Some(id)]);
    let calls = [("fixed", "1"), (IDS[0], "2"), ("other", "3")];
    let calls = calls.map(|(id, answer)| call(Protocol::Postgres, way(id), answer));
    let noise = noise_of(&calls[1], &declared(&["Param.1"], &[]));
    let book = Recordings::new(calls.to_vec(), noise);
    let asked = ["other", "fixed", IDS[2], IDS[2]]
        .map(|id| ask(&book, &call(Protocol::Postgres, way(id), "")));
    let used = format!(
        "Postgres db:5432 SELECT * FROM t WHERE id = $1 {}: all 3 recordings of this call were \
         used already; record a run that makes the call more often",
        IDS[2]
    );
    assert_eq!(
        asked,
        [
            Ok("3".to_owned()),
            Ok("1".to_owned()),
            Ok("2".to_owned()),
            Err(used)
        ]
    );
    assert_eq!((book.report().unused, book.report().replayed), (vec![], 3));
}

#[test]
fn noise_does_not_match_null() {
    let way = |id: Option<&str>| call(Protocol::Postgres, bound("SELECT $1", &[id]), "one");
    let book = Recordings::new(
        vec![way(Some("a"))],
        noise_of(&way(Some("a")), &declared(&["param.1"], &[])),
    );
    let miss = book.find(&way(None)).unwrap_err().closest.unwrap();
    assert_eq!(
        miss.differences,
        [
            "message 1: recorded `SELECT $1 a`, asked `SELECT $1 NULL`",
            "this call was not recorded: record the program again"
        ]
    );
}

#[test]
fn redis_noise_applies_to_equal_other_arguments() {
    let set = |key: &str, value: &str, answer: &str| {
        call(Protocol::Redis, vec![redis(&["SET", key, value])], answer)
    };
    let calls = vec![set("lock:a", "t1", "one"), set("cart:1", "v1", "two")];
    let book = Recordings::new(
        calls.clone(),
        noise_of(&calls[0], &declared(&["arg.2"], &[])),
    );
    assert!(book.find(&set("cart:1", "v2", "")).is_err());
    assert!(book.find(&set("lock:b", "t1", "")).is_err());
    assert_eq!(ask(&book, &set("lock:a", "t2", "")), Ok("one".to_owned()));
    assert_eq!(ask(&book, &set("cart:1", "v1", "")), Ok("two".to_owned()));
    // Noise of all calls is written beside each; a call without noise gets none.
    let noise = noise_of(&calls[0], &declared(&["arg.2"], &["^t"]));
    assert_eq!(
        noise.learned(&calls[0]),
        Some(declared(&["arg.2"], &["^t"]))
    );
    assert_eq!(noise.learned(&calls[1]), None);
}

#[test]
fn shared_values_are_not_learned_as_noise() {
    let way = |id: &str| call(Protocol::Postgres, bound("SELECT $1", &[Some(id)]), "");
    let cases = [
        // Another order, a fixed value, and another number of calls.
        (vec![way("a"), way("b")], vec![way("b"), way("a")], 0),
        (
            vec![way("fixed"), way("a")],
            vec![way("fixed"), way("b")],
            1,
        ),
        (vec![way("a"), way("b")], vec![way("c")], 2),
    ];
    for (ours, theirs, unlike) in cases {
        let (noise, lessons) = learn(&ours, &theirs);
        assert!(noise.is_empty() && lessons.is_empty());
        assert_eq!(noise.unlike(&ours, &theirs), unlike);
    }
    let set = |value: &str| call(Protocol::Redis, vec![redis(&["SET", "n", value])], "");
    assert!(
        learn(&[set("1"), set("2")], &[set("2"), set("3")])
            .0
            .is_empty()
    );
}

#[test]
fn miss_by_header_hints_at_noise_declaration() {
    let of = |run: &str| {
        let mut call = answered(get("/a"), run);
        http(&mut call)
            .request
            .headers
            .push(("X-Run".to_owned(), run.as_bytes().to_vec()));
        call
    };
    let book = Recordings::new(vec![of("red fox"), of("blue owl")], Noise::default());
    let miss = book.find(&of("green elk")).unwrap_err().closest.unwrap();
    let expected = "only values differ. If the program was changed, record again. If they change \
        in each run, add `noise: {req: [header.x-run]}` below `name: mock-1`, or run `replay \
        calls noise SET OTHER --write`";
    assert_eq!(
        miss.differences,
        [
            "header.x-run: recorded `red fox`, asked `green elk`",
            expected
        ]
    );
    let noise = noise_of(&of("red fox"), &declared(&["header.x-run"], &[]));
    let book = Recordings::new(vec![of("red fox"), of("blue owl")], noise);
    assert_eq!(
        [ask(&book, &of("green elk")), ask(&book, &of("x"))],
        ["red fox", "blue owl"].map(|it| Ok(it.to_owned()))
    );
}

#[test]
fn miss_by_values_hints_at_noise_declaration() {
    let body = |id: u32, end: &str| format!(r#"{{"items":[{{"id":{id}}},{{"id":{id}}}]{end}}}"#);
    let of = |query: &str, body: String| {
        let mut call = answered(post(&body), "x");
        http(&mut call).request.path.push_str(query);
        call
    };
    let last = |asked: &Exchange| {
        let book = Recordings::new(vec![of("?t=1", body(1, ""))], Noise::default());
        book.find(asked)
            .unwrap_err()
            .closest
            .unwrap()
            .differences
            .pop()
            .unwrap()
    };
    let declare = |names: &str| {
        format!(
            "only values differ. If the program was changed, record again. If they change in each \
             run, add `noise: {{req: [{names}]}}` below `name: mock-1`, or run `replay calls \
             noise SET OTHER --write`"
        )
    };
    let asked = of("?t=2", body(2, ""));
    assert_eq!(last(&asked), declare("query.t, body.items.id"));
    let noise = noise_of(&asked, &declared(&["query.t", "body.items.id"], &[]));
    assert_eq!(
        ask(
            &Recordings::new(vec![of("?t=1", body(1, ""))], noise),
            &asked
        ),
        Ok("x".to_owned())
    );
    assert_eq!(
        last(&of("?t=1", body(2, r#","n":1"#))),
        "this call was not recorded: record the program again"
    );
}

#[test]
fn redis_noise_is_learned_per_equal_arguments() {
    let way = |words: &str| {
        call(
            Protocol::Redis,
            vec![redis(&words.split(' ').collect::<Vec<_>>())],
            "one",
        )
    };
    let ours = [
        "SET lock:a 17 NX",
        "SET lock:a 18 NX",
        "SET cart:1 v1",
        "ZADD jobs 1763866800.25 a",
    ]
    .map(way);
    let theirs = [
        "SET cart:1 v1",
        "SET lock:a 27 NX",
        "ZADD jobs 1763870411.5 a",
    ]
    .map(way);
    let (noise, lessons) = learn(&ours, &theirs);
    let told: Vec<_> = lessons
        .iter()
        .map(|lesson| (lesson.place.as_str(), lesson.calls))
        .collect();
    assert_eq!(
        told,
        [
            ("Redis db:5432 SET lock:a ? NX", (2, 1)),
            ("Redis db:5432 ZADD jobs ? a", (1, 1))
        ]
    );
    let learned_of = |at: usize| noise.learned(&ours[at]);
    assert_eq!(
        [learned_of(0), learned_of(2)],
        [Some(learned(&["arg.2"])), None]
    );
    let book = Recordings::new(ours.to_vec(), noise);
    assert_eq!(ask(&book, &way("SET lock:a 37 NX")), Ok("one".to_owned()));
    assert_eq!(
        ask(&book, &way("ZADD jobs 1763879999 a")),
        Ok("one".to_owned())
    );
    for other in [
        "SET lock:b 37 NX",
        "SET cart:1 v2",
        "ZADD jobs 1763866800.25 b",
    ] {
        assert!(book.find(&way(other)).is_err(), "{other}");
    }
}
