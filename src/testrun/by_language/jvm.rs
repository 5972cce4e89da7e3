//! Shared code of Gradle and Maven: their programs, and the selection of modules, classes and
//! methods.

use std::path::Path;

use replay_files::policy::{Checked, Read};
use replay_sandbox::exec::Exit;

use super::sources;
use crate::command::{RunInputs, can_rerun_by_name, quoted};
use crate::completeness_input::ProjectFacts;
use crate::context::RunContext;
use crate::error::TestrunError;
use crate::project::disk::ProjectTree as _;
use crate::project::files;
use crate::project::language::Language;
use crate::project::program::{MissingProgram, ToolProgram};
use crate::project::signs::{MAX_PROJECT_DEPTH, ProjectLevel, Sign, SignWeight};
use crate::selection::TestSelection;

/// Selected tests; empty lists for all.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct JvmSelection {
    /// Directories of modules below the project's, of which all tests run.
    pub modules: Vec<String>,
    /// Classes by their full names, each with a method or a pattern for methods.
    pub classes: Vec<(String, Option<String>)>,
}

/// Returns the selection of a run. A module is a directory with a file of a name for which
/// `is_build_file` returns true.
pub(crate) fn select(
    wanted: &RunInputs<'_>,
    is_build_file: fn(&str) -> bool,
) -> Result<JvmSelection, TestrunError> {
    let mut selected = JvmSelection::default();
    match wanted.selection {
        TestSelection::All | TestSelection::Changed => {}
        TestSelection::Failed(failed) => {
            // A file that was not compiled is no class.
            if failed.iter().any(|test| test.file.contains('/')) {
                return Ok(selected);
            }
            let by_name = can_rerun_by_name(failed);
            let classes = failed.iter().map(|test| {
                // The set-up of a class has its name.
                if test.file.is_empty() {
                    return (test.names.concat(), None);
                }
                // Other names have parameters, or words of the test's author.
                let name = test.names.last().map(|name| name.trim_end_matches("()"));
                let method = name.filter(|name| {
                    by_name && test.names.len() == 1 && name.chars().all(char::is_alphanumeric)
                });
                (test.file.clone(), method.map(str::to_owned))
            });
            selected.classes = classes.collect();
        }
        TestSelection::Targets(targets) => {
            let module = |path: &Path| {
                let names = wanted.tree.names(path).unwrap_or_default();
                names.iter().any(|name| is_build_file(name))
            };
            let is_module_only = wanted.filter.is_none()
                && targets
                    .iter()
                    .all(|target| target.is_dir && module(&target.path));
            if wanted.by_package || is_module_only {
                let of = targets.iter().filter_map(|target| {
                    let dir = target.path.ancestors().find(|dir| module(dir))?;
                    let below = dir.strip_prefix(wanted.project).ok()?;
                    Some(below.to_string_lossy().into_owned())
                });
                selected.modules = of.collect();
                selected.modules.sort();
                selected.modules.dedup();
                // The project itself is all.
                if selected.modules.first().is_some_and(String::is_empty) {
                    selected.modules.clear();
                }
                return Ok(selected);
            }
            let sources = sources::of_targets(wanted.tree, targets, Language::Java)?;
            let classes = sources
                .iter()
                .filter_map(|file| sources::class_of(wanted.tree, file, "package"));
            let method = wanted.filter.map(str::to_owned);
            selected.classes = classes.map(|class| (class, method.clone())).collect();
        }
    }
    selected.classes.sort();
    selected.classes.dedup();
    Ok(selected)
}

/// Returns the project's sources.
pub(crate) fn facts(context: &RunContext<'_>, project: &Checked<Read>) -> ProjectFacts {
    let glob = "**/*.{java,kt,groovy,scala}";
    let found = files::matching_sources(context.call(), project, &[glob], &[]).unwrap_or_default();
    let below = found.iter().filter_map(|path| {
        let below = path.strip_prefix(project.display_path()).ok()?;
        Some(below.to_str()?.to_owned())
    });
    ProjectFacts {
        classes: Some(below.collect()),
        ..ProjectFacts::default()
    }
}

/// A build tool with a wrapper script, which downloads the distribution of a project.
#[derive(PartialEq, Eq)]
pub struct BuildTool {
    pub program: &'static str,
    pub wrapper: &'static str,
    /// File that has the address of the distribution.
    pub properties: &'static str,
    /// Pattern of the shell for the directories of downloaded distributions.
    pub distributions: &'static str,
    /// Option that forbids downloads.
    pub offline: &'static str,
}

pub(crate) const GRADLE: BuildTool = BuildTool {
    program: "gradle",
    wrapper: "gradlew",
    properties: "gradle/wrapper/gradle-wrapper.properties",
    distributions: "\"${GRADLE_USER_HOME:-$HOME/.gradle}\"/wrapper/dists",
    offline: "--offline",
};

pub(crate) const MAVEN: BuildTool = BuildTool {
    program: "mvn",
    wrapper: "mvnw",
    properties: ".mvn/wrapper/maven-wrapper.properties",
    distributions: "\"${MAVEN_USER_HOME:-$HOME/.m2}\"/wrapper/dists",
    offline: "-o",
};
/// Options of each run: the version, no colors, no progress of downloads, all modules that can be
/// built.
pub(crate) const MAVEN_OPTIONS: [&str; 4] = ["-V", "-B", "-ntp", "-fae"];

/// Returns the sign of Maven. The project is the one above with this one as a module: that builds
/// the other modules, which are in no repository.
pub(crate) fn maven_sign(level: &ProjectLevel<'_>) -> Sign {
    let (weight, why) = level.sign_of_file("pom.xml")?;
    let is_module = level
        .dir
        .ancestors()
        .skip(1)
        .take(MAX_PROJECT_DEPTH)
        .any(|above| {
            let below = level.dir.strip_prefix(above).unwrap_or(level.dir);
            let module = format!("<module>{}</module>", below.display());
            let text = level.tree.text(&above.join("pom.xml"));
            text.is_some_and(|text| text.contains(&module))
        });
    Some((if is_module { SignWeight::Habit } else { weight }, why))
}

/// Returns the program of a build tool. A wrapper's distribution comes first if it is there, then the
/// wrapper itself if it can download, then the program in PATH.
pub(crate) fn program(
    tool: &BuildTool,
    context: &RunContext<'_>,
    project: &Checked<Read>,
) -> ToolProgram {
    let found = |program: String| {
        let offline = context.offline.then(|| tool.offline.to_owned());
        ToolProgram::Found([program].into_iter().chain(offline).collect(), None)
    };
    let Some((wrapper, name)) = wrapper(tool, context, project.display_path()) else {
        return found(tool.program.to_owned());
    };
    let (dirs, program) = (tool.distributions, tool.program);
    // A wrapper writes a lock beside its distribution, which commands may not write to.
    let line = format!(
        "for found in {dirs}/{0}/*/bin/{program} {dirs}/{0}/*/*/bin/{program}; do \
         if [ -x \"$found\" ]; then echo \"$found\"; exit; fi; done; command -v {program} >/dev/null",
        quoted(&name)
    );
    match context.ask(project, &line) {
        Ok(outcome) if !outcome.stdout.text().trim().is_empty() => {
            found(outcome.stdout.text().trim().to_owned())
        }
        _ if !context.offline => found(wrapper),
        Ok(outcome) if outcome.exit == Exit::Code(0) => found(tool.program.to_owned()),
        _ => ToolProgram::Missing(MissingProgram {
            what: format!(
                "the wrapper's `{name}` is not downloaded, and commands find no `{program}`"
            ),
            install: format!("{wrapper} --version"),
        }),
    }
}

/// Returns the wrapper script of a project, from its directory upwards, and the name of the
/// distribution that it runs, such as `gradle-8.5-bin`.
fn wrapper(tool: &BuildTool, context: &RunContext<'_>, project: &Path) -> Option<(String, String)> {
    let disk = context.disk();
    let has_script = |dir: &&Path| {
        disk.names(dir)
            .is_some_and(|names| names.iter().any(|name| name == tool.wrapper))
    };
    let dir = disk.upwards(project).find(has_script)?;
    let text = disk.text(&dir.join(tool.properties))?;
    let mut lines = text.lines().map(str::trim);
    let url = lines.find_map(|line| line.strip_prefix("distributionUrl"))?;
    let name = url.rsplit('/').next()?.trim_end_matches(".zip");
    Some((dir.join(tool.wrapper).to_str()?.to_owned(), name.to_owned()))
}
