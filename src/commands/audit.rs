//! `replay audit`: a log that is checked, or shown to a person.

use std::io::{Write as _, stderr, stdout};
use std::process::ExitCode;

use anyhow::Result;

use super::process::{print, status};
use crate::audit::{show, verify};
use crate::cli::AuditAction;

/// Carries it out; the exit status is 1 for a log that was changed.
pub fn run(action: &AuditAction) -> Result<ExitCode> {
    match action {
        AuditAction::Verify { files, key, head } => {
            let (text, good) = verify(files, key.as_deref(), head.as_deref())?;
            print(text)?;
            Ok(status(good))
        }
        AuditAction::Show { file, wanted } => {
            if show(file, wanted, &mut stdout().lock())? == 0 {
                // Writing to stderr may fail; there is nothing to be shown either way.
                let _ = writeln!(stderr(), "no call matches");
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}
