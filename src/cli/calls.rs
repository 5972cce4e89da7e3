//! Flags of what records the calls of programs and answers them.

use std::ffi::OsString;

use clap::{Parser, Subcommand, ValueEnum};

use crate::limits;

const CALLS_HELP: &str = "The program has the environment of the shell, a HOME of its own, and the allowed directories: the working directory unless another one may be written to. The exit status is the program's own; 1 when it was 0, or a signal ended it, and a call was missed; 130 or 143 when Ctrl-C or SIGTERM ended it and none was: the program gets the signal itself, and SIGKILL 3 s later, or at once when a second one comes; what was recorded until then is kept; 2 when nothing could be run.\n\nExamples: replay calls record -- npm start, replay calls test -- npm test";

/// `replay calls`.
#[derive(Clone, Debug, Subcommand)]
pub enum CallsAction {
    /// Run a program, and keep what it calls as a new mock set. Real servers are reached unless --network says otherwise
    #[command(after_help = CALLS_HELP)]
    Record {
        #[command(flatten)]
        #[expect(missing_docs, reason = "flattened: its fields have their own")]
        sets: SetsPath,
        #[command(flatten)]
        #[expect(missing_docs, reason = "flattened: its fields have their own")]
        run: CallsRun,
        /// Keep passwords, keys and tokens, which otherwise are replaced, and need not be the same in a replay
        #[arg(long)]
        keep_secrets: bool,
    },
    /// Run a program whose calls are answered from a mock set; the exit status is its own, or 1 when a call was missed
    #[command(after_help = CALLS_HELP)]
    Test {
        #[command(flatten)]
        #[expect(missing_docs, reason = "flattened: its fields have their own")]
        sets: SetsPath,
        /// The mock set (default: the latest that was recorded with the same command, or else the latest)
        #[arg(long, value_name = "NAME")]
        mock: Option<String>,
        /// What becomes of a call that no recording answers: it fails, goes to the real server, or does and is kept in a
        /// new set with all of this one. What is asked on a database connection that the recording answers fails in any case
        #[arg(long, value_enum, default_value_t = OnMissArg::Fail, value_name = "WAY")]
        on_miss: OnMissArg,
        /// Have values that each run makes anew (UUIDs, times near the run's, random tokens) be another call, as all others
        #[arg(long)]
        exact: bool,
        #[command(flatten)]
        #[expect(missing_docs, reason = "flattened: its fields have their own")]
        run: CallsRun,
    },
    /// List the mock sets, the latest first
    List {
        #[command(flatten)]
        #[expect(missing_docs, reason = "flattened: its fields have their own")]
        sets: SetsPath,
    },
    /// Compare two recordings of the same run, and show which values of their calls differ: noise, which a replay is
    /// not to look at
    #[command(after_help = "Example: replay calls noise orders-http orders-http-2 --write")]
    Noise {
        /// The mock set
        name: String,
        /// Another recording of the same run
        other: String,
        #[command(flatten)]
        #[expect(missing_docs, reason = "flattened: its fields have their own")]
        sets: SetsPath,
        /// Write what is shown into the files of both sets, so that replays of either leave it out
        #[arg(long)]
        write: bool,
    },
    /// Show what a mock set holds: what was called, how often, how long it took
    Show {
        /// The mock set (default: the latest)
        name: Option<String>,
        #[command(flatten)]
        #[expect(missing_docs, reason = "flattened: its fields have their own")]
        sets: SetsPath,
        /// Print a page for a browser, with every call on a line of time
        #[arg(long)]
        html: bool,
    },
}

/// Where mock sets are.
#[derive(Clone, Debug, Parser)]
pub struct SetsPath {
    /// The directory of the mock sets
    #[arg(long, value_name = "DIR", default_value = "./keploy", value_hint = clap::ValueHint::DirPath)]
    pub path: String,
}

/// How a program is run whose calls are looked at.
#[derive(Clone, Debug, Parser)]
pub struct CallsRun {
    /// Seconds after which the program is ended; what was recorded until then is kept
    #[arg(long, value_name = "SECS", default_value_t = limits::DEFAULT_CALLS_TIMEOUT_SECS, value_parser = clap::value_parser!(u64).range(1..=limits::MAX_CALLS_TIMEOUT_SECS))]
    pub timeout_secs: u64,
    /// The program and its arguments, after `--`
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// `--isolation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Isolation {
    /// The system's network, every connection of the program looked at
    Seccomp,
    /// A network of the program's own
    Strict,
    /// Variables that tell of a proxy, and nothing else
    Env,
}

/// `--on-miss`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnMissArg {
    /// An error that says so
    #[default]
    Fail,
    /// The answer of the real server
    Passthrough,
    /// The same, kept in a new set with all of this one
    Record,
}
