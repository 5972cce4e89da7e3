//! The system calls that no safe crate has, each wrapped so that its callers need no `unsafe`.

pub mod landlock;
pub mod seccomp;
