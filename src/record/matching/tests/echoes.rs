//! What commands of Redis are learned, and values left out that later answers repeat.

use pretty_assertions::assert_eq;
use sha1::{Digest as _, Sha1};

use super::databases::{call, query, redis};
use super::*;
use crate::text::escape::hex;

const IDS: [&str; 3] = [
    "3f1c9a52-0d6e-4a7b-9c58-1b2d3e4f5a6b",
    "b7e0d4c1-9f3a-4e2b-8d6c-0a1b2c3d4e5f",
    "c0ffee00-1234-4abc-8def-5566778899aa",
];

/// The pattern of a value that is learned by what it looks like.
pub(super) const UUID: &str = "^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$";

fn said(words: &[&str], answer: &str) -> Exchange {
    call(Protocol::Redis, vec![redis(words)], answer)
}

#[test]
fn a_lock_is_learned_however_often_it_is_tried_for() {
    let script = "return redis.call('del', KEYS[1])";
    let hash = hex(&Sha1::digest(script));
    let token = |short: &str| format!("3f1c9a52-0d6e-4a7b-9c58-1b2d3e4f{}", hex(short.as_bytes()));
    let set = |name: &str, short: &str| said(&["SET", name, &token(short), "NX", "PX", "10000"], "+OK\r\n");
    let release = |name: &str, short: &str| said(&["EVALSHA", &hash, "1", name, &token(short)], ":1\r\n");
    let sent = |name: &str, short: &str| said(&["EVAL", script, "1", name, &token(short)], ":1\r\n");
    let load = || said(&["SCRIPT", "LOAD", script], "hash");
    let ours = vec![set("a", "t1"), release("a", "t1"), load(), release("a", "t1"), set("b", "t2"), release("b", "t2")];
    let theirs =
        vec![set("b", "u2"), set("b", "u2"), set("b", "u2"), set("a", "u1"), release("b", "u2"), release("a", "u1")];
    for (ours, theirs, unlike) in [(&ours, &theirs, 1), (&theirs, &ours, 0)] {
        let (noise, lessons) = Noise::learn(ours, theirs);
        let shown: Vec<_> = lessons.iter().map(|lesson| lesson.place.as_str()).collect();
        let of = |name: &str| format!("Redis db:5432 EVALSHA {hash} 1 {name} ?");
        let first = if unlike == 1 { ["a", "b"] } else { ["b", "a"] };
        let locks = first.map(|name| format!("Redis db:5432 SET {name} ? NX PX 10000"));
        assert_eq!(shown, [of(first[0]), of(first[1]), locks[0].clone(), locks[1].clone()]);
        assert_eq!(noise.unlike(ours, theirs), unlike);
        let book = Book::new(ours.clone(), noise);
        for asked in [set("a", "x1"), release("a", "x1"), set("b", "x2"), release("b", "x2")] {
            assert!(book.find(&asked).is_ok());
        }
    }
    // A server that does not know the hash is sent the script.
    let ours = vec![release("a", "t1"), sent("a", "t1")];
    let (noise, _) = Noise::learn(&ours, &[release("a", "u1")]);
    assert_eq!(noise.unlike(&ours, &[release("a", "u1")]), 0);
    let uuid = DeclaredNoise { values: vec![UUID.to_owned()], ..DeclaredNoise::default() };
    assert_eq!(ours.iter().map(|call| noise.learned(call)).collect::<Vec<_>>(), vec![Some(uuid); 2]);
    // A value that is in both is none that is made anew.
    let ours = vec![release("a", "t1"), release("a", "t2")];
    assert!(Noise::learn(&ours, &[release("a", "u1"), release("a", "t2")]).0.is_empty());
}

#[test]
fn keys_are_learned_where_nobody_chose_what_differs() {
    let run = |id: &str, cart: &str| {
        let (job, at) = (format!("job:{id}"), format!("job:{id}:at"));
        let all: [&[&str]; 9] = [
            &["SET", &job, "x"],
            &["GET", &job],
            &["GET", &at],
            &["GET", cart],
            &["DEL", id],
            &["HGET", "jobs", id],
            &["HGET", "jobs", cart],
            &["EVALSHA", "5e1", "1", cart, id],
            &["MSET", "a", "1", cart, id],
        ];
        all.map(|words| said(words, &words.concat())).to_vec()
    };
    let (ours, theirs) = (run(IDS[0], "cart:1"), run(IDS[1], "cart:2"));
    let (noise, lessons) = Noise::learn(&ours, &theirs);
    let shown: Vec<_> = lessons.iter().map(|lesson| lesson.place.as_str()).collect();
    assert_eq!(shown, ["GET ?", "HGET jobs ?", "SET ? x"].map(|words| format!("Redis db:5432 {words}")));
    let uuid = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";
    let pattern = |text: String| Some(DeclaredNoise { fields: Vec::new(), values: vec![text], is_list: false });
    let key = pattern(format!("^job:{uuid}$"));
    let expected = [
        key.clone(),
        key,
        pattern(format!("^job:{uuid}:at$")),
        None,
        None,
        pattern(format!("^{uuid}$")),
        None,
        None,
        None,
    ];
    assert_eq!(ours.iter().map(|call| noise.learned(call)).collect::<Vec<_>>(), expected);
    assert_eq!(noise.unlike(&ours, &theirs), 5);
    let mut noise = noise;
    noise.exactly(true);
    let book = Book::new(ours.clone(), noise);
    // Each by its own pattern, whichever is asked first.
    let third = run(IDS[2], "cart:3");
    for at in [2, 1, 0, 5] {
        let Content::Wire(_, recorded) = &ours[at].content else { panic!() };
        let answer = String::from_utf8_lossy(&recorded.messages[1].bytes).into_owned();
        assert_eq!(ask(&book, &third[at]), Ok(answer));
    }
    for words in [["GET", "cart:3"], ["GET", "job:3"], ["GET", "job:one-that-somebody-chose"], ["DEL", IDS[2]]] {
        assert!(book.find(&said(&words, "")).is_err(), "{words:?}");
    }
}

fn told(calls: &[Exchange], others: &[Exchange], asked: &[Exchange]) -> Vec<(String, String)> {
    let book = Book::new(calls.to_vec(), Noise::learn(calls, others).0);
    for asked in asked {
        book.find(asked).unwrap();
    }
    book.report().repeated.into_iter().collect()
}

#[test]
fn a_value_that_another_answer_repeats_is_told() {
    let told_of = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let redis = |id: &str| vec![said(&["SET", "k", id], "+OK"), said(&["GET", "k"], &format!("$36\r\n{id}\r\n"))];
    let [ours, theirs, third] = IDS.map(redis);
    assert_eq!(told(&ours, &theirs, &third), told_of("mock-2", "arg.2 of mock-1"));
    // The program sent the recorded one.
    assert_eq!(told(&ours, &theirs, &ours), []);
    // It sent none before.
    assert_eq!(told(&ours, &theirs, &third[1..]), []);
    // It is one that a server gave it, and that it chose.
    let chosen = |id: &str| [vec![said(&["SMEMBERS", "all"], IDS[0])], redis(id)].concat();
    assert_eq!(told(&chosen(IDS[0]), &chosen(IDS[1]), &chosen(IDS[2])), []);
    let sql = |id: &str| {
        let bytes = u128::from_str_radix(&id.replace('-', ""), 16).unwrap().to_be_bytes();
        let mut row = call(Protocol::Postgres, vec![query("SELECT id FROM t")], "row");
        let Content::Wire(_, wire) = &mut row.content else { panic!() };
        wire.messages[1].bytes = bytes.to_vec();
        vec![call(Protocol::Postgres, vec![query(&format!("INSERT INTO t VALUES ('{id}')"))], "C"), row]
    };
    let [ours, theirs, third] = IDS.map(sql);
    assert_eq!(told(&ours, &theirs, &third), told_of("mock-2", "literal.1 of mock-1"));
    let http = |id: &str| {
        let body = format!("{{\"id\":\"{id}\"}}");
        vec![answered(post(&body), "made"), answered(get("/orders"), &format!("[{body}]"))]
    };
    let [ours, theirs, third] = IDS.map(http);
    assert_eq!(told(&ours, &theirs, &third), told_of("mock-2", "body.id of mock-1"));
}
