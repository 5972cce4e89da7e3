//! Flags of `replay mock`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Parser, Subcommand};
use replay_mock::{MockFault, PRESETS};

use super::{ClientArgs, LogArgs, OnMissArg};

/// `replay mock`: one source of answers, and settings.
#[derive(Clone, Debug, Parser)]
#[command(group = ArgGroup::new("source").required(true).multiple(false))]
pub struct MockServe {
    /// Serve this manifest: YAML, or the answer to tools/list as JSON (.json)
    #[arg(long, group = "source", value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    pub tools_from: Option<PathBuf>,
    /// Serve a built-in manifest; `replay mock presets` lists them
    #[arg(long, group = "source", value_name = "NAME", value_parser = PossibleValuesParser::new(PRESETS.map(|preset| preset.name)))]
    pub preset: Option<String>,
    /// Serve a recording of `replay mock record` or `replay --mcp-server --record`
    #[arg(long, group = "source", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub cassette: Option<PathBuf>,
    /// Action for a request that is not in the cassette
    ///
    /// `passthrough` and `record` ask the server of --target.
    #[arg(long, value_enum, default_value_t = OnMissArg::Fail, requires = "cassette", value_name = "WAY")]
    pub on_miss: OnMissArg,
    /// Command of the server behind the cassette, for /bin/sh
    #[arg(long, requires = "cassette", value_name = "CMD")]
    pub target: Option<String>,
    #[command(flatten)]
    pub redact: Redact,
    #[command(flatten)]
    pub client: ClientArgs,
    #[command(flatten)]
    pub log: LogArgs,
    #[command(flatten)]
    pub watch: WatchArgs,
    /// Apply this fault to every tools/call; `replay mock presets --faults` lists the faults
    #[arg(long, value_name = "KIND")]
    pub fault: Option<MockFault>,
    /// Serve over HTTP at this loopback address instead of stdin and stdout
    ///
    /// Port 0 takes a free port, which the log names.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub http: Option<SocketAddr>,
    /// The same as --log-level trace
    #[arg(long)]
    pub debug: bool,
    /// The same as --log-level debug
    #[arg(long)]
    pub verbose: bool,
}

/// Observers of the client.
#[derive(Clone, Debug, Default, Parser)]
pub struct WatchArgs {
    /// Write every message and its answer to this file, as lines of JSON
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub journal: Option<PathBuf>,
    /// Check the client's messages against this file
    ///
    /// At the end the mock prints a report on stderr. The exit status is 1 if an expectation is not
    /// met.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub expect: Option<PathBuf>,
    /// Write the report of --expect to this file, too
    ///
    /// This is for clients that hide stderr and the exit status.
    #[arg(long, requires = "expect", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub report: Option<PathBuf>,
}

/// `replay mock proxy`.
#[derive(Clone, Debug, Parser)]
pub struct ProxyArgs {
    /// URL of the MCP endpoint of the server
    #[arg(long, value_name = "URL")]
    pub target: String,
    /// Loopback address to serve at; port 0 takes a free port, which the log names
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub http: SocketAddr,
    /// Apply the `faults` of this manifest, and its `auth` and `card` if there are any
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    pub faults_from: Option<PathBuf>,
    /// Trust the certificates of this file instead of the system's
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub cacert: Option<PathBuf>,
    #[command(flatten)]
    pub watch: WatchArgs,
    #[command(flatten)]
    pub log: LogArgs,
}

/// Secrets to leave out of cassettes.
#[derive(Clone, Debug, Default, Parser)]
pub struct Redact {
    /// Leave out the value of this variable everywhere
    ///
    /// Repeatable. Variables whose names look like secrets are left out without this flag.
    #[arg(long, value_name = "NAME")]
    pub redact_env: Vec<String>,
    /// Write `[NAME]` instead of the matches of a pattern; repeatable
    #[arg(long, value_name = "NAME=REGEX")]
    pub redact: Vec<String>,
}

/// `replay mock ...`.
#[derive(Clone, Debug, Subcommand)]
pub enum MockAction {
    /// Check a manifest, and print errors with line and column; the exit status is 1 if there are
    /// any
    Check {
        /// The manifest
        #[arg(value_hint = clap::ValueHint::FilePath)]
        manifest: PathBuf,
    },
    /// Write a commented manifest to start from
    Init {
        /// New file; an existing one is not changed
        #[arg(default_value = "mock.yaml", value_hint = clap::ValueHint::FilePath)]
        file: PathBuf,
    },
    /// List the built-in servers and the attack that each models
    Presets {
        /// Print the manifest of this server
        #[arg(value_parser = PossibleValuesParser::new(PRESETS.map(|preset| preset.name)), hide_possible_values = true)]
        name: Option<String>,
        /// Describe the faults of --fault
        #[arg(long, conflicts_with = "name")]
        faults: bool,
    },
    /// Print the JSON schema of manifests, for editors
    Schema,
    /// Proxy a real server, and record the session
    Record {
        /// Command of the server, for /bin/sh
        #[arg(long, value_name = "CMD")]
        target: String,
        /// Cassette; an existing one is replaced
        #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        output: PathBuf,
        #[command(flatten)]
        redact: Redact,
        #[command(flatten)]
        log: LogArgs,
    },
    /// Serve a real server over HTTP, with faults, expectations and a journal
    Proxy(ProxyArgs),
    /// Print a manifest with the answers of a cassette, for editing
    Distill {
        /// The cassette
        #[arg(value_hint = clap::ValueHint::FilePath)]
        cassette: PathBuf,
    },
}
