//! Reload on SIGHUP: reads the token file and the certificate again. An invalid file changes
//! nothing.
//!
//! The thread starts before the server enters its Landlock domain, and alone stays outside. It
//! opens these files, and starts the servers of new tokens.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, Result};
use replay_mcp::transport::http::{Encryption, Roster};
use tokio_rustls::rustls::ServerConfig;

use super::provisioning::{Provisioning, ScratchParent};
use crate::cli::HttpArgs;
use crate::config::reasons;
use crate::config::{TokenEntry, encryption, tokens};
use crate::secrets::{Reach, Secrets};

/// State of the reload thread: the files to compare with, and the means to serve new tokens.
pub(super) struct Reload {
    /// Arguments that name the files.
    pub args: HttpArgs,
    /// Identities of the files at the start.
    pub secrets: Secrets,
    /// Paths that agents can reach.
    pub reach: Reach,
    /// The token file's entry of each tenant, as it is served.
    pub served: Vec<TokenEntry>,
    pub roster: Arc<Roster>,
    pub provisioning: Provisioning,
    /// Parent of the private directories of new tenants' commands.
    pub scratch_parent: Option<ScratchParent>,
    /// TLS, if enabled.
    pub tls: Option<Arc<Encryption>>,
}

pub(super) struct Reloader {
    sender: Sender<bool>,
    thread: JoinHandle<()>,
}

impl Reloader {
    pub(super) fn start(reload: Reload) -> Result<Self> {
        let (sender, receiver) = channel();
        let run = move || reload.run(&receiver);
        let thread = thread::Builder::new()
            .name("reload".to_owned())
            .spawn(run)
            .context("no thread can be started")?;
        Ok(Self { sender, thread })
    }

    /// Returns the channel that requests a reload, by `true`.
    pub(super) fn sender(&self) -> Sender<bool> {
        self.sender.clone()
    }

    /// Stops the thread, which then removes the directories that only it can remove.
    pub(super) fn end(self) {
        // The thread ends only here, so this cannot fail.
        let _ = self.sender.send(false);
        let _ = self.thread.join();
    }
}

impl Reload {
    fn run(mut self, receiver: &Receiver<bool>) {
        while receiver.recv() == Ok(true) {
            if self.args.token_file.is_some() {
                match self.tokens() {
                    Ok(now) => self.apply(&now),
                    Err(error) => {
                        tracing::error!("the tokens were not reloaded: {}", reasons(&error));
                    }
                }
            }
            if let Some(tls) = &self.tls {
                match self.encryption() {
                    Ok(Some(config)) => {
                        tls.replace(config);
                        tracing::info!(
                            "the certificate was read again; open connections keep the old one"
                        );
                    }
                    Ok(None) => {}
                    Err(error) => {
                        tracing::error!("the certificate was not reloaded: {}", reasons(&error));
                    }
                }
            }
        }
        if let Some(parent) = self.scratch_parent {
            parent.remove();
        }
    }

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

    /// Ends the tenants of removed tokens and starts those of new tokens. A new token under an old
    /// name gets a fresh server, without state of its predecessor. Other changes in an entry take
    /// effect at the next start.
    fn apply(&mut self, now: &[TokenEntry]) {
        for tenant in &*self.roster.all() {
            let entry = now.iter().find(|entry| entry.name == tenant.name);
            if entry
                .and_then(TokenEntry::digest)
                .is_some_and(|digest| tenant.has_token(digest))
            {
                continue;
            }
            if !tenant.end() {
                tracing::error!(
                    "`{}` is not active: calls of its old token, or their processes, do not end; \
                     the next SIGHUP tries again",
                    tenant.name
                );
                continue;
            }
            self.roster.remove(tenant);
            self.served.retain(|known| known.name != tenant.name);
            let now = if entry.is_some() {
                "another token"
            } else {
                "no token any more"
            };
            tracing::info!(
                "`{}` has {now}; sessions and processes of the old token were ended",
                tenant.name
            );
        }
        self.provisioning.expect(now);
        for entry in now {
            let all = self.roster.all();
            match all.iter().find(|tenant| tenant.name == entry.name) {
                Some(tenant) => {
                    let Some(known) = self.served.iter().find(|known| known.name == entry.name)
                    else {
                        continue;
                    };
                    if tenant.set_operator(entry.operator && known.operator) {
                        tracing::info!(
                            "`{}` no longer sees other tokens' calls; its connections were closed",
                            entry.name
                        );
                    }
                    if !known.is_served_as(entry) {
                        tracing::warn!(
                            "changes in the line of `{}` take effect after a restart, or with a \
                             new token; its old directories, tools and limits stay until then",
                            entry.name
                        );
                    }
                }
                None => match self
                    .provisioning
                    .admit(entry, &mut self.secrets, &self.reach)
                {
                    Ok((tenant, reach)) => {
                        self.reach.add(reach);
                        self.served.push(entry.clone());
                        self.roster.add(tenant);
                        tracing::info!("`{}` is active", entry.name);
                    }
                    Err(error) => {
                        tracing::error!("`{}` is not active: {}", entry.name, reasons(&error));
                    }
                },
            }
        }
        let all = self.roster.all();
        let is_served = |digest: &[u8; 32]| all.iter().any(|tenant| tenant.has_token(*digest));
        let given = now.iter().filter_map(TokenEntry::digest);
        self.roster
            .set_unserved(given.filter(|digest| !is_served(digest)).collect());
        tracing::info!("the tokens were read again");
    }
}
