//! Connections of a pool, which are handed out in any order.

use pretty_assertions::assert_eq;

use super::*;

type Step = (Vec<u8>, Vec<u8>);

fn says(text: &str) -> Step {
    (query(text), ok(1, 2))
}

fn reads(text: &str, answer: u8) -> Step {
    (query(text), value(answer))
}

fn kept(steps: &[Step]) -> Vec<Exchange> {
    let said: Vec<Said> = steps.iter().flat_map(|(asked, answer)| [client(asked), server(answer)]).collect();
    recorded(0, &said).calls
}

fn answers(played: &mut Played, steps: &[&Step]) {
    for (asked, answer) in steps {
        let got = played.ask(asked);
        assert_eq!(got.escape_ascii().to_string(), answer.escape_ascii().to_string(), "{}", asked.escape_ascii());
    }
}

/// Another connection of the same book.
pub(super) fn another(book: &std::sync::Arc<crate::record::book::Book>) -> Played {
    let mut played = Played::new(Protocol::MySql, book);
    played.open();
    played.ask(hello(CAPABILITIES, 1));
    played
}

#[test]
fn what_was_before_does_not_matter_to_what_sets_it() {
    let set = |who: char| says(&format!("SET @tenant = '{who}'"));
    let read = |who: u8| reads("SELECT v FROM t WHERE tenant = @tenant", who);
    let (a, b) = ([set('a'), read(b'a')], [set('b'), read(b'b')]);
    let (book, mut played) = connected(&kept(&[a.clone(), b.clone(), a.clone(), b.clone()].concat()), 0);
    answers(&mut played, &[&b[0], &b[1], &b[0], &b[1], &a[0], &a[1]]);
    answers(&mut another(&book), &[&a[0], &a[1]]);
    assert_eq!(book.report().missed, []);
}

#[test]
fn what_was_before_matters_to_what_reads_it() {
    let ways: [[&[&str]; 2]; 3] = [
        [&["SET @n = 1", "SET @n = @n + 1"], &["SET @n = 2", "SET @n = @n + 1"]],
        [&["SET @a = 1", "SET @n = @a"], &["SET @a = 2", "SET @n = @a"]],
        [&["SET @a = 1", "SELECT @a INTO @n"], &["SET @a = 2", "SELECT @a INTO @n"]],
    ];
    for [a, b] in ways {
        let steps = |texts: &[&str], answer| {
            texts.iter().map(|text| says(text)).chain([reads("SELECT @n", answer)]).collect::<Vec<_>>()
        };
        let (a, b) = (steps(a, b'a'), steps(b, b'b'));
        let (book, mut played) = connected(&[kept(&a), kept(&b)].concat(), 0);
        answers(&mut played, &b.iter().collect::<Vec<_>>());
        answers(&mut another(&book), &a.iter().collect::<Vec<_>>());
        assert_eq!(book.report().missed, []);
    }
    // A variable of the server that is made of itself, set by an execution, and read.
    let zone = |zone: &str, answer| [says(&format!("SET time_zone = '{zone}'")), reads("SELECT @@time_zone", answer)];
    let (a, b) = (zone("+01:00", b'a'), zone("+02:00", b'b'));
    let (book, mut played) = connected(&kept(&[a.clone(), b.clone()].concat()), 0);
    answers(&mut played, &[&b[0], &b[1], &a[0], &a[1]]);
    assert_eq!(book.report().missed, []);
}

#[test]
fn variables_that_a_view_reads() {
    const VIEW: &str = "SELECT v FROM mine";
    let ways: [[&str; 3]; 6] = [
        ["SET @tenant = 'a'", "SET @tenant = 'b'", "SET @tenant = 'c'"],
        ["CALL use_tenant('a')", "CALL use_tenant('b')", "CALL use_tenant('c')"],
        ["DO setq('a')", "DO setq('b')", "DO setq('c')"],
        ["VALUES (setq('a'))", "VALUES (setq('b'))", "VALUES (setq('c'))"],
        ["WITH x AS (SELECT setq(1)) SELECT 1 FROM x", "WITH x AS (SELECT setq(2)) SELECT 1 FROM x", "SELECT setq(3)"],
        ["EXECUTE IMMEDIATE 'SET @a=1'", "EXECUTE IMMEDIATE 'SET @a=2'", "EXECUTE IMMEDIATE 'SET @a=3'"],
    ];
    for way in ways {
        let [set_a, set_b, set_c] = way.map(says);
        let (a, b) = (reads(VIEW, b'a'), reads(VIEW, b'b'));
        let whole = [&set_a, &a, &set_b, &b, &set_a, &a, &set_c].map(Clone::clone);
        let (book, mut played) = connected(&kept(&whole), 0);
        answers(&mut played, &[&set_b, &b, &set_a, &a]);
        answers(&mut another(&book), &[&set_a, &a]);
        assert_eq!((book.report().missed, book.report().others.len()), (vec![], 0), "{way:?}");
        let (book, mut played) = connected(&kept(&whole), 0);
        answers(&mut played, &[&set_c]);
        assert_eq!(played.ask(query(VIEW)).get(4), Some(&0xff), "{way:?}");
        assert_eq!(book.report().missed_count, 1);
    }
    // What makes no difference chooses nothing, with a database or without.
    let (set_a, read) = (says("SET @a = 1"), reads(VIEW, b'a'));
    let (book, mut played) = connected(&kept(&[set_a.clone(), read.clone(), says("SET @a = 2"), read.clone()]), 0);
    answers(&mut played, &[&read, &set_a, &read]);
    assert_eq!(book.report().missed, []);
    let outcome = in_database("", &[client(&set_a.0), server(&set_a.1), client(&read.0), server(&read.1)]);
    let book = crate::record::trial::book(&outcome.calls);
    let mut played = Played::new(Protocol::MySql, &book);
    played.open();
    played.ask(login_to(""));
    answers(&mut played, &[&read]);
    assert_eq!(book.report().missed, []);
}

#[test]
fn what_an_execution_sets() {
    let prepare = (message(0, b"\x16SET time_zone = ?"), prepared(1, 0));
    let zone = |zone: u8| [(execute(1, true, zone), ok(1, 2)), reads("SELECT NOW()", zone), says("COMMIT")];
    let (a, b) = (zone(b'a'), zone(b'b'));
    let (book, mut played) = connected(&kept(&[&[prepare.clone()][..], &a, &b].concat()), 0);
    answers(&mut played, &[&prepare, &b[0], &b[1], &b[2], &a[0], &a[1], &a[2]]);
    assert_eq!(book.report().missed, []);
}

#[test]
fn the_order_of_what_sets_something_counts() {
    const VIEW: &str = "SELECT v FROM mine";
    for way in ["CALL enter('b')", "SELECT hello('b')", "SELECT json_tenant('b')"] {
        let (set, call) = (says("SET @tenant = 'a'"), says(way));
        for asked in [VIEW, "SELECT v FROM t WHERE tenant = @tenant"] {
            let (a, b) = (reads(asked, b'a'), reads(asked, b'b'));
            let first = [set.clone(), call.clone(), b.clone()];
            let second = [call.clone(), set.clone(), a.clone()];
            let (book, mut played) = connected(&[kept(&first), kept(&second)].concat(), 0);
            answers(&mut played, &second.iter().chain(&first).collect::<Vec<_>>());
            assert_eq!(book.report().missed, [], "{way} {asked}");
        }
    }
}

#[test]
fn what_was_set_in_another_order_is_told_where_something_simpler_chooses() {
    const VIEW: &str = "SELECT v FROM mine";
    let (set, call) = (says("SET @tenant = 'a'"), says("CALL enter('b')"));
    let first = [set.clone(), reads(VIEW, b'a'), call.clone(), reads(VIEW, b'b')];
    let other = says("CALL touch()");
    let second = [other.clone(), call.clone(), set.clone()];
    let others = |asked: &[&Step]| {
        let (book, mut played) = connected(&[kept(&first), kept(&second)].concat(), 0);
        answers(&mut played, asked);
        (book.report().missed, book.report().others.into_keys().collect::<Vec<_>>())
    };
    assert_eq!(others(&first.each_ref()), (vec![], vec![]));
    // What else was called does not matter.
    assert_eq!(others(&[&set, &other, &call, &reads(VIEW, b'b')]), (vec![], vec![]));
    // Whether the variable or the call counts was not recorded.
    let told = vec!["order of calls()".to_owned()];
    assert_eq!(others(&[&call, &set, &reads(VIEW, b'b')]), (vec![], told.clone()));
    // Nor where it was asked once.
    let (book, mut played) =
        connected(&[kept(&first[2..]), kept(&[set.clone(), call.clone(), reads(VIEW, b'c')])].concat(), 0);
    answers(&mut played, &[&call, &set, &reads(VIEW, b'c')]);
    assert_eq!(book.report().others.into_keys().collect::<Vec<_>>(), told);
}

#[test]
fn what_was_called_before_a_variable_was_set_does_not_matter_to_what_reads_it() {
    let set = |who: u8| says(&format!("SET @tenant = '{}'", char::from(who)));
    let read = |who: u8| reads("SELECT v FROM t WHERE tenant = @tenant", who);
    let (call, other) = (says("CALL enter('b')"), says("CALL enter('c')"));
    let recorded = [set(b'a'), read(b'a'), call.clone(), set(b'c'), read(b'c'), other.clone(), read(b'b')];
    let (book, mut played) = connected(&kept(&recorded), 0);
    answers(&mut played, &[&other, &set(b'a'), &read(b'a'), &set(b'c'), &read(b'c')]);
    let mut played = another(&book);
    answers(&mut played, &[&set(b'c')]);
    answers(&mut played, &[&call]);
    assert_eq!(played.ask(query("SELECT v FROM t WHERE tenant = @tenant")).get(4), Some(&0xff));
}

#[test]
fn the_last_of_what_sets_something_chooses_where_it_explains_the_answers() {
    const VIEW: &str = "SELECT v FROM mine";
    let set = |who: u8| says(&format!("SET @tenant = '{}'", char::from(who)));
    let call = |who: u8| says(&format!("CALL enter('{}')", char::from(who)));
    let each = |way: &dyn Fn(u8) -> Step, who: u8| [way(who), reads(VIEW, who)];
    let first = [each(&set, b'a'), each(&call, b'b'), each(&set, b'c')].concat();
    let second = [each(&set, b'b'), each(&set, b'c'), each(&call, b'a'), each(&call, b'c')].concat();
    let asked = [each(&call, b'a'), each(&set, b'b'), each(&call, b'c'), each(&set, b'a'), each(&call, b'b')].concat();
    let (book, mut played) = connected(&[kept(&first), kept(&second)].concat(), 0);
    answers(&mut played, &asked.iter().collect::<Vec<_>>());
    answers(&mut another(&book), &[each(&set, b'c'), each(&set, b'c')].concat().iter().collect::<Vec<_>>());
    assert_eq!((book.report().missed, book.report().others.len()), (vec![], 0));
}

#[test]
fn what_gives_a_variable_a_new_value_is_the_same_whatever_was_before() {
    for way in ["SET @x = ?", "SELECT ? INTO @x", "DO @x:=?", "SELECT ?, 1 INTO @x, @y"] {
        let set = |who: char| says(&way.replace('?', &format!("'{who}'")));
        let read = |who: u8| reads("SELECT v FROM t WHERE tenant = @x", who);
        let (a, b) = ([set('a'), read(b'a')], [set('b'), read(b'b')]);
        let (book, mut played) = connected(&kept(&[a.clone(), b.clone()].concat()), 0);
        answers(&mut played, &[&b[0], &b[1], &a[0], &a[1]]);
        assert_eq!(book.report().missed, [], "{way}");
    }
    // A call that came before it does not matter to it.
    let [call, set] = ["CALL enter('b')", "SET @x = 'a'"].map(says);
    let (book, mut played) = connected(&kept(&[set.clone(), call.clone()]), 0);
    answers(&mut played, &[&call, &set]);
    assert_eq!(book.report().missed, []);
}

#[test]
fn what_is_recorded_once_is_for_who_asked_it() {
    const VIEW: &str = "SELECT v FROM mine";
    let [a, b] = ["SELECT set_tenant('a')", "SELECT set_tenant('b')"].map(says);
    let (book, mut played) = connected(&kept(&[a, reads(VIEW, b'a'), b.clone()]), 0);
    answers(&mut played, &[&b]);
    assert_eq!(played.ask(query(VIEW)).get(4), Some(&0xff));
    assert_eq!(book.report().missed_count, 1);
    // A variable may be one that it does not read, which is told.
    let [a, b] = ["SET @tenant = 'a'", "SET @tenant = 'b'"].map(says);
    let (book, mut played) = connected(&kept(&[a, reads(VIEW, b'a'), b.clone()]), 0);
    answers(&mut played, &[&b, &reads(VIEW, b'a')]);
    assert_eq!(book.report().others.into_keys().collect::<Vec<_>>(), ["@tenant"]);
}
