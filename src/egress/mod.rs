//! Which hosts commands may reach: rules, and the decision about one connection. No socket, no file.

mod host_name;
mod needed;
mod rule;
mod rules;
mod sets;
mod special_addresses;

pub use host_name::canonical;
pub use needed::rules_for;
pub use rule::{Destination, Host};
pub use rules::Rules;
pub use sets::{SETS, WARNING, names_of_sets};
pub use special_addresses::{danger, is_special};
