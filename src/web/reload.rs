//! What SIGHUP does: the files of tokens and of the certificate are read again. A file that cannot be used changes nothing.
//!
//! The thread is started before the server enters its own walls: it alone stays outside, and opens nothing but these files.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use anyhow::{Context as _, Result};
use tokio_rustls::rustls::ServerConfig;

use crate::cli::HttpArgs;
use crate::config::{TokenEntry, encryption, tokens};
use crate::secrets::{Reach, Secrets};
use crate::transport::http::{Encryption, Rekeyed, Tenant};

/// The files that are read again.
pub struct Files {
    /// What names them.
    pub args: HttpArgs,
    /// Which they were at the start.
    pub secrets: Secrets,
    /// What agents may reach.
    pub reach: Reach,
}

impl Files {
    fn tokens(&self) -> Result<Vec<TokenEntry>> {
        let read = tokens(&self.args)?;
        self.secrets.check("--token-file", &self.reach)?;
        Ok(read)
    }

    fn encryption(&self) -> Result<Option<Arc<ServerConfig>>> {
        let read = encryption(&self.args)?;
        self.secrets.check("--tls-key", &self.reach)?;
        Ok(read)
    }
}

/// Starts the thread, if there are files to be read again; what tells it to do so.
pub fn start(
    files: Files,
    entries: Vec<TokenEntry>,
    tenants: Vec<Arc<Tenant>>,
    tls: Option<Arc<Encryption>>,
) -> Result<Option<Sender<()>>> {
    if files.args.token_file.is_none() && tls.is_none() {
        return Ok(None);
    }
    let (sender, receiver) = channel();
    let run = move || {
        while receiver.recv().is_ok() {
            if files.args.token_file.is_some() {
                match files.tokens() {
                    Ok(now) => apply(&entries, &now, &tenants),
                    Err(error) => tracing::error!("the tokens stay as they are: {error:#}"),
                }
            }
            if let Some(tls) = &tls {
                match files.encryption() {
                    Ok(Some(config)) => {
                        tls.replace(config);
                        tracing::info!(
                            "the certificate was read again; connections that are open keep the one they have"
                        );
                    }
                    Ok(None) => {}
                    Err(error) => tracing::error!("the certificate stays as it is: {error:#}"),
                }
            }
        }
    };
    thread::Builder::new().name("reload".to_owned()).spawn(run).context("no thread to be had")?;
    Ok(Some(sender))
}

/// Gives the tenants the tokens that they have `now`, and takes away that one sees what all do. What else a line says holds from
/// the next start on: directories and tools are behind walls that stand already.
fn apply(first: &[TokenEntry], now: &[TokenEntry], tenants: &[Arc<Tenant>]) {
    for tenant in tenants {
        let entry = now.iter().find(|entry| entry.name == tenant.name);
        let now = if entry.is_some() { "another token" } else { "no token any more" };
        match tenant.rekey(entry.and_then(TokenEntry::digest)) {
            Rekeyed::Same => {}
            Rekeyed::Changed => {
                tracing::info!("`{}` has {now}; what the one before used and left behind has ended", tenant.name);
            }
            Rekeyed::Held => tracing::error!(
                "`{}` is not served: calls of its old token, or what they started, do not end; the next SIGHUP tries again",
                tenant.name
            ),
        }
    }
    for entry in now {
        let known = first.iter().find(|known| known.name == entry.name);
        if let Some(tenant) = tenants.iter().find(|tenant| tenant.name == entry.name)
            && tenant.set_operator(entry.operator && known.is_some_and(|known| known.operator))
        {
            tracing::info!("`{}` sees no more what others do; its connections have ended", entry.name);
        }
        match known {
            None => tracing::warn!("`{}` is new, and is served after a restart", entry.name),
            Some(known) if !known.is_served_as(entry) => {
                tracing::warn!(
                    "what the line of `{}` says beside its token holds after a restart; its old directories, tools and limits stay until then",
                    entry.name
                );
            }
            Some(_) => {}
        }
    }
    tracing::info!("the tokens were read again");
}
