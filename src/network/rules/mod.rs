//! Which hosts commands may reach, and with which requests: rules, and the decision about one
//! connection or request. No socket, no file.

mod credentials;
mod host_name;
mod needed;
mod request;
mod rule;
mod rules;
mod sets;
mod special_addresses;

pub use credentials::{
    Concealer, Credential, Credentials, MAX_SECRET_BYTES, Pair, Place, Scheme, Secret,
};
pub use host_name::canonical;
pub use needed::rules_for;
pub use request::RequestLine;
pub use rule::{Destination, Host, Transport};
pub use rules::{Rules, Verdict};
pub use sets::{SETS, WARNING};
pub use special_addresses::{danger, is_special};
