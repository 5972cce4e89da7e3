//! Which hosts commands may reach: rules, and the decision about one connection. No socket, no file.

mod credentials;
mod host_name;
mod rule;
mod rules;
mod sets;
mod special_addresses;

pub use credentials::{Asked, Concealer, Credential, Credentials, MAX_SECRET_BYTES, Pair, Place, Scheme, Secret};
pub use host_name::canonical;
pub use rule::{Destination, Host};
pub use rules::Rules;
pub use sets::SETS;
