//! Metadata of a call's statement that other messages of the connection declared.

/// Metadata of a prepared statement and its portal. It belongs to the question, but not to the
/// bytes of its messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementMeta {
    /// Declared types of the parameters, as object ids.
    pub types: Vec<u32>,
    /// Result formats of a described portal: 0 text, 1 binary. None means text.
    pub results: Vec<u16>,
    /// Digest of the `Bind` of a portal that is executed apart from it, as hexadecimal digits.
    pub bound: String,
    /// Number of rows that the portal was asked for before.
    pub rows_before: u64,
}

impl StatementMeta {
    pub const TYPES: &str = "paramTypes";
    pub const RESULTS: &str = "resultFormats";
    pub const BOUND: &str = "portalDigest";
    pub const ROWS_BEFORE: &str = "rowsBefore";

    /// Returns the names and texts of the fields that are not empty.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, String)> {
        let texts = self.all_texts().into_iter();
        texts.filter(|(_, text)| !text.is_empty())
    }

    pub(crate) fn all_texts(&self) -> [(&'static str, String); 4] {
        let rows = Some(self.rows_before).filter(|rows| *rows > 0);
        [
            (Self::TYPES, joined(&self.types)),
            (Self::RESULTS, joined(&self.results)),
            (Self::BOUND, self.bound.clone()),
            (Self::ROWS_BEFORE, joined(rows.as_slice())),
        ]
    }

    /// Returns the number of bytes on the heap.
    pub(crate) fn size(&self) -> usize {
        size_of_val(self.types.as_slice()) + size_of_val(self.results.as_slice()) + self.bound.len()
    }
}

fn joined<T: ToString>(numbers: &[T]) -> String {
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    texts.join(" ")
}
