//! What the operator hides by patterns: every way to it that we know, and that none of them shows
//! what is in it.

mod commands;
mod tools;

/// What no reply may hold.
const SECRET: &str = "s3cr3t-c0nt3nt";

/// What a refusal says.
const SAID: &str = "hidden by the operator";
