//! Output of commands that move to the background: no byte is lost, duplicated or reordered.

use serde_json::json;

use super::{Setting, Walls, everywhere};
use crate::harness::Server;

/// Two concurrent writers that run for over two seconds, each with its own letters. The line
/// lengths vary, so output is not folded. One writer splits a character in every write.
const WRITES: &str = "i=0; while [ $i -lt 250 ]; do i=$((i+1)); echo o€$((i*i)); sleep 0.01; done & \
    i=0; while [ $i -lt 250 ]; do i=$((i+1)); printf 'e\\342\\202' >&2; sleep 0.01; printf '\\243' >&2; done; wait";

#[test]
fn reply_and_later_reads_are_whole_output() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &["--command-timeout-secs", "2"], &[]);
        let reply = walls.try_run(json!({"command": WRITES}));
        let handed = reply.result()["structuredContent"].clone();
        let follow = json!({"commandId": handed["commandId"], "waitSecs": 60});
        let rest = walls
            .server
            .call_with_progress("follow_command", follow)
            .result()["structuredContent"]
            .clone();
        assert_eq!(
            (&rest["running"], &rest["exitCode"]),
            (&json!(false), &json!(0)),
            "{setting:?}"
        );
        let text = |part: &serde_json::Value| part.as_str().unwrap().to_owned();
        let (out, err, rest) = (
            text(&handed["stdout"]),
            text(&handed["stderr"]),
            text(&rest["output"]),
        );
        let (err_rest, out_rest): (String, String) =
            rest.chars().partition(|c| ['e', '₣'].contains(c));
        assert!(
            [&out, &err, &out_rest, &err_rest]
                .iter()
                .all(|part| !part.is_empty()),
            "{setting:?}"
        );
        assert_eq!(
            out + &out_rest,
            (1..=250)
                .map(|i| format!("o€{}\n", i * i))
                .collect::<Vec<_>>()
                .concat(),
            "{setting:?}"
        );
        assert_eq!(err + &err_rest, "e₣".repeat(250), "{setting:?}");
        walls.end();
    });
}

/// Returns lines that are not folded. Cuts in them mostly split a character.
fn long_lines() -> String {
    (0..400_000_u64)
        .map(|i| format!("€{}\n", i * i))
        .collect::<Vec<_>>()
        .concat()
}

/// Returns all bytes of a log, read in parts.
fn log(server: &mut Server, uri: &serde_json::Value) -> String {
    let (mut whole, mut next) = (String::new(), Some(uri.clone()));
    while let Some(uri) = next {
        let contents = server
            .request("resources/read", json!({"uri": uri}))
            .result()["contents"]
            .clone();
        whole += contents[0]["text"].as_str().unwrap();
        next = contents.get(1).map(|part| part["uri"].clone());
    }
    whole
}

fn start_with_long_lines(setting: Setting, flags: &[&str]) -> (Walls, String) {
    let (walls, much) = (Walls::start(setting, flags, &[]), long_lines());
    walls.tree.file("work/much", &much);
    (walls, much)
}

#[test]
fn log_has_all_output_beyond_cap() {
    everywhere(|setting| {
        let (mut walls, much) = start_with_long_lines(setting, &["--command-timeout-secs", "2"]);
        // 2 MiB at once, the rest after the time limit.
        let line = "head -c 900001 much >&2; head -c 2097152 much; sleep 4; tail -c +2097153 much";
        let handed = walls.try_run(json!({"command": line})).result()["structuredContent"].clone();
        let [out, err] =
            ["/0", "/1"].map(|at| handed.pointer(&format!("/logs{at}")).unwrap().clone());
        assert_eq!(
            log(&mut walls.server, &err),
            String::from_utf8_lossy(&much.as_bytes()[..900_001]),
            "{setting:?}"
        );
        let mut whole = log(&mut walls.server, &out);
        let (mut cursor, mut running) = (handed["cursor"].clone(), true);
        while running {
            let follow =
                json!({"commandId": handed["commandId"], "cursor": cursor, "waitSecs": 60});
            let rest =
                walls.server.call("follow_command", follow).result()["structuredContent"].clone();
            whole += rest["output"].as_str().unwrap();
            running = rest["running"] == true || rest["cursor"] != cursor;
            cursor = rest["cursor"].clone();
        }
        assert!(
            whole == much,
            "{setting:?}: {} bytes instead of {}",
            whole.len(),
            much.len()
        );

        let reply = walls.try_run(json!({"command": "cat much"}));
        let uri = &reply.result()["structuredContent"]["logs"][0];
        let note = format!(
            "bytes are shown; read_file with path `{}` has all of them]\n[exit code: 0]",
            uri.as_str().unwrap()
        );
        assert!(reply.text().ends_with(&note), "{setting:?}");
        assert!(log(&mut walls.server, uri) == much, "{setting:?}");
        let lines = walls.server.call(
            "read_file",
            json!({"path": uri, "offset": 200_000, "limit": 2}),
        );
        let expected = format!("€{}\n€{}\n", 199_999_u64.pow(2), 200_000_u64.pow(2));
        assert_eq!(
            lines.all_texts(),
            [
                expected,
                "[lines 200000-200001 of 400000; next offset 200002]".to_owned()
            ]
        );
        walls.end();
    });
}

#[test]
fn log_over_its_limit_keeps_beginning_and_end() {
    everywhere(|setting| {
        let flags = [
            "--output-cap-bytes",
            "300000",
            "--background-output-bytes",
            "1000000",
        ];
        let (mut walls, much) = start_with_long_lines(setting, &flags);
        let reply = walls.try_run(json!({"command": "cat much"}));
        let log = log(
            &mut walls.server,
            &reply.result()["structuredContent"]["logs"][0],
        );
        let (head, rest) = log.split_once("\n[... ").unwrap();
        let (count, end) = rest.split_once(" bytes left out ...]\n").unwrap();
        assert!(much.starts_with(head) && much.ends_with(end), "{setting:?}");
        let count: usize = count.parse().unwrap();
        assert_eq!(head.len() + count + end.len(), much.len(), "{setting:?}");
        assert!(
            head.len() > 299_990 && end.len() > 999_990,
            "{setting:?}: {} and {}",
            head.len(),
            end.len()
        );
        assert!(
            reply
                .text()
                .contains(&format!("stdout: {count} bytes in the middle were dropped")),
            "{setting:?}"
        );
        walls.end();
    });
}
