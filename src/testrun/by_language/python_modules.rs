//! Modules of a project that its tests did not find, according to Python's messages.

use std::path::Path;

use replay_base::text::escape::show_path;

use crate::context::RunContext;
use crate::model::TestReport;
use crate::project::disk::ProjectTree as _;

/// Returns the hint for a missing module that is a part of the project. `setting` are words around
/// the directory for a runner with a setting for it.
pub(crate) fn module_hint(
    context: &RunContext<'_>,
    report: &TestReport,
    setting: Option<(&str, &str)>,
) -> Option<String> {
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
            let setting = setting.map(|(before, after)| format!("{before} `{place}` {after}"));
            return Some(format!(
                "`{shown}` exists, but its directory is not in sys.path: {}install the project: {}",
                setting.unwrap_or_default(),
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
