//! Not a byte of a command's output is lost, doubled or out of its order when the command goes on in the background.

use serde_json::json;

use super::{Walls, everywhere};

/// Two writers at once for more than two seconds, each with letters of its own, and lines that do not count evenly, so that all are
/// shown; one cuts a character in every write.
const WRITES: &str = "i=0; while [ $i -lt 250 ]; do i=$((i+1)); echo o€$((i*i)); sleep 0.01; done & \
    i=0; while [ $i -lt 250 ]; do i=$((i+1)); printf 'e\\342\\202' >&2; sleep 0.01; printf '\\243' >&2; done; wait";

#[test]
fn the_reply_and_what_is_read_later_are_the_whole_output() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &["--command-timeout-secs", "2"], &[]);
        let reply = walls.try_run(json!({"command": WRITES}));
        let handed = reply.result()["structuredContent"].clone();
        let follow = json!({"commandId": handed["commandId"], "waitSecs": 60});
        let rest = walls.server.call("follow_command", follow).result()["structuredContent"].clone();
        assert_eq!((&rest["running"], &rest["exitCode"]), (&json!(false), &json!(0)), "{setting:?}");
        let text = |part: &serde_json::Value| part.as_str().unwrap().to_owned();
        let (out, err, rest) = (text(&handed["stdout"]), text(&handed["stderr"]), text(&rest["output"]));
        let (err_rest, out_rest): (String, String) = rest.chars().partition(|c| ['e', '₣'].contains(c));
        assert!([&out, &err, &out_rest, &err_rest].iter().all(|part| !part.is_empty()), "{setting:?}");
        assert_eq!(
            out + &out_rest,
            (1..=250).map(|i| format!("o€{}\n", i * i)).collect::<Vec<_>>().concat(),
            "{setting:?}"
        );
        assert_eq!(err + &err_rest, "e₣".repeat(250), "{setting:?}");
        walls.end();
    });
}
