//! `replay bench`: a short version of `benches/peers`. Compares replay with the installed programs:
//! searches on the user's own tree, edits and commands in a temporary directory.
//!
//! Writes nothing to the tree. The server is this program, started over stdio as by a client.
#![expect(
    clippy::disallowed_methods,
    reason = "it starts the programs it compares, none of which an agent chose"
)]

mod client;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use replay_base::limits::MAX_GREP_RESULTS;
use replay_base::text::columns::columns;
use replay_base::text::count::duration;
use replay_base::text::escape::show_path;
use replay_base::text::tokens::count_tokens;
use serde_json::{Value, json};

use self::client::{Client, Trial};
use super::process::{catch_signals, print, quoted, status};
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
    let titles = [
        "what",
        "by",
        "median",
        "(min - max)",
        "processor",
        "count",
        "replay is",
    ];
    let mut rows = vec![titles.map(str::to_owned)];
    let mut versions = Vec::new();
    // The scratch directory is removed at any end.
    let signals = catch_signals()?;
    let is_interrupted = || signals.read_signal().is_ok_and(|signal| signal.is_some());
    let scratch = Scratch::create()?;
    let searches = parts(&tree, &asked.pattern).into_iter();
    let searches = searches.map(|part| (part, true));
    let changes = parts_that_write(&scratch.0).into_iter();
    for (part, is_needed) in searches.chain(changes.map(|part| (part, false))) {
        // Ignores a closed stderr; the table matters.
        let _ = writeln!(std::io::stderr(), "measuring: {}", part.title);
        versions.extend(part.contenders.iter().map(|one| one.version.clone()));
        match measure(part.contenders, asked.rounds, &is_interrupted) {
            Ok(None) => return Ok(status(false)),
            Ok(Some(cells)) => rows.extend(rows_of(part.title, &cells)),
            Err(error) if is_needed => return Err(error),
            // Without walls, for example, there are no commands.
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "left out: {}: {error:#}", part.title);
            }
        }
    }
    let mut table = columns(&rows, &(4..6));
    let versions: BTreeSet<String> = versions.into_iter().flatten().collect();
    let _ = write!(
        table,
        "\nreplay {}, {}\n",
        env!("CARGO_PKG_VERSION"),
        Vec::from_iter(versions).join(", ")
    );
    // Writing to a String cannot fail.
    let _ = writeln!(
        table,
        "\nEach time is from the request to the whole reply, or from the start of a program to \
         its exit. Processor\ntime is that of one round. Compare the counts first: they differ \
         where programs search different things.\nEdits were made below {}, so their time \
         depends on its disk: replay flushes each file, sed does not.",
        show_path(scratch.0.parent().unwrap_or(&scratch.0))
    );
    print(table)
}

/// A new directory for files to edit, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn create() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("replay-bench-{}", std::process::id()));
        let cannot = || format!("`{}` cannot be created", show_path(&path));
        std::fs::create_dir(&path).with_context(cannot)?;
        let scratch = Self(path.canonicalize()?);
        for side in ["replay", "sed"] {
            for file in edited_files(&scratch.0.join(side)) {
                std::fs::create_dir_all(file.parent().unwrap_or(&file))?;
                std::fs::write(file, EDITED)?;
            }
        }
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Content of the files to edit: 64 lines, one of which changes.
const EDITED: [u8; 4096] = {
    let mut content = [b'x'; 4096];
    let mut end = 63;
    while end < content.len() {
        content[end] = b'\n';
        end += 64;
    }
    content[2048] = b'a';
    content
};

/// Paths of a thousand files in ten directories.
fn edited_files(below: &Path) -> Vec<PathBuf> {
    (0..1000)
        .map(|number| below.join(format!("{}/{number}", number / 100)))
        .collect()
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

/// Benchmarks in a directory of their own.
fn parts_that_write(scratch: &Path) -> Vec<Benchmark> {
    let own = scratch.join("replay");
    let mut is_changed = false;
    let mut session = None;
    let files = edited_files(&own);
    let edit = move || {
        let client = match &mut session {
            Some(client) => client,
            none => none.insert(Client::start(&own, "--allow-write", &["--tools", "files"])?),
        };
        let (old, new) = if is_changed { ("b", "a") } else { ("a", "b") };
        is_changed = !is_changed;
        let edits = json!([{"oldText": old, "newText": new}]);
        let files: Vec<Value> = files
            .iter()
            .map(|path| json!({"path": path, "edits": edits}))
            .collect();
        client.call("edit_files", &json!({"files": files}), "/edited")
    };
    let (own, mut session) = (scratch.to_path_buf(), None);
    let command = move || {
        let client = match &mut session {
            Some(client) => client,
            none => none.insert(Client::start(&own, "--allow-write", &[])?),
        };
        let trial = client.call("execute_command", &json!({"command": "true"}), "/exitCode")?;
        // It runs in processes that the server only watches.
        Ok(Trial {
            processor: None,
            ..trial
        })
    };
    let replay = |work: Box<dyn FnMut() -> Result<Trial>>| Contender {
        name: "replay",
        version: None,
        work,
    };
    let line = format!(
        "sed -i 'y/ab/ba/' {}/*/*",
        quoted(&show_path(&scratch.join("sed")))
    );
    let sed = program(
        "sed -i",
        &["sh"],
        ["-c", &format!("{line} && echo 1000")]
            .map(Into::into)
            .into(),
        CountMethod::Numbers,
    );
    let shell = program(
        "sh -c",
        &["sh"],
        ["-c", "true"].map(Into::into).into(),
        CountMethod::Lines,
    );
    let walls = "--ro-bind / / --dev /dev --proc /proc --unshare-all true";
    let bubblewrap = program(
        "bwrap",
        &["bwrap"],
        walls.split(' ').map(Into::into).collect(),
        CountMethod::Lines,
    );
    let part = |title, ours, theirs: [Option<Contender>; 2]| Benchmark {
        title,
        contenders: std::iter::once(ours)
            .chain(theirs.into_iter().flatten())
            .collect(),
    };
    vec![
        part("1,000 files edited", replay(Box::new(edit)), [sed, None]),
        part(
            "the command `true`",
            replay(Box::new(command)),
            [shell, bubblewrap],
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
            none => none.insert(Client::start(&tree, "--allow-read", &["--tools", "files"])?),
        };
        client.call(tool, &arguments, count)
    };
    Contender {
        name: "replay",
        version: None,
        work: Box::new(work),
    }
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
        let before = processor_of_children();
        let begin = Instant::now();
        let output = Command::new(&program)
            .args(&words)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()?;
        let time = begin.elapsed();
        let processor = processor_of_children().and_then(|now| now.checked_sub(before?));
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
        Ok(Trial {
            time,
            processor,
            count,
        })
    };
    Some(Contender {
        name,
        version,
        work: Box::new(work),
    })
}

/// Processor time of all programs that have ended.
fn processor_of_children() -> Option<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    let used = usage.user_time() + usage.system_time();
    Some(Duration::from_micros(
        used.num_microseconds().unsigned_abs(),
    ))
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
        Client::start(
            tree,
            "--allow-read",
            &["--tools", "files", "--replies", "lean"],
        )?,
        Client::start(
            tree,
            "--allow-read",
            &["--tools", "files", "--replies", "exact"],
        )?,
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
    /// Processor time of all rounds.
    processor: Option<Duration>,
    count: u64,
}

impl Timings {
    /// Returns the mean processor time of a round.
    fn processor(&self) -> Option<Duration> {
        Some(self.processor? / u32::try_from(self.times.len()).ok()?.max(1))
    }

    fn median(&self) -> Duration {
        self.times
            .get(self.times.len() / 2)
            .copied()
            .unwrap_or_default()
    }
}

/// Runs one warm-up each, then rounds in turns, so that all run under the same load. `None` if a
/// signal came.
fn measure(
    mut contenders: Vec<Contender>,
    rounds: u32,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<Option<Vec<Timings>>> {
    let mut cells: Vec<Timings> = contenders
        .iter()
        .map(|one| Timings {
            name: one.name,
            times: Vec::new(),
            processor: Some(Duration::ZERO),
            count: 0,
        })
        .collect();
    for round in 0..=rounds {
        for (contender, cell) in contenders.iter_mut().zip(&mut cells) {
            if is_interrupted() {
                return Ok(None);
            }
            let trial = (contender.work)()
                .with_context(|| format!("while measuring {}", contender.name))?;
            cell.count = trial.count;
            if round > 0 {
                cell.times.push(trial.time);
                cell.processor = cell.processor.and_then(|all| Some(all + trial.processor?));
            }
        }
    }
    for cell in &mut cells {
        cell.times.sort_unstable();
    }
    Ok(Some(cells))
}

fn rows_of(title: &str, cells: &[Timings]) -> Vec<[String; 7]> {
    let ours = cells
        .first()
        .map_or(Duration::ZERO, Timings::median)
        .as_secs_f64();
    let row = |(index, cell): (usize, &Timings)| {
        let shown = |time: Option<&Duration>| duration(time.copied().unwrap_or_default());
        let mut ratio = match cell.median().as_secs_f64() {
            theirs if index > 0 && theirs > 0.0 => format!("{:.2} x {}", ours / theirs, cell.name),
            _ => String::new(),
        };
        let ours = cells.first().and_then(Timings::processor);
        if let (1.., Some(ours), Some(theirs)) = (index, ours, cell.processor())
            && !theirs.is_zero()
        {
            let _ = write!(
                ratio,
                ", {:.2} x its processor time",
                ours.div_duration_f64(theirs)
            );
        }
        [
            if index == 0 { title } else { "" }.to_owned(),
            cell.name.to_owned(),
            duration(cell.median()),
            format!(
                "({} - {})",
                shown(cell.times.first()),
                shown(cell.times.last())
            ),
            cell.processor().map(duration).unwrap_or_default(),
            cell.count.to_string(),
            ratio,
        ]
    };
    cells.iter().enumerate().map(row).collect()
}
