//! `replay audit`: verifies a log, or prints its calls.

use std::io::{Write as _, stderr, stdout};
use std::process::ExitCode;

use anyhow::Result;

use super::process::{print, status};
use crate::audit::{show, verify};
use crate::cli::AuditAction;

/// Runs the subcommand. The exit status is 1 if the log was tampered with.
pub(super) fn run(action: &AuditAction) -> Result<ExitCode> {
    match action {
        AuditAction::Verify { files, key, head } => {
            let (text, good) = verify(files, key.as_deref(), head.as_deref())?;
            print(text)?;
            Ok(status(good))
        }
        AuditAction::Show { file, wanted } => {
            if show(file, wanted, &mut stdout().lock())? == 0 {
                // Writing to stderr may fail; there is nothing to print in any case.
                let _ = writeln!(stderr(), "no call matches");
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}
