//! TAP 12 to 14, the Test Anything Protocol (<https://testanything.org/tap-version-14-specification.html>).

use replay_base::cancel::Bound;
use replay_base::limits::MAX_TEST_TEXT_BYTES;

use super::collector::{ResultCollector, join_id, milliseconds};
use super::lines::lines;
use crate::model::{Case, State};

/// Columns by which a subtest is indented.
const INDENT: usize = 4;
/// Maximum depth of subtests.
const MAX_DEPTH: usize = 16;

/// A line of TAP without its indent.
enum Line<'a> {
    Point(Point<'a>),
    /// Number of tests.
    Plan(u64),
    BailOut(&'a str),
}

/// A test point.
struct Point<'a> {
    name: &'a str,
    state: State,
}

/// A test that was read, with its diagnostics.
struct TapTest {
    suite: Vec<String>,
    name: String,
    state: State,
    /// Lines of the YAML block, or of the comments below it.
    diagnostics: String,
}

/// Reader of a document.
#[derive(Default)]
struct TapReader {
    levels: Vec<Level>,
    /// `true` if diagnostics belong to the last test.
    has_open_test: bool,
    bail_out: Option<String>,
}

/// Tests at one depth whose parent has not been read.
#[derive(Default)]
struct Level {
    tests: Vec<TapTest>,
    /// Number of test points.
    points: u64,
    plan: Option<u64>,
}

/// Returns true for output with a version or a plan, and a test point; or with a plan of no test.
pub(crate) fn is_tap(output: &[u8]) -> bool {
    let mut has_head = false;
    let mut has_point = false;
    for line in output.split(|byte| *byte == b'\n') {
        let Ok(line) = std::str::from_utf8(line) else {
            continue;
        };
        has_head |= line.starts_with("TAP version ");
        match parse(line.trim_end()) {
            Some(Line::Plan(0)) => return true,
            Some(Line::Plan(_)) => has_head = true,
            Some(Line::Point(_)) => has_point = true,
            _ => {}
        }
        if has_head && has_point {
            return true;
        }
    }
    false
}

/// Reads a document. Returns true if it has begun, and true if it is complete.
pub(crate) fn collect(
    document: &[u8],
    bound: Bound<'_>,
    collector: &mut ResultCollector<'_>,
) -> (bool, bool) {
    let mut reader = TapReader::default();
    for line in lines(document, bound) {
        reader.add(&String::from_utf8_lossy(line));
    }
    // Subtests without a parent belong to a document that was cut.
    let is_whole = reader.levels.len() == 1 && reader.bail_out.is_none() && !bound.is_over();
    let (points, plan) = reader
        .levels
        .first()
        .map_or((0, None), |top| (top.points, top.plan));
    for test in reader.levels.into_iter().flat_map(|level| level.tests) {
        add(collector, &test);
    }
    if let Some(why) = reader.bail_out {
        collector.run_error(Some("Bail out!"), &why, Vec::new());
    }
    if let Some(plan) = plan.filter(|plan| *plan != points) {
        collector.results.passed = Some(false);
        let message = format!("the plan announces {plan} tests, but {points} were reported");
        collector.run_error(Some("counts disagree"), &message, Vec::new());
    }
    (points > 0 || plan.is_some(), is_whole && plan.is_some())
}

impl TapReader {
    fn add(&mut self, line: &str) {
        let rest = line.trim_start_matches(' ');
        let depth = ((line.len() - rest.len()) / INDENT).min(MAX_DEPTH);
        match parse(rest.trim_end()) {
            Some(Line::Point(point)) => self.add_point(depth, &point),
            Some(Line::Plan(count)) => {
                self.level(depth).plan = Some(count);
                self.has_open_test = false;
            }
            Some(Line::BailOut(why)) => self.bail_out = Some(why.to_owned()),
            None if rest.starts_with("# Subtest") => self.has_open_test = false,
            None => self.add_diagnostic(line),
        }
    }

    fn level(&mut self, depth: usize) -> &mut Level {
        let count = self.levels.len().max(depth + 1);
        self.levels.resize_with(count, Level::default);
        &mut self.levels[depth]
    }

    /// Adds a test, or the parent of the subtests before it. A parent counts only if it failed and
    /// none of its subtests did.
    fn add_point(&mut self, depth: usize, point: &Point<'_>) {
        self.level(depth);
        let mut below: Vec<TapTest> = self
            .levels
            .drain(depth + 1..)
            .flat_map(|level| level.tests)
            .collect();
        for test in &mut below {
            test.suite.insert(0, point.name.to_owned());
        }
        let is_explained = below.iter().any(|test| test.state.is_failure());
        let is_parent = !below.is_empty() && (is_explained || !point.state.is_failure());
        let here = &mut self.levels[depth];
        here.points += 1;
        here.tests.append(&mut below);
        if !is_parent {
            here.tests.push(TapTest {
                suite: Vec::new(),
                name: point.name.to_owned(),
                state: point.state,
                diagnostics: String::new(),
            });
        }
        self.has_open_test = !is_parent && point.state.is_failure();
    }

    /// Adds a line to the diagnostics of the last test.
    fn add_diagnostic(&mut self, line: &str) {
        let mut levels = self.levels.iter_mut().rev();
        let last = levels.find_map(|level| level.tests.last_mut());
        let Some(test) = last.filter(|_| self.has_open_test) else {
            return;
        };
        let text = line.trim();
        if !matches!(text, "---" | "..." | "") && test.diagnostics.len() < MAX_TEST_TEXT_BYTES {
            let text = text.strip_prefix('#').map_or(line.trim_end(), str::trim);
            test.diagnostics.push_str(text);
            test.diagnostics.push('\n');
        }
    }
}

/// Parses a line of the protocol; returns `None` for other output.
fn parse(line: &str) -> Option<Line<'_>> {
    if let Some(why) = line.strip_prefix("Bail out!") {
        return Some(Line::BailOut(why.trim()));
    }
    if let Some(plan) = line.strip_prefix("1..") {
        let count = plan.split(|next: char| !next.is_ascii_digit()).next()?;
        return Some(Line::Plan(count.parse().ok()?));
    }
    let (is_ok, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let rest = rest.trim_start();
    let rest = rest.trim_start_matches(|next: char| next.is_ascii_digit());
    let rest = rest
        .trim_start()
        .strip_prefix("- ")
        .unwrap_or(rest.trim_start());
    let (name, directive) = rest.split_once(" # ").unwrap_or_else(|| {
        // The directive may stand alone.
        rest.strip_prefix("# ")
            .map_or((rest, ""), |directive| ("", directive))
    });
    let is = |word: &str| {
        let start = directive.get(..word.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    let state = match is_ok {
        _ if is("skip") => State::Skipped,
        true if is("todo") => State::Passed,
        false if is("todo") => State::Todo,
        true => State::Passed,
        false => State::Failed,
    };
    Some(Line::Point(Point {
        name: name.trim(),
        state,
    }))
}

fn add(collector: &mut ResultCollector<'_>, test: &TapTest) {
    let parts = test.suite.iter().chain([&test.name]).map(String::as_str);
    let id = collector.name(&join_id(parts));
    let mut case = Case::new(id, collector.name(&test.name), test.state);
    case.suite = collector.suite(&test.suite);
    if test.state.is_failure() {
        let diagnostics = unindent(&test.diagnostics);
        let duration = diagnostics
            .lines()
            .find_map(|line| line.strip_prefix("duration_ms: ")?.parse().ok());
        case.duration_ms = duration.and_then(milliseconds);
        let message = if diagnostics.is_empty() {
            "not ok"
        } else {
            &diagnostics
        };
        let error = collector.error(None, message);
        case.errors.push(error);
    }
    collector.add(case);
}

/// Removes the common indent of all lines.
fn unindent(text: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let least = text.lines().map(indent).min().unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(|line| &line[least..]).collect();
    lines.join("\n")
}
