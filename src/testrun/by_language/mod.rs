//! Shared code of runners for one language: Cargo and nextest, those of JavaScript, Gradle and Maven,
//! pytest and unittest. `sources` is for all that select tests by class.

pub(crate) mod cargo;
pub(crate) mod deno;
pub(crate) mod dotnet;
pub(crate) mod javascript;
pub(crate) mod jvm;
pub(crate) mod python_modules;
pub(crate) mod python_tests;
pub(crate) mod sources;
