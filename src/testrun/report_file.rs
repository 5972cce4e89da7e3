//! Reports of a run, as bytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use replay_base::text::glob::is_glob;
use replay_files::fs::{self, OpenFile, Version};
use replay_files::policy::{Checked, FileKind, PolicyError, Read};
use replay_sandbox::SharedDirectory;

use super::command::{REPORT, ReportPlace};
use super::context::RunContext;
use super::error::TestrunError;
use super::project::files;

/// Largest total size of the reports of a run that is read, in bytes.
const MAX_TEST_REPORT_BYTES: usize = 64 * 1024 * 1024;

/// Reports of a run, and a description of the problem if there is one.
#[derive(Default)]
pub(crate) struct Reports {
    pub documents: Vec<Vec<u8>>,
    pub fault: Option<String>,
}

impl Reports {
    fn missing(why: impl Into<String>) -> Self {
        Self::default().with_fault(Some(why.into()))
    }

    fn with_fault(self, fault: Option<String>) -> Self {
        Self { fault, ..self }
    }
}

/// Place of the reports before a run. Unchanged report files from before do not count.
pub(crate) struct ReportWatch<'a> {
    context: &'a RunContext<'a>,
    project: &'a Checked<Read>,
    place: &'a ReportPlace,
    before: BTreeMap<PathBuf, Version>,
}

impl<'a> ReportWatch<'a> {
    /// Records the present versions of the report files.
    pub(crate) fn new(
        context: &'a RunContext<'a>,
        project: &'a Checked<Read>,
        place: &'a ReportPlace,
    ) -> Result<Self, TestrunError> {
        let mut watch = Self {
            context,
            project,
            place,
            before: BTreeMap::new(),
        };
        if let ReportPlace::Project(paths) | ReportPlace::Generated(paths) = place {
            for file in watch.files(paths)? {
                let version = watch.version(&file);
                watch.before.extend(version.map(|version| (file, version)));
            }
        }
        Ok(watch)
    }

    /// Reads the reports that the run wrote.
    pub(crate) fn read(&self, lent: &SharedDirectory) -> Result<Reports, TestrunError> {
        match self.place {
            ReportPlace::Stdout => Ok(Reports::default()),
            ReportPlace::Shared => Ok(read_shared(lent, vec![REPORT.to_owned()])),
            ReportPlace::SharedFiles(ending) => {
                let mut names = lent.names().map_err(TestrunError::Place)?;
                names.retain(|name| name.ends_with(ending));
                names.sort();
                Ok(read_shared(lent, names))
            }
            ReportPlace::Project(paths) => self.read_project(paths, true),
            ReportPlace::Generated(paths) => self.read_project(paths, false),
        }
    }

    fn read_project(&self, paths: &[String], is_needed: bool) -> Result<Reports, TestrunError> {
        let files = self.files(paths)?;
        let named = paths.join("`, `");
        let mut reports = Reports::default();
        let mut room = MAX_TEST_REPORT_BYTES;
        for file in &files {
            let version = self.version(file);
            if version.is_some() && version == self.before.get(file).copied() {
                continue;
            }
            match self.read_file(file, room) {
                Ok(bytes) if bytes.is_empty() => {
                    let fault = format!("`{}` is empty", self.shown(file));
                    return Ok(reports.with_fault(Some(fault)));
                }
                Ok(bytes) => {
                    room -= bytes.len();
                    reports.documents.push(bytes);
                }
                Err(why) => return Ok(reports.with_fault(Some(why))),
            }
        }
        if !reports.documents.is_empty() || !is_needed {
            return Ok(reports);
        }
        Ok(Reports::missing(match files.len() {
            0 => format!("the command did not write `{named}`"),
            _ => format!("the run did not change `{named}`"),
        }))
    }

    /// Returns the files of these paths and globs that exist, each once.
    fn files(&self, paths: &[String]) -> Result<Vec<PathBuf>, TestrunError> {
        let mut found = Vec::new();
        for path in paths {
            if is_glob(path) {
                found.extend(files::generated(self.context.call(), self.project, path)?);
                continue;
            }
            let file = self.project.display_path().join(path);
            if self.context.policy.is_there(&file) {
                found.push(file);
            }
        }
        found.sort();
        found.dedup();
        Ok(found)
    }

    fn version(&self, file: &Path) -> Option<Version> {
        let file = self.context.policy.read(file).ok()?;
        OpenFile::of(&file).ok().map(|file| file.version())
    }

    /// Returns a path as messages have it.
    fn shown<'p>(&self, path: &'p Path) -> std::path::Display<'p> {
        let below = path.strip_prefix(self.project.display_path());
        below.unwrap_or(path).display()
    }

    fn read_file(&self, path: &Path, most: usize) -> Result<Vec<u8>, String> {
        match self.context.policy.read(path) {
            Ok(file) if file.kind() == FileKind::File => {
                fs::read_all(&file, most as u64).map_err(|error| error.to_string())
            }
            Ok(_) => Err(format!("`{}` is not a regular file", self.shown(path))),
            Err(PolicyError::NotFound { .. }) => {
                Err(format!("the command did not write `{}`", self.shown(path)))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

fn read_shared(lent: &SharedDirectory, names: Vec<String>) -> Reports {
    let mut reports = Reports::default();
    let mut room = MAX_TEST_REPORT_BYTES;
    for name in names {
        match lent.read(&name, 0, room) {
            Ok(bytes) => {
                room -= bytes.len();
                reports
                    .documents
                    .extend(Some(bytes).filter(|bytes| !bytes.is_empty()));
            }
            Err(error) => {
                return Reports::missing(format!("the runner's report cannot be read: {error}"));
            }
        }
    }
    reports.fault = (room == 0).then(|| {
        format!("only the first {MAX_TEST_REPORT_BYTES} bytes of the runner's report were read")
    });
    reports
}
