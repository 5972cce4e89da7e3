//! Counts of files that a search skipped, for an empty result or on request.

use replay_search::LeftOut;
use serde::Serialize;

/// Counts of skipped files. They are in the structured reply but not in its schema, which every
/// session would pay for.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(PartialEq, Eq))]
#[serde(rename_all = "camelCase")]
pub(crate) struct NotSearched {
    binary_files: u64,
    ignored_files: u64,
    ignored_directories: u64,
}

impl NotSearched {
    pub(crate) fn of(left_out: LeftOut) -> Option<Self> {
        let LeftOut {
            binary_files,
            ignored_files,
            ignored_directories,
        } = left_out;
        (!left_out.is_empty()).then_some(Self {
            binary_files,
            ignored_files,
            ignored_directories,
        })
    }

    pub(crate) fn note(&self) -> String {
        let (binary, ignored, directories) = (
            self.binary_files,
            self.ignored_files,
            self.ignored_directories,
        );
        let files =
            |count, what: &str| format!("{count} {what} file{}", if count == 1 { "" } else { "s" });
        let all = match (binary, ignored) {
            (0, 0) => String::new(),
            (_, 0) => files(binary, "binary"),
            (0, _) => files(ignored, "ignored"),
            _ if directories == 0 => format!("{binary} binary and {}", files(ignored, "ignored")),
            _ => format!("{}, {}", files(binary, "binary"), files(ignored, "ignored")),
        };
        let and = if all.is_empty() || directories == 0 {
            ""
        } else {
            " and "
        };
        let directories = match directories {
            0 => String::new(),
            1 => "1 ignored directory".to_owned(),
            _ => format!("{directories} ignored directories"),
        };
        let were = if self.binary_files + self.ignored_files + self.ignored_directories == 1 {
            "was"
        } else {
            "were"
        };
        format!("{all}{and}{directories} {were} not searched")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_lists_nonzero_counts() {
        let note = |binary_files, ignored_files, ignored_directories| {
            NotSearched {
                binary_files,
                ignored_files,
                ignored_directories,
            }
            .note()
        };
        assert_eq!(
            [
                note(2, 14, 0),
                note(1, 0, 0),
                note(0, 2, 0),
                note(0, 0, 1),
                note(0, 1, 2),
                note(2, 3, 1),
                note(1, 1, 0)
            ],
            [
                "2 binary and 14 ignored files were not searched",
                "1 binary file was not searched",
                "2 ignored files were not searched",
                "1 ignored directory was not searched",
                "1 ignored file and 2 ignored directories were not searched",
                "2 binary files, 3 ignored files and 1 ignored directory were not searched",
                "1 binary and 1 ignored file were not searched",
            ]
        );
    }
}
