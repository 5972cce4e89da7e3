//! Network access of commands: the rules, and the proxy that applies them.

pub mod proxy;
pub mod rules;
