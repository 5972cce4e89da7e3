//! Dry run of a command.
//!
//! Overlays lie over the read-write directories that the command sees (`overlay`). After the
//! command, the files that it wrote are compared with the lower directories (`compare`) and
//! reported (`report`). The kernel removes the overlays with the mount namespace of the command, in
//! any case.

mod attributes;
mod compare;
mod overlay;
mod report;

use std::os::fd::OwnedFd;
use std::path::Path;

use super::fault::{Fault, StepContext};
use super::plan::CanonicalPath;
use super::program;
use compare::Comparison;
use overlay::Overlay;

pub use report::{Content, DryRunReport, ReportedChange};

/// Most that a command may write while it only runs dry, in bytes, and how many files and
/// directories. It lies in memory.
const DRY_RUN_BYTES: u64 = 512 * 1024 * 1024;

/// The overlays of one command.
#[derive(Debug)]
pub(crate) struct DryRun {
    overlays: Vec<Overlay>,
}

impl DryRun {
    /// Lays the overlays, in the mount namespace of this process. The working directory is from
    /// then on the one in them; it is compared with the one that policy checked before.
    pub(crate) fn begin(
        writable: &[&Path],
        memory_bytes: Option<u64>,
        dir: &mut CanonicalPath,
    ) -> Result<Self, Fault> {
        program::working_directory(dir)?;
        let bytes = memory_bytes.unwrap_or(u64::MAX).clamp(1, DRY_RUN_BYTES);
        let overlays = overlay::lay(writable, bytes)?;
        *dir = program::directory_at(&dir.path)?.1;
        Ok(Self { overlays })
    }

    /// Reports the command's changes. All its processes must have ended.
    pub(crate) fn report(self) -> Result<OwnedFd, Fault> {
        let mut comparison = Comparison::new();
        for overlay in self.overlays {
            comparison.add(overlay);
        }
        comparison
            .end()
            .pack()
            .step("tell what a dry run would have changed")
    }
}
