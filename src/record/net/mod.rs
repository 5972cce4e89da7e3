//! What a recording needs of the network below the protocols: names, certificates, and what is
//! spoken on a connection.

pub mod ca;
pub mod dns;
pub mod sniff;
mod trust_store;
