//! A project on the disk: requested files, signs of its tools, and the specifics of each language.
//! The modules are `disk` (the allowed directories), `files`, `language`, `signs`, `node`,
//! `python`, `cargo`, `go`, `script`, `program`, `programs` and `own_command`.

pub(crate) mod cargo;
pub(crate) mod disk;
pub(crate) mod files;
pub(crate) mod go;
pub(crate) mod language;
pub(crate) mod node;
pub(crate) mod own_command;
pub(crate) mod program;
pub(crate) mod programs;
pub(crate) mod python;
pub(crate) mod script;
pub(crate) mod signs;
