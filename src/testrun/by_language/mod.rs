//! Shared code of runners for one language: Cargo and nextest, Vitest and Jest.

pub(crate) mod cargo;
pub(crate) mod javascript;
