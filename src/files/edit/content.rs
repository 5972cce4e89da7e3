//! Content with the changes of one edit not yet applied.
//!
//! The last edit of a call is written from here to the disk piece by piece. So a large file is in
//! memory only once.

use replay_base::budget::Share;
use replay_base::limits::DECODING_COPIES;
use replay_base::text::encoding::{self, Encoding};
use replay_base::text::lines::lines_of;

use super::changes::Changes;
use super::error::EditErrorKind;
use super::request::Options;
use std::borrow::Cow;

/// New content: the old one, and replacements for parts of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Content<'a> {
    base: Cow<'a, str>,
    /// Start of the text, after a byte order mark.
    body: usize,
    changes: Option<Changes>,
    /// The whole content in another encoding; if present, it replaces the rest.
    encoded: Option<Vec<u8>>,
    /// Share of the memory budget, without the bytes of the original.
    share: Share,
}

impl Content<'_> {
    /// Returns the length in bytes.
    pub fn byte_count(&self) -> usize {
        match (&self.encoded, &self.changes) {
            (Some(encoded), _) => encoded.len(),
            (None, Some(changes)) => changes.result_bytes(self.base.len()),
            (None, None) => self.base.len(),
        }
    }

    /// Returns the bytes in pieces, in order.
    pub fn pieces(&self) -> Pieces<'_> {
        if let Some(encoded) = &self.encoded {
            return Box::new(std::iter::once(encoded.as_slice()));
        }
        let (mark, body) = self.base.split_at(self.body);
        match &self.changes {
            Some(changes) => Box::new(
                std::iter::once(mark.as_bytes()).chain(changes.pieces(body).map(str::as_bytes)),
            ),
            None => Box::new(std::iter::once(self.base.as_bytes())),
        }
    }

    /// Returns all bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.byte_count());
        self.pieces()
            .for_each(|piece| bytes.extend_from_slice(piece));
        bytes
    }

    /// Returns true if the content equals these bytes.
    pub fn is(&self, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        let begins = self.pieces().all(|piece| match rest.strip_prefix(piece) {
            Some(behind) => {
                rest = behind;
                true
            }
            None => false,
        });
        begins && rest.is_empty()
    }
}

/// Pieces of a content, in order.
pub(super) type Pieces<'a> = Box<dyn Iterator<Item = &'a [u8]> + 'a>;

/// Content as text, with the data needed to write it back.
pub(super) struct Working<'a, 'o> {
    content: Content<'a>,
    options: Options<'o>,
    pub(super) encoding: Encoding,
    had_bom: bool,
}

impl<'a, 'o> Working<'a, 'o> {
    pub(super) fn read(bytes: Cow<'a, [u8]>, options: Options<'o>) -> Result<Self, EditErrorKind> {
        let mut share = options.share();
        // Valid UTF-8 is text, whatever control characters it contains: editing it loses nothing.
        let text = match bytes {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes)
                .map(Cow::Borrowed)
                .map_err(|_| bytes.to_vec()),
            Cow::Owned(bytes) => String::from_utf8(bytes)
                .map(Cow::Owned)
                .map_err(std::string::FromUtf8Error::into_bytes),
        };
        let (text, body, encoding, had_bom) = match text {
            Ok(text) => {
                let body = if text.starts_with(BOM) {
                    BOM.len_utf8()
                } else {
                    0
                };
                (text, body, Encoding::UTF_8, false)
            }
            Err(bytes) => {
                options.cover(&mut share, bytes.len() * DECODING_COPIES)?;
                let decoded =
                    encoding::detect_and_decode(bytes, None).map_err(EditErrorKind::Encoding)?;
                (
                    Cow::Owned(decoded.text),
                    0,
                    decoded.encoding,
                    decoded.had_bom,
                )
            }
        };
        Ok(Self {
            content: Content {
                base: text,
                body,
                changes: None,
                encoded: None,
                share,
            },
            options,
            encoding,
            had_bom,
        })
    }

    /// Returns the text with all changes applied, without a byte order mark.
    pub(super) fn text(&mut self) -> Result<&str, EditErrorKind> {
        let content = &mut self.content;
        if let Some(changes) = content.changes.take() {
            let (mark, body) = content.base.split_at(content.body);
            let length = changes.result_bytes(content.base.len());
            // The previous text exists too until this one is complete.
            self.options.cover(&mut content.share, length)?;
            let mut text = String::with_capacity(length);
            text.push_str(mark);
            text.extend(changes.pieces(body));
            content.base = Cow::Owned(text);
        }
        Ok(&content.base[content.body..])
    }

    /// Sets the changes to the text that [`Self::text`] returned last.
    pub(super) fn change(&mut self, changes: Changes) {
        self.content.changes = Some(changes);
    }

    /// Returns the lines of ascending offsets, counted from 1.
    pub(super) fn lines_of(&self, offsets: &[usize]) -> Vec<usize> {
        let body = &self.content.base[self.content.body..];
        match &self.content.changes {
            Some(changes) => lines_of(changes.pieces(body).map(str::as_bytes), offsets),
            None => lines_of([body.as_bytes()], offsets),
        }
    }

    pub(super) fn finish(mut self) -> Result<Content<'a>, EditErrorKind> {
        if !self.encoding.is_utf8() || self.had_bom {
            let (encoding, had_bom) = (self.encoding, self.had_bom);
            let encoded = encoding::encode(self.text()?, encoding, had_bom)
                .map_err(EditErrorKind::Encoding)?;
            self.content.base = Cow::Borrowed("");
            self.content.encoded = Some(encoded);
        }
        Ok(self.content)
    }
}

const BOM: char = '\u{FEFF}';
