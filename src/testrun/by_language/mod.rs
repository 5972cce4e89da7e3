//! Shared code of runners for one language: Cargo and nextest, Vitest and Jest.

pub mod cargo;
pub mod javascript;
