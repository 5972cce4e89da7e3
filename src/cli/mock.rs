//! Flags of `replay mock`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Parser, Subcommand, ValueEnum};
use replay_mock::{AskedFault, PRESETS};

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
    /// Comparison of a request with the recorded ones; by default that of the cassette, or `hash`
    #[arg(long = "match", value_enum, requires = "cassette", value_name = "WAY")]
    pub matching: Option<MatchArg>,
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
    pub checks: ClientChecks,
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

/// Checks of the client, and faults that it meets.
#[derive(Clone, Debug, Default, Parser)]
pub struct ClientChecks {
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
    /// Apply this fault to every tools/call, or to those of a tool; repeatable
    ///
    /// `replay mock presets --faults` lists the faults. That of a tool overrides that of all. A fault of
    /// HTTP without a tool applies to every request.
    #[arg(long, value_name = "[TOOL=]KIND")]
    pub fault: Vec<AskedFault>,
    /// Apply each --fault only to the first N calls or requests that it is for
    #[arg(long, requires = "fault", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub fault_times: Option<u64>,
}

/// `--match`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MatchArg {
    /// Equal method and parameters; the recorded answers come in turn, the last one repeats
    Hash,
    /// Equal method and parameters, of a call only tool and arguments; the first answer repeats
    Params,
    /// Equal method; the answers come in the order of the recording
    Order,
}

/// A real server, and what is recorded of it.
#[derive(Clone, Debug, Parser)]
pub struct RealServer {
    /// Command of the server, for /bin/sh; `replay mock proxy` also takes the URL of its MCP endpoint
    #[arg(long, value_name = "CMD|URL")]
    pub target: String,
    #[command(flatten)]
    pub redact: Redact,
    #[command(flatten)]
    pub log: LogArgs,
}

/// A proxy of a server over HTTP.
#[derive(Clone, Debug, Default, Parser)]
pub struct FrontArgs {
    /// For a URL: serve at this loopback address
    ///
    /// Port 0, the default, takes a free port, which the log names.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub http: Option<SocketAddr>,
    /// For a URL: apply the `faults` of this manifest, and its `auth` and `card` if there are any
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    pub faults_from: Option<PathBuf>,
    /// For a URL: trust the certificates of this file instead of the system's
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub cacert: Option<PathBuf>,
}

impl FrontArgs {
    /// Returns true if any of these flags is given.
    pub fn is_given(&self) -> bool {
        self.http.is_some() || self.faults_from.is_some() || self.cacert.is_some()
    }
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
        #[command(flatten)]
        server: RealServer,
        /// Cassette; an existing one is replaced
        #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        output: PathBuf,
    },
    /// Proxy a real server: with faults, checks of the client, or a recording
    Proxy {
        #[command(flatten)]
        server: RealServer,
        #[command(flatten)]
        checks: ClientChecks,
        /// Cassette of the server's answers; an existing one is replaced
        #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        output: Option<PathBuf>,
        #[command(flatten)]
        front: FrontArgs,
    },
    /// Print a manifest with the answers of a cassette, for editing
    Distill {
        /// The cassette
        #[arg(value_hint = clap::ValueHint::FilePath)]
        cassette: PathBuf,
    },
}
