//! Secret files of the operator that no agent may read or change: their places, and checks that
//! they are unchanged.
//!
//! A file outside the agents' reach needs no protection. Below an allowed directory it is hidden
//! ([`replay_files::policy::Hidden`]), by its place and by its identity at the start.
//!
//! The file tools deny a replacement as well, but commands can see it. If another process renames a
//! file over the hidden one, the kernel drops the mount that covered it (`rename(2)` in another
//! mount namespace). So a file that is read again must be the same file.

mod identity;
mod log_file;
mod reachability;
pub(crate) mod reading;

pub(crate) use identity::{identity, leads_to};
pub(crate) use log_file::open_log;
pub(crate) use reachability::{Reach, is_led_by_agents};

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use replay_files::policy::Hidden;

use crate::cli::HttpArgs;

/// A file with secrets that a flag names.
struct Secret {
    flag: &'static str,
    path: PathBuf,
    /// Identity at the start.
    first: Hidden,
    /// Keeps its inode number from being given to another file.
    _file: File,
}

/// The files with secrets of a server over HTTP.
pub(crate) struct Secrets {
    named: Vec<Secret>,
    /// Files of credentials, which are not read again.
    credentials: Vec<PathBuf>,
}

impl Secrets {
    /// Opens the files of these flags: the tokens and the certificate's key. Fails for a named file
    /// that is not regular, and if others could replace it. An anonymous pipe belongs to this
    /// process only.
    pub(crate) fn open(args: &HttpArgs) -> Result<Self> {
        let named = [
            ("--token-file", &args.token_file),
            ("--tls-key", &args.tls_key),
        ];
        let named = named
            .into_iter()
            .filter_map(|(flag, path)| Some((flag, path.as_deref()?)));
        let opened = named.map(|(flag, path)| open(flag, path));
        let named = opened
            .filter_map(Result::transpose)
            .collect::<Result<_>>()?;
        Ok(Self {
            named,
            credentials: Vec::new(),
        })
    }

    /// Files that credentials were read from.
    pub(crate) fn add_credentials(&mut self, files: &[PathBuf]) {
        self.credentials.extend_from_slice(files);
    }

    /// Returns the secrets to hide from agents if they lie in an allowed directory.
    pub(crate) fn hidden(&self) -> impl Iterator<Item = Hidden> {
        self.named.iter().map(|secret| secret.first.clone())
    }

    /// Fails, with the remedy, if an agent could reach one of them. If commands run without a
    /// sandbox, there is only a warning.
    pub(crate) fn kept_from(&self, reach: &Reach) -> Result<()> {
        self.credentials_kept_from(reach)?;
        for Secret { flag, path, .. } in &self.named {
            if reach.is_open() {
                let path = path.display();
                tracing::warn!(
                    "{flag} `{path}` can be read by commands, which run without walls (--sandbox \
                     off)"
                );
            } else {
                reach.keeps_out(flag, path)?;
            }
        }
        Ok(())
    }

    /// The same as [`Secrets::check`] of each of them.
    pub(crate) fn check_all(&self, reach: &Reach) -> Result<()> {
        self.credentials_kept_from(reach)?;
        self.named
            .iter()
            .try_for_each(|secret| self.check(secret.flag, reach))
    }

    fn credentials_kept_from(&self, reach: &Reach) -> Result<()> {
        self.credentials
            .iter()
            .try_for_each(|path| reach.keeps_apart("--credential", path))
    }

    /// Fails, with the remedy, if the file of this flag may no longer be the operator's, for
    /// example after a replacement. Called after reading: a file that is the same now was the same
    /// then.
    pub(crate) fn check(&self, flag: &'static str, reach: &Reach) -> Result<()> {
        let Some(secret) = self.named.iter().find(|secret| secret.flag == flag) else {
            return Ok(());
        };
        let path = &secret.path;
        let now = open(flag, path)?;
        if reach.is_open() {
            return Ok(());
        }
        reach.keeps_out(flag, path)?;
        if let Some(now) = now
            && reach.covers(&now.first.path)
            && now.first != secret.first
        {
            bail!(
                "{flag} `{}` was replaced after the start, and commands can read and change it in \
                 an allowed directory: renew its secrets, move it, such as below ~/.local/state, \
                 and restart; in an allowed directory change the file in place",
                path.display()
            );
        }
        Ok(())
    }
}

fn open(flag: &'static str, path: &Path) -> Result<Option<Secret>> {
    let (file, is_regular) = reading::open(path).context(flag)?;
    if !is_regular {
        return Ok(None);
    }
    let first = identity(path, &file).with_context(|| format!("{flag} `{}`", path.display()))?;
    Ok(Some(Secret {
        flag,
        path: path.to_owned(),
        first,
        _file: file,
    }))
}
