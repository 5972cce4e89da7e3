//! The five revisions of the Model Context Protocol and what each one's client may be sent.

use std::fmt;

/// A published revision, oldest first, so that `>=` reads as "has what came with".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// The first one.
    V2024_11_05,
    /// Brought annotations, audio content, batches and progress messages.
    V2025_03_26,
    /// Brought titles, output schemas and structured content; took batches away again.
    V2025_06_18,
    /// Bad arguments became tool results (this server keeps the codes of its contract).
    V2025_11_25,
    /// Stateless: no handshake, `_meta` on every request, `server/discover`.
    V2026_07_28,
}

impl Revision {
    /// Every revision served, newest first, as `server/discover` and the start-up line list them.
    pub const ALL: [Self; 5] = [
        Self::V2026_07_28,
        Self::V2025_11_25,
        Self::V2025_06_18,
        Self::V2025_03_26,
        Self::V2024_11_05,
    ];

    /// What `initialize` answers when the client asks for a revision that has no handshake or is
    /// unknown, and what requests before any `initialize` are served under.
    pub const NEWEST_HANDSHAKE: Self = Self::V2025_11_25;

    /// The date that names it on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision with this date, if it is served.
    pub fn parse(date: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.as_str() == date)
    }

    /// Whether requests carry their own revision in `_meta` and no handshake exists.
    pub fn is_stateless(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Whether a line may be an array of messages (2025-03-26 basic/index.mdx; removed in the next
    /// one).
    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// Whether tools carry `annotations` and results may hold audio; progress may have a message.
    pub fn has_annotations(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether results may hold links to resources.
    pub fn has_links(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether tools carry `title` and `outputSchema`, and results `structuredContent`.
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
    fn dates_and_order_agree() {
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
