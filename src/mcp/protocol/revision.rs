//! The five revisions of the Model Context Protocol, and the features of each.

use std::fmt;

/// A published revision, oldest first, so that `>=` selects the revisions that have a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// The first revision.
    V2024_11_05,
    /// Added annotations, audio content, batches and progress messages.
    V2025_03_26,
    /// Added titles, output schemas and structured content; removed batches.
    V2025_06_18,
    /// Made invalid arguments tool results (this server keeps its documented error codes).
    V2025_11_25,
    /// Stateless: no handshake, `_meta` on every request, `server/discover`.
    V2026_07_28,
}

impl Revision {
    /// All supported revisions, newest first: the order of `server/discover` and of the start-up
    /// line.
    pub const ALL: [Self; 5] = [
        Self::V2026_07_28,
        Self::V2025_11_25,
        Self::V2025_06_18,
        Self::V2025_03_26,
        Self::V2024_11_05,
    ];

    /// Answer to `initialize` for a revision without handshake or an unknown one. Requests before
    /// any `initialize` are served under it as well.
    pub const NEWEST_HANDSHAKE: Self = Self::V2025_11_25;

    /// The date that identifies the revision on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns the supported revision of this date.
    pub fn parse(date: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.as_str() == date)
    }

    /// Returns true if requests carry their own revision in `_meta` and no handshake exists.
    pub fn is_stateless(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Returns true if a line may be an array of messages (2025-03-26 basic/index.mdx; removed in
    /// the next revision).
    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// Returns true if tools have `annotations`, results may hold audio, and progress may have a
    /// message.
    pub fn has_annotations(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Returns true if results may hold links to resources.
    pub fn has_links(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Returns true if tools have `title` and `outputSchema`, and results `structuredContent`.
    pub fn has_structured(self) -> bool {
        self >= Self::V2025_06_18
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_ordered_by_date() {
        let mut by_date = Revision::ALL;
        by_date.sort_by_key(|revision| revision.as_str());
        let mut by_order = Revision::ALL;
        by_order.sort();
        assert_eq!(by_date, by_order);
        assert_eq!(
            Revision::ALL.map(|r| Revision::parse(r.as_str())),
            Revision::ALL.map(Some)
        );
        assert_eq!(Revision::parse("2024-10-07"), None);
    }
}
