//! `PHPUnit` 9 and newer: its `JUnit` XML, which it writes at the end. Its events for `TeamCity` on
//! stderr tell how far an interrupted run came.

use crate::prelude::*;

/// `PHPUnit` 9 and newer.
pub(crate) struct Phpunit;

/// Name in composer.json, with its quotes.
const PACKAGE: &str = "\"phpunit/phpunit\"";
/// Places of the program in a project with Composer.
const PROGRAMS: [&str; 2] = ["vendor/bin/phpunit", "bin/phpunit"];

impl ProjectTool for Phpunit {
    fn about(&self) -> ToolDescription {
        ToolDescription::on_path(Language::Php, "phpunit", "PHPUnit 9 and newer", "phpunit")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        let depends = || {
            let is_named = level.text("composer.json").contains(PACKAGE);
            is_named.then(|| named("phpunit is a dependency in composer.json"))
        };
        level.sign_of_prefix("phpunit.").or_else(depends)
    }

    fn program(&self, context: &RunContext<'_>, project: &Checked<Read>) -> ToolProgram {
        let disk = context.disk();
        let is_there = |program: &&str| {
            disk.true_path(&project.display_path().join(program))
                .is_some()
        };
        ToolProgram::on_path(PROGRAMS.into_iter().find(is_there).unwrap_or("phpunit"))
    }

    fn install_step(&self, context: &RunContext<'_>, project: &Path, _: &[String]) -> String {
        let manifest = context.disk().text(&project.join("composer.json"));
        let is_listed = manifest.is_some_and(|text| text.contains(PACKAGE));
        let command = if is_listed {
            "composer install"
        } else {
            "composer require --dev phpunit/phpunit"
        };
        context.install_hint(command, "")
    }
}

impl Runner for Phpunit {
    fn tests_of(&self, stem: &str) -> Option<String> {
        Some(format!("**/{stem}Test.php"))
    }

    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = RunPlan::of(wanted);
        plan.add([
            "--log-junit".to_owned(),
            format!("{}/{REPORT}", wanted.place),
        ]);
        plan.add(["--log-teamcity", "php://stderr", "--colors=never"]);
        plan.add(["--do-not-cache-result", "--no-coverage", "--no-logging"]);
        let paths = paths(wanted, PathStyle::Exact);
        let names = match wanted.named_failures() {
            Some(failed) => failed
                .iter()
                .map(|test| escape_regex(&test.names.join("::")) + "$")
                .collect(),
            // PHPUnit takes one path: several files are selected by the names of their classes.
            _ if paths.len() > 1 => classes(wanted.selection, &paths)?,
            _ => Vec::new(),
        };
        if !names.is_empty() || wanted.filter.is_some() {
            let class = if names.is_empty() {
                String::new()
            } else {
                format!("(?=(?:.*\\\\)?{})", any_of(names))
            };
            let filter = match wanted.filter {
                // A regular expression with delimiters of its own.
                Some(filter) if class.is_empty() => filter.to_owned(),
                Some(filter) => format!("/^{class}.*(?:{})/i", filter.replace('/', "\\/")),
                None => format!("/^{}/", class.replace('/', "\\/")),
            };
            // As one word, a filter with `=` would be cut.
            plan.add(["--filter".to_owned(), filter]);
        }
        plan.add(directory(wanted, paths));
        Ok(plan)
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        let mut collector = junit::parse_with(sources, bound, adapt);
        let text = String::from_utf8_lossy(sources.stdout);
        collector.find_version(&text, "PHPUnit ");
        let is_whole = collector.results.ended;
        read_events(&mut collector, sources, bound, is_whole);
        if !collector.results.begun {
            let streams = [sources.stderr, sources.stdout];
            let lines = streams.map(|bytes| lines::lines(bytes, bound));
            if let Some((message, frame)) = load_error(lines.into_iter().flatten()) {
                collector.file_error(&frame.file, Phase::Collect, &message, frame.line, None);
            }
        }
        collector.results
    }

    fn ended_without_tests(&self, results: &TestResults, exit_code: Option<i32>) -> bool {
        results.begun && exit_code != Some(2)
    }
}

/// Returns patterns for the test classes of files, by the names of the files (PSR-4).
fn classes(selection: &TestSelection, paths: &[String]) -> Result<Vec<String>, TestrunError> {
    if let TestSelection::Targets(targets) = selection
        && targets.iter().any(|target| target.is_dir)
    {
        return Err(TestrunError::arguments(
            "PHPUnit runs one directory in a call; give `testFiles` one directory, or only files",
        ));
    }
    let class = |path: &String| {
        let stem = Path::new(path).file_stem().unwrap_or_default();
        escape_regex(&stem.to_string_lossy()) + "::"
    };
    Ok(paths.iter().map(class).collect())
}

/// Returns the path to run: the directory of several files; for all tests that of the
/// configuration, or else `tests`.
fn directory(wanted: &RunInputs<'_>, paths: Vec<String>) -> Option<String> {
    if paths.is_empty() {
        let names = wanted.tree.names(wanted.project).unwrap_or_default();
        let is_configured = names.iter().any(|name| name.starts_with("phpunit."));
        return (!is_configured && names.iter().any(|name| name == "tests"))
            .then(|| "tests".to_owned());
    }
    if paths.len() == 1 {
        return paths.into_iter().next();
    }
    let is_shared = |dir: &&Path| paths.iter().all(|path| Path::new(path).starts_with(dir));
    let shared = Path::new(&paths[0]).ancestors().find(is_shared)?;
    let shared = shared.to_string_lossy().into_owned();
    Some(if shared.is_empty() {
        ".".to_owned()
    } else {
        shared
    })
}

/// Completes a case: its class, and the places below a message. `PHPUnit` 9 reports a risky test as an
/// error, which it is not for the exit code. A class without tests is a test there.
fn adapt(case: &mut JunitCase) {
    case.is_in_file = true;
    // `classname` has dots.
    let class = match case.class.as_str() {
        "" => case.suite.clone(),
        class => class.replace('.', "\\"),
    };
    case.around = vec![class];
    if case.class.is_empty() && case.name == "Warning" {
        case.stated = Some(State::Skipped);
    }
    case.faults
        .retain(|fault| !fault.kind.ends_with("\\RiskyTestError"));
    for fault in &mut case.faults {
        let mut message = Vec::new();
        for line in fault.text.lines() {
            match place(line) {
                Some(frame) => fault.frames.push(frame),
                None => message.push(line),
            }
        }
        // The first line is the name of the test.
        let is_name = message.first().is_some_and(|line| line.contains("::"));
        let text = message.split_off(usize::from(is_name)).join("\n");
        text.trim().clone_into(&mut fault.text);
        if fault.kind.starts_with("PHPUnit\\Framework\\") {
            fault.kind.clear();
        }
    }
}

/// Returns the error, and its place, of a file that could not be loaded: `PHPUnit`'s `Message:` and
/// `Location:`, or PHP's `Fatal error:  message in FILE:LINE`.
fn load_error<'l>(lines: impl Iterator<Item = &'l [u8]>) -> Option<(String, Frame)> {
    let mut message = String::new();
    for line in lines {
        let line = String::from_utf8_lossy(line);
        if let Some(text) = line.strip_prefix("Message:  ") {
            text.clone_into(&mut message);
        } else if let Some(frame) = line.strip_prefix("Location: ").and_then(place) {
            return Some((message, frame));
        } else if let Some((_, text)) = line.split_once("Fatal error:  ")
            && let Some((text, at)) = text.rsplit_once(" in ")
            && let Some(frame) = place(&at.replace(" on line ", ":"))
        {
            return Some((text.to_owned(), frame));
        }
    }
    None
}

/// Parses `/path/file.php:7`.
fn place(line: &str) -> Option<Frame> {
    let (file, number) = line.trim().rsplit_once(':')?;
    let is_path = file.starts_with('/') && !file.contains(": ");
    let line = number.parse().ok().filter(|_| is_path)?;
    Some(Frame::at(file, Some(line)))
}

/// Reads the events of a run: the number of its tests, and the tests that began and never ended. If
/// the report is not whole, it takes the results from the events.
fn read_events(
    collector: &mut ResultCollector<'_>,
    sources: &Sources<'_>,
    bound: Bound<'_>,
    is_whole: bool,
) {
    let (mut planned, mut ended, mut open) = (0_u64, 0, None::<Case>);
    let mut suite = String::new();
    for line in lines::lines(sources.stderr, bound) {
        let line = String::from_utf8_lossy(line);
        let Some((event, values)) = line
            .split_once("##teamcity[")
            .and_then(|(_, rest)| rest.split_once(' '))
        else {
            continue;
        };
        let value = |name: &str| value(values, name);
        match event {
            "testCount" => planned = value("count").parse().unwrap_or(0),
            "testSuiteStarted" => suite = value("name"),
            "testStarted" => open = Some(case(collector, &value("locationHint"))),
            "testFailed" | "testIgnored" => {
                let is_failure = event == "testFailed";
                let details = value("details");
                let frames = details.lines().filter_map(place).collect();
                if is_failure && value("name") == suite {
                    // A hook of the class, which the report leaves out.
                    collector.run_error(Some(&suite), &value("message"), frames);
                } else if let Some(case) = &mut open {
                    case.state = if is_failure {
                        State::Failed
                    } else {
                        State::Skipped
                    };
                    let mut error = collector.error(None, &value("message"));
                    error.stack = collector.stack(frames);
                    case.errors = vec![error];
                }
            }
            "testFinished" => {
                ended += 1;
                if let Some(case) = open.take().filter(|_| !is_whole) {
                    collector.add(case);
                }
            }
            _ => {}
        }
    }
    if !is_whole && planned > 0 {
        collector.results.begun = true;
        if let Some(case) = open {
            collector.add_unfinished(&case.id);
        }
    }
    // `stopOnFailure` and its like: PHPUnit has no option against it.
    if is_whole {
        ended = collector.results.summary.total;
    }
    collector.add_not_run(planned.saturating_sub(ended));
}

/// Creates a test from its place: `php_qn://FILE::\CLASS::NAME`.
fn case(collector: &mut ResultCollector<'_>, place: &str) -> Case {
    let mut parts = place.trim_start_matches("php_qn://").splitn(3, "::");
    let mut next = || parts.next().unwrap_or_default().trim_start_matches('\\');
    let (file, class, name) = (collector.path(next()), next(), next());
    collector.add_file(&file);
    let id = collector.name(&join_id([file.as_str(), class, name]));
    let mut case = Case::new(id, collector.name(name), State::Passed);
    case.suite = collector.suite(&[class]);
    case.file = Some(file);
    case
}

/// Returns a value of an event of `TeamCity`, without its escapes.
fn value(values: &str, name: &str) -> String {
    let mut found = String::new();
    let Some(start) = values.find(&format!("{name}='")) else {
        return found;
    };
    let mut rest = values[start + name.len() + 2..].chars();
    while let Some(next) = rest.next().filter(|next| *next != '\'') {
        match next {
            '|' => found.extend(
                rest.next()
                    .map(|next| if next == 'n' { '\n' } else { next }),
            ),
            _ => found.push(next),
        }
    }
    found
}
