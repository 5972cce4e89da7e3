use pretty_assertions::assert_eq;
use proptest::prelude::*;

use std::borrow::Cow;

use super::*;

fn states(text: &str) -> String {
    let rows: Vec<Vec<u8>> = rows(text.as_bytes(), 1)
        .into_iter()
        .map(|row| row.text)
        .collect();
    String::from_utf8(rows.join(&b'\n')).unwrap()
}

fn folded(text: &str) -> String {
    String::from_utf8(fold(text.as_bytes(), 1)).unwrap()
}

/// Reconstructs the rows from the shown ones and the number of omitted lines.
fn unfolded(rows: &[Row]) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    let mut next = 0;
    for run in runs(rows) {
        all.extend(rows[next..=run.start].iter().map(|row| row.text.clone()));
        let (first, last) = (
            fields(&rows[run.start].text),
            fields(&rows[run.end - 1].text),
        );
        let gaps = i64::try_from(run.len()).unwrap() - 1;
        let steps: Vec<i64> = steps(&first, &last)
            .unwrap()
            .into_iter()
            .map(|step| step / gaps)
            .collect();
        all.extend((1..gaps).map(|behind| expected(&first, &steps, behind).unwrap()));
        next = run.end - 1;
    }
    all.extend(rows[next..].iter().map(|row| row.text.clone()));
    all
}

#[test]
fn overwritten_line_shows_final_state() {
    for (written, shown) in [
        ("10%\r50%\rdone\nnext\n", "done\nnext\n"),
        ("10%\r50%\r", "50%"),
        ("a\r\nb\r\r\nc", "a\r\nb\r\nc"),
        ("10%\r\x1b[K\nnext", "\nnext"),
        ("10%\r\x1b[Kdone\x1b[K\n", "done\n"),
        ("10%\x1b[2K\x1b[1Gdone", "done"),
        ("|\x08/\x08-\x08\\ ok", "\\ ok"),
        ("b\x08bo\x08ol\x08ld é\x08e", "bold e"),
        // Three layers of an image, drawn again.
        (
            "a: 1%\nb: 1%\nc: 1%\n\x1b[3A\x1b[2Ka: 9%\r\x1b[1B\x1b[2Kb: 9%\r\x1b[2Bend\n",
            "a: 9%\nb: 9%\nc: 1%\nend\n",
        ),
        ("a\nb\n\x1b[2A\x1b[Jc\n", "c\n"),
        // Rows above the screen of a terminal are not reachable.
        ("a\n\x1b[99Ab\x1b[99Bc", "b\nc"),
    ] {
        assert_eq!(states(written), shown, "{written:?}");
    }
    let far = format!("first\n{}\x1b[99Aover", "x\n".repeat(30));
    assert_eq!(states(&far).lines().next(), Some("first"));
}

#[test]
fn complete_escape_sequences_are_removed() {
    for (written, shown) in [
        ("\x1b[1;31merror\x1b[0m: \x1b[38;5;9mx\x1b[m", "error: x"),
        (
            "\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\c",
            "abc",
        ),
        ("\x1b(B\x1b7a\x1b8\x1b=b\x1b[?25lc\x1b[2 qd", "abcd"),
        ("\x1b]0;no end\nerror: y", "\x1b]0;no end\nerror: y"),
        ("a\x1b", "a\x1b"),
        ("a\x1b[31", "a\x1b[31"),
        ("\x1b[3\nerror", "\x1b[3\nerror"),
    ] {
        assert_eq!(states(written), shown, "{written:?}");
    }
}

#[test]
fn evenly_counting_lines_are_folded() {
    let tests = |from: usize, to: usize| {
        (from..=to)
            .map(|n| format!("test case_{n:03} of 900 ... ok\n"))
            .collect::<Vec<_>>()
            .concat()
    };
    assert_eq!(
        folded(&format!("begin\n{}end\n", tests(8, 421))),
        "begin\ntest case_008 of 900 ... ok\n[… 412 lines like these, lines 3 to 414 …]\ntest case_421 of 900 ... ok\nend\n"
    );
    let same = "warning: the same thing again\n".repeat(50);
    assert_eq!(
        folded(&same),
        "warning: the same thing again\n[… 48 lines like these, lines 2 to 49 …]\nwarning: the same thing again\n"
    );
    // Small savings are not made.
    for short in [
        &*tests(1, 5),
        "\x1b[31mred\x1b[0m\n",
        "",
        "\n",
        "1\n2\n3\n4\n5\n",
    ] {
        assert_eq!(folded(short), short);
    }
}

#[test]
fn fold_keeps_failing_tests_and_first_error() {
    // Only an even count continues a run, so a word, a gap or another number is always shown.
    let name = |n: usize| format!("tests/test_prices.py::test_rounds_up[{n}]");
    let outcome = |n: usize| {
        if n.is_multiple_of(37) {
            "FAILED"
        } else {
            "PASSED"
        }
    };
    let run: String = (0..400)
        .map(|n| format!("{} {}\n", name(n), outcome(n)))
        .collect::<Vec<_>>()
        .concat();
    let shown = folded(&run);
    assert!(shown.len() < run.len() / 8, "{shown}");
    for n in (0..400_usize).filter(|n| n.is_multiple_of(37)) {
        assert!(shown.contains(&format!("{} FAILED\n", name(n))), "{n}");
    }
    let failed: String = [1, 2, 3, 17, 41, 99, 100, 256, 300, 1000]
        .map(|n| format!("FAILED {}\n", name(n)))
        .concat();
    assert_eq!(folded(&failed), failed);
    let status: String = (0..200)
        .map(|n| {
            format!(
                "step {n} of the long way to the end: exit {}\n",
                usize::from(n == 99)
            )
        })
        .collect::<Vec<_>>()
        .concat();
    assert!(folded(&status).contains("step 99 of the long way to the end: exit 1\n"));
}

#[test]
fn rewritten_lines_are_not_folded() {
    let layers: String = (0..20)
        .map(|n| format!("layer {n} of the image is waiting\n"))
        .collect::<Vec<_>>()
        .concat();
    let text = format!("{layers}\x1b[10A\rlayer 10 of the image is waiting\n\x1b[9B");
    let rows = rows(text.as_bytes(), 1);
    assert_eq!((rows[10].line, runs(&rows)), (21, vec![0..10, 11..20]));
}

prop_compose! {
    fn output()(parts in prop::collection::vec(prop_oneof![
        4 => (0_i64..40, 0_i64..1200, -3_i64..4).prop_map(|(count, from, step)| {
            let line = |at| format!("line {} of a longer text that repeats: 0{}\n", from + step * at, at % 10);
            (0..count).map(line).collect::<Vec<_>>().concat().into_bytes()
        }),
        3 => (0_usize..60, "[ -~]{0,12}").prop_map(|(count, text)| format!("{text}\n").repeat(count).into_bytes()),
        2 => prop::sample::select(vec!["\r", "\n", "\r\n", "\x1b[2A", "\x1b[K", "\x1b[J", "\x1b[31m", "\x08", "\x1b]0;t\x07", "\x1b["])
            .prop_map(|text| text.as_bytes().to_vec()),
        2 => prop::collection::vec(any::<u8>(), 0..30),
    ], 0..12)) -> Vec<u8> {
        parts.concat()
    }
}

proptest! {
    /// The omitted lines follow from the shown ones, for any output.
    #[test]
    fn omitted_lines_can_be_reconstructed(written in output()) {
        let rows = rows(&written, 1);
        let all: Vec<Vec<u8>> = rows.iter().map(|row| row.text.clone()).collect();
        prop_assert_eq!(unfolded(&rows), all);
    }

    /// The lines that a mark names are in the output, at these numbers.
    #[test]
    fn fold_mark_has_correct_line_numbers(written in output(), first_line in 1_usize..9) {
        let written: Vec<u8> = written.into_iter().filter(|byte| !matches!(*byte, b'\r' | 0x08 | ESCAPE)).collect();
        let rows = rows(&written, first_line);
        let lines: Vec<&[u8]> = written.split(|byte| *byte == b'\n').collect();
        prop_assert_eq!(rows.len(), lines.len());
        for run in runs(&rows) {
            for row in &rows[run] {
                prop_assert_eq!(&row.text[..], lines[row.line - first_line]);
            }
        }
    }

    /// A folded output is never longer than the original, and shorter by a minimum if it differs.
    #[test]
    fn folded_output_is_shorter_or_unchanged(written in output()) {
        let folded = fold(&written, 1);
        prop_assert!(folded == written || folded.len() + MIN_FOLDED_BYTES <= written.len());
    }
}

#[test]
fn plain_output_has_final_states_without_colours() {
    let coloured = b"\x1b[1ma\x1b[0m\n10%\r100%\nb\n";
    assert_eq!(plain(coloured).as_ref(), b"a\n100%\nb\n");
    assert!(matches!(plain(b"a\nb"), Cow::Borrowed(b"a\nb")));
}
