//! TAP 12 to 14, the Test Anything Protocol (<https://testanything.org/tap-version-14-specification.html>).

use replay_base::cancel::Bound;
use replay_base::limits::{MAX_KEPT_TESTS, MAX_RUN_FAULTS, MAX_TEST_TEXT_BYTES};

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
    number: Option<u64>,
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
    /// Disagreements between plans and points.
    faults: Vec<String>,
}

/// Tests at one depth whose parent has not been read.
#[derive(Default)]
struct Level {
    tests: Vec<TapTest>,
    /// Number of test points.
    points: u64,
    /// Number of points with a number, and the sum of the squares of these.
    numbered: (u64, u128),
    plan: Option<u64>,
}

impl Level {
    /// Returns the disagreement between the plan and the points.
    fn fault(&self) -> Option<String> {
        let (plan, points) = (self.plan?, self.points);
        if plan != points {
            return Some(format!(
                "the plan announces {plan} tests, but {points} were reported"
            ));
        }
        let count = u128::from(plan);
        let (numbered, squares) = self.numbered;
        let is_complete = squares == count * (count + 1) * (2 * count + 1) / 6;
        (numbered == points && !is_complete)
            .then(|| format!("the numbers of the tests are not those from 1 to {plan}"))
    }
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
        reader.add(&String::from_utf8_lossy(line), collector);
    }
    // Subtests without a parent belong to a document that was cut.
    let is_whole = reader.levels.len() == 1 && reader.bail_out.is_none() && !bound.is_over();
    let top = reader.levels.first();
    let (points, plan) = top.map_or((0, None), |top| (top.points, top.plan));
    reader.faults.extend(top.and_then(Level::fault));
    for test in reader.levels.into_iter().flat_map(|level| level.tests) {
        add(collector, &test);
    }
    if let Some(why) = reader.bail_out {
        collector.run_error(Some("Bail out!"), &why, Vec::new());
    }
    for fault in reader.faults {
        collector.results.passed = Some(false);
        collector.run_error(Some("counts disagree"), &fault, Vec::new());
    }
    (points > 0 || plan.is_some(), is_whole && plan.is_some())
}

impl TapReader {
    fn add(&mut self, line: &str, collector: &mut ResultCollector<'_>) {
        let rest = line.trim_start_matches(' ');
        let depth = ((line.len() - rest.len()) / INDENT).min(MAX_DEPTH);
        match parse(rest.trim_end()) {
            Some(Line::Point(point)) => {
                if depth == 0 {
                    self.flush(collector);
                }
                self.add_point(depth, &point);
            }
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

    /// Hands over the finished tests of the top level, whose diagnostics are complete.
    fn flush(&mut self, collector: &mut ResultCollector<'_>) {
        for test in self.level(0).tests.drain(..) {
            add(collector, &test);
        }
    }

    /// Adds a test, or the parent of the subtests before it. A parent counts only if it failed and
    /// none of its subtests did.
    fn add_point(&mut self, depth: usize, point: &Point<'_>) {
        self.level(depth);
        let mut below = Vec::new();
        for level in self.levels.drain(depth + 1..) {
            if self.faults.len() < MAX_RUN_FAULTS {
                self.faults.extend(level.fault());
            }
            below.extend(level.tests);
        }
        for test in &mut below {
            test.suite.insert(0, point.name.to_owned());
        }
        let is_explained = below.iter().any(|test| test.state.is_failure());
        let is_parent = !below.is_empty() && (is_explained || !point.state.is_failure());
        let here = &mut self.levels[depth];
        here.points += 1;
        if let Some(number) = point.number {
            here.numbered.0 += 1;
            here.numbered.1 = here
                .numbered
                .1
                .wrapping_add(u128::from(number) * u128::from(number));
        }
        here.tests.append(&mut below);
        if !is_parent {
            here.tests.push(TapTest {
                suite: Vec::new(),
                name: point.name.to_owned(),
                state: point.state,
                diagnostics: String::new(),
            });
        }
        // Subtests wait for their parent, which may never come.
        let is_full = depth > 0 && here.tests.len() > MAX_KEPT_TESTS;
        if is_full {
            here.tests.truncate(MAX_KEPT_TESTS);
            if self.faults.len() < MAX_RUN_FAULTS {
                self.faults
                    .push(format!("a test has more than {MAX_KEPT_TESTS} subtests"));
            }
        }
        self.has_open_test = !is_full && !is_parent && point.state.is_failure();
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
    let digits = rest.len()
        - rest
            .trim_start_matches(|next: char| next.is_ascii_digit())
            .len();
    let (number, rest) = rest.split_at(digits);
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
        number: number.parse().ok(),
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
