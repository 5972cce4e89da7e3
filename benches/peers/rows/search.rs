//! A source tree: listed whole, searched for text, searched by name; beside the programs people use for that.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::args::Args;
use crate::client::{Client, text_of};
use crate::machine;
use crate::peers::{NPM, REPLAY, Server, first_on_path};
use crate::samples::{Contender, Goal, Row, Spec, Trial, Unit, rounds};

pub(super) const MISSING: &str = "no source tree there (benches/peers/install.sh, or --tree DIR)";
/// Somewhere in a C tree, a few hundred times.
pub(super) const LITERAL: &str = "pm_runtime_get_noresume";

pub fn tree(args: &Args) -> Result<Vec<Row>> {
    let spec = |title: &str, unit, goals| Spec {
        name: "tree",
        title: title.to_owned(),
        unit,
        counted: "entries",
        base: None,
        goals,
        note: "",
    };
    let specs = vec![
        spec(
            "directory_tree of the source tree",
            Unit::Seconds,
            vec![Goal::Ratio { of: "find", must: 2.0, excellent: 1.3 }],
        ),
        spec(
            "peak memory of that",
            Unit::Bytes,
            vec![Goal::Absolute { must: 64.0 * 1024.0 * 1024.0, excellent: 32.0 * 1024.0 * 1024.0 }],
        ),
    ];
    let Ok(tree) = args.tree.canonicalize() else {
        return rounds(specs, vec![Contender::missing(REPLAY, MISSING)], 1);
    };
    let mut contenders = vec![listing(Server::replay(&tree), &tree)];
    contenders.push(program("find", &["find"], "find TREE", [tree.as_os_str().to_owned()].to_vec()));
    contenders.push(match Server::npm(&tree) {
        Ok(server) => listing(server, &tree).at_most(5),
        Err(reason) => Contender::missing(NPM, reason),
    });
    rounds(specs, contenders, args.rounds)
}

pub fn rows(args: &Args) -> Result<Vec<Row>> {
    let spec = |title: String, goals| Spec {
        name: "search",
        title,
        unit: Unit::Seconds,
        counted: "hits",
        base: None,
        goals,
        note: "replay sorts by path; the others print in the order they find.",
    };
    let text = spec(
        format!("grep_files `{LITERAL}` in the source tree"),
        vec![Goal::Ratio { of: "rg", must: 1.1, excellent: 0.85 }],
    );
    let names =
        spec("glob_search `**/*.c` in it".to_owned(), vec![Goal::Ratio { of: "fd", must: 1.1, excellent: 0.75 }]);
    let Ok(tree) = args.tree.canonicalize() else {
        return rounds(vec![text, names], vec![Contender::missing(REPLAY, MISSING)], 1);
    };
    let at = tree.as_os_str().to_owned();
    let words = |words: &[&str]| words.iter().map(Into::into).chain([at.clone()]).collect::<Vec<_>>();
    let grep = vec![
        search(&tree, "grep_files", json!({"regex": LITERAL, "directory": tree, "maxResults": 10_000}), "matches"),
        program("rg", &["rg"], "rg -uu -n LITERAL TREE", words(&["-uu", "-n", LITERAL])),
        program("GNU grep", &["grep"], "LC_ALL=C grep -rnI LITERAL TREE", words(&["-rnI", LITERAL])),
    ];
    let glob = vec![
        search(&tree, "glob_search", json!({"directory": tree, "globs": ["**/*.c"], "max": 0}), "matches"),
        program(
            "fd",
            &["fdfind", "fd"],
            "fd -u -t f -t l --glob *.c TREE",
            words(&["-u", "-t", "f", "-t", "l", "--glob", "*.c"]),
        ),
        program("find", &["find"], "find TREE ! -type d -name *.c", {
            let mut find = vec![at.clone()];
            find.extend(["!", "-type", "d", "-name", "*.c"].map(Into::into));
            find
        }),
    ];
    let mut rows = rounds(vec![text], grep, args.rounds)?;
    rows.extend(rounds(vec![names], glob, args.rounds)?);
    Ok(rows)
}

/// `directory_tree`; every node of the answer is counted.
fn listing(server: Server, tree: &Path) -> Contender<'static> {
    let tree = tree.to_path_buf();
    Contender::new(server.name, format!("{}, directory_tree", server.how), move || {
        let mut client = Client::start(&server)?;
        client.expect_bytes(64 << 20);
        let line = client.call("directory_tree", &json!({"path": tree}));
        let begin = Instant::now();
        let reply = client.ask(&line)?;
        let time = begin.elapsed().as_secs_f64();
        let (bytes, text) = (reply.len() as u64, text_of(reply)?);
        let peak = machine::memory(client.pid(), "VmHWM")?;
        let root: Value = serde_json::from_str(&text)?;
        // One peer answers with the root's children, the other with the root.
        let count = if root.is_array() { nodes(&root) + 1 } else { nodes(&json!([root])) };
        Ok(Trial { figures: vec![Some(time), Some(peak)], count, bytes })
    })
}

fn nodes(list: &Value) -> u64 {
    let each = list.as_array().into_iter().flatten();
    each.map(|node| 1 + nodes(&node["children"])).sum()
}

/// A search in a session that lives through all rounds; the hits of the structured reply are counted.
fn search(tree: &Path, tool: &'static str, arguments: Value, list: &'static str) -> Contender<'static> {
    let server = Server::replay(tree);
    let mut session = None;
    Contender::new(REPLAY, format!("{}, {tool}", server.how), move || {
        let client = match &mut session {
            Some(client) => client,
            none => none.insert(Client::start(&server)?),
        };
        let line = client.call(tool, &arguments);
        let begin = Instant::now();
        let reply = client.ask(&line)?;
        let time = begin.elapsed().as_secs_f64();
        let bytes = reply.len() as u64;
        let reply: Value = serde_json::from_slice(reply)?;
        let hits = reply["result"]["structuredContent"][list].as_array();
        let hits = hits.with_context(|| format!("no `{list}`: {}", reply["error"]))?;
        Ok(Trial::of(time, hits.len() as u64, bytes))
    })
}

/// A program that prints a line for each hit, from its start to its last byte.
fn program(name: &'static str, names: &[&str], how: &'static str, args: Vec<std::ffi::OsString>) -> Contender<'static> {
    let program = match first_on_path(names) {
        Ok(program) => program,
        Err(reason) => return Contender::missing(name, reason),
    };
    Contender::new(name, how, move || {
        let mut command = Command::new(&program);
        command.args(&args).env("LC_ALL", "C").stdin(Stdio::null()).stderr(Stdio::null());
        let begin = Instant::now();
        let output = command.output()?;
        let time = begin.elapsed().as_secs_f64();
        ensure!(output.status.success(), "{name}: {}", output.status);
        let lines = memchr::memchr_iter(b'\n', &output.stdout).count() as u64;
        Ok(Trial { figures: vec![Some(time), None], count: lines, bytes: output.stdout.len() as u64 })
    })
}
