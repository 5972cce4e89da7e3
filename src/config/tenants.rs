//! Configurations of a server over HTTP and of its tenants.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, bail};
use replay_files::policy::Hidden;

use super::modes::Purpose;
use super::publish::publish_rules;
use super::{Config, Settings, TokenEntry};
use crate::cli::{CredentialArgs, Options, ServerArgs};

/// Configurations of a server over HTTP and of its tenants.
pub struct TenantConfigs {
    /// Configuration of clients without a token.
    pub server: Config,
    /// Configuration of the holder of each token, in the order of the tokens.
    pub tenants: Vec<Config>,
    /// Memory of the search cache of each tenant.
    pub search_bytes: usize,
}

/// State of a running server that tokens added later depend on.
pub struct RunningServer {
    /// Options of the server's command line.
    pub options: Options,
    /// Files of the operator, hidden from all agents.
    pub hidden: Vec<Hidden>,
    /// Parent of the private directories of commands, inside the domain of the process.
    pub scratch_parent: Option<PathBuf>,
    /// Directories for undo data, inside the domain of the process.
    pub undo_places: Vec<PathBuf>,
    /// Memory left for search caches.
    pub search_bytes: usize,
}

impl Config {
    /// Makes the configuration of a server over HTTP and those of its tenants. All hide these
    /// files, and keep undo data outside the directories of every tenant.
    pub fn with_tenants(
        self,
        cli: &ServerArgs,
        tokens: &[TokenEntry],
        hidden: impl IntoIterator<Item = Hidden>,
    ) -> Result<TenantConfigs> {
        let own = |entry| Settings::for_token(&cli.options, entry);
        let mut tenants = tokens.iter().map(own).collect::<Result<Vec<_>>>()?;
        refuse_shared_ports(tokens, &tenants)?;
        let Self(mut server) = self.hiding(hidden);
        let allowed = tenants.iter().flat_map(|tenant| &tenant.undo.allowed);
        server.undo.allowed.extend(allowed.cloned());

        // The operator has set the limit of the total. Later tokens have a share of their own.
        let shares = tokens.len() + usize::from(cli.http.token_file.is_some());
        let search_bytes = server.memory.search_bytes / shares.max(1);
        for tenant in &mut tenants {
            tenant.hidden.clone_from(&server.hidden);
            tenant.undo.allowed.clone_from(&server.undo.allowed);
            tenant.memory.search_bytes = search_bytes;
        }
        Ok(TenantConfigs {
            server: Self(server),
            tenants: tenants.into_iter().map(Self).collect(),
            search_bytes,
        })
    }

    /// Configuration of the holder of a token that is added while the server runs.
    pub fn for_added_token(entry: &TokenEntry, running: &RunningServer) -> Result<Self> {
        let mut settings = Settings::for_token(&running.options, entry)?;
        settings.hidden.clone_from(&running.hidden);
        settings.scratch_parent.clone_from(&running.scratch_parent);
        settings.undo.places = Some(running.undo_places.clone());
        // Later tenants need a share as well; a restart divides the memory anew.
        settings.memory.search_bytes = running.search_bytes / 2;
        Ok(Self(settings))
    }
}

impl Settings {
    /// Settings of this token's holder.
    fn for_token(options: &Options, entry: &TokenEntry) -> Result<Self> {
        let mut options = options.clone();
        if let Some(tools) = entry.toolsets()? {
            options.tools.tools = tools;
        }
        if entry.allow.is_some() {
            // The server's paths refer to its own directories.
            options.protection.unprotect.clear();
        }
        options
            .protection
            .unprotect
            .extend(entry.unprotect.iter().cloned());
        options.walls.cache = entry.cache.clone().or(options.walls.cache);
        if entry.has_own_hosts() {
            options.network.allow_host = entry.allow_host.clone().unwrap_or_default();
            options.network.allow_hosts = entry.allow_hosts.clone().unwrap_or_default();
        }
        if let Some(own) = &entry.publish {
            options.network.publish = publish_rules(own)?;
        }
        options
            .network
            .deny_host
            .extend(entry.deny_host.iter().cloned());
        if let Some(own) = &entry.credentials {
            options.network.credentials = CredentialArgs {
                credentials: own.clone(),
                are_all: true,
            };
        }
        if let Some(allow) = &entry.allow {
            (
                options.directories.allow,
                options.directories.allow_read,
                options.directories.allow_write,
            ) = (allow.clone(), Vec::new(), Vec::new());
        }
        let mut settings = Self::resolve(&options, &Purpose::Tenant(entry))?;
        settings.undo.tenant.clone_from(&entry.name);
        Ok(settings)
    }
}

/// Refuses two tokens that publish the same port of this machine.
fn refuse_shared_ports(tokens: &[TokenEntry], tenants: &[Settings]) -> Result<()> {
    let mut taken: BTreeMap<u16, &str> = BTreeMap::new();
    for (entry, tenant) in tokens.iter().zip(tenants) {
        for port in tenant.sandbox.publish.ports() {
            if let Some(other) = taken.insert(port.outside, &entry.name) {
                bail!(
                    "the tokens `{other}` and `{}` both publish port {}; give each line a `publish` \
                     of its own, or an empty one",
                    entry.name,
                    port.outside
                );
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, DeclaredCredential};

    #[test]
    fn token_credentials_replace_server_credentials() {
        use std::os::unix::fs::PermissionsExt as _;

        let dir = tempfile::tempdir().unwrap();
        let secret = |name: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, format!("secret of {name}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            path
        };
        let (ours, theirs) = (
            format!("A=file:{}", secret("ours").display()),
            secret("theirs"),
        );
        let place = "https://api.example.com/**";
        let typed = [
            "replay",
            "--mcp-server",
            "--allow-host",
            "api.example.com",
            "--credential",
            &ours,
            "--for",
            place,
        ];
        let options = Cli::try_parse_from(typed).unwrap().server.options;
        let has = |credentials| {
            let settings = Settings::for_token(
                &options,
                &TokenEntry {
                    credentials,
                    ..TokenEntry::of("alice", "a")
                },
            )
            .unwrap();
            let has = settings
                .sandbox
                .credentials
                .iter()
                .map(|one| (one.name.clone(), one.secret.bytes().to_vec()));
            (has.collect::<Vec<_>>(), settings.sandbox.secret_files)
        };
        let of_server = (
            vec![("A".to_owned(), b"secret of ours".to_vec())],
            vec![dir.path().join("ours")],
        );
        assert_eq!(has(None), of_server);
        assert_eq!(has(Some(Vec::new())), (Vec::new(), Vec::new()));
        let own = DeclaredCredential {
            credential: format!("B=file:{}", theirs.display()),
            targets: vec![place.to_owned()],
        };
        assert_eq!(
            has(Some(vec![own])),
            (
                vec![("B".to_owned(), b"secret of theirs".to_vec())],
                vec![theirs.clone()]
            )
        );
        std::fs::set_permissions(
            dir.path().join("ours"),
            std::fs::Permissions::from_mode(0o640),
        )
        .unwrap();
        let error = Settings::for_token(&options, &TokenEntry::of("alice", "a"))
            .map(drop)
            .unwrap_err();
        let expected = format!(
            "--credential A: other users can read or change `{}` (mode 0640); run chmod 600 on it",
            dir.path().join("ours").display()
        );
        assert_eq!(format!("{error:#}"), expected);
    }
}
