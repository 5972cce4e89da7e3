//! Missing parts of a pytest run, according to its messages: a plugin, or the project on Python's
//! path.

use std::path::Path;

use replay_base::text::escape::{show, show_path};

use crate::context::RunContext;
use crate::model::{TestReport, TestStatus};
use crate::project::disk::ProjectTree as _;

/// Options of plugins, by prefix.
const PLUGINS: [(&str, &str); 8] = [
    ("--cov", "pytest-cov"),
    ("--no-cov", "pytest-cov"),
    ("--numprocesses", "pytest-xdist"),
    ("--dist", "pytest-xdist"),
    ("--timeout", "pytest-timeout"),
    ("--asyncio-mode", "pytest-asyncio"),
    ("--benchmark", "pytest-benchmark"),
    ("--reruns", "pytest-rerunfailures"),
];

/// Prefix of pytest's message for an undeclared option (`argparse`).
const UNKNOWN_OPTION_PREFIX: &str = "unrecognized arguments: ";

/// Returns the next step if a plugin or module is missing; `None` if it is unknown.
pub(super) fn hint(context: &RunContext<'_>, report: &TestReport) -> Option<String> {
    if report.status == TestStatus::ConfigError {
        let said = report
            .run_errors
            .iter()
            .find_map(|error| unknown_options(&error.message));
        if let Some(options) = said {
            return Some(plugin_hint(context, report, options));
        }
    }
    module_hint(context, report)
}

fn unknown_options(message: &str) -> Option<&str> {
    message
        .lines()
        .find_map(|line| Some(line.split_once(UNKNOWN_OPTION_PREFIX)?.1.trim()))
}

fn plugin_hint(context: &RunContext<'_>, report: &TestReport, options: &str) -> String {
    let shown = show(options.as_bytes());
    match plugin_of(options) {
        Some(plugin) => format!(
            "the project's options (`addopts`) contain `{shown}`, but its plugin {plugin} is not \
             installed: {}",
            context.python_install_step(report.runner.cwd.as_ref(), &report.runner.command, plugin)
        ),
        None => format!(
            "the project's options (`addopts`) contain `{shown}`, which neither pytest nor an \
             installed plugin knows: install its plugin"
        ),
    }
}

/// Returns the plugin of the first of these options that has a known one.
fn plugin_of(options: &str) -> Option<&'static str> {
    options.split_whitespace().find_map(|word| {
        let is_short = word.starts_with("-n") && !word.starts_with("--");
        let known = PLUGINS.iter().find(|(option, _)| word.starts_with(option));
        known
            .map(|(_, plugin)| *plugin)
            .or_else(|| is_short.then_some("pytest-xdist"))
    })
}

/// Returns the hint for a missing module that is a part of the project.
fn module_hint(context: &RunContext<'_>, report: &TestReport) -> Option<String> {
    let of_files = report.file_errors.iter().map(|error| &error.message);
    let of_tests = report
        .failures
        .iter()
        .flat_map(|case| &case.errors)
        .map(|error| &error.message);
    let of_run = report.run_errors.iter().map(|error| &error.message);
    let module = of_files
        .chain(of_run)
        .chain(of_tests)
        .find_map(|message| missing_module(message))?;
    let project = Path::new(&report.runner.cwd);
    let is_there = |dir: &Path| context.disk().names(&dir.join(module)).is_some();
    let install = || context.python_install_step(project, &report.runner.command, "-e .");
    for place in ["src", "."] {
        if is_there(&project.join(place)) {
            let shown = if place == "." {
                module.to_owned()
            } else {
                format!("{place}/{module}")
            };
            return Some(format!(
                "`{shown}` exists, but its directory is not in sys.path: set pytest's \
                 `pythonpath` to `{place}` (pytest 7 and newer), or install the project: {}",
                install()
            ));
        }
    }
    let above = project
        .ancestors()
        .skip(1)
        .take_while(|dir| context.disk().names(dir).is_some())
        .find(|dir| is_there(dir))?;
    Some(format!(
        "`{module}` is in `{0}`: if the tests must run there, give `{0}` as `cwd`",
        show_path(above)
    ))
}

/// Returns the whole package that an import did not find. A missing submodule of a package does not
/// count.
fn missing_module(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("No module named '")?;
    let name = rest.split('\'').next()?;
    (!name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    use pretty_assertions::assert_eq;

    #[test]
    fn unknown_pytest_option_names_plugin() {
        let said = "ERROR: usage: __main__.py [options]\n__main__.py: error: unrecognized arguments: --x --cov=a\n  inifile: a";
        assert_eq!(unknown_options(said), Some("--x --cov=a"));
        let found = ["--x --cov=a", "-n4", "--nothing -q", "--reruns 2"].map(plugin_of);
        assert_eq!(
            found,
            [
                Some("pytest-cov"),
                Some("pytest-xdist"),
                None,
                Some("pytest-rerunfailures")
            ]
        );
    }

    #[test]
    fn missing_module_is_reported_for_whole_packages() {
        let of = |name: &str| {
            missing_module(&format!(
                "E   ModuleNotFoundError: No module named '{name}'"
            ))
            .map(str::to_owned)
        };
        assert_eq!(
            ["humanize", "a.b", "../etc", ""].map(of),
            [Some("humanize".to_owned()), None, None, None]
        );
    }
}
