//! First pass over a pattern, which counts groups and collects names. `\2` is a reference only if
//! there are two groups, and `\k` only if a group has a name (ECMA-262, Annex B.1.2,
//! `[+NamedCaptureGroups]`).

use super::group_names;

/// The groups of a pattern.
pub(super) struct Survey {
    /// Number of capture groups.
    pub groups: u32,
    /// `true` if `(?<` begins a name anywhere, valid or not.
    pub named: bool,
    /// Names that are well formed, with the numbers of their groups.
    pub names: Vec<(Box<str>, u32)>,
}

impl Survey {
    /// Looks for what opens groups; classes and escapes open none.
    pub(super) fn of(source: &str) -> Self {
        let bytes = source.as_bytes();
        let mut survey = Self {
            groups: 0,
            named: false,
            names: Vec::new(),
        };
        let mut in_class = false;
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\\' => at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'(' if !in_class => survey.open(source, at + 1),
                _ => {}
            }
            at += 1;
        }
        survey
    }

    /// Records the group that opens at `at`, if it captures.
    fn open(&mut self, source: &str, at: usize) {
        let rest = &source[at..];
        if !rest.starts_with('?') {
            self.groups += 1;
        } else if rest.starts_with("?<") && !rest.starts_with("?<=") && !rest.starts_with("?<!") {
            self.groups += 1;
            self.named = true;
            if let Some((name, _)) = group_names::read(source, at + 2) {
                self.names.push((name, self.groups));
            }
        }
    }

    /// The groups with this name.
    pub(super) fn groups_with_name(&self, name: &str) -> Vec<u32> {
        self.names
            .iter()
            .filter(|(known, _)| **known == *name)
            .map(|(_, group)| *group)
            .collect()
    }
}
