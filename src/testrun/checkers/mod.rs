//! Type checkers, one file each. A new one needs its file and an entry in [`CHECKERS`].

mod cargo_check;
mod deno_check;
mod dotnet;
mod eslint;
mod go_vet;
mod maven;
mod mypy;
mod pyrefly;
mod pyright;
mod ruff;
#[cfg(test)]
mod tests;
mod tsc;
mod ty;

#[cfg(test)]
pub(crate) use self::{
    cargo_check::CargoCheck, deno_check::DenoCheck, dotnet::DotnetBuild, eslint::Eslint,
    go_vet::GoVet, maven::MavenCompile, mypy::Mypy, pyrefly::Pyrefly, pyright::Pyright, ruff::Ruff,
    tsc::Tsc, ty::Ty,
};
use super::checker::Checker;
use super::tool::ToolKind;

/// All checkers. If a project has two for equal reasons, the first one is used.
pub static CHECKERS: [&dyn Checker; 12] = [
    &tsc::Tsc,
    &deno_check::DenoCheck,
    &eslint::Eslint,
    &cargo_check::CargoCheck,
    &go_vet::GoVet,
    &mypy::Mypy,
    &pyright::Pyright,
    &pyrefly::Pyrefly,
    &ty::Ty,
    &ruff::Ruff,
    &maven::MavenCompile,
    &dotnet::DotnetBuild,
];

impl ToolKind for dyn Checker {
    fn all() -> &'static [&'static Self] {
        &CHECKERS
    }
}
