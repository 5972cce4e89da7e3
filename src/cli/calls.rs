//! Flags of `replay calls`: record the calls of programs, and answer them.

use std::ffi::OsString;

use clap::{Args, Subcommand, ValueEnum};
use replay_base::limits;

use super::{
    ConfinedArgs, DirectoryArgs, IsolationArgs, LogArgs, MemoryArgs, Options, ProtectionArgs,
    WriteArgs,
};

const CALLS_HELP: &str = "\
The program gets the environment of the shell, a HOME of its own, and the allowed directories. Without --allow DIR:rw it may write to the working directory.

The exit status is the program's own. It is 1 if a call was missed and the program itself reports no failure, and 2 if nothing could be run. Ctrl-C and SIGTERM are passed on to the program, which is killed 3 s later, or at the second signal; what was recorded until then is kept, and the status is 130 or 143.

Examples: replay calls record -- npm start
          replay calls test -- npm test";

/// `replay calls`.
#[derive(Clone, Debug, Subcommand)]
pub enum CallsAction {
    /// Run a program and record its calls as a new mock set
    ///
    /// The program reaches real servers, unless --network forbids it. The default of --network is
    /// `host` here, but `loopback` with `--isolation strict`. At the end of --timeout-secs the
    /// calls until then are recorded.
    #[command(after_help = CALLS_HELP)]
    Record {
        #[command(flatten)]
        sets: SetsPath,
        #[command(flatten)]
        run: Box<CallsRun>,
        /// Record passwords, keys and tokens, which are replaced otherwise
        ///
        /// A replay does not compare replaced values.
        #[arg(long)]
        keep_secrets: bool,
    },
    /// Run a program and answer its calls from a mock set
    #[command(after_help = CALLS_HELP)]
    Test {
        #[command(flatten)]
        sets: SetsPath,
        /// The mock set [default: the latest of the same command, or else the latest]
        #[arg(long, value_name = "NAME")]
        mock: Option<String>,
        /// Action for a call that no recording answers
        ///
        /// On a database connection that the recording answers, such a call always fails.
        #[arg(long, value_enum, default_value_t = OnMissArg::Fail, value_name = "WAY")]
        on_miss: OnMissArg,
        /// Also compare values that differ in each run: UUIDs, current times, random tokens
        #[arg(long)]
        exact: bool,
        #[command(flatten)]
        memory: MemoryArgs,
        #[command(flatten)]
        run: Box<CallsRun>,
    },
    /// List the mock sets, the latest first
    List(StoredSets),
    /// Compare two recordings of the same run and show the values that differ: noise for replays
    #[command(after_help = "Example: replay calls noise orders-http orders-http-2 --write")]
    Noise {
        /// The mock set
        name: String,
        /// Another recording of the same run
        other: String,
        #[command(flatten)]
        stored: Box<StoredSets>,
        #[command(flatten)]
        protection: ProtectionArgs,
        #[command(flatten)]
        writes: WriteArgs,
        /// Write the noise into both sets, so that replays of either ignore it
        #[arg(long)]
        write: bool,
    },
    /// Show the calls of a mock set: requests, numbers, durations
    Show {
        /// The mock set [default: the latest]
        name: Option<String>,
        #[command(flatten)]
        stored: StoredSets,
        /// Print a page for a browser, with a timeline of the calls
        #[arg(long)]
        html: bool,
    },
}

/// Location of the mock sets.
#[derive(Clone, Debug, Args)]
pub struct SetsPath {
    /// The directory of the mock sets
    #[arg(long, value_name = "DIR", default_value = "./keploy", value_hint = clap::ValueHint::DirPath)]
    pub path: String,
}

/// Mock sets that a subcommand reads, and the limits of reading.
#[derive(Clone, Debug, Args)]
pub struct StoredSets {
    #[command(flatten)]
    pub sets: SetsPath,
    #[command(flatten)]
    pub directories: DirectoryArgs,
    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub log: LogArgs,
}

impl StoredSets {
    fn options(&self) -> Options {
        Options {
            directories: self.directories.clone(),
            memory: self.memory.clone(),
            log: self.log.clone(),
            ..Options::default()
        }
    }
}

impl CallsRun {
    fn options(&self) -> Options {
        Options {
            calls: self.isolation.clone(),
            writes: self.writes.clone(),
            ..self.confined.options()
        }
    }
}

impl CallsAction {
    /// Settings of this subcommand, with defaults for all others.
    pub fn options(&self) -> Options {
        match self {
            Self::Record { run, .. } => run.options(),
            Self::Test { run, memory, .. } => Options {
                memory: memory.clone(),
                ..run.options()
            },
            Self::List(stored) | Self::Show { stored, .. } => stored.options(),
            Self::Noise {
                stored,
                protection,
                writes,
                ..
            } => Options {
                protection: protection.clone(),
                writes: writes.clone(),
                ..stored.options()
            },
        }
    }
}

/// Program to run, and its settings.
#[derive(Clone, Debug, Args)]
pub struct CallsRun {
    /// End the program after this many seconds
    #[arg(long, value_name = "SECS", default_value_t = limits::DEFAULT_CALLS_TIMEOUT_SECS, value_parser = clap::value_parser!(u64).range(1..=limits::MAX_CALLS_TIMEOUT_SECS))]
    pub timeout_secs: u64,
    #[command(flatten)]
    pub confined: ConfinedArgs,
    #[command(flatten)]
    pub isolation: IsolationArgs,
    #[command(flatten)]
    pub writes: WriteArgs,
    /// The program and its arguments, after `--`
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// `--on-miss`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnMissArg {
    /// Fail the call, and report it
    #[default]
    Fail,
    /// Ask the real server
    Passthrough,
    /// Ask the real server, and record the answer
    Record,
}
