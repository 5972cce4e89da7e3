//! Which tests a call means, once its runner is known.

use std::path::Path;
use std::time::Duration;

use super::changed::{self, affected};
use super::choose::Chosen;
use super::detect::Tree as _;
use super::error::TestrunError;
use super::files::{self, Target};
use super::ground::Ground;
use super::model::TestRunner;
use super::plan::{CargoPart, CargoTargets, Which, cargo_targets};
use super::run::Request;
use crate::exec::Exit;
use crate::limits::{DEFAULT_COMMAND_TIMEOUT_SECS, MAX_LEFT_OUT, MAX_TEST_FILES};
use crate::policy::{Checked, Read};

/// What a call means; `Err` is the note that says why there is nothing to run.
pub type Meant = Result<Which, String>;

/// Which tests the arguments mean. Adds to the notes what is not plain from them.
pub fn which(
    ground: &Ground<'_>,
    chosen: &mut Chosen,
    request: &Request<'_>,
    cwd: &Checked<Read>,
    project: &Checked<Read>,
) -> Result<Meant, TestrunError> {
    let asked = [!request.files.is_empty(), request.changed, request.rerun_failed];
    if asked.iter().filter(|asked| **asked).count() > 1 {
        return Err(TestrunError::arguments(
            "`testFiles`, `changed` and `rerunFailed` exclude one another; give one of them",
        ));
    }
    if chosen.runner == TestRunner::Junit && asked.contains(&true) {
        return Err(TestrunError::arguments(
            "`testFiles`, `changed` and `rerunFailed` mean nothing to `runner: \"junit\"`; say in `command` what is run",
        ));
    }
    if request.rerun_failed {
        let known = ground.kept.failed(project.shown(), chosen.runner).ok_or_else(|| {
            let (runner, dir) = (chosen.runner.name(), project.shown().display());
            TestrunError::arguments(format!(
                "`rerunFailed` has nothing to go by: {runner} has not run in `{dir}` since the server was started"
            ))
        })?;
        if let (true, Some(cut)) = (known.is_empty(), ground.kept.cut(project.shown(), chosen.runner)) {
            return Ok(Err(format!(
                "nothing to run again: no test that has failed is known; but there are {}: run them without `rerunFailed`",
                cut.told()
            )));
        }
        if known.is_empty() {
            return Ok(Err(format!(
                "nothing to run again: every test that has failed by {} in `{}` since the server was started has passed \
                 since, or is gone",
                chosen.runner.name(),
                project.shown().display()
            )));
        }
        chosen.notes.push(format!("only what failed and has not passed since: {}", known.len()));
        return Ok(Ok(Which::Failed(known.to_vec())));
    }
    if request.changed {
        return changed_tests(ground, chosen, project);
    }
    if !request.files.is_empty() {
        let mut targets = files::targets(ground.call(), &[cwd, project], request.files)?;
        for target in &mut targets {
            if target.is_dir && target.path == project.shown() {
                return Ok(Ok(whole(ground, chosen, project)));
            }
            if !target.part.is_empty() && chosen.runner != TestRunner::Pytest {
                return Err(TestrunError::arguments(format!(
                    "`{}` names a test in a file, which only pytest understands; give the name as `filter`",
                    target.part
                )));
            }
        }
        return Ok(Ok(Which::Targets(targets)));
    }
    let below = cwd.shown() != project.shown();
    if below && !matches!(chosen.runner, TestRunner::Junit | TestRunner::CargoTest | TestRunner::Nextest) {
        chosen.notes.push(format!("only what is below `cwd`; the project is `{}`", project.shown().display()));
        return Ok(Ok(Which::Targets(vec![Target::whole(cwd.shown().to_path_buf(), true)])));
    }
    Ok(Ok(whole(ground, chosen, project)))
}

/// All tests of a project. Of a workspace of Go (`go.work`) without a module of its own these are its modules, since `./...`
/// names nothing there; beside a module they are told to be left out.
fn whole(ground: &Ground<'_>, chosen: &mut Chosen, project: &Checked<Read>) -> Which {
    if chosen.runner != TestRunner::Go {
        return Which::All;
    }
    let text = |name: &str| ground.disk().text(&project.shown().join(name));
    let modules = text("go.work").map(|work| go_modules(&work)).unwrap_or_default();
    if text("go.mod").is_some() {
        let others: Vec<&str> = modules.iter().map(String::as_str).filter(|module| *module != ".").collect();
        if !others.is_empty() {
            let named = others[..others.len().min(MAX_LEFT_OUT)].join(", ");
            chosen.left_out.push(format!("other modules of go.work: {named}"));
        }
        return Which::All;
    }
    let below =
        modules.iter().map(|module| project.shown().join(module)).filter(|dir| dir.starts_with(project.shown()));
    let targets: Vec<Target> = below.take(MAX_TEST_FILES).map(|dir| Target::whole(dir, true)).collect();
    if targets.is_empty() { Which::All } else { Which::Targets(targets) }
}

/// The directories that a `go.work` uses, without `./` (<https://go.dev/ref/mod#go-work-file-use>).
fn go_modules(work: &str) -> Vec<String> {
    let mut is_block = false;
    let mut found = Vec::new();
    for line in work.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let path = match line.strip_prefix("use").map(str::trim_start) {
            Some("(") => {
                is_block = true;
                continue;
            }
            Some(path) if !is_block && line.starts_with("use ") => path,
            _ if line == ")" => {
                is_block = false;
                continue;
            }
            _ if is_block && !line.is_empty() => line,
            _ => continue,
        };
        let path = path.trim_matches(['"', '`']);
        found.push(path.strip_prefix("./").unwrap_or(path).to_owned());
    }
    found
}

/// Files that a note names.
const NAMED: usize = 5;

/// `1 changed file`.
fn changed_files(count: usize) -> String {
    format!("{count} changed file{}", if count == 1 { "" } else { "s" })
}

fn changed_tests(ground: &Ground<'_>, chosen: &mut Chosen, project: &Checked<Read>) -> Result<Meant, TestrunError> {
    let timeout = Duration::from_secs(DEFAULT_COMMAND_TIMEOUT_SECS);
    let outcome = ground.shell(project, changed::GIT, timeout, &mut |_, _| {})?;
    let text = outcome.stdout.text();
    let files = changed::changed(&text).filter(|_| outcome.exit == Exit::Code(0)).ok_or_else(|| {
        let said = outcome.stderr.text();
        let said = said.lines().next().unwrap_or("git said nothing").trim();
        TestrunError::arguments(format!("`changed` needs git to say what has changed, and it does not: {said}"))
    })?;
    let own = files.files.iter().chain(&files.gone).filter(|file| file.starts_with(project.shown())).count();
    if own == 0 {
        return Ok(Err("no file of the project differs from the last commit".to_owned()));
    }
    if matches!(chosen.runner, TestRunner::Vitest | TestRunner::Jest) {
        chosen.notes.push(format!("tests that {} finds affected by {}", chosen.runner.name(), changed_files(own)));
        return Ok(Ok(Which::Changed));
    }
    let found = affected(chosen.runner, project.shown(), &files);
    let mut targets = found.targets;
    let below = |file: &Path| file.strip_prefix(project.shown()).unwrap_or(file).display().to_string();
    let mut alone: Vec<String> = found.unknown.iter().map(|file| below(file)).collect();
    for (glob, file) in found.globs.iter().take(MAX_TEST_FILES) {
        let tests = files::matching(ground.call(), project, glob)?;
        if tests.is_empty() {
            alone.push(below(file));
        }
        targets.extend(tests.into_iter().map(|path| Target::whole(path, false)));
    }
    if !alone.is_empty() {
        let more = alone.len().saturating_sub(MAX_LEFT_OUT);
        alone.truncate(MAX_LEFT_OUT);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let what =
            if chosen.runner == TestRunner::Pytest { "no test is named after them" } else { "no source of a package" };
        chosen.left_out.push(format!("changed, and {what}: {}{more}", alone.join(", ")));
    }
    if targets.is_empty() {
        return Ok(Err(format!(
            "no test is known to belong to {}; tests that use them were not looked for",
            changed_files(own)
        )));
    }
    if chosen.runner == TestRunner::Pytest {
        let named: Vec<String> = targets.iter().take(NAMED).map(|target| target.below(project.shown())).collect();
        let more = targets.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        chosen.notes.push(format!(
            "only {}{more} were run, by the names of {}; tests elsewhere that use the changed files were not",
            named.join(", "),
            changed_files(own)
        ));
    } else {
        chosen.notes.push(format!(
            "only the packages of {} were tested; tests elsewhere that use them were not run",
            changed_files(own)
        ));
    }
    Ok(Ok(Which::Targets(targets.into_iter().collect())))
}

/// Which packages of a Cargo workspace are meant, and what of them.
pub fn cargo_parts(ground: &Ground<'_>, which: &Which, by_package: bool) -> Result<Vec<CargoPart>, TestrunError> {
    let Which::Targets(targets) = which else { return Ok(Vec::new()) };
    let parts = targets.iter().map(|target| cargo_part(ground, target, by_package));
    let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
    parts.sort();
    parts.dedup();
    Ok(parts)
}

/// Which package a file or directory belongs to, and what of it it is.
pub fn cargo_part(ground: &Ground<'_>, target: &Target, by_package: bool) -> Result<CargoPart, TestrunError> {
    let inside = if target.is_dir { target.path.join("any") } else { target.path.clone() };
    let Some((package, dir)) = ground.disk().cargo_package(&inside) else {
        return Err(TestrunError::arguments(format!("`{}` belongs to no package of Cargo", target.path.display())));
    };
    let below = inside.strip_prefix(&dir).unwrap_or(Path::new(""));
    let what = if by_package {
        CargoTargets::All
    } else if target.is_dir {
        match cargo_targets(&below.with_file_name("mod.rs").to_string_lossy()) {
            // `src` and `tests` themselves.
            CargoTargets::Module(module) if module == "mod" => CargoTargets::All,
            CargoTargets::Test(name) if name == "mod" => CargoTargets::All,
            what => what,
        }
    } else {
        cargo_targets(&below.to_string_lossy())
    };
    Ok(CargoPart { package, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modules_of_a_workspace_of_go_are_read() {
        let work = "go 1.19\n\nuse ./a // one\nuse (\n\t./b/c\n\t\"./d e\"\n\n\t.\n)\nreplace x => ./y\n";
        assert_eq!(go_modules(work), ["a", "b/c", "d e", "."]);
        assert_eq!(go_modules("go 1.19\nuser ./a\n"), [""; 0]);
    }
}
