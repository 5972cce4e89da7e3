//! Programming languages, by file name.

use std::path::Path;

/// Programming language of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// JavaScript, TypeScript and languages that compile to JavaScript.
    JavaScript,
    Python,
    Rust,
    Go,
    /// Java and other languages of the JVM.
    Java,
    /// C# and other languages of .NET.
    DotNet,
    /// C and C++.
    Cpp,
    Ruby,
    Php,
}

impl Language {
    pub fn title(self) -> &'static str {
        match self {
            Self::JavaScript => "JavaScript, TypeScript",
            Self::Python => "Python",
            Self::Rust => "Rust",
            Self::Go => "Go",
            Self::Java => "Java, Kotlin, Groovy, Scala",
            Self::DotNet => "C#, F#, Visual Basic",
            Self::Cpp => "C, C++",
            Self::Ruby => "Ruby",
            Self::Php => "PHP",
        }
    }

    /// Returns true if no test runs before everything is compiled.
    pub fn is_compiled(self) -> bool {
        matches!(
            self,
            Self::Rust | Self::Go | Self::Java | Self::DotNet | Self::Cpp
        )
    }

    /// Returns the language of a file name; `None` if the name does not tell it.
    pub fn of(file: &str) -> Option<Self> {
        let (_, extension) = file.rsplit_once('.')?;
        Some(match extension {
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" | "vue" | "svelte" => {
                Self::JavaScript
            }
            "py" | "pyi" => Self::Python,
            "rs" => Self::Rust,
            "go" => Self::Go,
            "java" | "kt" | "kts" | "groovy" | "scala" => Self::Java,
            "cs" | "fs" | "vb" => Self::DotNet,
            "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" => Self::Cpp,
            "rb" => Self::Ruby,
            "php" => Self::Php,
            _ => return None,
        })
    }

    /// Returns true if a file is a source of a package.
    pub fn is_source(self, file: &Path) -> bool {
        file.to_str().and_then(Self::of) == Some(self)
            || self == Self::Rust && file.ends_with("Cargo.toml")
    }

    /// Returns true if a file is named like a test.
    pub fn is_test_name(self, file: &Path) -> bool {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        match self {
            Self::JavaScript => name.contains(".test.") || name.contains(".spec."),
            Self::Python => name
                .strip_suffix(".py")
                .is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test")),
            // An integration test.
            Self::Rust => file
                .parent()
                .and_then(Path::file_name)
                .is_some_and(|dir| dir == "tests"),
            Self::Go => name.ends_with("_test.go"),
            Self::Java | Self::DotNet | Self::Cpp => has_test_stem(&name),
            Self::Ruby => name.ends_with("_spec.rb") || name.ends_with("_test.rb"),
            Self::Php => name.ends_with("Test.php"),
        }
    }

    /// Returns the naming of test files, for runners that report the collected files.
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
            Self::Ruby => Some(TestFiles {
                globs: &["**/*_spec.rb"],
                copies: &["vendor"],
                marker: "",
            }),
            Self::Php => Some(TestFiles {
                globs: &["**/*Test.php"],
                copies: &["vendor"],
                marker: "function",
            }),
            _ => None,
        }
    }
}

/// Returns true if the stem of a name begins or ends with `test` or `tests`, in any case.
fn has_test_stem(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let stem = stem.to_ascii_lowercase();
    stem.starts_with("test") || stem.ends_with("test") || stem.ends_with("tests")
}

/// Naming of test files.
#[derive(Clone, Copy, Debug)]
pub struct TestFiles {
    /// Globs of the file names.
    pub globs: &'static [&'static str],
    /// Directories that hold only copies.
    pub copies: &'static [&'static str],
    /// Text in every test file; files of these names without it are helpers.
    pub marker: &'static str,
}
