#![expect(clippy::disallowed_methods, reason = "tests lay out trees")]

mod picture;
mod program;
mod property;
