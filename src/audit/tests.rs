//! Tests of tampered chains and torn files.
#![expect(clippy::disallowed_methods, reason = "tests lay out files")]

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use replay_mcp::sessions::Observer as _;
use serde_json::json;

use super::chain::Head;
use super::log::WallStatus;
use super::verify::{Fault, LogSummary, verify};
use super::*;
use crate::cli::CallFilter;

fn plain() -> Hasher {
    Hasher::new(None)
}

/// A log with this number of lines.
fn log(lines: usize, hasher: &Hasher) -> Vec<String> {
    let mut head = Head::default();
    let mut all = Vec::new();
    for number in 0..lines {
        let members = match number {
            0 => r#""at":"2026-01-01T00:00:00.000000Z","event":"start""#.to_owned(),
            _ => format!(
                r#""at":"2026-01-01T00:00:{number:02}.000000Z","event":"call","client":"c{}","tool":"t","outcome":"ok","duration_us":1500,"arguments":{{"n":{number}}},"paths":[{{"path":"/w/d{number}/f","access":"read"}}]"#,
                number % 2
            ),
        };
        let (line, next) = head.line(&members, hasher);
        all.push(line);
        head = next;
    }
    all
}

fn verify_text(text: &str, head: Option<&str>) -> Result<LogSummary, Fault> {
    verify(&mut text.as_bytes(), &plain(), head).unwrap()
}

fn fault(lines: &[String]) -> (u64, String) {
    let Fault { line, what } = verify_text(&lines.concat(), None).unwrap_err();
    (line, what)
}

#[test]
fn verify_counts_lines_of_intact_log() {
    let lines = log(4, &plain());
    let whole = verify_text(&lines.concat(), None).unwrap();
    let hash = |line: &str| line[line.len() - 67..line.len() - 3].to_owned();
    let head = Head {
        seq: 4,
        hash: hash(&lines[3]),
    };
    let span = Some((
        "2026-01-01T00:00:00.000000Z".to_owned(),
        "2026-01-01T00:00:03.000000Z".to_owned(),
    ));
    assert_eq!(
        whole,
        LogSummary {
            lines: 4,
            calls: 3,
            starts: 1,
            span,
            head,
            ..LogSummary::default()
        }
    );
    assert_eq!(
        verify_text(&lines.concat(), Some(&hash(&lines[2])))
            .unwrap()
            .known,
        Some(3)
    );
    let cut = verify_text(&lines[..3].concat(), Some(&hash(&lines[3]))).unwrap_err();
    assert_eq!(cut.line, 4);
    let keyed = Hasher::new(Some(b"0123456789abcdef"));
    let lines = log(2, &keyed).concat();
    assert!(verify(&mut lines.as_bytes(), &keyed, None).unwrap().is_ok());
    assert_eq!(verify_text(&lines, None).unwrap_err().line, 1);
}

#[test]
fn verify_explains_each_kind_of_tampering() {
    let lines = log(6, &plain());
    let with = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        fault(&lines)
    };
    let told = [
        with(&|lines| lines[2] = lines[2].replace("\"n\":2", "\"n\":3")),
        with(&|lines| drop(lines.remove(3))),
        with(&|lines| drop(lines.drain(2..4))),
        with(&|lines| drop(lines.remove(0))),
        with(&|lines| lines.swap(2, 3)),
        with(&|lines| lines.insert(3, lines[1].clone())),
        with(&|lines| lines.insert(3, "{\"event\":\"call\"}\n".to_owned())),
        with(&|lines| {
            lines[2] = Head {
                seq: 2,
                hash: link(&lines[1]),
            }
            .line("\"at\":\"\",\"event\":\"call\"", &plain())
            .0;
        }),
        with(&|lines| lines[5].truncate(20)),
    ];
    let told = told.map(|(line, what)| {
        (
            line,
            what.split_once(':')
                .map_or(what.clone(), |(start, _)| start.to_owned()),
        )
    });
    let expected = [
        (3, "its hash is not that of its content"),
        (4, "it is number 5"),
        (3, "it is number 5"),
        (1, "it is number 2"),
        (
            3,
            "it is number 4, where 3 was expected, which is further down",
        ),
        (4, "it is number 2 again, where 4 was expected"),
        (4, "it is not a line of an audit log"),
        (4, "number 4 does not follow the line before it"),
        (6, "it is torn"),
    ];
    assert_eq!(told, expected.map(|(line, what)| (line, what.to_owned())));
}

/// The hash of a line.
fn link(line: &str) -> String {
    line[line.len() - 67..line.len() - 3].to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn verify_finds_any_single_change(lines in 2_usize..9, kind in 0..5, one in 0_usize..64, other in 0_usize..64, byte in 0_usize..4096, new in any::<u8>()) {
        let whole = log(lines, &plain());
        let (one, other) = (one % lines, other % lines);
        let mut changed = whole.clone();
        match kind {
            0 => {
                let mut bytes = changed.concat().into_bytes();
                let at = byte % bytes.len();
                prop_assume!(bytes[at] != new);
                bytes[at] = new;
                prop_assert!(verify(&mut &bytes[..], &plain(), Some(&link(&whole[lines - 1]))).unwrap().is_err());
                return Ok(());
            }
            1 => drop(changed.remove(one)),
            2 => changed.swap(one, other),
            3 => changed.insert(one, whole[other].clone()),
            _ => changed[one] = whole[other].clone(),
        }
        prop_assume!(changed != whole);
        prop_assert!(verify_text(&changed.concat(), Some(&link(&whole[lines - 1]))).is_err());
    }
}

fn opened(path: &Path) -> Result<AuditLog> {
    AuditLog::open(path, None, plain(), None)
}

#[test]
fn log_continues_after_torn_line() {
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("log");
    let write = |count: usize| {
        let log = opened(&path).unwrap();
        (0..count).for_each(|n| {
            log.write(&json!({"at": "2026-01-01T00:00:00Z", "event": "call", "n": n}))
                .unwrap();
        });
        log.standing()
    };
    let before = write(2);
    assert_eq!(
        (before.lines, before.bytes),
        (2, std::fs::metadata(&path).unwrap().len())
    );
    let text = std::fs::read_to_string(&path).unwrap();
    for (cut, torn, calls) in [
        (text.len() - 1, 0, 3),
        (text.len() - 30, 1, 2),
        (text.len() / 2 + 5, 1, 2),
        (10, 1, 1),
    ] {
        std::fs::write(&path, &text[..cut]).unwrap();
        write(1);
        let whole = verify_text(&std::fs::read_to_string(&path).unwrap(), None).unwrap();
        assert_eq!(
            (whole.torn, whole.lines, whole.calls),
            (torn, torn + calls, calls),
            "{cut}"
        );
        let again = std::fs::read_to_string(&path)
            .unwrap()
            .replacen("\"seq\":1", "\"seq\":9", 1);
        assert!(verify_text(&again, None).is_err());
    }
    std::fs::write(&path, text.replace("\"n\":1", "\"n\":7")).unwrap();
    let refused = format!("{:#}", opened(&path).err().unwrap());
    assert!(
        refused
            .starts_with("its last line cannot be continued: its hash is not that of its content"),
        "{refused}"
    );
    std::fs::write(&path, "something else\n").unwrap();
    assert!(opened(&path).is_err());
    std::fs::write(&path, "no newline").unwrap();
    assert!(opened(&path).is_err());
}

#[test]
fn open_refuses_locked_or_linked_file() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let first = opened(&at("log")).unwrap();
    let said = |path: &Path| format!("{:#}", opened(path).err().unwrap());
    assert_eq!(
        said(&at("log")),
        "another server writes to it; give each server its own file"
    );
    drop(first);
    opened(&at("log")).unwrap();
    std::os::unix::fs::symlink(at("log"), at("link")).unwrap();
    assert_eq!(
        said(&at("link")),
        "it is a symbolic link; give the file itself"
    );
    std::fs::hard_link(at("log"), at("name")).unwrap();
    assert!(said(&at("log")).starts_with("it has 2 names (hard links)"));
    std::fs::create_dir(at("dir")).unwrap();
    assert!(said(&at("dir")).starts_with("it cannot be opened"));
    let mode = std::fs::metadata(at("log")).unwrap().mode() & 0o7777;
    assert_eq!(mode, 0o600);
}

#[test]
fn write_refuses_changed_or_deleted_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let log = opened(&path).unwrap();
    let event = json!({"at": "", "event": "call"});
    log.write(&event).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}more")).unwrap();
    assert!(
        format!("{:#}", log.write(&event).unwrap_err()).ends_with("another program has changed it")
    );
    // The lines that could not be written follow as soon as possible.
    std::fs::write(&path, &text).unwrap();
    log.write(&event).unwrap();
    assert_eq!(log.standing().lines, 3);
    let moved = dir.path().join("log.1");
    let said = || format!("{:#}", log.write(&event).unwrap_err());
    std::fs::rename(&path, &moved).unwrap();
    assert!(said().ends_with(
        "its path leads to another file: it, or a directory above it, was moved or replaced"
    ));
    std::fs::write(&path, "").unwrap();
    assert!(said().ends_with("was moved or replaced") && !log.is_well());
    std::fs::rename(&moved, &path).unwrap();
    assert!(log.is_well());
    std::fs::hard_link(&path, &moved).unwrap();
    assert!(said().ends_with("it has got a second name (a hard link)"));
    std::fs::remove_file(&moved).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(said().ends_with("it was deleted"));
}

#[test]
fn health_check_does_not_wait_for_calls() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let log = opened(&path).unwrap();
    log.write(&json!({"at": "", "event": "call"})).unwrap();
    let standing = log.standing();
    std::thread::scope(|scope| {
        let writing = log.hold();
        let asked = scope.spawn(|| (log.is_well(), log.standing()));
        assert_eq!(asked.join().unwrap(), (true, standing.clone()));
        drop(writing);
    });
    std::fs::remove_file(&path).unwrap();
    assert!(!log.is_well());
    let writing = log.hold();
    assert!(!log.is_well());
    drop(writing);
    assert_eq!(
        log.health(),
        Some(("audit", serde_json::to_value(standing).unwrap()))
    );
}

/// A log with these events, each with a time in `at`.
fn log_of(lines: &[serde_json::Value]) -> String {
    let mut head = Head::default();
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let mut line = line.clone();
        line["at"] = format!("2026-01-01T00:00:{number:02}.000000Z").into();
        let (line, next) = head.line(&entry::members(&line).unwrap(), &plain());
        text.push_str(&line);
        head = next;
    }
    text
}

fn table(text: &str, wanted: &CallFilter) -> (u64, String) {
    let mut out = Vec::new();
    let lines = show::show(&mut text.as_bytes(), wanted, &mut out).unwrap();
    (lines, String::from_utf8(out).unwrap())
}

#[test]
fn calls_without_end_are_reported() {
    let begin = |call: u64| json!({"event": "begin", "call": call, "client": "c", "tool": "t", "arguments": {"n": call}});
    let end = |call: u64| json!({"event": "call", "call": call, "client": "c", "tool": "t", "outcome": "ok", "arguments": {}});
    let start = json!({"event": "start"});
    let text = log_of(&[
        start.clone(),
        begin(1),
        begin(2),
        end(1),
        start,
        begin(1),
        begin(3),
        end(2),
        end(3),
    ]);
    let whole = verify_text(&text, None).unwrap();
    assert_eq!(
        (whole.lines, whole.calls, whole.starts, whole.unended),
        (9, 3, 2, 2)
    );
    let (said, good) =
        verify::report(&mut [(String::new(), text.as_bytes())], &plain(), None).unwrap();
    let first = "ok: 3 calls in 9 lines, 2 starts of servers; 2 calls have no end (the server was \
        killed, or they still run)\n";
    assert!(good && said.starts_with(first), "{said}");
    let (lines, shown) = table(&text, &CallFilter::default());
    assert_eq!(
        (lines, shown.as_str()),
        (
            7,
            "2026-01-01 00:00:00Z  -- start\n\
             2026-01-01 00:00:03Z  c        t                ok              0.0 ms  {}\n\
             2026-01-01 00:00:02Z  c        t                unended              -  {\"n\":2}\n\
             2026-01-01 00:00:04Z  -- start\n\
             2026-01-01 00:00:07Z  c        t                ok              0.0 ms  {}\n\
             2026-01-01 00:00:08Z  c        t                ok              0.0 ms  {}\n\
             2026-01-01 00:00:05Z  c        t                unended              -  {\"n\":1}\n"
        )
    );
    let unended = CallFilter {
        outcome: Some("unended".to_owned()),
        last: Some(1),
        ..CallFilter::default()
    };
    assert_eq!(
        table(&text, &unended).1,
        "2026-01-01 00:00:05Z  c        t                unended              -  {\"n\":1}\n"
    );
}

#[test]
fn verify_rejects_impossible_call_numbers() {
    let line = |event: &str, call: u64| json!({"event": event, "call": call});
    let (begin, end) = (|call| line("begin", call), |call| line("call", call));
    let said = |lines: &[serde_json::Value]| fault(&[log_of(lines)]);
    let start = json!({"event": "start"});
    assert_eq!(
        said(&[start.clone(), end(1), begin(1)]),
        (
            3,
            "call 1 begins after its end: lines were inserted, and the log was hashed again"
                .to_owned()
        )
    );
    let twice = |what: &str| {
        format!(
            "call 1 {what} a second time: a line was inserted, or a line about a start was \
             removed, and the log was hashed again"
        )
    };
    assert_eq!(
        said(&[start.clone(), begin(1), begin(2), begin(1)]),
        (4, twice("begins"))
    );
    assert_eq!(
        said(&[start.clone(), begin(1), end(1), end(2), end(1)]),
        (5, twice("ends"))
    );
    assert!(
        verify_text(
            &log_of(&[start.clone(), begin(1), end(1), start, begin(1), end(1)]),
            None
        )
        .is_ok()
    );
}

#[test]
fn chain_continues_in_next_file() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let event = json!({"at": "2026-01-01T00:00:00Z", "event": "call"});
    let write = |name: &str, previous: &str, count: usize| {
        let log = AuditLog::open(&at(name), None, plain(), Some(&at(previous))).unwrap();
        (0..count).for_each(|_| log.write(&event).unwrap());
        log.standing()
    };
    // The first file has no predecessor.
    let first = write("1", "0", 2);
    write("2", "1", 1);
    // The file is no longer new.
    let second = write("2", "0", 1);
    let third = write("3", "2", 1);
    assert_eq!([first.lines, second.lines, third.lines], [2, 5, 7]);
    let said = |names: &[&str], head: Option<&str>| {
        let text = |name: &&str| {
            (
                name.to_string(),
                std::io::Cursor::new(std::fs::read(at(name)).unwrap()),
            )
        };
        verify::report(
            &mut names.iter().map(text).collect::<Vec<_>>(),
            &plain(),
            head,
        )
        .unwrap()
    };
    let span = "from 2026-01-01T00:00:00Z to 2026-01-01T00:00:00Z\n";
    let ok = format!(
        "ok: 5 calls in 7 lines, 0 starts of servers\n{span}head {} (sha256)\n",
        third.head
    );
    assert_eq!(said(&["1", "2", "3"], None), (ok, true));
    let (text, good) = said(&["3"], None);
    let alone = format!(
        "ok: 1 call in 2 lines, 0 starts of servers\ncontinues line 5 of another file, whose last \
         hash must be {}\nfrom ",
        second.head
    );
    assert!(good && text.starts_with(&alone), "{text}");
    let (text, good) = said(&["1", "2", "3"], Some(&first.head));
    assert!(
        good && text.contains("the hash that was given is that of line 2 of the chain"),
        "{text}"
    );
    let apart = |name: &str, head: &WallStatus| {
        let text = format!(
            "{name}: line 1: it does not continue the file before, which ends with line {} and \
             hash {}\n",
            head.lines, head.head
        );
        (text, false)
    };
    assert_eq!(said(&["1", "3"], None), apart("3", &first));
    assert_eq!(said(&["2", "1"], None), apart("1", &second));
    assert_eq!(said(&["1", "2", "3"], Some(&"0".repeat(64))).1, false);
    // A torn line is followed up in its own file.
    let text = std::fs::read_to_string(at("3")).unwrap();
    std::fs::write(at("3"), &text[..text.len() - 9]).unwrap();
    let refused = AuditLog::open(&at("4"), None, plain(), Some(&at("3")))
        .err()
        .unwrap();
    assert!(
        format!("{refused:#}").contains("its last line is torn"),
        "{refused:#}"
    );
}

#[test]
fn path_filter_matches_requested_paths() {
    let call = |arguments: serde_json::Value, paths: serde_json::Value| {
        json!({"event": "call", "call": 1, "client": "c", "tool": "t", "outcome": "failed", "detail": "no_tests",
            "arguments": arguments, "paths": paths})
    };
    let grants = json!([{"client": "b", "path": "/b"}, {"client": "c", "path": "/w"}, {"client": "c", "path": "/x"}]);
    let text = log_of(&[
        json!({"event": "start", "grants": grants}),
        call(json!({"path": "/w/none"}), json!([])),
        call(
            json!({"source": "a/b", "destination": "../etc/passwd"}),
            json!([]),
        ),
        call(
            json!({"paths": ["/x/one", "two"], "content": "/w/text"}),
            json!([]),
        ),
        call(
            json!({"n": 1}),
            json!([{"path": "../etc/shadow", "access": "denied"}]),
        ),
    ]);
    let about = |path: &str| {
        let shown = table(
            &text,
            &CallFilter {
                path: Some(path.into()),
                json: true,
                ..CallFilter::default()
            },
        );
        let seqs: Vec<u64> = shown
            .1
            .lines()
            .map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"]
                    .as_u64()
                    .unwrap()
            })
            .collect();
        assert_eq!(shown.0, seqs.len() as u64);
        seqs
    };
    let asked = [
        "/w/none",
        "/w",
        "/etc",
        "/etc/passwd",
        "a",
        "/x",
        "/w/two",
        "/w/text",
        "shadow",
        "/b",
    ];
    let found: [&[u64]; 10] = [
        &[2],
        &[2, 3, 4],
        &[3, 5],
        &[3],
        &[3],
        &[4],
        &[4],
        &[],
        &[5],
        &[],
    ];
    assert_eq!(asked.map(about), found);
    let (_, shown) = table(
        &text,
        &CallFilter {
            path: Some("/w/none".into()),
            ..CallFilter::default()
        },
    );
    assert_eq!(
        shown,
        "2026-01-01 00:00:01Z  c        t                failed          0.0 ms  [no_tests] {\"path\":\"/w/none\"}\n"
    );
}

#[test]
fn table_shows_only_filtered_calls() {
    let hasher = plain();
    let mut lines = log(4, &hasher);
    let evil = json!({"at": "2026-01-01T00:00:09.000000Z", "event": "call", "client": "c", "tool": "\u{1b}[2J", "outcome": "denied",
        "duration_us": 12, "arguments": {"a": "\u{202e}x"}, "paths": []});
    lines.push(
        Head::default()
            .line(&entry::members(&evil).unwrap(), &hasher)
            .0,
    );
    lines.push("rubbish\n".to_owned());
    let text = lines.concat();
    let shown = |wanted: CallFilter| {
        let mut out = Vec::new();
        show::show(&mut text.as_bytes(), &wanted, &mut out).map(|_| String::from_utf8(out).unwrap())
    };
    assert_eq!(
        shown(CallFilter::default()).unwrap(),
        "2026-01-01 00:00:00Z  -- start\n\
         2026-01-01 00:00:01Z  c1       t                ok              1.5 ms  read /w/d1/f\n\
         2026-01-01 00:00:02Z  c0       t                ok              1.5 ms  read /w/d2/f\n\
         2026-01-01 00:00:03Z  c1       t                ok              1.5 ms  read /w/d3/f\n\
         2026-01-01 00:00:09Z  c        $'\\033[2J'       denied          0.0 ms  $'{\"a\":\"\\u202ex\"}'\n\
         (line 6 cannot be read)\n"
    );
    let count = |wanted: CallFilter| {
        shown(CallFilter {
            json: true,
            ..wanted
        })
        .unwrap()
        .lines()
        .count()
    };
    let some = |text: &str| Some(text.to_owned());
    let counts = [
        count(CallFilter::default()),
        count(CallFilter {
            client: some("c1"),
            ..CallFilter::default()
        }),
        count(CallFilter {
            outcome: some("denied"),
            ..CallFilter::default()
        }),
        count(CallFilter {
            tool: some("t"),
            last: Some(2),
            ..CallFilter::default()
        }),
        count(CallFilter {
            path: Some("/w/d2".into()),
            ..CallFilter::default()
        }),
        count(CallFilter {
            path: Some("d3/f".into()),
            ..CallFilter::default()
        }),
        count(CallFilter {
            path: Some("/w/d".into()),
            ..CallFilter::default()
        }),
        count(CallFilter {
            since: some("2026-01-01T00:00:02Z"),
            ..CallFilter::default()
        }),
        count(CallFilter {
            since: some("1s"),
            ..CallFilter::default()
        }),
    ];
    assert_eq!(counts, [5, 2, 1, 2, 1, 1, 0, 3, 0]);
    assert!(
        shown(CallFilter {
            since: some("soon"),
            ..CallFilter::default()
        })
        .is_err()
    );
}
