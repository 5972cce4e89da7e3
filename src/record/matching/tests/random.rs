//! Programs that generate secrets in each run, several in one.

use pretty_assertions::assert_eq;

use super::databases::{call, mysql, query, redis};
use super::*;
use crate::redact::Secrets;

/// Tokens of three runs.
const RUNS: [[&str; 2]; 3] = [
    [
        "9f86d081884c7d659a2feaa0c55ad015",
        "60303ae22b998861bce3b28f33eec1be",
    ],
    [
        "a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "4e07408562bedb8b60ce05c1decfe3ad",
    ],
    [
        "ef2d127de37b942baad06145e54b0c61",
        "2c624232cdd221771294dfbb310aca00",
    ],
];

/// Returns the calls of a run with these tokens, each with its answer.
type Run = fn(&[&str; 2]) -> Vec<Exchange>;

/// Programs with the noise that the first miss of another run suggests; `None` for placeholders of
/// secrets.
const PROGRAMS: [(&str, Option<&str>, Run); 6] = [
    ("sessions of Redis", Some("arg.1"), |tokens| {
        let of = |who: usize| {
            let (key, user) = (
                format!("session:{}", tokens[who]),
                format!(r#"{{"user":"u{who}"}}"#),
            );
            [
                call(
                    Protocol::Redis,
                    vec![redis(&["SET", &key, &user, "EX", "60"])],
                    "OK",
                ),
                call(Protocol::Redis, vec![redis(&["GET", &key])], &user),
                call(
                    Protocol::Redis,
                    vec![redis(&["DEL", &key])],
                    &who.to_string(),
                ),
            ]
        };
        [of(0), of(1)].concat()
    }),
    ("tokens in values of Redis", Some("arg.2"), |tokens| {
        let set = |who: usize| redis(&["SADD", "refresh_tokens", tokens[who]]);
        [0, 1]
            .map(|who| call(Protocol::Redis, vec![set(who)], &who.to_string()))
            .to_vec()
    }),
    ("logins of PostgreSQL", Some("literal.1"), |tokens| {
        let of = |who: usize| {
            let token = tokens[who];
            [
                call(
                    Protocol::Postgres,
                    vec![query(&format!(
                        "INSERT INTO l(token, n) VALUES ('{token}', {who})"
                    ))],
                    "1",
                ),
                call(
                    Protocol::Postgres,
                    vec![query(&format!("SELECT n FROM l WHERE token = '{token}'"))],
                    &who.to_string(),
                ),
            ]
        };
        [of(0), of(1)].concat()
    }),
    (
        "logins of MySQL, with times",
        Some("literal.1, literal.2"),
        |tokens| {
            let of = |who: usize| {
                let text = format!(
                    "INSERT INTO l(token, at) VALUES ('{}', '{}')",
                    tokens[who],
                    &tokens[who][..7]
                );
                call(Protocol::MySql, vec![mysql(3, &text)], &who.to_string())
            };
            [of(0), of(1)].to_vec()
        },
    ),
    ("JSON of HTTP", None, |tokens| {
        let body = |who: usize| format!(r#"{{"auth":{{"token":"{}"}},"n":1}}"#, tokens[who]);
        [0, 1]
            .map(|who| answered(post(&body(who)), &who.to_string()))
            .to_vec()
    }),
    ("queries and forms of HTTP", None, |tokens| {
        let of = |who: usize| {
            let mut form = answered(
                post(&format!("token={}&n=1", tokens[who])),
                &who.to_string(),
            );
            http(&mut form).request.headers[0].1 = b"application/x-www-form-urlencoded".to_vec();
            [
                answered(
                    get(&format!("/a?access_token={}", tokens[who])),
                    &who.to_string(),
                ),
                form,
            ]
        };
        [of(0), of(1)].concat()
    }),
];

#[test]
fn per_run_secrets_are_learned_as_noise() {
    for (program, field, run) in PROGRAMS {
        let answers = run(&RUNS[0])
            .iter()
            .map(|call| ask(&Recordings::new(run(&RUNS[0]), Noise::default()), call))
            .collect::<Vec<_>>();
        // Without noise another run is missed, with a hint how to declare it.
        let mut exact = Noise::default();
        exact.exactly(true);
        let book = Recordings::new(run(&RUNS[0]), exact);
        let miss = run(&RUNS[2])
            .iter()
            .find_map(|call| book.find(call).err())
            .unwrap();
        let hint = miss.closest.unwrap().differences.pop().unwrap();
        let named = hint
            .split("`noise: {req: [")
            .nth(1)
            .and_then(|rest| rest.split(']').next());
        assert_eq!(named, field, "{program}: {hint}");
        let (noise, lessons) = learn(&run(&RUNS[0]), &run(&RUNS[1]));
        for replayed in [&RUNS[2], &RUNS[0]] {
            let book = Recordings::new(run(&RUNS[0]), noise.clone());
            let given: Vec<_> = run(replayed).iter().map(|call| ask(&book, call)).collect();
            assert_eq!(given, answers, "{program}: {lessons:?}");
        }
        // Values in both recordings are not noise.
        let (noise, lessons) = learn(&run(&RUNS[0]), &run(&RUNS[0]));
        assert!(
            noise.is_empty() && lessons.is_empty(),
            "{program}: {lessons:?}"
        );
    }
}

#[test]
fn answer_tokens_are_not_learned_as_noise() {
    let run = |tokens: &[&str; 2]| {
        let of = |who: usize| {
            let token = format!(r#"{{"token":"{}"}}"#, tokens[who]);
            [
                answered(post(&format!(r#"{{"user":{who}}}"#)), &token),
                answered(post(&token), &who.to_string()),
                call(
                    Protocol::Postgres,
                    vec![query(&format!(
                        "SELECT n FROM l WHERE token = '{}'",
                        tokens[who]
                    ))],
                    "1",
                ),
            ]
        };
        let mut calls = [of(0), of(1)].concat();
        Secrets::default().calls(&mut calls);
        calls
    };
    let (noise, lessons) = learn(&run(&RUNS[0]), &run(&RUNS[1]));
    assert!(noise.is_empty() && lessons.is_empty(), "{lessons:?}");
}

#[test]
fn ignored_credential_headers_do_not_select_answer() {
    let of = |token: &str, answer: &str| {
        me(
            &[
                ("authorization", &format!("Bearer {token}")),
                ("cookie", &format!("sid={token}")),
            ],
            answer,
        )
    };
    let recorded = [of(RUNS[0][0], "one"), of(RUNS[0][1], "two")];
    assert!(
        Recordings::new(recorded.to_vec(), Noise::default())
            .find(&of(RUNS[1][0], ""))
            .is_err()
    );
    let mut noise = Noise::default();
    let fields = ["header.Authorization", "header.Cookie"]
        .map(str::to_owned)
        .to_vec();
    noise
        .declare(
            Some(&recorded[0]),
            &DeclaredNoise {
                fields,
                values: Vec::new(),
            },
        )
        .unwrap();
    let book = Recordings::new(recorded.to_vec(), noise);
    let answers = [0, 1].map(|who| ask(&book, &of(RUNS[1][who], "")));
    assert_eq!(answers, ["one", "two"].map(|answer| Ok(answer.to_owned())));
}
