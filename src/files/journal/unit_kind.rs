//! Kinds of units, recognised by the names in a directory.

use std::collections::BTreeMap;

use super::bytes::Bytes;
use super::entry::NameRecord;

/// Suffixes of the files that belong to an `SQLite` database (<https://sqlite.org/tempfiles.html>).
pub(super) const SQLITE_LOGS: [&[u8]; 3] = [b"-wal", b"-shm", b"-journal"];
/// Kind of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitKind {
    Git,
    Database,
    Sqlite,
}

impl UnitKind {
    /// Returns the kind of a directory with this name that holds these names.
    pub(super) fn of_dir<'n>(
        own: &[u8],
        names: impl IntoIterator<Item = &'n [u8]>,
    ) -> Option<Self> {
        if matches!(own, b".hg" | b".svn") {
            return Some(Self::Database);
        }
        let (mut git, mut current, mut manifest) = (0, false, false);
        for name in names {
            match name {
                b"HEAD" => git |= 1,
                b"objects" => git |= 2,
                b"refs" => git |= 4,
                b"PG_VERSION" => return Some(Self::Database),
                b"CURRENT" => current = true,
                name => manifest |= name.starts_with(b"MANIFEST-"),
            }
        }
        if git == 7 {
            return Some(Self::Git);
        }
        (current && manifest).then_some(Self::Database)
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Git => "git repository",
            Self::Database => "database",
            Self::Sqlite => "SQLite database",
        }
    }
}

/// Returns the name of the database that an `SQLite` log belongs to.
pub(super) fn sqlite_base(name: &[u8]) -> Option<&[u8]> {
    SQLITE_LOGS
        .iter()
        .find_map(|suffix| name.strip_suffix(*suffix))
        .filter(|base| !base.is_empty())
}

/// Returns the used names of a directory at the start or at the end of an entry.
pub(super) fn noted_names(names: &BTreeMap<Bytes, NameRecord>) -> impl Iterator<Item = &[u8]> {
    names
        .iter()
        .filter(|(_, noted)| noted.before.or(noted.after).is_some())
        .map(|(name, _)| name.0.as_slice())
}
