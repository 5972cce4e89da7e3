//! Text and names: encodings, lines, diffs, globs, media types, escapes.
//!
//! Functions over bytes without file access; the only use of time is a deadline passed in.

pub mod alike;
pub mod columns;
pub mod count;
pub mod diff;
pub mod encoding;
pub mod escape;
pub mod fold;
pub mod git_config;
pub mod glob;
pub mod html;
pub mod lines;
pub mod mime;
pub mod nearest;
pub mod page;
pub mod tokens;
