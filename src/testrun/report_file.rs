//! Report of a run, as bytes.

use replay_files::fs::{self, OpenFile, Version};
use replay_files::policy::{Checked, FileKind, PolicyError, Read};
use replay_sandbox::SharedDirectory;

use super::command::{REPORT, RunPlan};
use super::context::RunContext;

/// Largest report file of a test runner, and most of each of its streams, that is read, in bytes.
const MAX_TEST_REPORT_BYTES: usize = 64 * 1024 * 1024;

/// Reads the report of the runner. Returns the bytes, and a description of the problem if there is
/// one. An unchanged report from before the run (`stale`) does not count.
pub(crate) fn report_of(
    context: &RunContext<'_>,
    named: Option<&str>,
    plan: &RunPlan,
    lent: &SharedDirectory,
    project: &Checked<Read>,
    stale: Option<Version>,
) -> (Vec<u8>, Option<String>) {
    let nothing = |why: String| (Vec::new(), Some(why));
    let Some(path) = named else {
        let most = if plan.reports {
            MAX_TEST_REPORT_BYTES
        } else {
            0
        };
        return match lent.read(REPORT, 0, most) {
            Ok(bytes) if most > 0 && bytes.len() == most => (
                bytes,
                Some(format!(
                    "only the first {most} bytes of the runner's report were read"
                )),
            ),
            Ok(bytes) => (bytes, None),
            Err(error) => nothing(format!("the runner's report cannot be read: {error}")),
        };
    };
    if stale.is_some() && version_of(context, project, path) == stale {
        return nothing(format!("the run did not change `{path}`"));
    }
    let shown = project.display_path().join(path);
    match context.policy.read(&shown) {
        Ok(file) if file.kind() == FileKind::File => {
            match fs::read_all(&file, MAX_TEST_REPORT_BYTES as u64) {
                Ok(bytes) => (bytes, None),
                Err(error) => nothing(error.to_string()),
            }
        }
        Ok(_) => nothing(format!("`{path}` is not a regular file")),
        Err(PolicyError::NotFound { .. }) => nothing(format!("the command did not write `{path}`")),
        Err(error) => nothing(error.to_string()),
    }
}

/// Returns the current version of a report.
pub(crate) fn version_of(
    context: &RunContext<'_>,
    project: &Checked<Read>,
    report: &str,
) -> Option<Version> {
    let file = context
        .policy
        .read(project.display_path().join(report))
        .ok()?;
    OpenFile::of(&file).ok().map(|file| file.version())
}
