//! Exports of the library for the binary, tests, benches and fuzz targets. Not a stable API. The
//! compiler reports as dead code what is neither exported here nor used by these exports.

pub mod cli {
    pub use crate::cli::{Cli, parse};
}

pub mod commands {
    pub use crate::commands::{report, run};
}

pub mod compose {
    pub use crate::compose::{alone, globs_of, skips_of};
}

pub mod config {
    pub use crate::config::{Config, derived_profile_keys, profile_keys};
}

pub mod mock {
    pub use crate::mock::{expectations_schema, manifest_schema};
}

pub mod protocol {
    pub use crate::protocol::{Incoming, escape_into, parse};
}

pub mod server {
    pub use crate::server::{Server, Session};
}

pub mod tools {
    pub use crate::tools::{Callable, DERIVED, Descriptor, Hints, TOOLS, Toolset};
}

pub mod transport {
    pub use crate::transport::{End, Limits, StdioServer, Writer};
}
