#![expect(clippy::disallowed_methods, reason = "tests lay out trees")]

mod concurrent;
pub(super) mod crashes;
mod entries;
mod exposed;
mod failures;
mod keeping;
mod kills;
mod logs;
mod memory;
mod ownership;
mod parts;
mod picture;
mod places;
mod program;
mod property;
mod strangers;
mod versions;
