//! Python sessions: resident interpreters, each in the sandbox of a command, that keep state
//! between cells.
//!
//! The driver (`driver/*.py`) runs inside the interpreter, and `protocol` has the messages to and
//! from it. A [`Kernel`] is one running interpreter, and [`Driver`](driver::Driver) is its only
//! implementation. `pump` is the thread that reads its output at any time, so that the
//! interpreter never waits for a call. A [`Session`] has a name and settings, and starts a kernel
//! on demand. [`Sessions`] is the table of sessions.
#![forbid(unsafe_code)]

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

pub use error::{PythonError, shorten};
pub use health::Health;
pub use host::Host;
pub use kernel::{Bounds, Kernel, News, Question};
pub use output::beginning_and_end;
pub use protocol::{DisplayedValue, Raised, Variable};
pub use session::{Ran, Session, Settings, shown_path};
pub use sessions::Sessions;
pub use snapshot::Changes;
