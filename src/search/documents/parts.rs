//! Text of a document by parts: pages, sheets, slides or cells.

use std::ops::RangeInclusive;
use std::str::FromStr;

use replay_base::limits::MAX_DOCUMENT_TEXT_BYTES;
use replay_base::text::escape::{is_active, show};
use serde::{Deserialize, Serialize};

use super::fault::Fault;

/// Selected parts, counted from 1: `3`, `3-7`, or `3-` for all from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Pages {
    first: usize,
    last: Option<usize>,
}

impl FromStr for Pages {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (first, last) = text
            .split_once('-')
            .map_or((text, Some(text)), |(first, last)| {
                (first, Some(last).filter(|last| !last.trim().is_empty()))
            });
        let number = |text: &str| text.trim().parse().map_err(drop);
        let (first, last) = (number(first)?, last.map(number).transpose()?);
        if first == 0 || last.is_some_and(|last| last < first) {
            return Err(());
        }
        Ok(Self { first, last })
    }
}

/// Text of the answer, limited in length.
#[derive(Debug, Default)]
pub(super) struct Parts {
    text: String,
}

impl Parts {
    /// Returns the range of selected parts, out of `total`.
    pub(super) fn chosen(
        pages: Option<Pages>,
        unit: &str,
        total: usize,
    ) -> Result<RangeInclusive<usize>, Fault> {
        let Some(Pages { first, last }) = pages else {
            return Ok(1..=total);
        };
        if first > total {
            return Err(Fault::new(format!(
                "has {total} {unit}s, and `pages` begins with {first}"
            )));
        }
        Ok(first..=last.map_or(total, |last| last.min(total)))
    }

    /// Begins a part with a title line.
    pub(super) fn begin(&mut self, title: &str) -> Result<(), Fault> {
        self.line(&format!("--- {} ---", show(title.as_bytes())))
    }

    pub(super) fn too_long() -> Fault {
        Fault::new(format!(
            "has more than {MAX_DOCUMENT_TEXT_BYTES} bytes of text; read some of its `pages`, or \
             convert it with a command"
        ))
    }

    /// Adds text and a line end, without characters that act on a terminal.
    pub(super) fn line(&mut self, text: &str) -> Result<(), Fault> {
        if self.text.len() + text.len() >= MAX_DOCUMENT_TEXT_BYTES {
            return Err(Self::too_long());
        }
        self.text.extend(
            text.chars()
                .filter(|c| matches!(c, '\n' | '\t') || !is_active(*c)),
        );
        self.text.push('\n');
        Ok(())
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
