//! Hidden paths (`--hide`): every known access path to them, none of which may reveal their
//! content.

mod commands;
mod tools;

/// Content of hidden files, which must never appear in a reply.
const SECRET: &str = "s3cr3t-c0nt3nt";

/// Part of the message of a refusal.
const REFUSAL: &str = "hidden by the operator";
