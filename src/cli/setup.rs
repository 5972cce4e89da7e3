//! Flags of `replay setup`, which writes the entry of an MCP client.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use replay_clients::{Client, Clients, SetupProfile};

/// `replay setup`.
#[derive(Clone, Debug, Args)]
pub struct SetupArgs {
    #[arg(value_parser = client_parser())]
    pub client: KnownClient,
    /// Allow the server a directory: read-only, or with `:rw` at its end also for writing
    ///
    /// Repeatable. The default is `.:rw`. A client that starts the server in the project gets
    /// relative paths as they are, so that the entry serves every project.
    #[arg(long, value_name = "DIR[:ro|:rw]", value_hint = ValueHint::DirPath)]
    pub allow: Vec<PathBuf>,
    /// Write the entry to the client's file, and keep its other contents
    #[arg(long)]
    pub write: bool,
    /// Replace an existing entry that differs
    #[arg(long, requires = "write")]
    pub force: bool,
    /// Switch the client's own shell and file tools off, since they work outside the walls
    #[arg(long)]
    pub only: bool,
    /// Flags of the server, after `--`; paths in them are not changed
    #[arg(last = true, value_name = "FLAGS")]
    pub flags: Vec<OsString>,
}

/// A client of the table that `replay setup` configures.
#[derive(Clone, Copy, Debug)]
pub struct KnownClient {
    pub client: &'static Client,
    pub setup: &'static SetupProfile,
}

impl KnownClient {
    /// Iterates over all of them, by their names.
    pub fn all() -> impl Iterator<Item = Self> {
        let known = |client: &'static Client| {
            let setup = client.setup.as_ref()?;
            Some(Self { client, setup })
        };
        Clients::embedded().iter().filter_map(known)
    }

    fn named(id: &str) -> Result<Self, String> {
        Self::all()
            .find(|known| known.client.id == id)
            .ok_or_else(|| format!("no client `{id}`"))
    }
}

fn client_parser() -> impl TypedValueParser<Value = KnownClient> {
    let value = |KnownClient { client, setup }: KnownClient| {
        let place = setup.files.first().map_or("prints it", String::as_str);
        PossibleValue::new(client.id.as_str()).help(format!("{}: {place}", client.title))
    };
    PossibleValuesParser::new(KnownClient::all().map(value)).try_map(|id| KnownClient::named(&id))
}
