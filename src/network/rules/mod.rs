//! Egress rules: the hosts and requests that commands may reach, and the decision about one
//! connection or request. This module opens no socket and no file.

mod credentials;
mod host_name;
mod needed;
mod request;
mod rule;
mod rule_set;
mod sets;
mod special_addresses;

pub use credentials::{
    Concealer, Credential, CredentialTarget, Credentials, MAX_SECRET_BYTES, Pair, Scheme, Secret,
};
pub use host_name::canonical;
pub use needed::rules_for;
pub use request::RequestLine;
pub use rule::{Destination, Host, Rule, Transport};
pub use rule_set::{Rules, Verdict};
pub use sets::{SETS, WARNING};
pub use special_addresses::{danger, is_special};
