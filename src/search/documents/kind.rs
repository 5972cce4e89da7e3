//! File types by content, and document types by file name.

use replay_base::text::mime::media;
use serde::{Deserialize, Serialize};

/// Types that the document reader supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum DocumentKind {
    Picture,
    Notebook,
    Pdf,
    /// A package of Office Open XML (ECMA-376, part 2).
    Office,
}

/// Size in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Size {
    pub width: u32,
    pub height: u32,
}

impl Size {
    /// Returns the size scaled down so that the longer side is at most `longest`.
    #[must_use]
    pub fn scaled(self, longest: u32) -> Self {
        let longer = self.width.max(self.height);
        if longer <= longest {
            return self;
        }
        let side = |side: u32| {
            ((u64::from(side) * u64::from(longest) + u64::from(longer) / 2) / u64::from(longer))
                .max(1)
        };
        Self {
            width: side(self.width) as u32,
            height: side(self.height) as u32,
        }
    }
}

/// Part that every such package contains.
const CONTENT_TYPES: &[u8] = b"[Content_Types].xml";
/// Maximum offset of the PDF signature, in bytes (Adobe's supplement to ISO 32000, H.3.4.1).
const PDF_MARK_BYTES: usize = 1024;

/// Returns the type of a file from its name and its first bytes. `tail` is its end, which contains
/// the directory of a package.
pub fn kind(name: &[u8], head: &[u8], tail: &[u8]) -> Option<DocumentKind> {
    let holds = |bytes: &[u8], what: &[u8]| memchr::memmem::find(bytes, what).is_some();
    match media(b"", head).media_type {
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" => {
            return Some(DocumentKind::Picture);
        }
        "application/pdf" => return Some(DocumentKind::Pdf),
        "application/zip" if [head, tail].iter().any(|bytes| holds(bytes, CONTENT_TYPES)) => {
            return Some(DocumentKind::Office);
        }
        _ => {}
    }
    match extension(name).as_str() {
        "pdf" if holds(&head[..head.len().min(PDF_MARK_BYTES)], b"%PDF-") => {
            Some(DocumentKind::Pdf)
        }
        "ipynb" if head.trim_ascii_start().starts_with(b"{") => Some(DocumentKind::Notebook),
        _ => None,
    }
}

/// Returns the document type that the file name claims.
pub fn claimed(name: &[u8]) -> Option<&'static str> {
    Some(match extension(name).as_str() {
        "ipynb" => "a notebook",
        "pdf" => "a PDF",
        "docx" => "a Word document",
        "xlsx" => "an Excel workbook",
        "pptx" => "a PowerPoint presentation",
        _ => return None,
    })
}

fn extension(name: &[u8]) -> String {
    let dot = memchr::memrchr(b'.', name).map_or(name.len(), |dot| dot + 1);
    String::from_utf8_lossy(&name[dot..]).to_ascii_lowercase()
}

/// Returns width and height of a picture from its first bytes, in pixels, before rotation. Sources:
/// PNG `IHDR`; GIF logical screen and all frames; WebP (RFC 9649, 2.5 to 2.7); JPEG largest frame
/// header before the first scan (ITU-T T.81, B.2.2). `None` if readers may disagree.
pub fn picture_size(head: &[u8]) -> Option<Size> {
    let big = |at: usize| {
        head.get(at..at + 2)
            .map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])))
    };
    let little = |at: usize| {
        head.get(at..at + 2)
            .map(|two| u32::from(u16::from_le_bytes([two[0], two[1]])))
    };
    let (width, height) = match media(b"", head).media_type {
        "image/png" => (big(16)? << 16 | big(18)?, big(20)? << 16 | big(22)?),
        "image/gif" => gif_size(head)?,
        "image/webp" => match head.get(12..16)? {
            b"VP8 " => (little(26)? & 0x3fff, little(28)? & 0x3fff),
            b"VP8L" => {
                let bits = little(21)? | little(23)? << 16;
                ((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)
            }
            _ => {
                let byte = |at: usize| head.get(at).map(|byte| u32::from(*byte));
                (
                    (little(24)? | byte(26)? << 16) + 1,
                    (little(27)? | byte(29)? << 16) + 1,
                )
            }
        },
        "image/jpeg" => {
            let (mut at, mut width, mut height) = (2, 0, 0);
            loop {
                match head.get(at..at + 2)? {
                    // Fill bytes.
                    [0xff, 0xff] => {
                        at += 1;
                        continue;
                    }
                    // The first scan.
                    [0xff, 0xda] => break (width, height),
                    // 0xc4, 0xc8 and 0xcc begin tables.
                    [0xff, 0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf] => {
                        (width, height) = (width.max(big(at + 7)?), height.max(big(at + 5)?));
                    }
                    // These have no length, and are invalid here.
                    [0xff, 0..=1 | 0xd0..=0xd9] => return None,
                    [0xff, _] => {}
                    _ => return None,
                }
                at += 2 + big(at + 2)? as usize;
            }
        }
        _ => return None,
    };
    (width > 0 && height > 0).then_some(Size { width, height })
}

/// Returns the size that contains the logical screen and all frames (GIF version 89a, sections 17
/// to 27).
fn gif_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let little = |at: usize| {
        bytes
            .get(at..at + 2)
            .map(|two| u32::from(u16::from_le_bytes([two[0], two[1]])))
    };
    let colours = |packed: u8| {
        if packed & 0x80 == 0 {
            0
        } else {
            3 << ((packed & 7) + 1)
        }
    };
    let (mut width, mut height) = (little(6)?, little(8)?);
    let mut at = 13 + colours(*bytes.get(10)?);
    loop {
        match *bytes.get(at)? {
            0x21 => at += 2,
            0x2c => {
                width = width.max(little(at + 1)? + little(at + 5)?);
                height = height.max(little(at + 3)? + little(at + 7)?);
                at += 11 + colours(*bytes.get(at + 9)?);
            }
            0x3b => return Some((width, height)),
            _ => return None,
        }
        // Blocks up to an empty one.
        loop {
            let length = usize::from(*bytes.get(at)?);
            at += 1 + length;
            if length == 0 {
                break;
            }
        }
    }
}
