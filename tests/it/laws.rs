//! Property tests with random input for the properties in `tests/laws`; `fuzz/` runs them without a
//! time limit.

#[path = "../laws/mod.rs"]
mod bodies;

use proptest::collection::vec;
use proptest::prelude::*;
use replay_testrun::{CHECKERS, RUNNERS};

use self::Tool::{Checks, Runs};

/// Generates valid and mutated JSON-RPC lines, with names and arguments of some tools.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    const PARTS: [&str; 32] = [
        "{\"jsonrpc\":\"2.0\",\"id\":",
        "{\"jsonrpc\":\"2.0\",",
        "1",
        "2",
        "\"a\"",
        "null",
        "1.5",
        ",\"method\":",
        "\"ping\"",
        "\"tools/list\"",
        "\"tools/call\"",
        "\"initialize\"",
        "\"server/discover\"",
        "\"notifications/cancelled\"",
        "\"logging/setLevel\"",
        ",\"params\":",
        "{\"name\":\"read_file\",\"arguments\":",
        "{\"name\":\"grep_files\",\"arguments\":",
        "{\"path\":\"a.txt\"}",
        "{\"regex\":\"o\",\"directory\":\".\"}",
        "{\"protocolVersion\":\"2025-03-26\",\"capabilities\":{},\"clientInfo\":{\"name\":\"x\",\"version\":\"0\"}}",
        "{\"level\":\"debug\"}",
        "{\"requestId\":1}",
        "\"_meta\":{\"progressToken\":1}",
        "}",
        "}}",
        "[",
        "]",
        ",",
        "\n",
        "\r\n",
        "\u{feff}",
    ];
    let messages = [
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"read_file\",\"arguments\":{\"path\":\"a.txt\"}}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"grep_files\",\"arguments\":{\"regex\":\"o\",\"directory\":\".\"}}}\n",
        "[{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}]\n",
    ];
    let piece = prop_oneof![
        8 => proptest::sample::select(PARTS.to_vec()).prop_map(|part| part.as_bytes().to_vec()),
        3 => proptest::sample::select(messages.to_vec()).prop_map(|line| line.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..40),
    ];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Generates valid and mutated JSON messages of the sandbox processes.
fn sandbox_messages() -> impl Strategy<Value = Vec<u8>> {
    const PARTS: [&str; 30] = [
        "{",
        "}",
        "[",
        "]",
        ",",
        "0",
        "-1",
        "4294967296",
        "null",
        "true",
        "\"a\"",
        "\"started\"",
        "\"refused\":",
        "{\"ended\":{\"exit\":{\"code\":3},\"left\":1,\"denied\":[\"network\",{\"metadata\":\"/etc\"}]}}",
        "{\"ended\":{\"exit\":{\"signal\":9},\"left\":0,\"denied\":[{\"metadata\":[47,255]},\"memory\"]}}",
        "{\"refused\":{\"step\":\"execve\",\"errno\":2}}",
        "{\"cannot\":{\"reason\":\"no\"}}",
        "{\"ready\":{\"home\":null,\"tmp\":\"/tmp\",\"landlock_abi\":7,\"gaps\":[\"a\"]}}",
        "{\"run\":{\"program\":[\"/bin/sh\",[1,200]]},\"dir\":{\"path\":\"/a\",\"dev\":1,\"ino\":2},\"environment\":[[\"A\",\"b\"]],",
        "\"stdin\":false,\"terminal\":[24,80],\"announce\":true}",
        "\"exit\":",
        "\"code\":",
        "\"left\":",
        "\"denied\":",
        "\"metadata\":",
        "\"run\":",
        "\"dir\":",
        "[1,256]",
        "\\u0000",
        "1e99",
    ];
    let piece = prop_oneof![
        8 => proptest::sample::select(PARTS.to_vec()).prop_map(|part| part.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..20),
    ];
    vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

/// Generates valid and mutated database conversations: the protocol, then alternating data of both
/// sides.
fn database_conversations() -> impl Strategy<Value = Vec<u8>> {
    const PARTS: [&[&[u8]]; 4] = [
        &[
            b"*1\r\n$5\r\nMULTI\r\n",
            b"*1\r\n$4\r\nEXEC\r\n",
            b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n",
            b"*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n",
            b"*1\r\n$11\r\nUNSUBSCRIBE\r\n",
            b"CLIENT REPLY SKIP\r\n",
            b"AUTH a b\r\n",
            b"+OK\r\n",
            b"$-1\r\n",
            b"$1\r\n1\r\n",
            b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n",
            b"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n",
            b"*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n",
        ],
        &[
            b"\0\0\0\x10\0\x03\0\0user\0u\0\0",
            b"\0\0\0\x08\x04\xd2\x16\x2f",
            b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I",
            b"Z\0\0\0\x05I",
            b"Z\0\0\0\x05T",
            b"Q\0\0\0\x06a\0",
            b"P\0\0\0\x0as\0a\0\0\0",
            b"B\0\0\0\x0d\0s\0\0\0\0\0\0\0",
            b"D\0\0\0\x06P\0",
            b"D\0\0\0\x07Ss\0",
            b"E\0\0\0\x09\0\0\0\0\0",
            b"S\0\0\0\x04",
            b"H\0\0\0\x04",
            b"1\0\0\0\x04",
            b"2\0\0\0\x04",
            b"n\0\0\0\x04",
            b"C\0\0\0\x08SET\0",
            b"C\0\0\0\x06S\0",
            b"E\0\0\0\x05\0",
            b"G\0\0\0\x07\0\0\0",
            b"d\0\0\0\x05x",
            b"c\0\0\0\x04",
            b"A\0\0\0\x04",
        ],
        &[
            b"\x2c\0\0\0\n8\0\x01\0\0\0abcdefgh\0\xff\xff\xff\x02\0\xff\xff\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0",
            b"\x23\0\0\x01\x08\x02\0\x01\0\0\0\x01\x21\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0u\0\0",
            b"\x07\0\0\x01\0\0\0\x02\0\0\0",
            b"\x02\0\0\0\x03a",
            b"\x02\0\0\0\x16a",
            b"\x0c\0\0\x01\0\x01\0\0\0\0\0\0\0\0\0\0",
            b"\x0a\0\0\0\x17\x01\0\0\0\0\x01\0\0\0",
            b"\x05\0\0\0\x19\x01\0\0\0",
            b"\x01\0\0\x01\x01",
            b"\x01\0\0\x02\x03",
            b"\x05\0\0\x03\xfe\0\0\x02\0",
            b"\x02\0\0\x01\xfbf",
            b"\0\0\0\x02",
            b"\x03\0\0\x01\xff\x51\x04",
        ],
        &[
            b"\x24\0\0\0\x01\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0\x0f\0\0\0\x10hi\0\x01\0\0\0\0",
            b"\x24\0\0\0\x02\0\0\0\x01\0\0\0\xdd\x07\0\0\0\0\0\0\0\x0f\0\0\0\x10ok\0\x01\0\0\0\0",
            b"\x24\0\0\0\x01\0\0\0\x01\0\0\0\xdd\x07\0\0\x02\0\0\0\0\x0f\0\0\0\x10ok\0\x01\0\0\0\0",
            b"\x27\0\0\0\x01\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0\x12\0\0\0\x10hello\0\x01\0\0\0\0",
        ],
    ];
    (0..4_u8).prop_flat_map(|protocol| {
        let parts = PARTS[usize::from(protocol)];
        let piece = prop_oneof![
            12 => proptest::sample::select(parts).prop_map(<[u8]>::to_vec),
            1 => vec(any::<u8>(), 0..12),
        ];
        let said = (any::<bool>(), piece).prop_map(|(server, bytes)| {
            [&[u8::from(server), bytes.len() as u8], &bytes[..]].concat()
        });
        (any::<bool>(), vec(said, 0..16)).prop_map(move |(relay, said)| {
            [&[protocol, u8::from(relay)], &said.concat()[..]].concat()
        })
    })
}

/// Generates valid and mutated files of recorded calls, from truncated and recombined samples and
/// random bytes.
fn call_files() -> impl Strategy<Value = Vec<u8>> {
    const FILES: [&str; 5] = [
        include_str!("../../testdata/calls/http.yaml"),
        include_str!("../../testdata/calls/grpc.yaml"),
        include_str!("../../testdata/calls/dns.yaml"),
        include_str!("../../testdata/calls/redis.yaml"),
        include_str!("../../testdata/calls/generic.yaml"),
    ];
    let lines: Vec<&str> = FILES
        .iter()
        .flat_map(|file| file.split_inclusive('\n'))
        .collect();
    let piece = prop_oneof![
        4 => proptest::sample::select(FILES.to_vec()).prop_map(|file| file.as_bytes().to_vec()),
        6 => proptest::sample::select(lines).prop_map(|line| line.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..10),
    ];
    let cut =
        (piece, 0..2000_usize).prop_map(|(piece, end)| piece[..end.min(piece.len())].to_vec());
    vec(cut, 0..4).prop_map(|pieces| pieces.concat())
}

/// Generates sample documents with some bytes changed, cut off or duplicated.
fn documents() -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), any::<u8>(), 0..4_u8);
    (0..crate::documents::SAMPLES.len(), vec(change, 0..6)).prop_map(|(which, changes)| {
        let mut bytes = crate::documents::SAMPLES[which].1.to_vec();
        for (at, byte, how) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match how {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, byte),
                2 => bytes.extend_from_within(at..),
                _ => bytes[at] = byte,
            }
        }
        bytes
    })
}

/// A runner or a checker, by name.
#[derive(Clone, Copy)]
enum Tool {
    Runs(&'static str),
    Checks(&'static str),
}

impl Tool {
    /// Returns the first byte of an input of the property.
    fn index(self) -> u8 {
        let at = match self {
            Runs(name) => RUNNERS.iter().position(|runner| runner.id().0 == name),
            Checks(name) => CHECKERS
                .iter()
                .position(|checker| checker.id().0 == name)
                .map(|at| RUNNERS.len() + at),
        };
        u8::try_from(at.expect("a known tool")).expect("less than 256 tools")
    }
}

/// Generates reports of test runners and type checkers: the tool and its exit status, then valid
/// and mutated sample lines.
fn reports() -> impl Strategy<Value = Vec<u8>> {
    const SAMPLES: [(Tool, &str); 15] = [
        (
            Runs("vitest"),
            include_str!("../../testdata/testrun/vitest/mixed_5.report"),
        ),
        (
            Runs("pytest"),
            include_str!("../../testdata/testrun/pytest/mixed_9.report"),
        ),
        (
            Runs("jest"),
            include_str!("../../testdata/testrun/jest/mixed.report"),
        ),
        (
            Runs("command"),
            include_str!("../../testdata/testrun/command/pytest.report"),
        ),
        (
            Runs("command"),
            include_str!("../../testdata/testrun/command/tap_node.report"),
        ),
        (
            Runs("command"),
            include_str!("../../testdata/testrun/command/tap_perl.stdout"),
        ),
        (
            Runs("command"),
            include_str!("../../testdata/testrun/command/trx.report"),
        ),
        (
            Runs("cargo"),
            include_str!("../../testdata/testrun/cargo_test/mixed.stdout"),
        ),
        (
            Runs("nextest"),
            include_str!("../../testdata/testrun/nextest/abort.report"),
        ),
        (
            Runs("go"),
            include_str!("../../testdata/testrun/go/mixed.stdout"),
        ),
        (
            Checks("tsc"),
            include_str!("../../testdata/testrun/tsc/errors_5.stdout"),
        ),
        (
            Checks("cargo"),
            include_str!("../../testdata/testrun/cargo_check/errors.stdout"),
        ),
        (
            Checks("mypy"),
            include_str!("../../testdata/testrun/mypy/text.stdout"),
        ),
        (
            Checks("pyright"),
            include_str!("../../testdata/testrun/pyright/errors.stdout"),
        ),
        (
            Checks("go"),
            include_str!("../../testdata/testrun/go_vet/json.stdout"),
        ),
    ];
    (0..SAMPLES.len(), any::<u8>()).prop_flat_map(|(which, end)| {
        let (tool, sample) = SAMPLES[which];
        let index = tool.index();
        let lines: Vec<&str> = sample.split_inclusive('\n').collect();
        let piece = prop_oneof![
            1 => Just(sample.as_bytes().to_vec()),
            6 => proptest::sample::select(lines).prop_map(|line| line.as_bytes().to_vec()),
            1 => vec(any::<u8>(), 0..20),
        ];
        let cut = (piece, any::<prop::sample::Index>(), any::<bool>()).prop_map(
            |(mut piece, at, whole)| {
                if !whole && !piece.is_empty() {
                    piece.truncate(at.index(piece.len()));
                }
                piece
            },
        );
        vec(cut, 0..12).prop_map(move |pieces| [&[index, end], &pieces.concat()[..]].concat())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn call_file_parses_or_is_refused(bytes in call_files()) {
        bodies::a_file_of_calls_is_read_or_refused(&bytes);
    }

    #[test]
    fn autorun_detection_accepts_any_bytes(bytes in vec(any::<u8>(), 0..400)) {
        bodies::what_runs_outside_is_found(&bytes);
    }

    #[test]
    fn report_parser_accepts_any_bytes(bytes in reports()) {
        bodies::a_report_is_read(&bytes);
    }

    #[test]
    fn recorded_call_round_trips(bytes in vec(any::<u8>(), 0..300)) {
        bodies::a_call_comes_back(&bytes);
        bodies::secrets_are_replaced_once(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn document_reader_answers_any_bytes(bytes in documents()) {
        bodies::a_document_has_an_answer(&bytes);
    }

    #[test]
    fn line_gets_at_most_one_answer(bytes in lines()) {
        bodies::a_line_has_at_most_one_answer(&bytes);
    }

    #[test]
    fn path_plan_stays_inside(bytes in vec(any::<u8>(), 0..600)) {
        bodies::a_plan_stays_inside(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn edit_changes_only_its_target(bytes in vec(any::<u8>(), 0..120)) {
        bodies::an_edit_changes_what_it_says(&bytes);
    }

    #[test]
    fn pattern_matches_are_consistent(bytes in vec(any::<u8>(), 0..80)) {
        bodies::a_pattern_has_one_answer(&bytes);
    }

    #[test]
    fn journal_log_parses_or_is_refused(bytes in vec(any::<u8>(), 0..120)) {
        bodies::a_log_is_read_or_refused(&bytes);
    }

    #[test]
    fn glob_set_agrees_with_its_members(
        head in any::<[u8; 2]>(),
        texts in proptest::array::uniform3(
            prop_oneof!["[ab*?/{},\\[\\]!\\\\.-]{0,12}", "\\PC{0,8}"].prop_map(String::into_bytes),
        ),
        choices in vec(any::<u8>(), 24),
    ) {
        let texts = texts.iter().flat_map(|text| [&[text.len() as u8], text.as_slice()].concat());
        bodies::globs_agree_with_each_other(&head.into_iter().chain(texts).collect::<Vec<_>>());
        bodies::globs_agree_with_each_other(&[&[head[0], 0], choices.as_slice()].concat());
    }
    #[test]
    fn frame_parses_or_is_refused(which: u8, framed: bool, bytes in sandbox_messages()) {
        bodies::a_frame_is_read_or_refused(&[&[which, u8::from(framed)], bytes.as_slice()].concat());
    }

    #[test]
    fn packet_parses_or_is_refused(bytes in sandbox_messages()) {
        bodies::a_packet_is_read_or_refused(&bytes);
    }

    #[test]
    fn database_parser_accepts_any_bytes(bytes in database_conversations()) {
        bodies::a_call_to_a_database_is_taken_apart(&bytes);
    }

    #[test]
    fn seccomp_call_parser_accepts_any_bytes(bytes in vec(any::<u8>(), 50)) {
        bodies::a_call_is_read(&bytes);
        bodies::a_network_call_is_read(&bytes);
    }

    #[test]
    fn socket_address_parses_or_is_refused(bytes in vec(any::<u8>(), 0..140)) {
        bodies::an_address_is_read_or_refused(&bytes);
    }
}
