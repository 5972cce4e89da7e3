//! Test runners, one file each. A new one needs its file and an entry in [`RUNNERS`].

mod bun;
mod cargo_test;
mod command;
mod ctest;
mod deno;
mod django;
mod dotnet;
mod go;
mod gradle;
mod jest;
mod maven;
mod mocha;
mod nextest;
mod node;
mod phpunit;
mod playwright;
mod pytest;
mod rspec;
#[cfg(test)]
mod tests;
mod unittest;
mod vitest;

pub(crate) use self::command::AnyCommand;
#[cfg(test)]
pub(crate) use self::{
    bun::Bun, cargo_test::CargoTest, ctest::Ctest, deno::Deno, django::Django, dotnet::Dotnet,
    go::Go, gradle::Gradle, jest::Jest, maven::Maven, mocha::Mocha, nextest::Nextest, node::Node,
    phpunit::Phpunit, playwright::Playwright, pytest::Pytest, rspec::Rspec, unittest::Unittest,
    vitest::Vitest,
};
use super::model::RunnerName;
use super::runner::Runner;
use super::tool::ToolKind;

/// All runners. If a project has two for equal reasons, the first one is used.
pub static RUNNERS: [&dyn Runner; 20] = [
    &vitest::Vitest,
    &jest::Jest,
    &mocha::Mocha,
    &node::Node,
    &playwright::Playwright,
    &bun::Bun,
    &deno::Deno,
    &cargo_test::CargoTest,
    &nextest::Nextest,
    &go::Go,
    &pytest::Pytest,
    &unittest::Unittest,
    &django::Django,
    &gradle::Gradle,
    &maven::Maven,
    &dotnet::Dotnet,
    &ctest::Ctest,
    &rspec::Rspec,
    &phpunit::Phpunit,
    &command::AnyCommand,
];

impl ToolKind for dyn Runner {
    fn all() -> &'static [&'static Self] {
        &RUNNERS
    }
}

/// Returns the runner of this name.
pub(crate) fn runner_by_name(name: RunnerName) -> Option<&'static dyn Runner> {
    RUNNERS.into_iter().find(|runner| runner.id() == name)
}
