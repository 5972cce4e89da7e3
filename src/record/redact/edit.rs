//! Replaces ranges of a text, front to back.

use std::ops::Range;

/// A text in which places are replaced from the front to the back.
pub(super) struct Edit<'a> {
    bytes: &'a [u8],
    out: Vec<u8>,
    kept: usize,
}

impl<'a> Edit<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            out: Vec::new(),
            kept: 0,
        }
    }

    pub(super) fn put(&mut self, at: Range<usize>, other: Option<Vec<u8>>) {
        let Some(other) = other.filter(|other| *other != self.bytes[at.clone()]) else {
            return;
        };
        self.out.extend_from_slice(&self.bytes[self.kept..at.start]);
        self.out.extend(other);
        self.kept = at.end;
    }

    /// All of it; `None` if nothing was replaced.
    pub(super) fn end(mut self) -> Option<Vec<u8>> {
        (!self.out.is_empty()).then(|| {
            self.out.extend_from_slice(&self.bytes[self.kept..]);
            self.out
        })
    }
}
