//! unittest of Python 3.8 and newer, with the bundled runner (`unittest/replay_unittest.py`).

use crate::prelude::*;

pub(super) const REPORTER: Reporter = Reporter {
    file: "replay_unittest.py",
    text: include_str!("unittest/replay_unittest.py"),
};

const STYLE: EventStyle = EventStyle {
    file_error,
    ..event_reader::STYLE
};

/// Files whose commands may call discovery with options.
const SCRIPTS: [&str; 5] = [
    "tox.ini",
    "pyproject.toml",
    "setup.cfg",
    "noxfile.py",
    "Makefile",
];

/// Options of discovery, in the order of its positional arguments.
const DISCOVERY: [[&str; 2]; 3] = [
    ["-s", "--start-directory"],
    ["-p", "--pattern"],
    ["-t", "--top-level-directory"],
];

pub(crate) struct Unittest;

impl ProjectTool for Unittest {
    fn about(&self) -> ToolDescription {
        ToolDescription::python("unittest", "unittest")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        python::unittest_sign(level)
    }

    fn program(&self, context: &RunContext<'_>, project: &Checked<Read>) -> ToolProgram {
        let (disk, dir) = (context.disk(), project.display_path());
        ToolProgram::Found(python::module(disk, dir, "replay_unittest"), None)
    }

    fn install_step(&self, _: &RunContext<'_>, _: &Path, _: &[String]) -> String {
        RunContext::not_found_hint("python3")
    }
}

impl Runner for Unittest {
    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = python_tests::plan(wanted, &REPORTER);
        let texts = SCRIPTS.map(|name| wanted.tree.text(&wanted.project.join(name)));
        let options = texts.iter().flatten().find_map(|text| discovery(text));
        plan.add(options.unwrap_or_default());
        python_tests::select(&mut plan, wanted);
        Ok(plan)
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        parse(sources, bound)
    }

    fn hint(&self, context: &RunContext<'_>, report: &TestReport, _: bool) -> Option<String> {
        python_modules::module_hint(context, report, None)
    }
}

pub(super) fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
    let mut results = python_tests::parse(sources, bound, &STYLE);
    let stderr = String::from_utf8_lossy(sources.stderr);
    // Settings and custom runners are loaded before the first event.
    let traced = python_text::traceback(&stderr).filter(|_| !results.begun);
    if let Some((message, frames)) = traced {
        let mut collector = ResultCollector::new(sources.root);
        collector.run_error(None, message, frames);
        results.run_errors.append(&mut collector.results.run_errors);
    }
    results
}

/// Returns the error of a file that was not loaded, whose message has a traceback, or of a hook.
fn file_error(_: &str, file: &str, error: &ReportedError) -> FileProblem {
    let traced = python_text::traceback(&error.message);
    let (mut message, frames) = match traced {
        Some((first, frames)) => {
            let start = error.message.rfind(first).unwrap_or_default();
            (error.message[start..].trim_end().to_owned(), frames)
        }
        None => (error.text(), error.frames()),
    };
    let place = stack::place_to_fix(None, &frames, file, &mut message);
    FileProblem { message, place }
}

/// Returns the options of the first `unittest discover` in a text.
fn discovery(text: &str) -> Option<Vec<String>> {
    let called = |line: &'_ str| {
        line.split_once("unittest discover")
            .map(|(_, rest)| rest.to_owned())
    };
    let rest = text.lines().find_map(called)?;
    let plain = |word: &&str| !word.contains(['{', '$', '&', '|', ';', '#', '>']);
    let quotes = ['"', '\'', ',', ']'];
    let mut words = rest
        .split_whitespace()
        .map(|word| word.trim_matches(quotes));
    let (mut options, mut positional) = (Vec::new(), DISCOVERY.iter());
    while let Some(word) = words.next().filter(plain) {
        let known = DISCOVERY.iter().find(|names| names.contains(&word));
        let value = match known {
            Some(_) => words.next().filter(plain),
            None => Some(word).filter(|word| !word.is_empty() && !word.starts_with('-')),
        };
        let name = known.or_else(|| value.and_then(|_| positional.next()));
        if let (Some([name, _]), Some(value)) = (name, value) {
            options.extend([(*name).to_owned(), value.to_owned()]);
        }
    }
    Some(options)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn discovery_options_come_from_project_commands() {
        let of = |text| discovery(text).map(|words| words.join(" "));
        let cases = [
            (
                "[testenv]\ncommands =\n  python -m unittest discover -v -s tests -p '*_test.py' {posargs}\n",
                Some("-s tests -p *_test.py"),
            ),
            (
                "python -m unittest discover src/tests t*.py",
                Some("-s src/tests -p t*.py"),
            ),
            (
                "x = \"python -m unittest discover --start-directory=a\"",
                Some(""),
            ),
            (
                "python -m unittest discover --top-level-directory . && rm -s x",
                Some("-t ."),
            ),
            ("python -m unittest", None),
        ];
        for (text, expected) in cases {
            assert_eq!(of(text).as_deref(), expected, "{text}");
        }
    }
}
