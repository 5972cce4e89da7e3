#![expect(
    clippy::disallowed_methods,
    reason = "the folder cases lie on the disk"
)]

use replay_base::cancel::Bound;
use replay_base::limits::MAX_EDIT_PLACES;

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time limits that suffice on any machine; the cases are small.
const CALM: Options<'_> = Options {
    bound: Bound {
        deadline: None,
        cancel: None,
    },
    closest_block: Duration::from_secs(20),
    room: None,
};

fn edit_of(value: &Value) -> Edit {
    let flag = |name: &str| value[name].as_bool().unwrap_or(false);
    Edit {
        limit: value["limit"].as_u64().unwrap_or(1),
        is_regex: flag("isRegex"),
        case_insensitive: flag("caseInsensitive"),
        ..Edit::new(
            value["oldText"].as_str().expect("oldText"),
            value["newText"].as_str().unwrap_or_default(),
        )
    }
}

/// Returns the result of a case: the content, and the reply in the format of its file.
fn outcome(input: &[u8], call: &Value) -> (Vec<u8>, Value) {
    let edits: Vec<Edit> = call["edits"]
        .as_array()
        .expect("edits")
        .iter()
        .map(edit_of)
        .collect();
    match apply(input, &edits, CALM) {
        Ok(applied) => {
            let report = |edit: &EditReport| {
                json!({
                    "replacements": edit.replacements,
                    "firstLine": edit.first_line,
                    "lastLine": edit.last_line,
                    "rule": edit.rule.name(),
                })
            };
            let mut reply =
                json!({"edits": applied.per_edit.iter().map(report).collect::<Vec<_>>()});
            if call["dryRun"] == json!(true) {
                let diff = preview("/p/input", input, &applied, CALM).unwrap();
                reply["diff"] = json!(diff.unwrap_or_else(|| "(no changes)".to_owned()));
                return (input.to_vec(), reply);
            }
            (applied.content.to_vec(), reply)
        }
        Err(error) => (
            input.to_vec(),
            json!({"error": error.to_string(), "hint": error.hint()}),
        ),
    }
}

#[test]
fn edit_cases_of_testdata_match() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/edits");
    let mut cases: Vec<_> = std::fs::read_dir(&root)
        .expect("cases")
        .map(|entry| entry.expect("entry").path())
        .collect();
    cases.sort();
    assert!(cases.len() >= 45, "only {} cases", cases.len());
    let mut wrong = String::new();
    for case in cases {
        let read = |name: &str| std::fs::read(case.join(name));
        let input = read("input").expect("input");
        let call: Value =
            serde_json::from_slice(&read("call.json").expect("call.json")).expect("JSON");
        // Without its own file, the expected content is the input.
        let expected = read("expected").unwrap_or_else(|_| input.clone());
        let (bytes, reply) = outcome(&input, &call);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            let text = serde_json::to_string_pretty(&reply).expect("JSON") + "\n";
            std::fs::write(case.join("reply.json"), text).expect("reply.json");
        }
        let wanted: Value =
            serde_json::from_slice(&read("reply.json").expect("reply.json")).expect("JSON");
        let name = case.file_name().unwrap_or_default().display();
        if bytes != expected {
            let _ = writeln!(
                wrong,
                "{name}: content\n  is     {:?}\n  wanted {:?}",
                bytes.escape_ascii().to_string(),
                expected.escape_ascii().to_string()
            );
        }
        if reply != wanted {
            let _ = writeln!(wrong, "{name}: reply\n  is     {reply}\n  wanted {wanted}");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

fn applied(input: &str, edit: &Edit) -> Result<String, EditError> {
    apply(input.as_bytes(), std::slice::from_ref(edit), CALM)
        .map(|applied| String::from_utf8(applied.content.to_vec()).expect("UTF-8"))
}

/// Generates lines that repeat and differ in indent, ending and case, to exercise all rules.
fn content() -> impl Strategy<Value = String> {
    let line = ("[ \t]{0,3}", "(a|b|ab|A|é|\\{)?", "[ ]?", "(\n|\r\n|\r)");
    let line = line.prop_map(|(indent, body, tail, end)| indent + &body + &tail + &end);
    (proptest::collection::vec(line, 0..8), "[ab ]{0,3}")
        .prop_map(|(lines, last)| lines.concat() + &last)
}

fn any_edit() -> impl Strategy<Value = Edit> {
    (content(), content(), 0..3_u64, any::<bool>(), any::<bool>()).prop_map(
        |(old, new, limit, is_regex, case_insensitive)| Edit {
            limit,
            is_regex,
            case_insensitive,
            ..Edit::new(&old, &new)
        },
    )
}

proptest! {
    #[test]
    fn edit_and_reverse_edit_restore_original(text in content(), new in "[xy]{1,4}(\n[xyz]{0,2}){0,2}", from in 0..40_usize, len in 1..12_usize) {
        let text = text.replace('\r', " ");
        let from = text.floor_char_boundary(from);
        let end = text.floor_char_boundary(from + len);
        let edit = Edit::new(&text[from..end], &new);
        if let Ok(changed) = applied(&text, &edit) {
            prop_assert_eq!(applied(&changed, &Edit::new(&new, &edit.old_text)), Ok(text));
        }
    }

    #[test]
    fn crlf_file_is_edited_like_lf_file(text in content(), new in content(), from in 0..40_usize, len in 1..12_usize, limit in 0..3_u64) {
        let (text, new) = (text.replace('\r', ""), new.replace('\r', ""));
        let from = text.floor_char_boundary(from);
        let end = text.floor_char_boundary(from + len);
        let edit = Edit { limit, ..Edit::new(&text[from..end], &new) };
        // A text without line endings does not show CRLF.
        if let (Ok(changed), true) = (applied(&text, &edit), text.contains('\n')) {
            let crlf = |text: &str| text.replace('\n', "\r\n");
            prop_assert_eq!(applied(&crlf(&text), &edit), Ok(crlf(&changed)));
        }
    }

    #[test]
    fn edit_of_unique_text_keeps_surroundings(before in content(), after in content(), new in "[xy\\$1&]{0,6}") {
        let text = format!("{before}#needle#{after}");
        prop_assert_eq!(applied(&text, &Edit::new("#needle#", &new)), Ok(format!("{before}{new}{after}")));
    }

    #[test]
    fn reindented_block_is_found_and_replaced(before in content(), after in content(), indent in "[ ]{1,5}") {
        let before = before + "\n";
        let text = format!("{before}{indent}#one\n{indent}  #two\n{after}");
        let edit = Edit::new("#one\n  #two\n", "#one\n  #2\n");
        // Spaces before the first line would make the exact search succeed.
        prop_assert_eq!(applied(&text, &edit), Ok(format!("{before}{indent}#one\n{indent}  #2\n{after}")));
    }

    #[test]
    fn arbitrary_edits_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..60), text in content(), edits in proptest::collection::vec(any_edit(), 1..4),
    ) {
        let _ = apply(&bytes, &edits, CALM).map_err(|error| error.hint());
        let known: Vec<Edit> = edits.iter().map(|edit| Edit { is_regex: false, ..edit.clone() }).collect();
        for edits in [&edits, &known] {
            match apply(text.as_bytes(), edits, CALM) {
                Ok(done) => {
                    prop_assert_eq!(done.per_edit.len(), edits.len());
                    let lines = replay_base::text::lines::line_at(&done.content.to_vec(), usize::MAX);
                    for report in done.per_edit {
                        prop_assert!(1 <= report.first_line && report.first_line <= report.last_line && report.last_line <= lines);
                    }
                }
                Err(error) => prop_assert!(error.to_string().ends_with("failed and the file is unchanged")),
            }
        }
    }

    #[test]
    fn edit_in_non_utf8_keeps_other_bytes(before in "[a-z àéü\n]{0,40}", after in "[a-z àéü\n]{0,40}") {
        let text = format!("{before}#needle#{after}");
        for encoding in [Encoding::UTF_16LE, Encoding::UTF_16BE] {
            let bytes = encoding::encode(&text, encoding, true).expect("Unicode");
            let wanted = encoding::encode(&format!("{before}€{after}"), encoding, true).expect("Unicode");
            let done = apply(&bytes, &[Edit::new("#needle#", "€")], CALM).expect("unique");
            prop_assert_eq!(done.content.to_vec(), wanted);
        }
    }
}

#[test]
fn passed_deadline_stops_edit() {
    let options = Options {
        bound: Bound {
            deadline: Some(Instant::now()),
            cancel: None,
        },
        ..CALM
    };
    let error = apply(b"a", &[Edit::new("a", "b")], options).unwrap_err();
    assert_eq!(
        error,
        EditError {
            index: 0,
            kind: EditErrorKind::TimedOut
        }
    );
}

#[test]
fn costly_pattern_fails() {
    // There is no match, and proving that requires more backtracking state than allowed.
    let edit = Edit {
        is_regex: true,
        ..Edit::new("^(?:(a)|bb)*$(?<!a)", "x")
    };
    let error = apply("a".repeat(1_000_000).as_bytes(), &[edit], CALM).unwrap_err();
    assert_eq!(
        error.kind,
        EditErrorKind::Pattern(replay_pattern::PatternError::TooCostly)
    );
}

#[test]
fn closest_block_of_large_file_is_found() {
    let mut text = String::new();
    for line in 0..100_000 {
        let _ = writeln!(text, "    let value_{line} = compute({line});");
    }
    let one = Edit::new("let value_77777 = compute(7);", "x");
    let error = apply(text.as_bytes(), &[one], CALM).unwrap_err();
    assert_eq!(
        error.to_string(),
        "oldText not found: the closest text is at line 77778; `edits[0]` failed and the file is unchanged"
    );
    let mut many: Vec<&str> = text.lines().skip(50_000).take(500).collect();
    many[250] = "    changed here";
    let error = apply(text.as_bytes(), &[Edit::new(&many.join("\n"), "x")], CALM).unwrap_err();
    assert_eq!(
        error.to_string(),
        "oldText not found: the closest text is at lines 50001-50500; `edits[0]` failed and the file is unchanged"
    );
    assert_eq!(
        error.hint().as_deref(),
        Some(concat!(
            "correct oldText where it differs (`-` is oldText, `+` the file):\n",
            "     let value_50000 = compute(50000);\n",
            "     let value_50249 = compute(50249);\n",
            "-    changed here\n",
            "+    let value_50250 = compute(50250);\n",
            "     let value_50251 = compute(50251);\n",
            "     let value_50499 = compute(50499);"
        ))
    );
}

#[test]
fn difference_in_long_line_shows_excerpt() {
    let text = format!("{}needle: one;{}", "x".repeat(300_000), "y".repeat(300_000));
    let error = apply(text.as_bytes(), &[Edit::new("needle: two;", "z")], CALM).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("oldText not found: the closest text is at line 1;"),
        "{error}"
    );
    let hint = error.hint().expect("a hint");
    assert!(hint.contains("needle: one;") && hint.len() < 1000, "{hint}");
}

#[test]
fn file_of_equal_lines_fails_fast() {
    let text = "}\n".repeat(10_000);
    let old = " }\n".repeat(1_000) + "} ";
    let error = apply(text.as_bytes(), &[Edit::new(&old, "x")], CALM).unwrap_err();
    let EditErrorKind::TextNotFound(cause) = error.kind else {
        panic!("{error}")
    };
    assert_eq!(
        cause.to_string(),
        "only the indentation differs at lines 1-1001"
    );
    let old = " }\n".repeat(1_000) + "}x} ";
    let error = apply(text.as_bytes(), &[Edit::new(&old, "x")], CALM).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("oldText not found: the closest text is at "),
        "{error}"
    );
}

#[test]
fn edit_with_too_many_matches_is_refused() {
    let text = "l".repeat(MAX_EDIT_PLACES + 1);
    let edit = Edit {
        limit: 0,
        ..Edit::new("l", "m")
    };
    let error = apply(
        text.as_bytes(),
        std::slice::from_ref(&edit),
        Options::default(),
    )
    .unwrap_err();
    assert_eq!((error.index, error.kind), (0, EditErrorKind::TooMany));
    assert!(
        apply(
            &text.as_bytes()[1..],
            std::slice::from_ref(&edit),
            Options::default()
        )
        .is_ok()
    );
}

#[test]
fn oversized_result_is_refused_before_allocation() {
    let (text, crlf) = ("l".repeat(1_000_000), "l\r\n".repeat(1_000_000));
    let (long, references) = ("n".repeat(2_000), "$&".repeat(2_000));
    let all = |old: &str, new: &str| Edit {
        limit: 0,
        ..Edit::new(old, new)
    };
    let cases = [
        (&text, all("l", &long)),
        (
            &text,
            Edit {
                case_insensitive: true,
                ..all("L", &long)
            },
        ),
        (
            &text,
            Edit {
                is_regex: true,
                ..all("l", &long)
            },
        ),
        (
            &text,
            Edit {
                is_regex: true,
                ..all("l+", &references)
            },
        ),
        (&crlf, all("l\n", &long)),
        (&crlf, all("l", &format!("{long}\n"))),
    ];
    for (text, edit) in cases {
        let error = apply(text.as_bytes(), &[edit], CALM).unwrap_err();
        assert_eq!(error.kind, EditErrorKind::TooLarge);
    }
}
