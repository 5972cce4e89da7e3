//! Calls are distinguished by the state of their session.

use super::*;

pub(super) const ASKED: &str = "SELECT v FROM t";

/// Returns a connection that runs statements with these tags before a request for a value.
pub(super) fn session(
    parameters: &[(&str, &str)],
    before: &[(&str, &str)],
    asked: &str,
    answer: &str,
) -> Vec<ScriptedMessage> {
    let mut whole = login();
    whole[0] = client(startup(
        &[&[("user", "u"), ("database", "d")], parameters].concat(),
    ));
    for (text, tag) in before {
        whole.extend([client(query(text)), server(completed(tag))]);
    }
    whole.extend([client(query(asked)), server(value(answer))]);
    whole
}

/// Returns the last answer on a replayed connection.
pub(super) fn replay(
    book: &Arc<crate::matching::Recordings>,
    whole: &[ScriptedMessage],
) -> Vec<u8> {
    let mut played = Played::new(Protocol::Postgres, book);
    let asked = whole
        .iter()
        .filter(|(from, bytes)| *from == Side::Client && bytes[0] != b'p');
    asked
        .map(|(_, bytes)| played.ask(bytes))
        .last()
        .unwrap_or_default()
}

/// Records both, and replays them in reverse order.
pub(super) fn are_told_apart(a: &[ScriptedMessage], b: &[ScriptedMessage]) {
    let calls: Vec<_> = [a, b]
        .into_iter()
        .flat_map(|whole| record(Protocol::Postgres, whole).calls)
        .collect();
    let book = book(&calls);
    let expected = [b, a].map(|whole| whole.last().unwrap().1.escape_ascii().to_string());
    let got = [b, a].map(|whole| replay(&book, whole).escape_ascii().to_string());
    assert_eq!(got, expected);
    assert_eq!(book.report().missed_count, 0);
}

pub(super) fn tells_apart(a: &[(&str, &str)], b: &[(&str, &str)], asked: &str) {
    are_told_apart(&session(&[], a, asked, "a"), &session(&[], b, asked, "b"));
}

pub(super) const BEGIN: (&str, &str) = ("BEGIN", "BEGIN");

#[test]
fn settings_of_any_name_distinguish_calls() {
    let tokyo = ("SET timezone = 'Asia/Tokyo'", "SET");
    tells_apart(&[], &[tokyo], ASKED);
    tells_apart(&[("SET TIME ZONE 'UTC'", "SET")], &[tokyo], ASKED);
    tells_apart(
        &[("SET myapp.xid='a'", "SET")],
        &[("SET myapp.xid TO 'b'", "SET")],
        "SHOW myapp.xid",
    );
    let config = |text| [(text, "SELECT 1")];
    tells_apart(
        &config("SELECT set_config('myapp.xid', 'a', false)"),
        &config("SELECT set_config('myapp.xid', 'b', false)"),
        ASKED,
    );
    tells_apart(
        &config("SELECT set_config('x.y', v, false) FROM one"),
        &config("SELECT set_config('x.y', v, false) FROM two"),
        ASKED,
    );
    tells_apart(
        &[BEGIN, ("SET LOCAL a.b = 'a'", "SET")],
        &[BEGIN, ("SET LOCAL a.b = 'b'", "SET")],
        ASKED,
    );
    let plain = session(&[], &[], ASKED, "a");
    are_told_apart(
        &plain,
        &session(&[("TimeZone", "Asia/Tokyo")], &[], ASKED, "b"),
    );
    are_told_apart(
        &plain,
        &session(&[("options", "-c timezone=UTC")], &[], ASKED, "b"),
    );
}

#[test]
fn reset_settings_do_not_distinguish_calls() {
    let set = ("SET a.b = '1'", "SET");
    let local = ("SELECT set_config('a.b', '2', true)", "SELECT 1");
    let ways: [&[(&str, &str)]; 7] = [
        &[set, ("RESET a.b", "RESET")],
        &[set, ("SET a.b TO DEFAULT", "SET")],
        &[set, ("RESET ALL", "RESET")],
        &[set, ("DISCARD ALL", "DISCARD ALL")],
        &[BEGIN, set, ("ROLLBACK", "ROLLBACK")],
        &[BEGIN, local, ("COMMIT", "COMMIT")],
        &[
            BEGIN,
            ("DECLARE c CURSOR FOR SELECT 1", "DECLARE CURSOR"),
            ("COMMIT", "COMMIT"),
        ],
    ];
    for way in ways {
        let with = session(&[], way, ASKED, "a");
        let mut calls = record(Protocol::Postgres, &with).calls;
        calls.extend(record(Protocol::Postgres, &session(&[], &[], ASKED, "b")).calls);
        let book = book(&calls);
        let plain = session(
            &[("application_name", "x")],
            &[("SET lock_timeout = 1", "SET")],
            ASKED,
            "",
        );
        // Both are in the same state, so each call is served in turn. The setting itself was not
        // recorded.
        assert_eq!(replay(&book, &plain), value("a"), "{way:?}");
        assert_eq!(replay(&book, &with), value("b"), "{way:?}");
        assert_eq!(book.report().missed_count, 1);
    }
}

#[test]
fn bound_setting_values_distinguish_calls() {
    let bound = |text: &str| {
        let mut whole = session(&[], &[], ASKED, text);
        let at = whole.len() - 2;
        let set = [
            parse("", "SELECT set_config('a.b', $1, false)"),
            bind("", "", text),
            execute("", 0),
            only(b'S'),
        ];
        let answer = [
            only(b'1'),
            only(b'2'),
            row(text),
            complete("SELECT 1"),
            ready(b'I'),
        ];
        whole.splice(at..at, [client(set.concat()), server(answer.concat())]);
        whole
    };
    are_told_apart(&bound("a"), &bound("b"));
}

#[test]
fn noisy_setting_leads_to_recorded_state() {
    use crate::matching::DeclaredNoise;
    use crate::matching::{Noise, Recordings};

    let whole = |run: &str| {
        let set = format!("SELECT set_config('app.run', '{run}', true)");
        session(&[], &[BEGIN, (&set, "SELECT 1")], ASKED, "a")
    };
    let calls = record(Protocol::Postgres, &whole("one")).calls;
    let declared = DeclaredNoise {
        fields: vec!["literal.2".to_owned()],
        ..DeclaredNoise::default()
    };
    let mut noise = Noise::default();
    noise.declare(Some(&calls[2]), &declared).unwrap();
    let book = Arc::new(Recordings::new(calls, noise));
    assert_eq!(replay(&book, &whole("two")), value("a"));
    assert_eq!(book.report().missed, []);
}

#[test]
fn login_matches_with_any_application_name() {
    let named = |name: &str| session(&[("application_name", name)], &[], ASKED, "v");
    let starting = message(b'E', &[b"SFATAL\0VFATAL\0C57P03\0Mstarting up\0\0"]);
    let mut refused = record(
        Protocol::Postgres,
        &[named("worker-17")[0].clone(), server(&starting)],
    )
    .calls;
    refused.extend(record(Protocol::Postgres, &named("worker-18")).calls);
    let book = book(&refused);
    // Each is served in turn, under other names.
    assert_eq!(
        Played::new(Protocol::Postgres, &book).ask(&named("worker-19")[0].1),
        starting
    );
    assert_eq!(replay(&book, &named("worker-20")), value("v"));
    assert_eq!(book.report().missed, []);
}

#[test]
fn portal_with_noisy_values_keeps_fetching_rows() {
    use crate::matching::DeclaredNoise;
    use crate::matching::{Noise, Recordings};

    let conversation = |id: &str| {
        let first = [
            parse("s", "SELECT v FROM t WHERE id = $1"),
            bind("p", "s", id),
            execute("p", 1),
            only(b'H'),
        ];
        let whole = [
            client(first.concat()),
            server([only(b'1'), only(b'2'), row("a"), only(b's')].concat()),
            client([execute("p", 1), only(b'S')].concat()),
            server([row("b"), complete("SELECT 1"), ready(b'I')].concat()),
        ];
        login().into_iter().chain(whole).collect::<Vec<_>>()
    };
    let calls = record(Protocol::Postgres, &conversation("one")).calls;
    let declared = DeclaredNoise {
        fields: vec!["param.1".to_owned()],
        ..DeclaredNoise::default()
    };
    let mut noise = Noise::default();
    for call in &calls {
        noise.declare(Some(call), &declared).unwrap();
    }
    let book = Arc::new(Recordings::new(calls, noise));
    let expected = [row("b"), complete("SELECT 1"), ready(b'I')].concat();
    assert_eq!(replay(&book, &conversation("another")), expected);
    assert_eq!(book.report().missed, []);
}

/// Drivers send it after a rollback has dropped their prepared statements, which depends on the
/// pool and so differs between runs.
#[test]
fn deallocate_needs_no_recording() {
    let book = book(&record(Protocol::Postgres, &session(&[], &[], ASKED, "a")).calls);
    let mut played = Played::new(Protocol::Postgres, &book);
    played.ask(&login()[0].1);
    for text in ["DEALLOCATE ALL", " deallocate all; "] {
        assert_eq!(
            played.ask(query(text)),
            completed("DEALLOCATE ALL"),
            "{text}"
        );
    }
    assert_eq!(book.report().missed, []);
    assert_eq!(played.ask(query("DEALLOCATE s")), completed("DEALLOCATE"));
    assert_eq!(book.report().missed_count, 0);
}
