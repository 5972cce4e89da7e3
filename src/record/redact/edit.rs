//! Replacement of ranges in a text, front to back.

use std::ops::Range;

/// A text whose ranges are replaced in ascending order.
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

    /// Returns the edited text; `None` if nothing changed.
    pub(super) fn end(mut self) -> Option<Vec<u8>> {
        (!self.out.is_empty()).then(|| {
            self.out.extend_from_slice(&self.bytes[self.kept..]);
            self.out
        })
    }
}
