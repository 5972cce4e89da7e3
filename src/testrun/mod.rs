//! Test runs and type checks: what runners and checkers say, as one shape.

pub mod model;
pub mod reports;
