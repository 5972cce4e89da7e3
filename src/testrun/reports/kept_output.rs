//! Bounded output of a test.

use replay_base::limits::MAX_TEST_OUTPUT_BYTES;

/// Maximum bytes buffered of each end of one output.
const MAX_END_BYTES: usize = 16 * MAX_TEST_OUTPUT_BYTES;

/// Beginning and end of an output of any length.
#[derive(Default)]
pub(crate) struct KeptOutput {
    head: String,
    tail: String,
    /// Remaining bytes to accept; `None` if new bytes displace old ones.
    room: Option<usize>,
}

impl KeptOutput {
    pub(crate) fn push(&mut self, mut text: &str) {
        if let Some(room) = &mut self.room {
            text = &text[..text.floor_char_boundary(*room)];
            *room -= text.len();
        }
        if self.tail.is_empty() {
            let (first, rest) =
                text.split_at(text.floor_char_boundary(MAX_END_BYTES - self.head.len()));
            self.head.push_str(first);
            text = rest;
        }
        self.tail.push_str(text);
        if self.room.is_none() && self.tail.len() > 2 * MAX_END_BYTES {
            self.trim_tail();
        }
    }

    /// Switches to keeping the beginning of the following output.
    pub(crate) fn keep_what_follows(&mut self) {
        self.trim_tail();
        self.room = Some(MAX_END_BYTES);
    }

    /// Returns the length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Returns the output as one text; an omission ends at a line break.
    pub(crate) fn text(mut self) -> String {
        self.head.push_str(&self.tail);
        self.head
    }

    fn trim_tail(&mut self) {
        let from = self.tail.len().saturating_sub(MAX_END_BYTES);
        let from = self.tail.ceil_char_boundary(from);
        // Cut at a line break, unless the line is too long.
        let from = if from == 0 {
            0
        } else {
            self.tail[from..].find('\n').map_or(from, |end| from + end)
        };
        self.tail.drain(..from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_output_keeps_beginning_and_end() {
        let mut output = KeptOutput::default();
        output.push("first\n");
        for line in 0..50_000 {
            output.push(&format!("line {line}\n"));
        }
        let mut dying = KeptOutput {
            head: output.head.clone(),
            tail: output.tail.clone(),
            room: None,
        };
        let text = output.text();
        assert!(
            text.starts_with("first\nline 0\n") && text.ends_with("\nline 49999\n"),
            "{}",
            text.len()
        );
        assert!(text.len() <= 3 * MAX_END_BYTES);

        dying.keep_what_follows();
        dying.push("panic: x\n");
        dying.push(&"trace\n".repeat(MAX_END_BYTES));
        assert!(dying.len() <= 3 * MAX_END_BYTES);
        let text = dying.text();
        assert!(text.contains("\nline 49999\npanic: x\ntrace\n"));
    }
}
