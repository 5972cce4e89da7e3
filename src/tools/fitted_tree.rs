//! Selects the parts of a large tree that fit into a reply.

use std::ops::Range;

use replay_base::text::escape::show;

use replay_files::fs::TreeEntry;

/// Directories that a tree names of those that it had no room for.
const MAX_CLOSED_SHOWN: usize = 5;

/// A tree reduced to a size limit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FittedTree {
    pub entries: Vec<TreeEntry>,
    /// Number of omitted entries below each entry.
    pub left_out: Vec<usize>,
    /// Directories whose entries are omitted, with their number, the largest first.
    closed: Vec<(Vec<u8>, usize)>,
    all: usize,
}

impl FittedTree {
    /// Reduces the entries to `most` bytes; `cost` is the size of one. Sibling directories share
    /// the space equally, so small ones stay complete beside a large one. A shown directory lists
    /// all its direct entries; only the root may be cut.
    pub(super) fn new(
        mut entries: Vec<TreeEntry>,
        most: usize,
        cost: impl Fn(&TreeEntry) -> usize,
    ) -> Self {
        let tree = Sizes::of(&entries, cost);
        let mut kept = vec![false; entries.len()];
        let mut open = vec![(0..entries.len(), most)];
        while let Some((range, mut room)) = open.pop() {
            if tree.cost(&range) <= room {
                kept[range].fill(true);
                continue;
            }
            let mut large = Vec::new();
            for child in tree.children(&range) {
                let Some(rest) = room.checked_sub(tree.cost(&(child..child + 1))) else {
                    break;
                };
                (room, kept[child]) = (rest, true);
                large.push(child + 1..tree.ends[child]);
            }
            large.retain(|below| !below.is_empty());
            large.sort_by_key(|below| tree.cost(below));
            // Directories that cannot be opened leave their share to the others.
            let largest = tree
                .shares(&large, room)
                .last()
                .copied()
                .unwrap_or_default();
            let (large, mut late): (Vec<_>, Vec<_>) = large
                .into_iter()
                .partition(|below| tree.children_cost(below) <= largest);
            let shares = tree.shares(&large, room);
            for (below, share) in large.into_iter().zip(shares) {
                if tree.children_cost(&below) > share {
                    late.push(below);
                } else {
                    room -= share.min(tree.cost(&below));
                    open.push((below, share));
                }
            }
            // The remaining space opens further directories.
            for below in late {
                let share = room.min(tree.cost(&below));
                if tree.children_cost(&below) <= share {
                    room -= share;
                    open.push((below, share));
                }
            }
        }
        let (mut closed, mut path) = (Vec::new(), Vec::new());
        for at in (0..entries.len()).filter(|at| kept[*at]) {
            path.truncate(entries[at].depth - 1);
            path.push(entries[at].name.as_encoded_bytes());
            if tree.ends[at] > at + 1 && !kept[at + 1] {
                closed.push((at, path.join(&b'/'), tree.ends[at] - at - 1));
            }
        }
        drop(path);
        let mut left_out = vec![0; entries.len()];
        for (at, _, below) in &closed {
            (entries[*at].listed, left_out[*at]) = (false, *below);
        }
        let mut closed: Vec<_> = closed
            .into_iter()
            .map(|(_, path, below)| (path, below))
            .collect();
        closed.sort_by_key(|(_, below)| std::cmp::Reverse(*below));
        let all = entries.len();
        let mut is_kept = kept.iter();
        entries.retain(|_| is_kept.next() == Some(&true));
        let mut is_kept = kept.iter();
        left_out.retain(|_| is_kept.next() == Some(&true));
        Self {
            entries,
            left_out,
            closed,
            all,
        }
    }

    /// Number of omitted entries that lie in no closed directory.
    pub(super) fn others(&self) -> usize {
        self.all - self.entries.len() - self.closed.iter().map(|(_, count)| count).sum::<usize>()
    }

    /// Note on the omitted entries, and how to list them.
    pub(super) fn note(&self) -> String {
        let (named, others) = self
            .closed
            .split_at(self.closed.len().min(MAX_CLOSED_SHOWN));
        let mut left: Vec<String> = named
            .iter()
            .map(|(path, count)| format!("{count} below `{}`", show(path)))
            .collect();
        let below =
            |closed: &[(Vec<u8>, usize)]| closed.iter().map(|(_, count)| count).sum::<usize>();
        if !others.is_empty() {
            left.push(format!("{} below {} more", below(others), others.len()));
        }
        let others = self.others();
        if others > 0 {
            left.push(format!("{others} others"));
        }
        format!(
            "{} of {} entries are shown, since the reply is full; left out: {}; list one of them \
             by path, or set depth",
            self.entries.len(),
            self.all,
            left.join(", ")
        )
    }
}

/// Sizes of the parts of a tree.
struct Sizes {
    /// Index after the last descendant of each entry.
    ends: Vec<usize>,
    /// Total size of all entries before each index.
    before: Vec<usize>,
}

impl Sizes {
    fn of(entries: &[TreeEntry], cost: impl Fn(&TreeEntry) -> usize) -> Self {
        let mut ends = vec![entries.len(); entries.len()];
        let mut open: Vec<usize> = Vec::new();
        let mut before = vec![0];
        for (at, entry) in entries.iter().enumerate() {
            while open.len() >= entry.depth {
                open.pop().into_iter().for_each(|done| ends[done] = at);
            }
            open.push(at);
            before.push(before[at] + cost(entry));
        }
        Self { ends, before }
    }

    fn cost(&self, range: &Range<usize>) -> usize {
        self.before[range.end] - self.before[range.start]
    }

    /// Returns the direct children of a directory.
    fn children(&self, range: &Range<usize>) -> impl Iterator<Item = usize> {
        let end = range.end;
        std::iter::successors(Some(range.start), |at| self.ends.get(*at).copied())
            .take_while(move |at| *at < end)
    }

    /// Distributes `room` over the ranges, the smallest first. Each gets an equal share, or what it
    /// needs.
    fn shares(&self, ranges: &[Range<usize>], mut room: usize) -> Vec<usize> {
        let share = |(at, range): (usize, &Range<usize>)| {
            let share = room / (ranges.len() - at);
            room -= share.min(self.cost(range));
            share
        };
        ranges.iter().enumerate().map(share).collect()
    }

    fn children_cost(&self, range: &Range<usize>) -> usize {
        self.children(range)
            .map(|child| self.cost(&(child..child + 1)))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use replay_files::policy::FileKind;

    use super::*;

    fn entries(listing: &str) -> Vec<TreeEntry> {
        let entry = |line: &str| {
            let name = line.trim_start();
            let kind = if name.ends_with('/') {
                FileKind::Directory
            } else {
                FileKind::File
            };
            let depth = line.len() - name.len() + 1;
            TreeEntry {
                depth,
                name: name.trim_end_matches('/').into(),
                kind,
                listed: kind == FileKind::Directory,
            }
        };
        listing.split(',').map(entry).collect()
    }

    fn render_tree(listing: &str, most: usize) -> (String, String) {
        let tree = FittedTree::new(entries(listing), most, |_| 1);
        let lines: Vec<String> = tree
            .entries
            .iter()
            .map(|entry| {
                let mark = if entry.listed { "/" } else { "" };
                format!(
                    "{}{}{mark}",
                    " ".repeat(entry.depth - 1),
                    entry.name.display()
                )
            })
            .collect();
        (lines.join(","), tree.note())
    }

    #[test]
    fn large_directory_is_closed_beside_small_ones() {
        let tree = "a/, 1/,  2, 3,b/, 1, 2, 3, 4, 5, 6,c/, 1,d";
        let (lines, note) = render_tree(tree, 10);
        assert_eq!(lines, "a/, 1/,  2, 3,b,c/, 1,d");
        assert_eq!(
            note,
            "8 of 14 entries are shown, since the reply is full; left out: 6 below `b`; list one \
             of them by path, or set depth"
        );
        assert_eq!(render_tree(tree, 4).0, "a,b,c,d");
        let equal = "a/, 1, 2, 3,b/, 1, 2, 3,c/, 1, 2, 3,d/, 1, 2, 3";
        assert_eq!(
            render_tree(equal, 13).0,
            "a/, 1, 2, 3,b/, 1, 2, 3,c,d/, 1, 2, 3"
        );
        let (lines, note) = render_tree(tree, 2);
        assert_eq!(lines, "a,b");
        assert!(
            note.contains("left out: 6 below `b`, 3 below `a`, 3 others; "),
            "{note}"
        );
    }

    proptest! {
        #[test]
        fn fitted_tree_respects_size_limit(steps in proptest::collection::vec((0..4_usize, any::<bool>()), 1..200), most in 0..150_usize) {
            let mut all: Vec<TreeEntry> = Vec::new();
            for (number, (up, is_directory)) in steps.into_iter().enumerate() {
                let deepest = all.last().map_or(1, |last| last.depth + usize::from(last.listed));
                let kind = if is_directory { FileKind::Directory } else { FileKind::File };
                let depth = deepest.saturating_sub(up).max(1);
                all.push(TreeEntry { depth, name: number.to_string().into(), kind, listed: is_directory });
            }
            let tree = FittedTree::new(all.clone(), most, |_| 1);
            prop_assert!(tree.entries.len() <= most);
            prop_assert!(tree.entries.len() == all.len() || most < all.len());
            let closed: usize = tree.closed.iter().map(|(_, below)| below).sum();
            let in_root = all.iter().filter(|entry| entry.depth == 1).count();
            prop_assert!(most < in_root || tree.entries.len() + closed == all.len());
            for pair in tree.entries.windows(2) {
                prop_assert!(pair[1].depth <= pair[0].depth + usize::from(pair[0].listed));
            }
        }
    }
}
