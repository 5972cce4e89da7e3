//! `--network replay:SET`: recorded responses are returned to commands, and no connection leaves
//! the machine.

use pretty_assertions::assert_eq;

use super::{REQUEST_BY_HOST, RULES, everywhere};

#[test]
fn recording_answers_each_command_from_start() {
    everywhere(|world| {
        world.file("ask.py", REQUEST_BY_HOST);
        let line = "python3 ask.py api.example.com=api.example.com";
        let recorded = world.run_with(&["calls", "record"], &RULES, line);
        assert_eq!(
            recorded.notes,
            ["11.0.0.2:80 GET /good HTTP/1.1"],
            "{:?}: {}",
            world.setting,
            recorded.err
        );
        let set = recorded
            .err
            .split_once(" as ")
            .and_then(|(_, rest)| rest.split_once(':'))
            .unwrap()
            .0;
        let name = format!("replay:{set}");
        let more = "python3 ask.py api.example.com=api.example.com example.org=example.org";
        let played = world.run(&["--network", &name], more);
        let said = "api.example.com api.example.com 200\nexample.org example.org 502\n";
        assert_eq!(played.out, said, "{:?}: {}", world.setting, played.err);
        let told = format!(
            "replay: blocked: GET http://example.org:80/good, not in the recording {set}; record \
             the program again\n"
        );
        assert_eq!(
            (played.err, played.notes),
            (told, Vec::new()),
            "{:?}",
            world.setting
        );
        let none = world.run(&["--network", "replay:other"], "true");
        assert!(
            none.err
                .contains("--network replay:other: the set `other` does not exist in ./keploy"),
            "{}",
            none.err
        );
        let both = world.run(&["--network", &name, "--allow-host", "a.example"], "true");
        assert!(
            both.err
                .contains("--network both set the network of commands"),
            "{}",
            both.err
        );
    });
}
