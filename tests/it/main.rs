//! The one test binary: the built program over stdio, as a client has it.
//!
//! | module | what belongs there |
//! |---|---|
//! | `harness` | starting the program, talking to it with a deadline on every wait, printing all of it on failure |
//! | `tree` | laying out directories, and fingerprints of what must not change |
//! | `schema` | the check of every line the program writes against the official schema of its revision |
//! | `layers` | rules about the sources: imports, lengths, doors, words |
//! | `audit` | the log of calls: what is in it, what happens where it cannot be written |
//! | `calls` | recording what programs call, and answering it |
//! | `cli` | what a person types |
//! | `commands` | shells without walls: time limits, what is left behind, background commands |
//! | `edits` | the folders of `testdata/edits` through the program |
//! | `derived` | documents and lists that follow from the declarations, and rules over all tools |
//! | `documents` | pictures and documents, and the process that reads them |
//! | `hide` | what the operator hides by patterns, from tools and commands |
//! | `http` | the same protocol over HTTP: who is let in, what floods cost, WebSocket, pages |
//! | `readme` | what README.md says: each block run, the picture, the links |
//! | `interception` | commands whose calls over the network are led elsewhere |
//! | `residents` | programs that stay: interrupted, asked how they are, ended |
//! | `network` | what commands reach by rule, and what never arrives |
//! | `mock` | servers from manifests and cassettes |
//! | `patterns` | names with brackets where a path or a glob is taken, and globs that match too little |
//! | `python` | Python sessions |
//! | `memory` | what many calls hold together, and who waits for it |
//! | `search_cache` | what searches of one session leave for the next, and where they leave nothing |
//! | `laws` | property tests over arbitrary input; their bodies are in `tests/laws`, which `fuzz/` shares |
//! | `setup` | what a person does once: the entries of clients, the look at the machine |
//! | `telemetry` | spans of requests, as a collector gets them |
//! | `testrun` | running tests and checking types: which runner, how it is run, what it says, its log |
//! | `undo` | what calls have changed, made what it was |
//! | `why` | which rule decides, and which flag would allow it |
//! | `wire` | the protocol, per revision: what is answered, with which code, and what never is |
//! | `writers` | several servers, and other programs, that change the same files |
//! | `escapes` | the escape catalogue: one test per attempt, named after its number |
//!
//! Behaviour of one tool, or of a pure module, is tested beside its source, not here.
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
mod calls;
mod cli;
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
mod memory;
mod mock;
mod network;
mod patterns;
mod python;
mod readme;
mod residents;
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
