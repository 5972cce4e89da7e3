//! Reads and atomically replaces a client's file. Symlinks must not lead out of the base directory,
//! since agents may write to the working directory.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};

use replay_files::fs::{self, Current, FsError, Writer};
use replay_files::journal::Changes;
use replay_files::policy::{Access, Checked, Grant, Policy, PolicyError, Restrictions, Write};

/// Longest file of a client that `replay setup` reads.
const MAX_CLIENT_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The text of the file; `None` if there is none.
pub(crate) fn read(base: &Path, path: &Path) -> Result<Option<String>> {
    if !base.is_dir() {
        return Ok(None);
    }
    let context = || format!("`{}` cannot be read", path.display());
    let grant = Grant {
        path: base.to_owned(),
        access: Access::ReadOnly,
    };
    let policy = Policy::open(&[grant], &[]).with_context(context)?;
    let file = match policy.read(path) {
        Ok(file) => file,
        Err(PolicyError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(explain_denial(base, error)).with_context(context),
    };
    let bytes = fs::read_all(&file, MAX_CLIENT_FILE_BYTES).with_context(context)?;
    String::from_utf8(bytes).map(Some).with_context(context)
}

/// Explains a denial: only a symlink can lead outside the single directory of this policy.
fn explain_denial(base: &Path, error: PolicyError) -> anyhow::Error {
    match error {
        PolicyError::Denied { .. } => {
            anyhow!(
                "the path goes through a link out of `{}`, which an agent may have made; replace \
                 the link by a file",
                base.display()
            )
        }
        error => error.into(),
    }
}

/// A client's file, open for replacement.
pub(crate) struct ClientFile {
    target: Checked<Write>,
    current: Option<Current>,
}

impl ClientFile {
    pub(crate) fn open(base: &Path, path: &Path) -> Result<Self> {
        let context = || format!("`{}` cannot be changed", path.display());
        let grant = Grant {
            path: base.to_owned(),
            access: Access::ReadWrite,
        };
        // A user may write files that are protected from agents.
        let unprotect: &[PathBuf] = &[base.to_owned()];
        let policy = Policy::open_with(
            &[grant],
            &Restrictions {
                unprotect,
                ..Restrictions::default()
            },
        );
        let policy = policy.with_context(context)?;
        let target = policy
            .write(path)
            .map_err(|error| explain_denial(base, error))
            .with_context(context)?;
        let info = policy
            .look(path)
            .ok()
            .map(|there| fs::info(&there))
            .transpose()
            .with_context(context)?;
        if info.is_some_and(|info| info.mode & 0o200 == 0) {
            bail!(
                "`{}` is read-only; make it writable first (chmod u+w)",
                path.display()
            );
        }
        let current = match fs::current(&target, MAX_CLIENT_FILE_BYTES, None) {
            Ok(current) => Some(current),
            Err(FsError::NotFound { .. }) => None,
            Err(error) => return Err(error).with_context(context),
        };
        Ok(Self { target, current })
    }

    /// Text of the file; empty if it does not exist.
    pub(crate) fn text(&self) -> Result<&str> {
        let bytes = self
            .current
            .as_ref()
            .map_or(&[][..], |current| &current.bytes);
        std::str::from_utf8(bytes)
            .with_context(|| format!("`{}` is not UTF-8", self.target.display_path().display()))
    }

    /// Replaces the text if the file is unchanged since it was read. Mode and owner stay the same.
    pub(crate) fn replace(&self, text: &str) -> Result<()> {
        let (writer, changes) = (Writer::default(), Changes::none());
        let stamp = self.current.as_ref().map(|current| &current.stamp);
        writer
            .telling(&changes)
            .replace(&self.target, [text.as_bytes()], stamp)?;
        Ok(())
    }
}
