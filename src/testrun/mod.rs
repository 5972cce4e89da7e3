//! Test runs and type checks: which runner a project has, how it is run, and what it says, as one shape.
//!
//! Functions: `detect` (which runner), `plan` and `check_plan` (its command line), `changed`, `script` (what its test script says), `reports` (what it wrote),
//! `failed` (what to run again), `cut` (runs that did not come to their end), `verdict`, `text` (for the model). On the disk and with processes: `project`, `files`, `choose`, `which`, `run`, `check`.

mod below;
mod changed;
mod check;
mod check_plan;
mod choose;
mod cut;
mod detect;
mod error;
mod failed;
mod files;
mod ground;
mod kept;
mod missed;
pub mod model;
mod plan;
mod project;
pub mod reports;
mod run;
mod script;
mod silenced;
pub mod text;
mod untaken;
pub mod verdict;
mod which;

pub use check::{CheckRan, CheckRequest, check};
pub use error::TestrunError;
pub use ground::Ground;
pub use kept::{Kept, Log};
pub use run::{Ran, Request, run};
