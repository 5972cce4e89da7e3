//! Length of replies: cuts to whole lines, and the directory that makes a listing long, so that the
//! next call can exclude it.

use replay_base::text::escape::show;

use replay_files::fs::TreeEntry;

/// Length from which a listing names its largest directories, in bytes of text.
const LONG_REPLY_BYTES: usize = 16 * 1024;
/// A directory that holds so much of a listing is most of it, in percent.
const MIN_BULK_PERCENT: usize = 50;
/// One inside it is named instead where it holds so much of that one, in percent.
const MIN_NESTED_BULK_PERCENT: usize = 90;

/// The directory that holds most entries of a listing, relative to its start, with their number.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bulk {
    path: Vec<u8>,
    count: usize,
}

impl Bulk {
    /// Finds the bulk of a tree; `None` if no directory stands out.
    pub(super) fn of_tree(entries: &[TreeEntry]) -> Option<Self> {
        let mut range = 0..entries.len();
        let mut depth = 0;
        descend(entries.len(), |_| {
            depth += 1;
            let mut best: Option<(usize, usize)> = None;
            let mut at = range.start;
            while at < range.end {
                let below = entries[at + 1..range.end]
                    .iter()
                    .take_while(|entry| entry.depth > depth)
                    .count();
                if below > best.map_or(0, |(_, most)| most) {
                    best = Some((at, below));
                }
                at += 1 + below;
            }
            let (at, below) = best?;
            range = at + 1..at + 1 + below;
            Some((entries[at].name.as_encoded_bytes(), below))
        })
    }

    /// Finds the bulk of absolute paths, grouped by directory; `root` is their common start.
    pub(super) fn of_paths<'a, I: Iterator<Item = &'a [u8]>>(
        root: &[u8],
        paths: impl Fn() -> I,
    ) -> Option<Self> {
        let mut lead = root.to_vec();
        if !lead.ends_with(b"/") {
            lead.push(b'/');
        }
        let from = lead.len();
        descend(paths().count(), |path| {
            lead.truncate(from);
            lead.extend_from_slice(path);
            if !path.is_empty() {
                lead.push(b'/');
            }
            let nothing: (&[u8], usize) = (b"", 0);
            let (mut best, mut run) = (nothing, nothing);
            for rest in paths().filter_map(|path| path.strip_prefix(&*lead)) {
                let Some(end) = memchr::memchr(b'/', rest) else {
                    continue;
                };
                run = if run.0 == &rest[..end] {
                    (run.0, run.1 + 1)
                } else {
                    (&rest[..end], 1)
                };
                if run.1 > best.1 {
                    best = run;
                }
            }
            (best.1 > 0).then_some(best)
        })
    }

    /// Returns a note about the bulk of a long listing. `bytes` is its length, `what` names its
    /// entries, and `means` tells how to exclude some.
    pub(super) fn note(
        bytes: usize,
        all: usize,
        what: &str,
        means: &str,
        find: impl FnOnce() -> Option<Self>,
    ) -> Option<String> {
        let Self { path, count } = (bytes >= LONG_REPLY_BYTES).then(find).flatten()?;
        Some(format!(
            "{count} of {all} {what} are below `{}`: {means}",
            show(&path)
        ))
    }
}

/// Descends while one directory holds nearly all entries of its parent. The first directory needs
/// only the majority. `largest` returns the largest subdirectory and its number of entries.
fn descend<'a>(
    all: usize,
    mut largest: impl FnMut(&[u8]) -> Option<(&'a [u8], usize)>,
) -> Option<Bulk> {
    let mut bulk = Bulk {
        path: Vec::new(),
        count: all,
    };
    let mut least = MIN_BULK_PERCENT;
    while let Some((name, count)) = largest(&bulk.path) {
        if count * 100 < bulk.count * least {
            break;
        }
        if !bulk.path.is_empty() {
            bulk.path.push(b'/');
        }
        bulk.path.extend_from_slice(name);
        (bulk.count, least) = (count, MIN_NESTED_BULK_PERCENT);
    }
    (!bulk.path.is_empty()).then_some(bulk)
}

/// Length of the whole lines within the first `most` bytes.
pub(super) fn whole_lines(text: &str, most: usize) -> usize {
    memchr::memrchr(b'\n', &text.as_bytes()[..most.min(text.len())]).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use replay_files::policy::FileKind;

    use super::*;

    fn paths(modules: usize) -> Vec<String> {
        let mut all = vec!["/p/a.ts".to_owned(), "/p/web/b.ts".to_owned()];
        all.extend(
            (0..modules).map(|number| format!("/p/web/node_modules/m{}/index.js", number / 10)),
        );
        all.push("/p/web/src/c.ts".to_owned());
        all
    }

    #[test]
    fn bulk_is_deepest_directory_with_most_entries() {
        let of = |modules| {
            let all = paths(modules);
            Bulk::of_paths(b"/p", || all.iter().map(String::as_bytes))
        };
        assert_eq!(
            of(97),
            Some(Bulk {
                path: b"web/node_modules".to_vec(),
                count: 97
            })
        );
        assert_eq!(
            of(3),
            Some(Bulk {
                path: b"web".to_vec(),
                count: 5
            })
        );
        let flat = ["/p/a", "/p/b/c", "/p/d"];
        assert_eq!(
            Bulk::of_paths(b"/p/", || flat.iter().map(|path| path.as_bytes())),
            None
        );
        assert_eq!(Bulk::of_paths(b"/", std::iter::empty), None);
    }

    #[test]
    fn tree_and_paths_have_same_bulk() {
        let entry = |depth, name: String, kind| TreeEntry {
            depth,
            name: name.into(),
            kind,
            listed: true,
        };
        let mut tree = vec![
            entry(1, "a".to_owned(), FileKind::File),
            entry(1, "web".to_owned(), FileKind::Directory),
        ];
        tree.push(entry(2, "node_modules".to_owned(), FileKind::Directory));
        tree.extend((0..97).map(|number| entry(3, format!("m{number}"), FileKind::File)));
        tree.push(entry(2, "src".to_owned(), FileKind::File));
        assert_eq!(
            Bulk::of_tree(&tree),
            Some(Bulk {
                path: b"web/node_modules".to_vec(),
                count: 97
            })
        );
        assert_eq!(Bulk::of_tree(&tree[..1]), None);
        let note = |bytes| {
            Bulk::note(bytes, tree.len(), "entries", "leave it out", || {
                Bulk::of_tree(&tree)
            })
        };
        assert_eq!(note(LONG_REPLY_BYTES - 1), None);
        let told = "97 of 101 entries are below `web/node_modules`: leave it out";
        assert_eq!(note(LONG_REPLY_BYTES).as_deref(), Some(told));
    }
}
