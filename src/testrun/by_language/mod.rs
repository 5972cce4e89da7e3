//! What the runners of one language have in common: Cargo and nextest, Vitest and Jest.

pub mod cargo;
pub mod javascript;
