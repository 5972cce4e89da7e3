//! Connections of a pool, which are handed out in any order.

use pretty_assertions::assert_eq;

use super::session::{ASKED, BEGIN, are_told_apart, replay, session, tells_apart};
use super::*;

/// What is asked, and what is answered.
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
    (query(text), done(tag_of(text)))
}

fn reads(answer: &str) -> Step {
    (query(ASKED), value(answer))
}

/// A statement without parameters that is prepared beforehand, by this name.
fn prepares(name: &str, text: &str) -> Step {
    ([parse(name, text), only(b'S')].concat(), [only(b'1'), ready(b'I')].concat())
}

fn runs(name: &str, given: &str, answer: &str) -> Step {
    let asked = [bind("", name, given), execute("", 0), only(b'S')].concat();
    (asked, [only(b'2'), row(answer), complete("SELECT 1"), ready(b'I')].concat())
}

/// The same where it is prepared and carried out at once.
fn runs_at_once(text: &str, given: &str, answer: &str) -> Step {
    let asked = [parse("", text), bind("", "", given), execute("", 0), only(b'S')].concat();
    (asked, [only(b'1'), only(b'2'), row(answer), complete("SELECT 1"), ready(b'I')].concat())
}

/// A book of connections.
fn kept(connections: &[&[Step]]) -> Arc<crate::record::book::Book> {
    let calls = connections.iter().flat_map(|steps| {
        let said = steps.iter().flat_map(|(asked, answer)| [client(asked), server(answer)]);
        record(Protocol::Postgres, &login().into_iter().chain(said).collect::<Vec<_>>()).calls
    });
    book(&calls.collect::<Vec<_>>())
}

/// Another connection of the book.
fn connection(book: &Arc<crate::record::book::Book>) -> Played {
    let mut played = Played::new(Protocol::Postgres, book);
    played.ask(&login()[0].1);
    played
}

/// Asks and compares what comes.
fn answers(played: &mut Played, steps: &[&Step]) {
    for (asked, answer) in steps {
        let got = played.ask(asked);
        assert_eq!(got.escape_ascii().to_string(), answer.escape_ascii().to_string(), "{}", asked.escape_ascii());
    }
}

#[test]
fn functions_that_say_nothing_of_what_they_set() {
    let ways = [
        ["SELECT * FROM use_tenant('a')", "SELECT * FROM use_tenant('b')"],
        ["SELECT use_tenant('a')", "SELECT use_tenant('b')"],
        ["SELECT login_as('a')", "SELECT login_as('b')"],
        ["SELECT r.* FROM app.setq('a') AS r(a text, b varchar(3))", "SELECT r.* FROM app.setq('b') AS r(a text)"],
        ["CALL begin_work('a')", "CALL begin_work('b')"],
    ];
    for [a, b] in ways {
        let (a, b) = ([(a, tag_of(a))], [(b, tag_of(b))]);
        tells_apart(&a, &b, ASKED);
        tells_apart(&[&[BEGIN], &a[..]].concat(), &[&[BEGIN], &b[..]].concat(), ASKED);
    }
    // One connection of the recording, two of the replay.
    let [use_a, use_b] = ["SELECT use_tenant('a')", "SELECT use_tenant('b')"].map(says);
    let (a, b) = (reads("a"), reads("b"));
    let book = kept(&[&[use_a.clone(), a.clone(), use_b.clone(), b.clone(), use_a.clone(), a.clone()]]);
    let mut played = [(); 2].map(|()| connection(&book));
    answers(&mut played[0], &[&use_b, &b]);
    answers(&mut played[1], &[&use_a, &a]);
    answers(&mut played[0], &[&use_a, &a]);
    assert_eq!(book.report().missed, []);
    assert_eq!(book.report().others.len(), 0);
}

#[test]
fn a_session_of_nobody_who_was_recorded_gets_no_rows_of_another() {
    let connections = |call: &dyn Fn(&str) -> Step, last: &str| {
        [vec![call("a"), reads("a")], vec![call("b"), reads("b")], vec![call("a"), reads(last)], vec![call("c")]]
    };
    let outcome = |call: &dyn Fn(&str) -> Step, last: &str| {
        let recorded = connections(call, last);
        let book = kept(&recorded.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let mut played = connection(&book);
        answers(&mut played, &[&call("c")]);
        let got = played.ask(query(ASKED));
        let report = book.report();
        let told: Vec<_> = report.others.keys().cloned().collect();
        let missed =
            report.missed.iter().filter_map(|miss| miss.closest.clone()).flat_map(|closest| closest.differences);
        (got.first() != Some(&b'E'), told, missed.collect::<Vec<_>>())
    };
    let tenant = |who: &str| says(&format!("SELECT use_tenant('{who}')"));
    let told = vec!["`use_tenant()`: recorded after another one on the connection".to_owned()];
    assert_eq!(outcome(&tenant, "more"), (false, vec![], told));
    let other = |who: &str| says(&format!("SELECT setq('{who}')"));
    // The old rows came back with the old call.
    let told = vec!["`setq()`: recorded after another one on the connection".to_owned()];
    assert_eq!(outcome(&other, "a"), (false, vec![], told));
    // They may have been others for other reasons, which is told.
    assert_eq!(outcome(&other, "more"), (true, vec!["setq()".to_owned()], vec![]));
}

#[test]
fn calls_that_make_no_difference_choose_nothing() {
    let pay = |number: u8| says(&format!("SELECT pay({number})"));
    let book = kept(&[&[pay(1), reads("same"), pay(2), reads("same")]]);
    let mut played = [(); 3].map(|()| connection(&book));
    answers(&mut played[0], &[&pay(1), &pay(2)]);
    answers(&mut played[1], &[&reads("same")]);
    answers(&mut played[2], &[&reads("same")]);
    assert_eq!((book.report().missed, book.report().others.len()), (vec![], 0));
    // What counts up is answered in its order, whichever connection asks.
    let book = kept(&[&[pay(1), reads("1"), pay(2), reads("2")]]);
    let mut played = [(); 2].map(|()| connection(&book));
    answers(&mut played[0], &[&pay(1), &reads("1")]);
    answers(&mut played[1], &[&pay(2)]);
    answers(&mut played[0], &[&reads("2")]);
    assert_eq!(book.report().missed, []);
    // What is taken back is no more.
    let with = [says("SELECT use_tenant('a')"), says("RESET ALL"), reads("a")];
    let book = kept(&[&with, &[says("SELECT use_tenant('b')"), reads("b")]]);
    answers(&mut connection(&book), &[&reads("a")]);
}

#[test]
fn what_was_before_does_not_matter_to_what_sets_it() {
    let bound = |who: &str| runs_at_once("SELECT set_config('app.tenant', $1::VARCHAR(9), false)", who, who);
    let ways: [&dyn Fn(&str) -> Step; 9] = [
        &|who| says(&format!("SET app.tenant = '{who}'")),
        &|who| says(&format!("SET SESSION app.tenant TO '{who}'")),
        &|who| says(&format!("SELECT set_config('app.tenant', '{who}', false)")),
        &|who| says(&format!("SELECT set_config('app.tenant', '{who}'::text, 'false') AS x")),
        &bound,
        &|who| says(&format!("SET search_path TO {who}")),
        &|who| says(&format!("SET TIME ZONE '{who}'")),
        &|who| says(&format!("SET ROLE {who}")),
        &|who| says(&format!("SET SESSION AUTHORIZATION {who}")),
    ];
    for sets in ways {
        let [a, b] = ["a", "b"].map(|who| [sets(who), reads(who)]);
        let book = kept(&[&[a.clone(), b.clone(), a.clone(), b.clone()].concat()]);
        let mut played = [(); 2].map(|()| connection(&book));
        answers(&mut played[0], &[&b[0], &b[1], &b[0], &b[1]]);
        answers(&mut played[1], &[&a[0], &a[1]]);
        answers(&mut played[0], &[&a[0], &a[1]]);
        assert_eq!(book.report().missed, []);
    }
    // Nor what else was set.
    for asked in ["BEGIN", "SET a.c = 'x'", "SET TIME ZONE 'UTC'", "SELECT set_config('a.c', 'x', true)", "COMMIT"] {
        let book = kept(&[&[says("SET app.tenant = 'a'"), says(asked)], &[says("SET app.tenant = 'b'")]]);
        answers(&mut connection(&book), &[&says("SET app.tenant = 'b'"), &says(asked)]);
        assert_eq!(book.report().missed, []);
    }
    // What is set in the same query before anything is read.
    let both = |who: &str| {
        let answer = [complete("SET"), columns(), row(who), complete("SELECT 1"), ready(b'I')].concat();
        (query(&format!("SET app.tenant = '{who}'; {ASKED}")), answer)
    };
    let book = kept(&[&[both("a"), both("b")]]);
    answers(&mut connection(&book), &[&both("b"), &both("a")]);
    assert_eq!(book.report().missed, []);
    for reset in ["RESET app.tenant", "RESET ALL", "DISCARD ALL"].map(says) {
        let book = kept(&[&[says("SET app.tenant = 'a'"), reset.clone()], &[says("SET app.tenant = 'b'")]]);
        answers(&mut connection(&book), &[&says("SET app.tenant = 'b'"), &reset]);
        assert_eq!(book.report().missed, []);
    }
}

#[test]
fn what_was_before_matters_to_what_reads_it() {
    let (one, two) = ([("SET a.b = '1'", "SET")], [("SET a.b = '2'", "SET")]);
    for asked in [
        "SELECT set_config('a.b', current_setting('a.b') || 'x', false)",
        "SELECT set_config('a.c', 'x', false), now()",
        "SELECT v FROM t; SET a.b = '3'",
        "RESET a.b; SELECT v FROM t",
    ] {
        are_told_apart(&session(&[], &one, asked, "a"), &session(&[], &two, asked, "b"));
    }
    let other = |time_zone: &str, asked: &str, answer: &str| session(&[("TimeZone", time_zone)], &[], asked, answer);
    for asked in ["RESET ALL; SELECT now()", "SET TIME ZONE DEFAULT; SELECT now()"] {
        are_told_apart(&other("UTC", asked, "a"), &other("CET", asked, "b"));
    }
    // Of what the server reports, the old value chooses where it was recorded.
    let zone = |zone: &str, is_new: bool| {
        let status = message(b'S', &[format!("TimeZone\0{zone}\0").as_bytes()]);
        let told = if is_new { status } else { Vec::new() };
        (query(&format!("SET TIME ZONE '{zone}'")), [complete("SET"), told, ready(b'I')].concat())
    };
    let book = kept(&[&[zone("UTC", false), zone("CET", true), zone("UTC", true), zone("CET", true)]]);
    let mut played = connection(&book);
    answers(&mut played, &[&zone("CET", true), &zone("UTC", true), &zone("CET", true), &zone("UTC", true)]);
    assert_eq!(book.report().missed, []);
}

#[test]
fn settings_of_a_program_do_not_matter_to_what_is_prepared() {
    const TEXT: &str = "SELECT v FROM t WHERE n = $1";
    let tenant = |who: &str| says(&format!("SELECT set_config('app.tenant', '{who}', false)"));
    let other = |who: &str| says(&format!("SELECT set_tenant('{who}')"));
    for set in [&tenant as &dyn Fn(&str) -> Step, &other] {
        let [a, b] = ["a", "b"].map(|who| runs("s", "1", who));
        let book = kept(&[&[set("a"), prepares("s", TEXT), a.clone(), set("b"), b.clone()]]);
        let mut played = [(); 2].map(|()| connection(&book));
        answers(&mut played[0], &[&set("b"), &prepares("s", TEXT), &b]);
        answers(&mut played[1], &[&set("a"), &prepares("s", TEXT), &a]);
        assert_eq!(book.report().missed, []);
    }
    // Where names are looked for may: what is refused in one place is not in another.
    let path = |who: &str| says(&format!("SET search_path TO {who}"));
    let described = |name: &str| {
        let column =
            message(b'T', &[b"\0\x01", name.as_bytes(), b"\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0"]);
        let asked = [parse("s", "SELECT * FROM t"), describe('S', "s"), only(b'S')].concat();
        (asked, [only(b'1'), message(b't', &[b"\0\0"]), column, ready(b'I')].concat())
    };
    let book = kept(&[&[path("a"), described("a")], &[path("b"), described("b")]]);
    answers(&mut connection(&book), &[&path("b"), &described("b")]);
    assert_eq!(book.report().missed, []);
    let refused = ([parse("s", "SELECT * FROM t"), only(b'S')].concat(), [error("ERROR", "t"), ready(b'I')].concat());
    let book = kept(&[&[path("a"), refused.clone(), path("b")]]);
    answers(&mut connection(&book), &[&path("b"), &path("a"), &refused, &path("b")]);
    assert!(connection(&book).ask(&refused.0).starts_with(b"E"));
    assert_eq!(book.report().missed_count, 1);
}

#[test]
fn a_statement_is_the_same_whether_it_was_prepared_beforehand_or_not() {
    const TEXT: &str = "SELECT v FROM t WHERE n = $1";
    let tenant = |who: &str| says(&format!("SET app.tenant = '{who}'"));
    let whole = [tenant("a"), runs_at_once(TEXT, "1", "a"), prepares("s", TEXT), tenant("b"), runs("s", "1", "b")];
    let book = kept(&[&whole]);
    let mut played = connection(&book);
    let changed = [prepares("s", TEXT), tenant("a"), runs("s", "1", "a"), tenant("b"), runs_at_once(TEXT, "1", "b")];
    answers(&mut played, &changed.iter().collect::<Vec<_>>());
    assert_eq!(book.report().missed, []);
}

#[test]
fn a_statement_without_parameters_is_the_same_as_a_query() {
    let unbound = message(b'B', &[b"\0s\0\0\0\0\0\0\x01\0\0"]);
    let run = |tag: &str, columns: &[u8], row: &[u8]| {
        let asked = [unbound.clone(), describe('P', ""), execute("", 0), only(b'S')].concat();
        (asked, [only(b'2'), columns.to_vec(), row.to_vec(), complete(tag), ready(b'I')].concat())
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
        let book = kept(&[recorded]);
        answers(&mut connection(&book), &asked.iter().collect::<Vec<_>>());
        assert_eq!(book.report().missed, []);
    }
}

#[test]
fn a_state_with_hints_is_no_other_state() {
    let with = session(&[], &[("SELECT pay(1)", "SELECT 1")], ASKED, "a");
    let book = book(&record(Protocol::Postgres, &with).calls);
    assert_eq!(replay(&book, &session(&[], &[], ASKED, "")), value("a"));
    let miss = session(&[], &[("SELECT pay(1)", "SELECT 1")], "SELECT v FROM t LIMIT 1", "");
    assert!(replay(&book, &miss).starts_with(b"E"));
    let differences = book.report().missed[0].closest.clone().unwrap().differences;
    assert_eq!(differences[0], "message 2: recorded `SELECT v FROM t`, asked `SELECT v FROM t LIMIT 1`");
}

/// Asks what was recorded on two connections the other way round.
fn are_swapped(a: &[Step], b: &[Step]) {
    let book = kept(&[a, b]);
    for steps in [b, a] {
        answers(&mut connection(&book), &steps.iter().collect::<Vec<_>>());
    }
    assert_eq!(book.report().missed, []);
}

#[test]
fn the_order_of_what_sets_something_counts() {
    let ways = [
        ["SELECT set_tenant('a')", "SELECT set_tenant2('b')"],
        ["SELECT hello('a')", "SELECT quark('b')"],
        ["SET app.tenant = 'a'", "SELECT set_tenant('b')"],
        ["SET app.tenant = 'a'", "SELECT hello('b')"],
        ["SET app.tenant = 'a'", "CALL enter('b')"],
    ];
    for [one, other] in ways.map(|way| way.map(says)) {
        are_swapped(&[one.clone(), other.clone(), reads("b")], &[other, one, reads("a")]);
    }
    // What sets nothing that a function could have set is set in any order.
    let [one, other] = ["SET app.tenant = 'a'", "SET app.user = 'b'"].map(says);
    let book = kept(&[&[one.clone(), other.clone(), reads("a")]]);
    answers(&mut connection(&book), &[&other, &one, &reads("a")]);
    assert_eq!(book.report().missed, []);
    // In a transaction.
    let [one, other] = ["SET LOCAL app.tenant = 'a'", "SELECT hello('b')"].map(says);
    let [begin, commit] = ["BEGIN", "COMMIT"].map(says);
    let a = [begin.clone(), one.clone(), other.clone(), reads("b"), commit.clone()];
    are_swapped(&a, &[begin, other, one, reads("a"), commit]);
}

#[test]
fn of_two_ways_to_say_who_asks_the_last_one_decides() {
    let [hello_a, hello_b] = ["a", "b"].map(|who| says(&format!("SELECT hello('{who}')")));
    let [enter_a, enter_b] = ["a", "b"].map(|who| says(&format!("CALL begin_work('{who}')")));
    let (a, b) = (reads("a"), reads("b"));
    let whole = [&hello_a, &a, &enter_b, &b, &hello_a, &a, &hello_b, &b, &enter_a, &a];
    let book = kept(&[&whole.map(Clone::clone)]);
    answers(&mut connection(&book), &[&enter_a, &a, &hello_b, &b, &enter_b, &b, &hello_a, &a]);
    assert_eq!((book.report().missed, book.report().others.len()), (vec![], 0));
}

#[test]
fn functions_that_are_called_like_those_of_the_server() {
    let names = ["to_tenant", "is_tenant", "pg_tenant", "has_login", "generate_session", "current_tenant", "get_lock"];
    for name in names {
        let [a, b] = ["a", "b"].map(|who| [says(&format!("SELECT {name}('{who}', 1)")), reads(who)]);
        are_swapped(&a, &b);
    }
}

#[test]
fn functions_that_are_called_within_something_else() {
    let ways = [
        "WITH a AS (SELECT hello('WHO')) SELECT * FROM a",
        "WITH a (x) AS (SELECT 1), b AS MATERIALIZED (SELECT hello('WHO')) SELECT * FROM b",
        "VALUES (hello('WHO'))",
        "SELECT * FROM (SELECT hello('WHO')) x",
        "EXECUTE p('WHO')",
    ];
    let prepare = (query("PREPARE p AS SELECT hello($1)"), done("PREPARE"));
    for way in ways {
        let [a, b] = ["a", "b"].map(|who| [prepare.clone(), says(&way.replace("WHO", who)), reads(who)]);
        are_swapped(&a, &b);
    }
}

#[test]
fn what_is_recorded_once_is_for_who_asked_it() {
    let outcome = |name: &str| {
        let [a, b] = ["a", "b"].map(|who| says(&format!("SELECT {name}('{who}')")));
        let book = kept(&[&[a.clone(), reads("a")], std::slice::from_ref(&b)]);
        let mut played = connection(&book);
        answers(&mut played, &[&b]);
        let is_answered = played.ask(query(ASKED)).first() != Some(&b'E');
        answers(&mut connection(&kept(&[&[a.clone(), reads("a")]])), &[&reads("a")]);
        (is_answered, book.report().others.into_keys().collect::<Vec<_>>())
    };
    assert_eq!(outcome("login_as"), (false, vec![]));
    assert_eq!(outcome("hello"), (true, vec!["hello()".to_owned()]));
    // The same where it was called in a transaction that is over.
    let outcome = |name: &str| {
        let inside = |who: &str| [says("BEGIN"), says(&format!("SELECT {name}('{who}')")), says("COMMIT")];
        let [a, b] = ["a", "b"].map(inside);
        let book = kept(&[&[&a[..], &[reads("a")]].concat(), &b]);
        let mut played = connection(&book);
        answers(&mut played, &b.iter().collect::<Vec<_>>());
        let is_answered = played.ask(query(ASKED)).first() != Some(&b'E');
        (is_answered, book.report().others.into_keys().collect::<Vec<_>>())
    };
    assert_eq!(outcome("login_as"), (false, vec![]));
    assert_eq!(outcome("hello"), (true, vec!["hello() in a transaction".to_owned()]));
}

#[test]
fn what_ends_all_of_a_kind_is_the_same_whatever_was_set() {
    let [a, b] = ["SET app.tenant = 'a'", "SET app.tenant = 'b'"].map(says);
    let [end, reset] =
        [("DEALLOCATE ALL", "DEALLOCATE ALL"), ("RESET ALL", "RESET")].map(|(text, tag)| (query(text), done(tag)));
    let book = kept(&[&[a.clone(), end.clone(), b.clone()]]);
    answers(&mut connection(&book), &[&b, &end, &a]);
    assert_eq!(book.report().missed, []);
    // What a function set is taken back as well.
    let book = kept(&[&[says("SELECT set_tenant('a')"), reset.clone(), reads("none")]]);
    answers(&mut connection(&book), &[&reads("none")]);
    assert_eq!(book.report().missed, []);
}

#[test]
fn settings_that_are_computed_are_the_same_whatever_was_before() {
    let from_table = |who: &str| {
        let text = format!("SELECT set_config('app.tenant', tenant, false) FROM login WHERE name = '{who}'");
        (query(&text), value(who))
    };
    let ways: [&dyn Fn(&str) -> Step; 4] = [
        &from_table,
        &|who| says(&format!("DO $$BEGIN PERFORM set_config('app.tenant', '{who}', false); END$$")),
        &|who| {
            says(&format!(
                "DO LANGUAGE plpgsql $x$DECLARE v text := '{who}'; BEGIN PERFORM set_config('app.tenant', v, false); END$x$"
            ))
        },
        &|who| says(&format!("WITH x AS (SELECT set_config('app.tenant', '{who}', false)) SELECT * FROM x")),
    ];
    for sets in ways {
        let [a, b] = ["a", "b"].map(|who| [sets(who), reads(who)]);
        let book = kept(&[&[a.clone(), b.clone(), a.clone(), b.clone()].concat()]);
        let mut played = [(); 2].map(|()| connection(&book));
        answers(&mut played[0], &[&b[0], &b[1], &b[0], &b[1]]);
        answers(&mut played[1], &[&a[0], &a[1], &a[0], &a[1]]);
        assert_eq!(book.report().missed, []);
    }
    // What does more, or reads another setting, is one of all that was before.
    for text in [
        "DO $$BEGIN PERFORM hello('WHO'); PERFORM set_config('app.tenant', 'x', false); END$$",
        "DO $$BEGIN EXECUTE 'SET app.other = WHO'; END$$",
        "DO $$BEGIN PERFORM set_config('app.tenant', current_setting('app.WHO'), false); END$$",
    ] {
        let same = says("DO $$BEGIN PERFORM set_config('app.tenant', 'x', false); END$$");
        let [a, b] = ["a", "b"].map(|who| [says(&text.replace("WHO", who)), same.clone(), reads(who)]);
        are_swapped(&a, &b);
    }
}
