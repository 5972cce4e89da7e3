//! Opens and locks log files.

use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::{Result, anyhow};
use replay_files::policy::Hidden;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::secrets::open_log;

/// Opens the log ([`open_log`]) and locks it. Fails if another server holds the lock.
pub(super) fn log(path: &Path) -> Result<(File, Hidden)> {
    let (file, identity) = open_log(path)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|errno| match errno {
        Errno::WOULDBLOCK => {
            anyhow!("another server writes to it; give each server its own file")
        }
        errno => anyhow!("it cannot be locked: {}", io::Error::from(errno)),
    })?;
    Ok((file, identity))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test makes its own files")]

    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn log_in_shared_writable_directory_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        std::fs::create_dir_all(at("open/sub")).unwrap();
        let said = |path: &str| {
            log(&at(path))
                .map(drop)
                .map_err(|error| format!("{error:#}"))
        };
        assert_eq!(said("open/sub/log"), Ok(()));
        std::fs::set_permissions(at("open"), PermissionsExt::from_mode(0o777)).unwrap();
        let refused = said("open/sub/log").unwrap_err();
        assert!(
            refused.starts_with("other users can replace it, since they can write to `"),
            "{refused}"
        );
        assert!(refused.contains("/open` (mode 0777)"), "{refused}");
        let refused = said("none/sub/log").unwrap_err();
        assert!(
            refused.starts_with("its directory `") && refused.contains("/none/sub` does not exist"),
            "{refused}"
        );
    }
}
