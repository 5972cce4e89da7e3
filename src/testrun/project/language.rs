//! Languages, by the names of files.

use std::path::Path;

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
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" | "vue" | "svelte" => {
                Self::JavaScript
            }
            "py" | "pyi" => Self::Python,
            "rs" => Self::Rust,
            "go" => Self::Go,
            _ => return None,
        })
    }

    /// Whether a file is part of a package.
    pub fn is_source(self, file: &Path) -> bool {
        file.to_str().and_then(Self::of) == Some(self)
            || self == Self::Rust && file.ends_with("Cargo.toml")
    }

    /// Whether a file's name says that it is one of tests.
    pub fn is_test_name(self, file: &Path) -> bool {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        match self {
            Self::JavaScript => name.contains(".test.") || name.contains(".spec."),
            Self::Python => name
                .strip_suffix(".py")
                .is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test")),
            // A program of tests of its own.
            Self::Rust => file
                .parent()
                .and_then(Path::file_name)
                .is_some_and(|dir| dir == "tests"),
            Self::Go => name.ends_with("_test.go"),
        }
    }

    /// What files of tests are called, where a runner tells which it took up.
    pub fn test_files(self) -> Option<TestFiles> {
        match self {
            Self::JavaScript => Some(TestFiles {
                globs: &["**/*.{test,spec}.{js,jsx,ts,tsx,mjs,mts,cjs,cts}"],
                copies: &["dist", "build"],
                marker: "",
            }),
            Self::Python => Some(TestFiles {
                globs: &["**/test_*.py", "**/*_test.py"],
                copies: &[],
                marker: "def test",
            }),
            Self::Rust | Self::Go => None,
        }
    }
}

/// What files of tests are called.
#[derive(Clone, Copy, Debug)]
pub struct TestFiles {
    /// Globs of their names.
    pub globs: &'static [&'static str],
    /// Directories in which they are copies.
    pub copies: &'static [&'static str],
    /// What a file of tests holds; others of these names are helpers.
    pub marker: &'static str,
}
