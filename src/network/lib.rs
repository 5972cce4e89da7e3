//! Rules for the network access of commands, the operator's upstream proxy, and the HTTP client of
//! this program itself.
#![forbid(unsafe_code)]

pub mod http_client;
pub mod rules;
mod trust;
pub mod upstream_proxy;
