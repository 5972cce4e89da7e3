//! Network basics of a recording: DNS, certificates and protocol detection.

pub mod ca;
pub mod dns;
pub mod sniff;
mod trust_store;
