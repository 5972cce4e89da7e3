//! `RSpec` 3.8 and newer, with the bundled formatter (`rspec/replay_rspec.rb`).

use crate::prelude::*;

const FORMATTER: Reporter = Reporter {
    file: "replay_rspec.rb",
    text: include_str!("rspec/replay_rspec.rb"),
};

const STYLE: EventStyle = EventStyle {
    excluding: "the project's filters",
    file_error,
    ..event_reader::STYLE
};

/// `RSpec` 3.8 and newer.
pub(crate) struct Rspec;

impl ProjectTool for Rspec {
    fn about(&self) -> ToolDescription {
        ToolDescription::on_path(Language::Ruby, "rspec", "RSpec 3.8 and newer", "rspec")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        let is_spec = |name: &String| name.ends_with("_spec.rb") || name == "spec_helper.rb";
        level.sign_of_file(".rspec").or_else(|| {
            let names = level.tree.names(&level.dir.join("spec"))?;
            let is_used = level.has("spec") && names.iter().any(is_spec);
            is_used.then(|| named("spec/ holds specs of RSpec"))
        })
    }

    /// Runs the version in `Gemfile.lock`, if there is one and Bundler is installed.
    fn program(&self, context: &RunContext<'_>, project: &Checked<Read>) -> ToolProgram {
        let disk = context.disk();
        let lock = disk
            .upwards(project.display_path())
            .find_map(|dir| disk.text(&dir.join("Gemfile.lock")));
        let is_locked = lock.is_some_and(|lock| lock.contains(" rspec-core ("));
        if is_locked && matches!(context.is_installed(project, "bundle"), Ok(true)) {
            let words = ["bundle", "exec", "rspec"].map(str::to_owned);
            return ToolProgram::Found(words.to_vec(), None);
        }
        ToolProgram::on_path("rspec")
    }

    /// Bundler finds no program of a gem that is not installed.
    fn install_step(&self, context: &RunContext<'_>, _: &Path, argv: &[String]) -> String {
        match argv.first().map(String::as_str) {
            Some("bundle") => context.install_hint("bundle install", ""),
            _ => RunContext::not_found_hint("rspec"),
        }
    }
}

impl Runner for Rspec {
    fn tests_of(&self, stem: &str) -> Option<String> {
        Some(format!("**/{stem}_spec.rb"))
    }

    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError> {
        let mut plan = RunPlan::of(wanted);
        plan.use_reporter(wanted, &FORMATTER);
        plan.add([
            "-r".to_owned(),
            format!("{}/{}", wanted.place, FORMATTER.file),
        ]);
        plan.add(["--format", "ReplayFormatter", "--out", "/dev/null"]);
        // For the log.
        plan.add(["--format", "progress", "--no-color", "--no-fail-fast"]);
        if let Some(filter) = wanted.filter {
            plan.add(["--example", filter]);
        } else if let Some(failed) = wanted.named_failures() {
            let names = any_of(failed.iter().map(full_description));
            plan.add(["--example-matches".to_owned(), format!("\\A{names}\\z")]);
        }
        plan.add(paths(wanted, PathStyle::Exact));
        Ok(plan)
    }

    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
        let mut reader = event_reader::read(sources, bound, &STYLE);
        let stderr = String::from_utf8_lossy(sources.stderr);
        let mut lines = stderr.lines().filter(|_| !reader.collector.results.begun);
        // A long stack follows.
        if let Some(line) = lines.find(|line| line.contains("(Bundler::")) {
            let message = line.split_once("': ").map_or(line, |(_, message)| message);
            reader
                .collector
                .run_error(Some("bundler"), message, Vec::new());
        }
        reader.finish()
    }

    fn hint(&self, context: &RunContext<'_>, report: &TestReport, _: bool) -> Option<String> {
        let words = ["`bundle install`", "(Bundler::GemNotFound)"];
        let is_absent = |error: &RunError| words.iter().any(|words| error.message.contains(words));
        let is_absent = report.run_errors.iter().any(is_absent);
        is_absent.then(|| context.install_hint("bundle install", ""))
    }
}

/// Returns the regular expression for the full description of a test. `RSpec` writes a blank between
/// its parts, except before `#` and `.`. An example without a description of its own has that of
/// its group when `RSpec` selects it.
fn full_description(test: &FailedTest) -> String {
    let mut parts: Vec<String> = test.names.iter().map(|name| escape_regex(name)).collect();
    let name = parts.pop().unwrap_or_default();
    format!("{} ?(?:{name})?", parts.join(" ?"))
}

/// Returns the error of a file that could not be loaded.
fn file_error(_: &str, file: &str, error: &ReportedError) -> FileProblem {
    let mut message = error.text();
    let base = file.rsplit('/').next().unwrap_or_default();
    // Ruby writes the place of a syntax error into its message.
    let place = stack::place_in(&message, base);
    if place.is_some() {
        return FileProblem { message, place };
    }
    let frames = error.frames();
    let place = stack::place_to_fix(None, &frames, base, &mut message);
    FileProblem { message, place }
}
