//! Missing plugins of a pytest run, according to its messages.

use replay_base::text::escape::show;

use crate::by_language::python_modules::module_hint;
use crate::context::RunContext;
use crate::model::{TestReport, TestStatus};

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
    module_hint(
        context,
        report,
        Some(("set pytest's `pythonpath` to", "(pytest 7 and newer), or ")),
    )
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
}
