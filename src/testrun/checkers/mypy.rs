//! mypy: parses `--output json` (columns count from 0) or its text, with or without columns and
//! ends.

mod configuration;

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use replay_base::limits::{MAX_TEST_NAME_BYTES, MAX_TEST_TEXT_BYTES, MAX_TOLD_LINES};
use sha2::{Digest as _, Sha256};

use crate::prelude::*;

/// Bytes of the hash in the name of a project's cache.
const CACHE_NAME_BYTES: usize = 8;

const OUTPUT: &str = "--output=json";

pub(crate) struct Mypy;

impl ProjectTool for Mypy {
    fn about(&self) -> ToolDescription {
        ToolDescription::python("mypy", "mypy")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        level
            .sign_of_file("mypy.ini")
            .or_else(|| level.sign_of_file(".mypy.ini"))
            .or_else(|| level.section("pyproject.toml", "[tool.mypy"))
            .or_else(|| level.section("setup.cfg", "[mypy"))
            .or_else(|| {
                python::is_project(level)
                    .then(|| (SignWeight::Habit, "a Python project".to_owned()))
            })
    }
}

impl Checker for Mypy {
    fn arguments(&self, wanted: &CheckInputs<'_>) -> Result<Vec<String>, TestrunError> {
        let cache = cache_name(wanted.dir(), wanted.project.id());
        // Only a traceback has the reason for an internal error of mypy.
        let mut words = [OUTPUT, "--no-color-output", "--show-traceback"]
            .map(str::to_owned)
            .to_vec();
        words.push(format!(
            "--cache-dir={}/mypy-cache/{cache}",
            wanted.context.tmp.display()
        ));
        words.extend(wanted.paths());
        let says_files = configuration::FILES.iter().any(|name| {
            let named = ["files", "packages", "modules"];
            let text = wanted.text(name).unwrap_or_default();
            text.lines()
                .filter_map(|line| line.split_once('='))
                .any(|(key, _)| named.contains(&key.trim()))
        });
        if wanted.targets.is_empty() && !says_files {
            words.push(".".to_owned());
        }
        Ok(words)
    }

    /// Parses stdout, and mypy's own errors from stderr.
    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> CheckResults {
        let mut found = DiagnosticCollector::new(sources.root);
        let mut crash = None;
        for bytes in [sources.stdout, sources.stderr] {
            for line in lines::lines(bytes, bound) {
                if let Ok(line) = serde_json::from_slice::<MypyFinding>(line) {
                    add(&mut found, of_json(line));
                    continue;
                }
                let line = String::from_utf8_lossy(line);
                match of_text(&mut found, &line) {
                    Some(diagnostic) if diagnostic.message.starts_with(CRASH) => {
                        crash = Some(diagnostic);
                    }
                    // Advice for users with a terminal.
                    Some(diagnostic)
                        if crash.is_none() || diagnostic.severity != Severity::Note =>
                    {
                        add(&mut found, diagnostic);
                    }
                    _ => {}
                }
            }
        }
        if let Some(mut diagnostic) = crash {
            found.checked.broke = true;
            CRASH.clone_into(&mut diagnostic.message);
            for line in last_words(sources, bound) {
                diagnostic.message.push_str("\n  ");
                diagnostic.message.push_str(&line);
            }
            found.add(diagnostic);
        }
        found.checked
    }

    fn adapt(&self, argv: &mut [String], stderr: &str) -> bool {
        // mypy before 1.11.
        let word = argv.iter_mut().find(|word| {
            *word == OUTPUT && stderr.contains("unrecognized arguments: --output=json")
        });
        word.map(|word| "--show-column-numbers".clone_into(word))
            .is_some()
    }

    fn configuration(&self, text: &TextOf<'_>) -> Option<(&'static str, String)> {
        configuration::find(text)
    }

    fn silenced(&self, source: CheckSource<'_>, configuration: &str) -> Option<String> {
        configuration::silenced(source, configuration)
    }

    fn excluded(&self, configuration: &str) -> Option<String> {
        configuration::excluded(configuration)
    }
}

#[derive(Deserialize)]
struct MypyFinding {
    file: String,
    line: Option<i64>,
    column: Option<i64>,
    end_line: Option<i64>,
    end_column: Option<i64>,
    message: String,
    hint: Option<String>,
    code: Option<String>,
    severity: String,
}

/// Prefix of the message for an internal error of mypy (`mypy.errors.report_internal_error`).
const CRASH: &str = "INTERNAL ERROR";

/// Returns the end of mypy's other output after an internal error: the traceback and stderr.
fn last_words(sources: &Sources<'_>, bound: Bound<'_>) -> Vec<String> {
    // Fixed texts of mypy for every internal error.
    const FIXED_TEXTS: [&str; 4] = [
        "https://",
        "Please report a bug",
        "If this issue continues",
        "version: ",
    ];
    let is_own = |line: &str| {
        !line.contains(CRASH)
            && !line.contains("note: ")
            && !FIXED_TEXTS.iter().any(|usual| line.starts_with(usual))
    };
    let mut last = VecDeque::new();
    for bytes in [sources.stderr, sources.stdout] {
        for line in lines::lines(bytes, bound).filter(|line| !line.starts_with(b"{")) {
            let line = String::from_utf8_lossy(line);
            if is_own(&line) {
                last.push_back(visible_text::name(line.trim_end(), MAX_TEST_NAME_BYTES).0);
            }
            if last.len() >= MAX_TOLD_LINES {
                last.pop_front();
            }
        }
    }
    let mut room = MAX_TEST_TEXT_BYTES / 2;
    let fits = |line: &&String| {
        room = room.saturating_sub(line.len() + 3);
        room > 0
    };
    let kept = last.iter().rev().take_while(fits).count();
    last.drain(..last.len() - kept);
    last.into()
}

/// Adds a diagnostic, or appends a note to the error on the same line.
fn add(found: &mut DiagnosticCollector<'_>, diagnostic: Diagnostic) {
    if diagnostic.severity == Severity::Note
        && let Some(file) = &diagnostic.file
    {
        let related = Related {
            message: diagnostic.message.clone(),
            ..Related::default()
        };
        if found.relate(file, diagnostic.line, related) {
            return;
        }
    }
    found.add(diagnostic);
}

fn of_json(line: MypyFinding) -> Diagnostic {
    let known = |number: Option<i64>| {
        number
            .and_then(|number| u32::try_from(number).ok())
            .filter(|number| *number > 0)
    };
    let from_zero = |number: Option<i64>| known(number.and_then(|number| number.checked_add(1)));
    let mut diagnostic = Diagnostic::new(
        severity(&line.severity).unwrap_or(Severity::Error),
        line.message,
    );
    diagnostic.file = Some(line.file);
    (diagnostic.line, diagnostic.column) = (known(line.line), from_zero(line.column));
    (diagnostic.end_line, diagnostic.end_column) =
        (known(line.end_line), from_zero(line.end_column));
    diagnostic.code = line.code;
    diagnostic.related = line
        .hint
        .into_iter()
        .map(|message| Related {
            message,
            ..Related::default()
        })
        .collect();
    diagnostic
}

fn severity(word: &str) -> Option<Severity> {
    match word {
        "error" => Some(Severity::Error),
        "warning" => Some(Severity::Warning),
        "note" => Some(Severity::Note),
        _ => None,
    }
}

/// Parses `file:line:column:end_line:end_column: error: message  [code]`. All numbers but the line
/// are optional, and so is the line for errors of the whole file.
fn of_text(found: &mut DiagnosticCollector<'_>, line: &str) -> Option<Diagnostic> {
    if let Some(files) = checked_files(line) {
        found.checked.files_checked = Some(files);
        return None;
    }
    let word = |word: &'static str| {
        line.split_once(word)
            .map(|(place, message)| (place, word, message))
    };
    let parts = word(": error: ")
        .or_else(|| word(": note: "))
        .or_else(|| word(": warning: "));
    let Some((place, word, message)) = parts else {
        // `mypy: error: ...` and `usage: ...`, from its command-line parser.
        let message = line
            .strip_prefix("mypy: error: ")
            .or_else(|| line.strip_prefix("error: "));
        return message.map(|message| Diagnostic::new(Severity::Error, message));
    };
    let mut place = place.rsplitn(5, ':').collect::<Vec<_>>();
    place.reverse();
    let first = place
        .iter()
        .position(|part| part.parse::<u32>().is_ok())
        .unwrap_or(place.len());
    let numbers: Vec<u32> = place[first..]
        .iter()
        .filter_map(|part| part.parse().ok())
        .collect();
    let file = place[..first].join(":");
    let mut diagnostic = Diagnostic::new(
        severity(word.trim_matches([':', ' '])).unwrap_or(Severity::Error),
        message,
    );
    if file != "mypy" {
        diagnostic.file = Some(file);
    }
    diagnostic.line = numbers.first().copied();
    diagnostic.column = numbers.get(1).copied();
    diagnostic.end_line = numbers.get(2).copied();
    // mypy's end column is inclusive.
    diagnostic.end_column = numbers.get(3).and_then(|column| column.checked_add(1));
    if let Some((message, code)) = message
        .rsplit_once("  [")
        .and_then(|(message, code)| Some((message, code.strip_suffix(']')?)))
    {
        diagnostic.code = Some(code.to_owned());
        message.clone_into(&mut diagnostic.message);
    }
    Some(diagnostic)
}

/// `Success: no issues found in 3 source files`, `Found 7 errors in 2 files (checked 2 source
/// files)`.
fn checked_files(line: &str) -> Option<u64> {
    let rest = match line.strip_prefix("Found ") {
        Some(rest) => rest.split_once("(checked ")?.1,
        None => line.strip_prefix("Success: no issues found in ")?,
    };
    rest.split(' ').next()?.parse().ok()
}

/// Returns the name of a project's own cache, from the true path, device and inode of its
/// directory. A cache entry has the path below the project, the size and the modification time in
/// seconds (`mypy.build.validate_meta`). These can be equal in two projects, or in two that had the
/// same path one after the other.
fn cache_name(dir: &Path, (device, inode): (u64, u64)) -> String {
    let mut hash = Sha256::new();
    hash.update(device.to_le_bytes());
    hash.update(inode.to_le_bytes());
    hash.update(dir.as_os_str().as_bytes());
    // Writing to a String cannot fail.
    hash.finalize()
        .iter()
        .take(CACHE_NAME_BYTES)
        .fold(String::new(), |mut name, byte| {
            let _ = write!(name, "{byte:02x}");
            name
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mypy_cache_name_differs_between_projects() {
        let of = |path: &str, id| cache_name(Path::new(path), id);
        let own = of("/w/a", (1, 2));
        assert_eq!(own.len(), 2 * CACHE_NAME_BYTES);
        assert_eq!(own, of("/w/a", (1, 2)));
        let others = [
            of("/w/b", (1, 2)),
            of("/w/a", (1, 3)),
            of("/w/a", (2, 2)),
            of("/w/a", (2, 1)),
        ];
        assert!(!others.contains(&own), "{own} {others:?}");
    }
}
