//! `replay bench`: a short version of `benches/peers`. Compares replay with the installed search
//! programs on the user's own tree.
//!
//! Writes nothing to the tree. The server is this program, started over stdio as by a client.
#![expect(
    clippy::disallowed_methods,
    reason = "it starts the programs it compares, none of which an agent chose"
)]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use replay_base::limits::MAX_GREP_RESULTS;
use replay_base::text::columns::columns;
use replay_base::text::count::duration;
use replay_base::text::escape::show_path;
use replay_base::text::tokens::count_tokens;
use serde_json::{Value, json};

use super::process::{print, quoted};
use crate::cli::BenchArgs;

/// Runs the benchmarks, with progress on stderr, and prints the table.
pub(super) fn run(asked: &BenchArgs) -> Result<ExitCode> {
    let tree = asked
        .tree
        .canonicalize()
        .with_context(|| format!("`{}`", show_path(&asked.tree)))?;
    if !tree.is_dir() {
        bail!("`{}` is not a directory", show_path(&tree));
    }
    if asked.tokens {
        return print(tokens(&tree, &asked.pattern)?);
    }
    let mut rows =
        vec![["what", "by", "median", "(min - max)", "count", "replay is"].map(str::to_owned)];
    let mut versions = Vec::new();
    for part in parts(&tree, &asked.pattern) {
        // Ignores a closed stderr; the table matters.
        let _ = writeln!(std::io::stderr(), "measuring: {}", part.title);
        versions.extend(part.contenders.iter().map(|one| one.version.clone()));
        rows.extend(rows_of(
            part.title,
            &measure(part.contenders, asked.rounds)?,
        ));
    }
    let mut table = columns(&rows, &(4..5));
    let versions: BTreeSet<String> = versions.into_iter().flatten().collect();
    let _ = write!(
        table,
        "\nreplay {}, {}\n",
        env!("CARGO_PKG_VERSION"),
        Vec::from_iter(versions).join(", ")
    );
    table.push_str(
        "\nEach time is from the request to the whole reply, or from the start of a program to \
         its exit.\nCompare the counts first: they differ where programs search different \
         things.\n",
    );
    print(table)
}

/// One benchmark and its contenders.
struct Benchmark {
    title: &'static str,
    contenders: Vec<Contender>,
}

/// A program to measure: replay first, then the installed ones.
struct Contender {
    name: &'static str,
    /// Version that the program reports.
    version: Option<String>,
    work: Box<dyn FnMut() -> Result<Trial>>,
}

struct Trial {
    time: Duration,
    count: u64,
}

fn parts(tree: &Path, pattern: &str) -> Vec<Benchmark> {
    let grep = json!({"regex": pattern, "directory": tree, "outputMode": "count", "maxResults": MAX_GREP_RESULTS});
    let names = json!({"directory": tree, "globs": ["**/*"], "max": 0});
    let at = || vec![OsString::from(tree)];
    let words = |words: &[&str]| {
        words
            .iter()
            .map(OsString::from)
            .chain(at())
            .collect::<Vec<_>>()
    };
    let counts = ["-e", pattern];
    let grepping = || {
        [
            program(
                "rg",
                &["rg"],
                words(&[&["-uu", "-c", "--no-messages"][..], &counts].concat()),
                CountMethod::Numbers,
            ),
            program(
                "grep",
                &["grep"],
                words(&[&["-rcIsE"][..], &counts].concat()),
                CountMethod::Numbers,
            ),
        ]
    };
    let part = |title, ours: Contender, theirs: [Option<Contender>; 2]| Benchmark {
        title,
        contenders: std::iter::once(ours)
            .chain(theirs.into_iter().flatten())
            .collect(),
    };
    vec![
        part(
            "contents, first call",
            replay(tree, "grep_files", grep.clone(), "/count", true),
            grepping(),
        ),
        part(
            "contents, again",
            replay(tree, "grep_files", grep, "/count", false),
            grepping(),
        ),
        part(
            "names of all files",
            replay(tree, "glob_search", names, "/matches", false),
            [
                program(
                    "fd",
                    &["fdfind", "fd"],
                    words(&["-u", "-t", "f", "-t", "l", "."]),
                    CountMethod::Lines,
                ),
                program(
                    "find",
                    &["find"],
                    [at(), ["!", "-type", "d"].map(Into::into).to_vec()].concat(),
                    CountMethod::Lines,
                ),
            ],
        ),
        part(
            "the whole tree",
            replay(tree, "directory_tree", json!({"path": tree}), "", false),
            [
                None,
                program(
                    "find",
                    &["find"],
                    [at(), ["-printf", "%y %p\\n"].map(Into::into).to_vec()].concat(),
                    CountMethod::Lines,
                ),
            ],
        ),
    ]
}

/// A tool call. `count` is a JSON pointer into the structured reply. With `fresh`, each round
/// starts a new session.
fn replay(
    tree: &Path,
    tool: &'static str,
    arguments: Value,
    count: &'static str,
    fresh: bool,
) -> Contender {
    let tree = tree.to_path_buf();
    let mut session = None;
    let work = move || {
        if fresh {
            session = None;
        }
        let client = match &mut session {
            Some(client) => client,
            none => none.insert(Client::start(&tree, &[])?),
        };
        let begin = Instant::now();
        let line = client.ask("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let time = begin.elapsed();
        let reply: Value = serde_json::from_str(&line)?;
        let result = &reply["result"];
        if result["isError"] == true || !reply["error"].is_null() {
            let error = reply["error"]["message"]
                .as_str()
                .or_else(|| result["content"][0]["text"].as_str());
            bail!("{tool}: {}", error.unwrap_or("failed"));
        }
        let found = result["structuredContent"]
            .pointer(count)
            .unwrap_or(&Value::Null);
        let listed = || {
            found
                .as_array()
                .map_or_else(|| nodes(found), |list| list.len() as u64)
        };
        Ok(Trial {
            time,
            count: found.as_u64().unwrap_or_else(listed),
        })
    };
    Contender {
        name: "replay",
        version: None,
        work: Box::new(work),
    }
}

/// Number of entries of a tree, including the root.
fn nodes(tree: &Value) -> u64 {
    1 + tree["children"]
        .as_array()
        .into_iter()
        .flatten()
        .map(nodes)
        .sum::<u64>()
}

/// Method of counting a program's results.
#[derive(Clone, Copy)]
enum CountMethod {
    Lines,
    /// Sum of the numbers after the last colon of each line.
    Numbers,
}

/// Finds the first of these programs that is installed.
fn program(
    name: &'static str,
    names: &[&str],
    words: Vec<OsString>,
    count: CountMethod,
) -> Option<Contender> {
    let path = std::env::var_os("PATH")?;
    let found = |name: &str| {
        std::env::split_paths(&path)
            .map(|dir| dir.join(name))
            .find(|path| path.is_file())
    };
    let program: PathBuf = names.iter().find_map(|name| found(name))?;
    let said = Command::new(&program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .ok();
    let version = said.and_then(|said| {
        Some(
            String::from_utf8_lossy(&said.stdout)
                .lines()
                .next()?
                .to_owned(),
        )
    });
    let work = move || {
        let begin = Instant::now();
        let output = Command::new(&program)
            .args(&words)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()?;
        let time = begin.elapsed();
        let lines = output
            .stdout
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        let number = |line: &[u8]| {
            let digits = line.rsplit(|byte| *byte == b':').next().unwrap_or(line);
            std::str::from_utf8(digits)
                .ok()
                .and_then(|digits| digits.parse::<u64>().ok())
                .unwrap_or(0)
        };
        let count = match count {
            CountMethod::Lines => lines.count() as u64,
            CountMethod::Numbers => lines.map(number).sum(),
        };
        Ok(Trial { time, count })
    };
    Some(Contender {
        name,
        version,
        work: Box::new(work),
    })
}

/// Counts the tokens of replies about a tree, and of what programs of a shell print for the same.
fn tokens(tree: &Path, pattern: &str) -> Result<String> {
    let quoted = quoted(pattern);
    let steps = [
        (
            "all files",
            "glob_search",
            json!({"directory": ".", "globs": ["**/*"]}),
            "rg --files".to_owned(),
        ),
        (
            "the tree",
            "directory_tree",
            json!({"path": "."}),
            "rg --files".to_owned(),
        ),
        (
            "the first directory",
            "list_directory",
            json!({"path": "."}),
            "ls".to_owned(),
        ),
        (
            "the pattern",
            "grep_files",
            json!({"regex": pattern, "directory": "."}),
            format!("rg -n -e {quoted}"),
        ),
        (
            "with a line around",
            "grep_files",
            json!({"regex": pattern, "directory": ".", "contextLines": 1}),
            format!("rg -n -C1 -e {quoted}"),
        ),
        (
            "lines in each file",
            "grep_files",
            json!({"regex": pattern, "directory": ".", "outputMode": "count"}),
            format!("rg -c -e {quoted}"),
        ),
    ];
    let mut clients = [
        Client::start(tree, &["--replies", "lean"])?,
        Client::start(tree, &["--replies", "exact"])?,
    ];
    let mut rows = vec![["what", "lean", "exact", "shell", "of"].map(str::to_owned)];
    for (what, tool, arguments, line) in steps {
        let call = json!({"name": tool, "arguments": arguments});
        let mut row = vec![what.to_owned()];
        for client in &mut clients {
            let reply: Value = serde_json::from_str(&client.ask("tools/call", &call)?)?;
            let content = reply["result"]["content"].as_array();
            let texts = content
                .into_iter()
                .flatten()
                .filter_map(|block| block["text"].as_str());
            row.push(texts.map(count_tokens).sum::<usize>().to_string());
        }
        let shell = Command::new("sh")
            .args(["-c", &line])
            .current_dir(tree)
            .stdin(Stdio::null())
            .output()?;
        let told = match shell.status.code() {
            Some(127) => "-".to_owned(),
            _ => count_tokens(&String::from_utf8_lossy(&shell.stdout)).to_string(),
        };
        row.extend([told, line]);
        rows.extend(<[String; 5]>::try_from(row));
    }
    Ok(format!(
        "{}\nTokens are estimated, within a few percent of o200k; - stands for a program that is not there.\n",
        columns(&rows, &(1..4))
    ))
}

/// Sorted times of one contender, and its last count.
struct Timings {
    name: &'static str,
    times: Vec<Duration>,
    count: u64,
}

impl Timings {
    fn median(&self) -> Duration {
        self.times
            .get(self.times.len() / 2)
            .copied()
            .unwrap_or_default()
    }
}

/// Runs one warm-up each, then rounds in turns, so that all run under the same load.
fn measure(mut contenders: Vec<Contender>, rounds: u32) -> Result<Vec<Timings>> {
    let mut cells: Vec<Timings> = contenders
        .iter()
        .map(|one| Timings {
            name: one.name,
            times: Vec::new(),
            count: 0,
        })
        .collect();
    for round in 0..=rounds {
        for (contender, cell) in contenders.iter_mut().zip(&mut cells) {
            let trial = (contender.work)()
                .with_context(|| format!("while measuring {}", contender.name))?;
            cell.count = trial.count;
            if round > 0 {
                cell.times.push(trial.time);
            }
        }
    }
    for cell in &mut cells {
        cell.times.sort_unstable();
    }
    Ok(cells)
}

fn rows_of(title: &str, cells: &[Timings]) -> Vec<[String; 6]> {
    let ours = cells
        .first()
        .map_or(Duration::ZERO, Timings::median)
        .as_secs_f64();
    let row = |(index, cell): (usize, &Timings)| {
        let shown = |time: Option<&Duration>| duration(time.copied().unwrap_or_default());
        let ratio = match cell.median().as_secs_f64() {
            theirs if index > 0 && theirs > 0.0 => format!("{:.2} x {}", ours / theirs, cell.name),
            _ => String::new(),
        };
        [
            if index == 0 { title } else { "" }.to_owned(),
            cell.name.to_owned(),
            duration(cell.median()),
            format!(
                "({} - {})",
                shown(cell.times.first()),
                shown(cell.times.last())
            ),
            cell.count.to_string(),
            ratio,
        ]
    };
    cells.iter().enumerate().map(row).collect()
}

/// A session with this program as the server.
struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    last_id: u64,
}

impl Client {
    fn start(tree: &Path, flags: &[&str]) -> Result<Self> {
        let mut child = Command::new("/proc/self/exe")
            .args([
                "--mcp-server",
                "--tools",
                "files",
                "--log-level",
                "off",
                "--no-search-cache",
            ])
            .args(flags)
            .arg("--allow-read")
            .arg(tree)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the server cannot be started")?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("no pipes")
        };
        let mut client = Self {
            child,
            stdin,
            stdout: BufReader::with_capacity(1 << 20, stdout),
            last_id: 0,
        };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "replay bench", "version": env!("CARGO_PKG_VERSION")}});
        client.ask("initialize", &hello)?;
        client
            .stdin
            .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(client)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<String> {
        self.last_id += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.stdin.write_all(format!("{request}\n").as_bytes())?;
        let mut line = String::new();
        if self.stdout.read_line(&mut line)? == 0 {
            bail!("the server ended");
        }
        Ok(line)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
