//! Log lines about a started server: version, process, walls and grants.

use std::sync::Arc;
use std::time::SystemTime;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

use super::entry::{path, time};
use super::log::AuditLog;
use crate::config::Config;
use crate::secrets::Reach;
use crate::server::Server;

/// Allowed directories that the line about a start names; further ones are counted.
const MAX_AUDIT_GRANTS: usize = 128;

pub(crate) struct Started<'a> {
    /// `stdio`, or the HTTP address.
    pub serves: String,
    /// The servers, each with the name of its client.
    pub servers: Vec<(&'a str, &'a Server)>,
    /// The operator's configuration.
    pub config: &'a Config,
}

#[derive(Serialize)]
struct StartLine<'a> {
    at: String,
    event: &'static str,
    version: &'static str,
    chain: &'static str,
    serves: &'a str,
    pid: i32,
    uid: u32,
    host: String,
    #[serde(flatten)]
    shown: WallsAndGrants,
}

/// Line about a client added at run time.
#[derive(Serialize)]
struct ClientLine<'a> {
    at: String,
    event: &'static str,
    client: &'a str,
    #[serde(flatten)]
    shown: WallsAndGrants,
}

/// Walls of servers, and grants of their clients.
#[derive(Serialize)]
struct WallsAndGrants {
    walls: Vec<Value>,
    grants: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grants_more: Option<usize>,
}

impl WallsAndGrants {
    fn of(servers: &[(&str, &Server)]) -> Self {
        let walls = servers.iter().map(|(client, server)| {
            let standing = &server.services().commands.standing;
            json!({"client": client, "commands": standing.word(), "network": standing.network_word()})
        });
        let grants = servers.iter().flat_map(|(client, server)| {
            let roots = server.services().policy.roots().iter();
            roots.map(move |root| {
                let access = if root.writable() {
                    "read-write"
                } else {
                    "read-only"
                };
                json!({"client": client, "path": path(root.path()), "access": access})
            })
        });
        let (walls, mut grants): (Vec<_>, Vec<_>) =
            (walls.take(MAX_AUDIT_GRANTS).collect(), grants.collect());
        let more = grants.len().saturating_sub(MAX_AUDIT_GRANTS);
        grants.truncate(MAX_AUDIT_GRANTS);
        Self {
            walls,
            grants,
            grants_more: (more > 0).then_some(more),
        }
    }
}

impl AuditLog {
    /// Writes the line about the start. Fails, with a remedy, if an agent could reach the log or
    /// its key.
    pub(crate) fn start(self: &Arc<Self>, started: &Started<'_>) -> Result<()> {
        let services = started.servers.iter().map(|(_, server)| server.services());
        let reach = Reach::of(
            services,
            started
                .config
                .sandbox
                .system
                .iter()
                .map(|seen| seen.path.clone()),
        );
        self.check_out_of_reach(&reach)?;
        started
            .servers
            .iter()
            .for_each(|(client, server)| self.observe(client, server));
        self.write(&StartLine {
            at: time(SystemTime::now()),
            event: "start",
            version: env!("CARGO_PKG_VERSION"),
            chain: self.chain(),
            serves: &started.serves,
            pid: rustix::process::getpid().as_raw_nonzero().get(),
            uid: rustix::process::getuid().as_raw(),
            host: rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned(),
            shown: WallsAndGrants::of(&started.servers),
        })
    }

    /// Writes the line about a client added at run time. Fails as [`AuditLog::start`] does.
    pub(crate) fn add(
        self: &Arc<Self>,
        client: &str,
        server: &Server,
        reach: &Reach,
    ) -> Result<()> {
        self.check_out_of_reach(reach)?;
        self.observe(client, server);
        let shown = WallsAndGrants::of(&[(client, server)]);
        self.write(&ClientLine {
            at: time(SystemTime::now()),
            event: "client",
            client,
            shown,
        })
    }

    /// Logs the calls and the ends of background commands of this server from now on.
    fn observe(self: &Arc<Self>, client: &str, server: &Server) {
        self.announce(server.names_of_changing().map(str::to_owned));
        if let Some(background) = &server.services().commands.background {
            let (log, client) = (Arc::clone(self), client.to_owned());
            background.on_end(move |command| log.background(&client, command));
        }
        let (log, client) = (Arc::clone(self), client.to_owned());
        let calls = &server.services().background_calls;
        calls.on_end(move |call, outcome, record| {
            log.background_call(&client, call, outcome, &record);
        });
    }

    fn check_out_of_reach(&self, reach: &Reach) -> Result<()> {
        self.paths()
            .try_for_each(|(flag, path)| reach.keeps_out(flag, path))
    }
}
