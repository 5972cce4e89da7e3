//! Listing of a source tree and search by file name, beside common command-line programs; also the
//! helpers of such rows.

use std::ffi::OsString;
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

pub fn rows(args: &Args) -> Result<Vec<Row>> {
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
            vec![Goal::Ratio {
                of: "find -printf",
                must: 1.5,
                excellent: 1.0,
            }],
        ),
        spec(
            "peak memory of that",
            Unit::Bytes,
            vec![Goal::Absolute {
                must: 64.0 * 1024.0 * 1024.0,
                excellent: 32.0 * 1024.0 * 1024.0,
            }],
        ),
    ];
    let Ok(tree) = args.tree.canonicalize() else {
        return rounds(specs, vec![Contender::missing(REPLAY, MISSING)], 1);
    };
    let mut contenders = vec![listing(Server::replay(&tree), &tree)];
    contenders.push(match first_on_path(&["find"]) {
        Ok(find) => {
            let words = [
                tree.as_os_str().to_owned(),
                "-printf".into(),
                "%y %p\n".into(),
            ]
            .to_vec();
            printing(
                "find -printf",
                "find TREE -printf '%y %p\\n'",
                find,
                words,
                HitCounter::Lines,
            )
        }
        Err(reason) => Contender::missing("find -printf", reason),
    });
    contenders.push(match Server::npm(&tree) {
        Ok(server) => listing(server, &tree).at_most(5),
        Err(reason) => Contender::missing(NPM, reason),
    });
    rounds(specs, contenders, args.rounds)
}

/// Searches files by name: with a glob, and with a substring.
pub fn names(args: &Args) -> Result<Vec<Row>> {
    let spec = |title: &str, must, excellent| Spec {
        name: "names",
        title: title.to_owned(),
        unit: Unit::Seconds,
        counted: "paths",
        base: None,
        goals: vec![Goal::Ratio {
            of: "fd",
            must,
            excellent,
        }],
        note: "replay sorts by path; the others print in the order they find.",
    };
    let kinds = [
        (
            "glob_search `**/*.c`, first call",
            "glob_search, first call",
            1.0,
            0.75,
        ),
        (
            "glob_search `**/*.c`, again",
            "glob_search, again",
            0.8,
            0.5,
        ),
        (
            "search_files `usb`, first call",
            "search_files, first call",
            1.0,
            0.75,
        ),
        ("search_files `usb`, again", "search_files, again", 0.8, 0.5),
    ];
    let Ok(tree) = args.tree.canonicalize() else {
        let missing = vec![Contender::missing(REPLAY, MISSING)];
        return rounds(vec![spec(kinds[0].0, 1.0, 0.75)], missing, 1);
    };
    let mut rows = Vec::new();
    for (index, (title, _, must, excellent)) in kinds.into_iter().enumerate() {
        let ours = if index % 2 == 0 { first } else { again };
        let contenders = if index < 2 {
            let arguments = json!({"directory": tree, "globs": ["**/*.c"], "max": 0});
            vec![
                ours(
                    &tree,
                    "glob_search",
                    arguments,
                    HitCounter::Listed("matches"),
                ),
                program(
                    "fd",
                    &["fdfind", "fd"],
                    "fd -u -t f -t l --glob *.c TREE",
                    &["-u", "-t", "f", "-t", "l", "--glob", "*.c"],
                    &tree,
                    HitCounter::Lines,
                ),
                finding(&tree, &["!", "-type", "d", "-name", "*.c"]),
            ]
        } else {
            let arguments = json!({"directory": tree, "nameContains": "usb"});
            vec![
                ours(
                    &tree,
                    "search_files",
                    arguments,
                    HitCounter::Listed("matches"),
                ),
                program(
                    "fd",
                    &["fdfind", "fd"],
                    "fd -u -i usb TREE",
                    &["-u", "-i", "usb"],
                    &tree,
                    HitCounter::Lines,
                ),
                finding(&tree, &["-mindepth", "1", "-iname", "*usb*"]),
            ]
        };
        rows.extend(rounds(
            vec![spec(title, must, excellent)],
            contenders,
            args.rounds * 2,
        )?);
    }
    Ok(rows)
}

fn finding(tree: &Path, words: &[&str]) -> Contender<'static> {
    let how = format!("find TREE {}", words.join(" "));
    match first_on_path(&["find"]) {
        Ok(find) => {
            let words = std::iter::once(tree.as_os_str().to_owned())
                .chain(words.iter().map(Into::into))
                .collect();
            printing("find", how, find, words, HitCounter::Lines)
        }
        Err(reason) => Contender::missing("find", reason),
    }
}

/// Returns a contender for `directory_tree`; every node of the answer is counted.
fn listing(server: Server, tree: &Path) -> Contender<'static> {
    let tree = tree.to_path_buf();
    Contender::new(
        server.name,
        format!("{}, directory_tree", server.how),
        move || {
            let mut client = Client::start(&server)?;
            client.expect_bytes(64 << 20);
            let line = client.call("directory_tree", &json!({"path": tree}));
            let begin = Instant::now();
            let reply = client.ask(&line)?;
            let time = begin.elapsed().as_secs_f64();
            let (bytes, text) = (reply.len() as u64, text_of(reply)?);
            let peak = machine::memory(client.pid(), "VmHWM")?;
            let root: Value = serde_json::from_str(&text)?;
            // One peer returns the children of the root, the other the root.
            let count = if root.is_array() {
                nodes(&root) + 1
            } else {
                nodes(&json!([root]))
            };
            Ok(Trial {
                figures: vec![Some(time), Some(peak)],
                count,
                bytes,
            })
        },
    )
}

fn nodes(list: &Value) -> u64 {
    let each = list.as_array().into_iter().flatten();
    each.map(|node| 1 + nodes(&node["children"])).sum()
}

/// Method to count the matches in an answer.
#[derive(Clone, Copy)]
pub(super) enum HitCounter {
    /// A number of the structured reply.
    Structured(&'static str),
    /// Number of items in a list of the structured reply.
    Listed(&'static str),
    /// Number of printed lines.
    Lines,
    /// Sum of the numbers after the last colon of each printed line.
    Counts,
}

impl HitCounter {
    fn of(self, answer: &[u8]) -> Result<u64> {
        let lines = || {
            answer
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
        };
        match self {
            Self::Structured(name) => {
                let reply: Value = serde_json::from_slice(answer)?;
                let number = reply["result"]["structuredContent"][name].as_u64();
                number.with_context(|| format!("no `{name}`: {}", reply["error"]))
            }
            Self::Listed(name) => {
                let reply: Value = serde_json::from_slice(answer)?;
                let list = reply["result"]["structuredContent"][name].as_array();
                Ok(list
                    .with_context(|| format!("no `{name}`: {}", reply["error"]))?
                    .len() as u64)
            }
            Self::Lines => Ok(lines().count() as u64),
            // A program with a single file prints no file name before the number.
            Self::Counts => lines().try_fold(0, |sum, line| {
                let number = line.rsplit(|byte| *byte == b':').next().unwrap_or(line);
                Ok(sum + std::str::from_utf8(number)?.parse::<u64>()?)
            }),
        }
    }
}

/// Measures one call in its own session, without the start of the session.
pub(super) fn first(
    tree: &Path,
    tool: &'static str,
    arguments: Value,
    found: HitCounter,
) -> Contender<'static> {
    let server = Server::replay(tree);
    Contender::new(
        REPLAY,
        format!("{}, {tool} as the first call", server.how),
        move || {
            let mut client = Client::start(&server)?;
            call(&mut client, tool, &arguments, found)
        },
    )
}

/// Measures a call in a session that serves all rounds; the warm-up has made the same call.
pub(super) fn again(
    tree: &Path,
    tool: &'static str,
    arguments: Value,
    found: HitCounter,
) -> Contender<'static> {
    let server = Server::replay(tree);
    let mut session = None;
    Contender::new(REPLAY, format!("{}, {tool} again", server.how), move || {
        let client = match &mut session {
            Some(client) => client,
            none => none.insert(Client::start(&server)?),
        };
        call(client, tool, &arguments, found)
    })
}

fn call(client: &mut Client, tool: &str, arguments: &Value, found: HitCounter) -> Result<Trial> {
    let line = client.call(tool, arguments);
    let begin = Instant::now();
    let reply = client.ask(&line)?;
    let time = begin.elapsed().as_secs_f64();
    Ok(Trial::of(time, found.of(reply)?, reply.len() as u64))
}

/// Measures a program that searches a tree, from its start to its last byte of output.
pub(super) fn program(
    name: &'static str,
    names: &[&str],
    how: impl Into<String>,
    words: &[&str],
    tree: &Path,
    found: HitCounter,
) -> Contender<'static> {
    match first_on_path(names) {
        Ok(program) => {
            let words = words
                .iter()
                .map(Into::into)
                .chain([tree.as_os_str().to_owned()])
                .collect();
            printing(name, how, program, words, found)
        }
        Err(reason) => Contender::missing(name, reason),
    }
}

fn printing(
    name: &'static str,
    how: impl Into<String>,
    program: std::path::PathBuf,
    words: Vec<OsString>,
    found: HitCounter,
) -> Contender<'static> {
    Contender::new(name, how, move || {
        let mut command = Command::new(&program);
        command
            .args(&words)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        let begin = Instant::now();
        let output = command.output()?;
        let time = begin.elapsed().as_secs_f64();
        ensure!(output.status.success(), "{name}: {}", output.status);
        Ok(Trial {
            figures: vec![Some(time), None],
            count: found.of(&output.stdout)?,
            bytes: output.stdout.len() as u64,
        })
    })
}
