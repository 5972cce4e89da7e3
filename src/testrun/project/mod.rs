//! A project on the disk: requested files, signs of its tools, and the specifics of each language.
//! The modules are `disk` (the allowed directories), `files`, `language`, `signs`, `node`,
//! `python`, `cargo`, `go`, `script`, `program` and `programs`.

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
