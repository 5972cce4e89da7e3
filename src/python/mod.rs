//! Python sessions: interpreters that stay, each behind the walls of a command, with state from one
//! cell to the next.
//!
//! The driver (`driver/*.py`) is the inside of a session, and `protocol` the lines that are spoken
//! with it. A [`Kernel`](kernel::Kernel) is one running interpreter; [`Driver`](driver::Driver) is
//! the one there is, and `pump` the thread that takes in what comes from it at any time, so that
//! nothing of it ever waits for a call. A [`Session`] has a name and settings and starts a kernel
//! when it needs one; [`Sessions`] is the table of them.

mod driver;
mod error;
mod health;
mod host;
mod kernel;
mod output;
pub mod packages;
mod protocol;
mod pump;
mod session;
mod sessions;
mod snapshot;
mod spare;
mod turn;

pub use error::{PythonError, named};
pub use health::Health;
pub use host::Host;
pub use kernel::{Bounds, News, Question};
pub use output::beginning_and_end;
pub use protocol::{Raised, Shown, Variable};
pub use session::{Ran, Session, Settings, shown_path};
pub use sessions::Sessions;
pub use snapshot::Changes;
