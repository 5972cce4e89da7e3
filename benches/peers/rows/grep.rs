//! Content searches of a source tree: several kinds of pattern, each as the first call of a session
//! and repeated.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use walkdir::WalkDir;

use super::tree::{HitCounter, MISSING, again, first, program};
use crate::args::Args;
use crate::peers::{REPLAY, first_on_path};
use crate::samples::{Contender, Goal, Row, Spec, Trial, Unit, rounds};
use crate::trees;

/// One pattern, with the same meaning in every engine on this tree.
struct Case {
    title: &'static str,
    pattern: &'static str,
    insensitive: bool,
    /// `true` if the pattern needs lookaround or back-references (`rg -P`).
    backtracks: bool,
}

const fn plain(title: &'static str, pattern: &'static str) -> Case {
    Case {
        title,
        pattern,
        insensitive: false,
        backtracks: false,
    }
}

/// Literal that occurs a few hundred times in a C tree.
pub(super) const LITERAL: &str = "pm_runtime_get_noresume";

const CASES: [Case; 8] = [
    plain("a rare literal", LITERAL),
    plain("a common literal", "mutex_unlock\\(&priv"),
    plain("a word", "\\bspin_lock_irqsave\\b"),
    plain(
        "an alternation",
        "kzalloc_node|vmalloc_user|devm_kstrdup|kmemdup_nul|kvmalloc_array",
    ),
    Case {
        insensitive: true,
        ..plain("ignoring case", "deadlock")
    },
    plain("an inner literal", "[A-Z]+_SUSPEND"),
    Case {
        backtracks: true,
        ..plain("lookaround", "(?<!un)likely\\((?!ret|err)")
    },
    Case {
        backtracks: true,
        ..plain("a back-reference", "\\b(\\w+) \\1\\b")
    },
];

const NOTE: &str = "replay sorts by path; the others print in the order they find. First call: a new session for each \
    round, its start not counted. Again: the same call in a session that has made it before.";
/// Limit above the number of matches of these searches in one reply. Cases with more matches count
/// lines per file.
const ALL: u64 = 10_000;

pub fn rows(args: &Args) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for case in &CASES {
        rows.extend(one(args, case)?);
    }
    Ok(rows)
}

fn one(args: &Args, case: &Case) -> Result<Vec<Row>> {
    let peer = if case.backtracks { "rg -P" } else { "rg" };
    let spec = |when: &str, must: f64, excellent: f64| Spec {
        name: "grep",
        title: format!("grep_files, {} `{}`, {when}", case.title, case.pattern),
        unit: Unit::Seconds,
        counted: "matching lines",
        base: None,
        goals: vec![Goal::Ratio {
            of: peer,
            must,
            excellent,
        }],
        note: NOTE,
    };
    let again_must = if case.backtracks { 0.5 } else { 0.25 };
    let specs = [
        spec("first call", 1.0, 0.85),
        spec("again", again_must, again_must / 2.0),
    ];
    let Ok(tree) = args.tree.canonicalize() else {
        return rounds(specs.into(), vec![Contender::missing(REPLAY, MISSING)], 1);
    };
    let arguments = json!({
        "regex": case.pattern, "directory": tree, "caseInsensitive": case.insensitive, "outputMode": "count",
        "maxResults": ALL, "maxBytes": 16 << 20,
    });
    let mut rows = Vec::new();
    for (index, spec) in specs.into_iter().enumerate() {
        let ours = if index == 0 { first } else { again };
        let mut contenders = vec![ours(
            &tree,
            "grep_files",
            arguments.clone(),
            HitCounter::Structured("count"),
        )];
        contenders.push(ripgrep(peer, case, &tree));
        contenders.push(gnu(case, &tree).at_most(3));
        rows.extend(rounds(vec![spec], contenders, args.rounds)?);
    }
    Ok(rows)
}

/// Runs ripgrep on the same files, including hidden and ignored ones. Counts per file keep the cost
/// of printing out of the comparison.
fn ripgrep(name: &'static str, case: &Case, tree: &Path) -> Contender<'static> {
    let mut words: Vec<&str> = vec!["-uu", "-c", "--no-messages"];
    words.extend(case.backtracks.then_some("-P"));
    words.extend(case.insensitive.then_some("-i"));
    words.extend(["-e", case.pattern]);
    let how = format!("rg {} TREE", words.join(" "));
    program(name, &["rg"], how, &words, tree, HitCounter::Counts)
}

fn gnu(case: &Case, tree: &Path) -> Contender<'static> {
    let mut words: Vec<&str> = vec!["-rcI"];
    words.push(if case.backtracks { "-P" } else { "-E" });
    words.extend(case.insensitive.then_some("-i"));
    words.extend(["-e", case.pattern]);
    program(
        "GNU grep",
        &["grep"],
        format!("LC_ALL=C grep {} TREE", words.join(" ")),
        &words,
        tree,
        HitCounter::Counts,
    )
}

/// Measures the first page of matches for a frequent word.
pub fn begin(args: &Args) -> Result<Vec<Row>> {
    let spec = Spec {
        name: "first500",
        title: "grep_files, first 500 hits of `return`".to_owned(),
        unit: Unit::Seconds,
        counted: "lines",
        base: None,
        goals: vec![Goal::Ratio {
            of: "rg | head",
            must: 2.0,
            excellent: 1.0,
        }],
        note: "replay's are the first 500 in the order of paths, rg's are those it happens to find first.",
    };
    let Ok(tree) = args.tree.canonicalize() else {
        return rounds(vec![spec], vec![Contender::missing(REPLAY, MISSING)], 1);
    };
    let arguments = json!({"regex": "return", "directory": tree, "maxResults": 500});
    let ours = first(
        &tree,
        "grep_files",
        arguments,
        HitCounter::Structured("count"),
    );
    let theirs = match (first_on_path(&["rg"]), first_on_path(&["head"])) {
        (Ok(rg), Ok(head)) => Contender::new(
            "rg | head",
            "rg -uu -n return TREE | head -500",
            move || headed(&rg, &head, &tree),
        ),
        (Err(reason), _) | (_, Err(reason)) => Contender::missing("rg | head", reason),
    };
    rounds(vec![spec], vec![ours, theirs], args.rounds * 3)
}

fn headed(rg: &Path, head: &Path, tree: &Path) -> Result<Trial> {
    let begin = Instant::now();
    let mut finder = Command::new(rg)
        .args(["-uu", "-n", "return"])
        .arg(tree)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let found = finder.stdout.take().context("no pipe")?;
    let output = Command::new(head).arg("-500").stdin(found).output()?;
    // A pipeline ends when all its programs have ended.
    finder.wait()?;
    let time = begin.elapsed().as_secs_f64();
    Ok(Trial::of(
        time,
        memchr::memchr_iter(b'\n', &output.stdout).count() as u64,
        output.stdout.len() as u64,
    ))
}

/// Measures a project of a thousand files, and one large file.
pub fn sizes(args: &Args) -> Result<Vec<Row>> {
    const WORD: &str = "spin_unlock";
    let spec = |title: &str, goals| Spec {
        name: "sizes",
        title: title.to_owned(),
        unit: Unit::Seconds,
        counted: "matching lines",
        base: None,
        goals,
        note: NOTE,
    };
    let goals = |must, excellent| {
        vec![Goal::Ratio {
            of: "rg",
            must,
            excellent,
        }]
    };
    let Ok(tree) = args.tree.canonicalize() else {
        return rounds(
            vec![spec("grep_files in 1,000 files", vec![])],
            vec![Contender::missing(REPLAY, MISSING)],
            1,
        );
    };
    let (project, large) = (project(&tree)?, one_file(&tree)?);
    let case = plain("a word", WORD);
    let arguments = |at: &Path| json!({"regex": WORD, "directory": at, "outputMode": "count", "maxResults": ALL});
    let contenders = |ours: fn(&Path, &'static str, Value, HitCounter) -> Contender<'static>,
                      at: &Path| {
        // A file cannot be allowed, only its directory.
        let root = if at.is_file() {
            at.parent().unwrap_or(at)
        } else {
            at
        };
        vec![
            ours(
                root,
                "grep_files",
                arguments(at),
                HitCounter::Structured("count"),
            ),
            ripgrep("rg", &case, at),
        ]
    };
    let rows = [
        (
            "grep_files in 1,000 files, first call",
            goals(0.7, 0.5),
            contenders(first, &project),
        ),
        (
            "grep_files in 1,000 files, again",
            goals(0.4, 0.2),
            contenders(again, &project),
        ),
        (
            "grep_files in one file of 130 MB",
            goals(1.0, 0.7),
            contenders(first, &large),
        ),
    ];
    let mut all = Vec::new();
    for (title, goals, contenders) in rows {
        all.extend(rounds(
            vec![spec(title, goals)],
            contenders,
            args.rounds * 3,
        )?);
    }
    Ok(all)
}

/// Copies the first thousand files of `net` in the tree, once. The search cache ignores files
/// changed in the last minute, so a new copy rests longer than that before use.
fn project(tree: &Path) -> Result<PathBuf> {
    const QUIET: Duration = Duration::from_secs(70);
    let dir = trees::home().join("project-1000");
    if !dir.is_dir() {
        let beside = trees::fresh("project-1000.new")?;
        for (index, file) in files(&tree.join("net"))?.into_iter().take(1000).enumerate() {
            let folder = beside.join(format!("{:02}", index / 40));
            fs::create_dir_all(&folder)?;
            fs::copy(&file, folder.join(format!("{index:03}.c")))?;
        }
        fs::rename(beside, &dir)?;
        thread::sleep(QUIET);
    }
    Ok(dir.canonicalize()?)
}

/// Concatenates sources up to 130 MB, once.
fn one_file(tree: &Path) -> Result<PathBuf> {
    const BYTES: usize = 130_000_000;
    let dir = trees::home().join("one-file");
    let path = dir.join("large.c");
    if !path.is_file() {
        fs::create_dir_all(&dir)?;
        let mut text = Vec::with_capacity(BYTES + (1 << 24));
        for file in files(&tree.join("drivers"))? {
            text.extend(fs::read(file)?.into_iter().filter(|byte| *byte != 0));
            if text.len() >= BYTES {
                break;
            }
        }
        ensure!(!text.is_empty(), "no files in the tree's drivers");
        fs::write(&path, text)?;
    }
    Ok(path.canonicalize()?)
}

/// Returns all files below a directory, sorted by path.
fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let all = WalkDir::new(dir).sort_by_file_name().into_iter();
    let files = all.filter(|entry| {
        entry
            .as_ref()
            .map_or(true, |entry| entry.file_type().is_file())
    });
    files.map(|entry| Ok(entry?.into_path())).collect()
}
