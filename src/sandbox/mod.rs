//! The kernel walls around everything that runs for an agent.
//!
//! `plan` says what the walls shall be, `wire` how the server speaks with the launcher, and the launcher (this program
//! started again) builds the walls and starts commands inside them. `environment` and `toolchains` say what commands get
//! of the server's surroundings, `standing` and `explain` what came of it. ARCHITECTURE.md shows the processes.

pub mod environment;
pub mod explain;
pub mod plan;
pub mod standing;
pub mod toolchains;
pub mod wire;

pub use environment::EnvRules;
pub use plan::{Limits, Network, Place, Plan, PlannedRoot, Tier};
pub use standing::Standing;
pub use toolchains::Visible;
pub use wire::{Denied, Event, Exit, Hello, RawString, Request};
