//! Test runs and type checks: what runners and checkers say, as one shape.

pub mod model;
pub mod reporters;
pub mod reports;
pub mod text;
pub mod verdict;
