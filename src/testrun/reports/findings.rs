//! Collector of diagnostics, within the limits.

use serde::de::DeserializeOwned;

use replay_base::limits::{MAX_RELATED, MAX_TEST_NAME_BYTES, MAX_TEST_TEXT_BYTES};

use super::results::{CheckResults, Sources};
use super::{stack, visible_text};
use crate::model::{Diagnostic, Related, Severity};

/// Diagnostics of a type check that are kept.
const MAX_KEPT_DIAGNOSTICS: usize = 5000;

pub(crate) struct DiagnosticCollector<'a> {
    pub checked: CheckResults,
    root: &'a str,
}

/// Reads the JSON document on stdout, whose diagnostics `of` returns. If there is none, the reason
/// is on stderr.
pub(crate) fn from_json<T: DeserializeOwned>(
    sources: &Sources<'_>,
    of: impl FnOnce(T) -> Vec<Diagnostic>,
) -> CheckResults {
    let mut found = DiagnosticCollector::new(sources.root);
    if let Ok(document) = serde_json::from_slice(sources.stdout) {
        for diagnostic in of(document) {
            found.add(diagnostic);
        }
    } else {
        let said = String::from_utf8_lossy(sources.stderr);
        found.add(Diagnostic::new(Severity::Error, said.trim()));
        found.checked.broke = true;
    }
    found.checked
}

impl<'a> DiagnosticCollector<'a> {
    /// Creates a collector for a check in `root`.
    pub(crate) fn new(root: &'a str) -> Self {
        Self {
            checked: CheckResults::default(),
            root,
        }
    }

    /// Adds a diagnostic with the checker's own texts.
    pub(crate) fn add(&mut self, mut diagnostic: Diagnostic) {
        if self.checked.diagnostics.len() >= MAX_KEPT_DIAGNOSTICS {
            match diagnostic.severity {
                Severity::Error => self.checked.beyond[0] += 1,
                Severity::Warning => self.checked.beyond[1] += 1,
                Severity::Note => {}
            }
            return;
        }
        diagnostic.file = diagnostic.file.map(|file| self.path(&file));
        let message = stack::without_root(&diagnostic.message, self.root);
        (diagnostic.message, _) = visible_text::head(&message, MAX_TEST_TEXT_BYTES);
        diagnostic.code = diagnostic
            .code
            .map(|code| visible_text::name(&code, MAX_TEST_NAME_BYTES).0);
        diagnostic.related.truncate(MAX_RELATED);
        for related in &mut diagnostic.related {
            related.file = related
                .file
                .take()
                .map(|file| stack::relative(&file, self.root).to_owned());
            (related.message, _) = visible_text::head(&related.message, MAX_TEST_TEXT_BYTES);
        }
        // The same file may be compiled twice, as a library and as its own tests.
        let recent = self.checked.diagnostics.iter().rev().take(256);
        if !recent.into_iter().any(|other| *other == diagnostic) {
            self.checked.diagnostics.push(diagnostic);
        }
    }

    /// Attaches a text to the last diagnostic. Returns false if that has another line.
    pub(crate) fn relate(&mut self, file: &str, line: Option<u32>, related: Related) -> bool {
        let file = self.path(file);
        let Some(last) = self.checked.diagnostics.last_mut() else {
            return false;
        };
        if last.file.as_deref() != Some(&file)
            || last.line != line
            || last.severity == Severity::Note
        {
            return false;
        }
        if last.related.len() < MAX_RELATED {
            let (message, _) = visible_text::head(&related.message, MAX_TEST_TEXT_BYTES);
            last.related.push(Related { message, ..related });
        }
        true
    }

    fn path(&self, path: &str) -> String {
        visible_text::name(stack::relative(path, self.root), MAX_TEST_NAME_BYTES).0
    }
}
