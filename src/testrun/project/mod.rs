//! A project on the disk: the files that are meant, what a directory says of its project, and what
//! projects of each language have: `disk` (the allowed directories), `files`, `language`, `signs`,
//! `node`, `python`, `cargo`, `go`, `script`, `program`, `programs`.

pub mod cargo;
pub mod disk;
pub mod files;
pub mod go;
pub mod language;
pub mod node;
pub mod program;
pub mod programs;
pub mod python;
pub mod script;
pub mod signs;
