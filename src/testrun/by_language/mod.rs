//! Shared code of runners for one language: Cargo and nextest, Vitest and Jest, Gradle and Maven.
//! `sources` is for all that select tests by class.

pub(crate) mod cargo;
pub(crate) mod deno;
pub(crate) mod dotnet;
pub(crate) mod javascript;
pub(crate) mod jvm;
pub(crate) mod sources;
