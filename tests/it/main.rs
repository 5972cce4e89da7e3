//! The integration tests: the built program, mostly over stdio, as a client uses it.
//!
//! | Module | Contents |
//! |---|---|
//! | `harness` | Start of the program, conversation with a timeout on every wait, and its log on failure. |
//! | `tree` | Temporary directories, and fingerprints to detect changes. |
//! | `schema` | Check of every output line against the official schema of its revision. |
//! | `layers` | Rules about the sources: imports, lengths, module boundaries, words. |
//! | `audit` | Log of calls: its contents, and behaviour when it cannot be written. |
//! | `background_calls` | Calls that go on after a first reply. |
//! | `calls` | Recording and replay of network calls. |
//! | `cli` | Command line. |
//! | `commands` | Shell commands without a sandbox: time limits, leftover processes, background commands. |
//! | `edits` | Fixtures of `testdata/edits` through the program. |
//! | `derived` | Documents and lists generated from the declarations, and rules about all tools. |
//! | `documents` | Pictures and documents, and the reader process. |
//! | `hide` | Hidden paths (`--hide`), in tools and commands. |
//! | `http` | MCP over HTTP: access, floods, WebSocket, pages. |
//! | `readme` | README.md: each block is run; the picture and the links are checked. |
//! | `interception` | Commands with redirected network calls. |
//! | `residents` | Long-running processes: interruption, status, end. |
//! | `roots` | Roots of a client. |
//! | `network` | Network rules for commands, and blocked traffic. |
//! | `mock` | Mock servers from manifests and cassettes. |
//! | `patterns` | Names with brackets as paths and globs, and globs that match too little. |
//! | `python` | Python sessions. |
//! | `memory` | Memory budget of concurrent calls. |
//! | `search_cache` | Cache between searches of one session, and cases without it. |
//! | `laws` | Property tests with random input; their bodies are in `tests/laws`, which `fuzz/` shares. |
//! | `setup` | Setup commands: entries for clients, check of the machine. |
//! | `telemetry` | Spans of requests, as a collector receives them. |
//! | `testrun` | Test runs and type checks: choice of the runner, execution, report, log. |
//! | `undo` | Undo of changes by calls. |
//! | `why` | Explanation of the deciding rule, and of the flag that would permit a call. |
//! | `wire` | The protocol, per revision: replies, error codes, and messages without a reply. |
//! | `writers` | Several servers and other programs that change the same files. |
//! | `escapes` | The escape catalogue: one test per attempt, named after its number. |
//!
//! Behaviour of one tool, or of a pure module, is tested beside its source, not here.
#![expect(unreachable_pub, reason = "a program exports nothing")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests lay out trees and start the program"
)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may fail by panicking, also in a helper"
)]

mod audit;
mod background_calls;
mod calls;
mod cli;
mod clients;
mod commands;
mod derived;
mod documents;
mod edits;
mod escapes;
mod harness;
mod hide;
mod http;
mod interception;
mod laws;
mod layers;
mod lean;
mod memory;
mod mock;
mod network;
mod patterns;
mod python;
mod readme;
mod residents;
mod roots;
mod schema;
mod search_cache;
mod setup;
mod telemetry;
mod testrun;
mod tree;
mod undo;
mod walls;
mod why;
mod wire;
mod writers;
