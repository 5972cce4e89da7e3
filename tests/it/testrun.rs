//! Test runs and type checks through the built program.
//!
//! For runners that would have to come from a registry, a stub writes the output of the real one.

mod checks;
mod compiled;
mod go;
mod hints;
mod javascript;
mod logs;
mod python;
mod runners;
mod runtimes;
mod touches;
mod verdicts;

use serde_json::{Value, json};

use crate::harness::{Reply, Server};
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

/// Starts a server for `work` with the test tools.
fn open(tree: &Tree, args: &[&str]) -> Server {
    open_as(tree, NEWEST_HANDSHAKE, args)
}

fn open_as(tree: &Tree, revision: &str, args: &[&str]) -> Server {
    let allow = format!("{}:rw", tree.text("work"));
    tree.dir("work");
    Server::open(
        tree,
        revision,
        &[&["--allow", &allow, "--tools", "tests"], args].concat(),
    )
}

/// Returns the structured reply.
fn structured(reply: &Reply) -> &Value {
    &reply.result()["structuredContent"]
}

/// Returns the status and the counts: passed, failed, skipped.
fn counts(reply: &Reply) -> (String, [u64; 3]) {
    let report = structured(reply);
    let of = |name: &str| report["summary"][name].as_u64().unwrap_or_default();
    (
        report["status"].as_str().unwrap_or_default().to_owned(),
        ["passed", "failed", "skipped"].map(of),
    )
}

/// Makes a stub of Vitest that writes these events, runs `more` and exits. It never starts the
/// reporter.
fn fake_vitest(tree: &Tree, events: &[Value], more: &str) {
    fake_vitest_in(tree, "work", events, more);
}

/// Makes the stub in another directory.
pub fn fake_vitest_in(tree: &Tree, project: &str, events: &[Value], more: &str) {
    let lines = events
        .iter()
        .map(Value::to_string)
        .collect::<Vec<_>>()
        .join("\n")
        + "\n";
    tree.file(
        format!("{project}/package.json"),
        json!({"devDependencies": {"vitest": "5"}}).to_string(),
    );
    tree.file(format!("{project}/node_modules/vitest/events"), lines);
    let program = format!("{project}/node_modules/.bin/vitest");
    tree.program(
        program,
        format!(
            "#!/bin/sh\nhere=$(dirname \"$0\")\nprintf '%s\\n' \"$@\" >\"$here/../arguments\"\n\
             cat \"$here/../vitest/events\" >>\"$REPLAY_TEST_REPORT\"\necho some output\n{more}\n"
        ),
    );
}
