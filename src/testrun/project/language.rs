//! Languages, by the names of files.

/// What the files of a project are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// JavaScript, TypeScript and what compiles to them.
    JavaScript,
    Python,
    Rust,
    Go,
}

impl Language {
    pub fn title(self) -> &'static str {
        match self {
            Self::JavaScript => "JavaScript, TypeScript",
            Self::Python => "Python",
            Self::Rust => "Rust",
            Self::Go => "Go",
        }
    }

    /// The language of a file of this name; `None` for names that say nothing.
    pub fn of(file: &str) -> Option<Self> {
        let (_, extension) = file.rsplit_once('.')?;
        Some(match extension {
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" | "vue" | "svelte" => Self::JavaScript,
            "py" | "pyi" => Self::Python,
            "rs" => Self::Rust,
            "go" => Self::Go,
            _ => return None,
        })
    }
}
