//! Errors of searches.

use std::path::PathBuf;

use replay_base::budget::Exhausted;
use replay_base::text::glob::{GlobError, TooManyGlobs};
use replay_pattern::PatternError;

use replay_files::fs::FsError;
use replay_files::policy::PolicyError;

/// Reason why a search failed.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A place that may not be searched.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Fs(#[from] FsError),
    /// A glob that cannot be used.
    #[error("`{parameter}` has an invalid glob: {source}")]
    Glob {
        /// The parameter, such as `globs[0]`.
        parameter: String,
        source: GlobError,
    },
    /// Globs that are too many.
    #[error("`{parameter}` {source}")]
    Globs {
        parameter: &'static str,
        /// Number of globs, and the limit.
        source: TooManyGlobs,
    },
    /// No file type has this name.
    #[error("unknown file type `{name}`")]
    UnknownType {
        /// Requested name.
        name: String,
        /// Names that are like it, or begin as it does.
        near: Vec<String>,
    },
    /// The pattern ran out of its budget in a file.
    #[error("{}:{line}: {source}", path.display())]
    PatternAt {
        path: PathBuf,
        /// The last line that was reached.
        line: u64,
        source: PatternError,
    },
    /// The results, or a file, exceed the memory that is left.
    #[error(transparent)]
    Memory(#[from] Exhausted),
    /// The caller cancelled the search.
    #[error("the search was cancelled")]
    Cancelled,
}
