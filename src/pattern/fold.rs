//! Upper and lower case as a pattern without the flag `u` has it (ECMA-262, 22.2.2.7.3,
//! `Canonicalize`).

use super::ast::{Class, Node};
use std::sync::OnceLock;

/// Canonicalizes `c` for comparisons that ignore case: `toUpperCase` of one UTF-16 unit, if the
/// result is one unit. A non-ASCII character never becomes ASCII. So `ß` is not `SS`, and the
/// Kelvin sign is not `k`.
pub(super) fn canonical(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_uppercase();
    }
    if u32::from(c) > 0xFFFF {
        return c;
    }
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) if !upper.is_ascii() && u32::from(upper) <= 0xFFFF => upper,
        _ => c,
    }
}

/// Characters that are the same when case is ignored, for all characters that are not alone.
struct Orbits {
    /// Each such character with the number of its orbit, sorted.
    members: Vec<(char, usize)>,
    /// All members of an orbit, sorted.
    orbits: Vec<Vec<char>>,
}

fn orbits() -> &'static Orbits {
    static ORBITS: OnceLock<Orbits> = OnceLock::new();
    ORBITS.get_or_init(|| {
        let mut changed: Vec<(char, char)> = ('\0'..='\u{FFFF}')
            .map(|c| (canonical(c), c))
            .filter(|(upper, c)| upper != c)
            .collect();
        changed.sort_unstable();
        let orbits: Vec<Vec<char>> = changed
            .chunk_by(|a, b| a.0 == b.0)
            .map(|same| {
                let mut orbit: Vec<char> =
                    same.iter().map(|(_, c)| *c).chain([same[0].0]).collect();
                orbit.sort_unstable();
                orbit
            })
            .collect();
        let mut members: Vec<_> = orbits
            .iter()
            .enumerate()
            .flat_map(|(number, orbit)| orbit.iter().map(move |c| (*c, number)))
            .collect();
        members.sort_unstable();
        Orbits { members, orbits }
    })
}

/// `class` and every other case of its characters.
pub(super) fn closed(class: &Class) -> Class {
    let Orbits { members, orbits } = orbits();
    let mut ranges = class.ranges().to_vec();
    for &(first, last) in class.ranges() {
        let start = members.partition_point(|(c, _)| *c < first);
        for (_, number) in members[start..].iter().take_while(|(c, _)| *c <= last) {
            ranges.extend(orbits[*number].iter().map(|c| (*c, *c)));
        }
    }
    Class::new(ranges)
}

/// A node for `c` in any case.
pub(super) fn any_case(c: char) -> Node {
    let Orbits { members, orbits } = orbits();
    match members.binary_search_by_key(&c, |(member, _)| *member) {
        Ok(at) => Node::Class(Class::new(orbits[members[at].1].iter().map(|c| (*c, *c)))),
        Err(_) => Node::Char(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn same(c: char) -> String {
        closed(&Class::single(c))
            .ranges()
            .iter()
            .flat_map(|(first, last)| *first..=*last)
            .collect()
    }

    #[test]
    fn ascii_folds_only_to_ascii() {
        assert_eq!(
            [same('s'), same('K'), same('i'), same('1')],
            ["Ss", "Kk", "Ii", "1"]
        );
        assert_eq!(
            [same('ſ'), same('\u{212A}'), same('ı'), same('İ')],
            ["ſ", "\u{212A}", "ı", "İ"]
        );
    }

    #[test]
    fn utf16_unit_folds_to_one_unit() {
        assert_eq!(
            [same('é'), same('σ'), same('ß'), same('ẞ')],
            ["Éé", "Σςσ", "ß", "ẞ"]
        );
        assert_eq!(
            [same('ǆ'), same('µ'), same('Ω'), same('\u{2126}')],
            ["Ǆǅǆ", "µΜμ", "Ωω", "\u{2126}"]
        );
        assert_eq!([same('𐐀'), same('ﬀ')], ["𐐀", "ﬀ"]);
    }

    #[test]
    fn case_closure_of_class_is_idempotent() {
        for class in [
            Class::words(),
            Class::words().negated(),
            Class::new([('À', 'ÿ')]),
            Class::any(),
        ] {
            let once = closed(&class);
            assert_eq!(closed(&once), once);
            for &(first, last) in class.ranges() {
                assert!(once.contains(first) && once.contains(last));
            }
        }
        assert_eq!(closed(&Class::words()), Class::words());
    }

    #[test]
    fn folding_agrees_for_character_and_class() {
        for c in ['a', 'ſ', 'σ', '1', 'ǅ'] {
            let expected = closed(&Class::single(c));
            let node = any_case(c);
            assert_eq!(
                node,
                expected.only().map_or(Node::Class(expected), Node::Char)
            );
        }
    }
}
