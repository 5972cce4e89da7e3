//! What the server knows about text and names: encodings, lines, differences, globs, media types,
//! escapes.
//!
//! Functions over bytes. Nothing here touches the disk, and the only clock is a deadline that is
//! passed in.

pub mod alike;
pub mod columns;
pub mod count;
pub mod diff;
pub mod encoding;
pub mod escape;
pub mod fold;
pub mod glob;
pub mod html;
pub mod lines;
pub mod mime;
pub mod nearest;
pub mod page;
pub mod reasons;
