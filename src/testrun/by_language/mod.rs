//! Shared code of runners for one language: Cargo and nextest, Vitest and Jest, Gradle and Maven.

pub(crate) mod cargo;
pub(crate) mod javascript;
pub(crate) mod jvm;
