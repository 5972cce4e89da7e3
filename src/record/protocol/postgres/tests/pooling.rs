//! Connections of a pool, which hands them out in any order.

use pretty_assertions::assert_eq;

use super::session::{ASKED, BEGIN, tells_apart};
use super::*;

/// A request and its answer.
type Step = (Vec<u8>, Vec<u8>);

fn tag_of(text: &str) -> &'static str {
    let word = text.split(' ').next().unwrap_or_default();
    match word {
        "SET" => "SET",
        "RESET" => "RESET",
        "BEGIN" => "BEGIN",
        "COMMIT" => "COMMIT",
        "CALL" => "CALL",
        "DO" => "DO",
        _ if text == "DISCARD ALL" => "DISCARD ALL",
        _ => "SELECT 1",
    }
}

fn says(text: &str) -> Step {
    (query(text), completed(tag_of(text)))
}

fn reads(answer: &str) -> Step {
    (query(ASKED), value(answer))
}

/// Prepares a statement without parameters under this name.
fn prepares(name: &str, text: &str) -> Step {
    (
        [parse(name, text), only(b'S')].concat(),
        [only(b'1'), ready(b'I')].concat(),
    )
}

fn runs(name: &str, given: &str, answer: &str) -> Step {
    let asked = [bind("", name, given), execute("", 0), only(b'S')].concat();
    (
        asked,
        [only(b'2'), row(answer), complete("SELECT 1"), ready(b'I')].concat(),
    )
}

/// Prepares and executes a statement at once.
fn runs_at_once(text: &str, given: &str, answer: &str) -> Step {
    let asked = [
        parse("", text),
        bind("", "", given),
        execute("", 0),
        only(b'S'),
    ]
    .concat();
    (
        asked,
        [
            only(b'1'),
            only(b'2'),
            row(answer),
            complete("SELECT 1"),
            ready(b'I'),
        ]
        .concat(),
    )
}

/// Returns a book of these connections.
fn book_of(connections: &[&[Step]]) -> Arc<crate::matching::Recordings> {
    let calls = connections.iter().flat_map(|steps| {
        let said = steps
            .iter()
            .flat_map(|(asked, answer)| [client(asked), server(answer)]);
        record(
            Protocol::Postgres,
            &login().into_iter().chain(said).collect::<Vec<_>>(),
        )
        .calls
    });
    book(&calls.collect::<Vec<_>>())
}

/// Opens another connection of the book.
fn connection(book: &Arc<crate::matching::Recordings>) -> Played {
    let mut played = Played::new(Protocol::Postgres, book);
    played.ask(&login()[0].1);
    played
}

/// Sends requests and compares the answers.
fn answers(played: &mut Played, steps: &[&Step]) {
    for (asked, answer) in steps {
        let got = played.ask(asked);
        assert_eq!(
            got.escape_ascii().to_string(),
            answer.escape_ascii().to_string(),
            "{}",
            asked.escape_ascii()
        );
    }
}

#[test]
fn unnamed_setting_functions_distinguish_sessions() {
    let ways = [
        [
            "SELECT * FROM use_tenant('a')",
            "SELECT * FROM use_tenant('b')",
        ],
        ["SELECT use_tenant('a')", "SELECT use_tenant('b')"],
        ["SELECT login_as('a')", "SELECT login_as('b')"],
        [
            "SELECT r.* FROM app.setq('a') AS r(a text, b varchar(3))",
            "SELECT r.* FROM app.setq('b') AS r(a text)",
        ],
        ["CALL begin_work('a')", "CALL begin_work('b')"],
    ];
    for [a, b] in ways {
        let (a, b) = ([(a, tag_of(a))], [(b, tag_of(b))]);
        tells_apart(&a, &b, ASKED);
        tells_apart(
            &[&[BEGIN], &a[..]].concat(),
            &[&[BEGIN], &b[..]].concat(),
            ASKED,
        );
    }
    // The recording has one connection, the replay two.
    let [use_a, use_b] = ["SELECT use_tenant('a')", "SELECT use_tenant('b')"].map(says);
    let (a, b) = (reads("a"), reads("b"));
    let book = book_of(&[&[
        use_a.clone(),
        a.clone(),
        use_b.clone(),
        b.clone(),
        use_a.clone(),
        a.clone(),
    ]]);
    let mut played = [(); 2].map(|()| connection(&book));
    answers(&mut played[0], &[&use_b, &b]);
    answers(&mut played[1], &[&use_a, &a]);
    answers(&mut played[0], &[&use_a, &a]);
    assert_eq!(book.report().missed, []);
    assert_eq!(book.report().others.len(), 0);
}

#[test]
fn setting_statement_ignores_previous_state() {
    let bound = |who: &str| {
        runs_at_once(
            "SELECT set_config('app.tenant', $1::VARCHAR(9), false)",
            who,
            who,
        )
    };
    let ways: [&dyn Fn(&str) -> Step; 9] = [
        &|who| says(&format!("SET app.tenant = '{who}'")),
        &|who| says(&format!("SET SESSION app.tenant TO '{who}'")),
        &|who| says(&format!("SELECT set_config('app.tenant', '{who}', false)")),
        &|who| {
            says(&format!(
                "SELECT set_config('app.tenant', '{who}'::text, 'false') AS x"
            ))
        },
        &bound,
        &|who| says(&format!("SET search_path TO {who}")),
        &|who| says(&format!("SET TIME ZONE '{who}'")),
        &|who| says(&format!("SET ROLE {who}")),
        &|who| says(&format!("SET SESSION AUTHORIZATION {who}")),
    ];
    for sets in ways {
        let [a, b] = ["a", "b"].map(|who| [sets(who), reads(who)]);
        let book = book_of(&[&[a.clone(), b.clone(), a.clone(), b.clone()].concat()]);
        let mut played = [(); 2].map(|()| connection(&book));
        answers(&mut played[0], &[&b[0], &b[1], &b[0], &b[1]]);
        answers(&mut played[1], &[&a[0], &a[1]]);
        answers(&mut played[0], &[&a[0], &a[1]]);
        assert_eq!(book.report().missed, []);
    }
    // Other settings do not matter either.
    for asked in [
        "BEGIN",
        "SET a.c = 'x'",
        "SET TIME ZONE 'UTC'",
        "SELECT set_config('a.c', 'x', true)",
        "COMMIT",
    ] {
        let book = book_of(&[
            &[says("SET app.tenant = 'a'"), says(asked)],
            &[says("SET app.tenant = 'b'")],
        ]);
        answers(
            &mut connection(&book),
            &[&says("SET app.tenant = 'b'"), &says(asked)],
        );
        assert_eq!(book.report().missed, []);
    }
    // A setting may precede a read in one query.
    let both = |who: &str| {
        let answer = [
            complete("SET"),
            columns(),
            row(who),
            complete("SELECT 1"),
            ready(b'I'),
        ]
        .concat();
        (query(&format!("SET app.tenant = '{who}'; {ASKED}")), answer)
    };
    let book = book_of(&[&[both("a"), both("b")]]);
    answers(&mut connection(&book), &[&both("b"), &both("a")]);
    assert_eq!(book.report().missed, []);
    for reset in ["RESET app.tenant", "RESET ALL", "DISCARD ALL"].map(says) {
        let book = book_of(&[
            &[says("SET app.tenant = 'a'"), reset.clone()],
            &[says("SET app.tenant = 'b'")],
        ]);
        answers(
            &mut connection(&book),
            &[&says("SET app.tenant = 'b'"), &reset],
        );
        assert_eq!(book.report().missed, []);
    }
}

#[test]
fn statement_matches_prepared_or_unprepared() {
    const TEXT: &str = "SELECT v FROM t WHERE n = $1";
    let tenant = |who: &str| says(&format!("SET app.tenant = '{who}'"));
    let whole = [
        tenant("a"),
        runs_at_once(TEXT, "1", "a"),
        prepares("s", TEXT),
        tenant("b"),
        runs("s", "1", "b"),
    ];
    let book = book_of(&[&whole]);
    let mut played = connection(&book);
    let changed = [
        prepares("s", TEXT),
        tenant("a"),
        runs("s", "1", "a"),
        tenant("b"),
        runs_at_once(TEXT, "1", "b"),
    ];
    answers(&mut played, &changed.iter().collect::<Vec<_>>());
    assert_eq!(book.report().missed, []);
}

#[test]
fn statement_without_parameters_matches_simple_query() {
    let unbound = message(b'B', &[b"\0s\0\0\0\0\0\0\x01\0\0"]);
    let run = |tag: &str, columns: &[u8], row: &[u8]| {
        let asked = [
            unbound.clone(),
            describe('P', ""),
            execute("", 0),
            only(b'S'),
        ]
        .concat();
        (
            asked,
            [
                only(b'2'),
                columns.to_vec(),
                row.to_vec(),
                complete(tag),
                ready(b'I'),
            ]
            .concat(),
        )
    };
    let set = "SET app.tenant = 'a'";
    let ended = || (message(b'C', &[b"Ss\0"]), only(b'3'));
    let simple = [says(set), reads("a")];
    let prepared = [
        prepares("s", set),
        run("SET", &only(b'n'), b""),
        ended(),
        prepares("s", ASKED),
        run("SELECT 1", &columns(), &row("a")),
        ended(),
    ];
    for (recorded, asked) in [(&simple[..], &prepared[..]), (&prepared, &simple)] {
        let book = book_of(&[recorded]);
        answers(&mut connection(&book), &asked.iter().collect::<Vec<_>>());
        assert_eq!(book.report().missed, []);
    }
}

#[test]
fn reset_statements_ignore_previous_state() {
    let [a, b] = ["SET app.tenant = 'a'", "SET app.tenant = 'b'"].map(says);
    let [end, reset] = [("DEALLOCATE ALL", "DEALLOCATE ALL"), ("RESET ALL", "RESET")]
        .map(|(text, tag)| (query(text), completed(tag)));
    let book = book_of(&[&[a.clone(), end.clone(), b.clone()]]);
    answers(&mut connection(&book), &[&b, &end, &a]);
    assert_eq!(book.report().missed, []);
    // Settings from functions are reset too.
    let book = book_of(&[&[says("SELECT set_tenant('a')"), reset.clone(), reads("none")]]);
    answers(&mut connection(&book), &[&reads("none")]);
    assert_eq!(book.report().missed, []);
}
