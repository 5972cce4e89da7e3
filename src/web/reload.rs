//! What SIGHUP does: the files of tokens and of the certificate are read again. A file that cannot be used changes nothing.
//!
//! The thread is started before the server enters its own walls: it alone stays outside, and opens nothing but these files.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use anyhow::{Context as _, Result};

use crate::cli::HttpArgs;
use crate::config::{TokenEntry, encryption, tokens};
use crate::transport::http::{Encryption, Tenant};

/// Starts the thread, if there are files to be read again; what tells it to do so.
pub fn start(
    args: &HttpArgs,
    entries: Vec<TokenEntry>,
    tenants: Vec<Arc<Tenant>>,
    tls: Option<Arc<Encryption>>,
) -> Result<Option<Sender<()>>> {
    if args.token_file.is_none() && tls.is_none() {
        return Ok(None);
    }
    let (sender, receiver) = channel();
    let args = args.clone();
    let run = move || {
        while receiver.recv().is_ok() {
            if args.token_file.is_some() {
                match tokens(&args) {
                    Ok(now) => apply(&entries, &now, &tenants),
                    Err(error) => tracing::error!("the tokens stay as they are: {error:#}"),
                }
            }
            if let Some(tls) = &tls {
                match encryption(&args) {
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

/// Gives the tenants the tokens that they have `now`. What else a line says holds from the next start on: directories and
/// tools are behind walls that stand already.
fn apply(first: &[TokenEntry], now: &[TokenEntry], tenants: &[Arc<Tenant>]) {
    for tenant in tenants {
        let entry = now.iter().find(|entry| entry.name == tenant.name);
        let is_changed = tenant.rekey(entry.and_then(TokenEntry::digest));
        if is_changed {
            let now = if entry.is_some() { "another token" } else { "no token any more" };
            tracing::info!("`{}` has {now}; what used the one before has ended", tenant.name);
        }
    }
    for entry in now {
        match first.iter().find(|known| known.name == entry.name) {
            None => tracing::warn!("`{}` is new, and is served after a restart", entry.name),
            Some(known) if !known.differs_by_token_only(entry) => {
                tracing::warn!("what the line of `{}` says beside its token holds after a restart", entry.name);
            }
            Some(_) => {}
        }
    }
    tracing::info!("the tokens were read again");
}
