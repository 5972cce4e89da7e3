//! Media types: from the first bytes if they are conclusive, otherwise from the name.

/// Kinds of content that clients can show, besides text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaKind {
    Image,
    Audio,
    Other,
}

/// A media type and its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Media {
    /// Media type such as `image/png`; `application/octet-stream` if unknown.
    pub media_type: &'static str,
    /// Kind of content for clients.
    pub kind: MediaKind,
}

impl Media {
    fn new(media_type: &'static str) -> Self {
        let kind = if media_type.starts_with("image/") {
            MediaKind::Image
        } else if media_type.starts_with("audio/") {
            MediaKind::Audio
        } else {
            MediaKind::Other
        };
        Self { media_type, kind }
    }
}

/// Signatures at the very beginning, from the WHATWG MIME Sniffing Standard, section 6, and RFC
/// 9639 (FLAC).
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xFF\xD8\xFF", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"\0\0\x01\0", "image/x-icon"),
    (b"fLaC", "audio/flac"),
    (b"OggS\0", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"MThd\0\0\0\x06", "audio/midi"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (
        b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
        "application/x-ole-storage",
    ),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"\x7FELF", "application/x-elf"),
];

/// Returns the media type of a file from its name (bytes, any encoding) and its first bytes (64
/// suffice).
pub fn media(name: &[u8], head: &[u8]) -> Media {
    let by_name = from_name(name);
    match from_bytes(head) {
        // Office documents, Java archives and many other formats are zip files; an Ogg file may be
        // a video.
        Some("application/zip" | "audio/ogg") => by_name
            .filter(|name| !name.starts_with("text/"))
            .map_or_else(
                || Media::new(from_bytes(head).unwrap_or(OCTETS)),
                Media::new,
            ),
        // Two letters are weak evidence: a text may begin with them.
        Some("image/bmp") if head.len() < 26 || head.get(6..10) != Some(&[0; 4]) => {
            Media::new(by_name.unwrap_or(OCTETS))
        }
        Some(found) => Media::new(found),
        None => match by_name {
            // The name claims a picture or sound without its signature, unless the format has none.
            Some(named)
                if SIGNATURES.iter().any(|(_, known)| *known == named) && !head.is_empty() =>
            {
                Media::new(if named.starts_with("application/") {
                    named
                } else {
                    mpeg(named, head)
                })
            }
            named => Media::new(named.unwrap_or(OCTETS)),
        },
    }
}

const OCTETS: &str = "application/octet-stream";

/// Checks MPEG audio without a tag, which begins with eleven set bits; anything else with that name
/// is unknown.
fn mpeg(named: &'static str, head: &[u8]) -> &'static str {
    let frame = matches!(head, [0xFF, second, ..] if second & 0xE0 == 0xE0);
    if named == "audio/mpeg" && frame {
        named
    } else {
        OCTETS
    }
}

fn from_name(name: &[u8]) -> Option<&'static str> {
    let dot = memchr::memrchr(b'.', name)?;
    let extension = std::str::from_utf8(&name[dot + 1..]).ok()?;
    if extension.contains('/') {
        return None;
    }
    mime_guess::from_ext(extension).first_raw()
}

fn from_bytes(head: &[u8]) -> Option<&'static str> {
    if let Some((_, found)) = SIGNATURES.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Some(found);
    }
    // Containers: a four-letter form type after the size.
    match (head.get(..4)?, head.get(8..12)?) {
        (b"RIFF", b"WEBP") => Some("image/webp"),
        (b"RIFF", b"WAVE") => Some("audio/wav"),
        (b"FORM", b"AIFF" | b"AIFC") => Some("audio/aiff"),
        (_, b"avif" | b"avis") if &head[4..8] == b"ftyp" => Some("image/avif"),
        (_, b"heic" | b"heix") if &head[4..8] == b"ftyp" => Some("image/heic"),
        (_, b"M4A ") if &head[4..8] == b"ftyp" => Some("audio/mp4"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_overrides_file_name() {
        let cases: &[(&str, &[u8], &str, MediaKind)] = &[
            (
                "a.txt",
                b"\x89PNG\r\n\x1a\n....",
                "image/png",
                MediaKind::Image,
            ),
            ("a", b"\xFF\xD8\xFF\xE0", "image/jpeg", MediaKind::Image),
            ("a.bin", b"GIF89a", "image/gif", MediaKind::Image),
            (
                "a",
                b"RIFF\x10\0\0\0WEBPVP8 ",
                "image/webp",
                MediaKind::Image,
            ),
            (
                "a",
                b"RIFF\x10\0\0\0WAVEfmt ",
                "audio/wav",
                MediaKind::Audio,
            ),
            ("a", b"fLaC\0", "audio/flac", MediaKind::Audio),
            ("a.mp3", b"ID3\x04", "audio/mpeg", MediaKind::Audio),
            ("a.mp3", b"\xFF\xFB\x90", "audio/mpeg", MediaKind::Audio),
            ("a.ogg", b"OggS\0", "audio/ogg", MediaKind::Audio),
            ("a.svg", b"<svg", "image/svg+xml", MediaKind::Image),
            (
                "a.png",
                b"not a picture",
                "application/octet-stream",
                MediaKind::Other,
            ),
            (
                "a.docx",
                b"PK\x03\x04",
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                MediaKind::Other,
            ),
            (
                "a.jar",
                b"PK\x03\x04",
                "application/java-archive",
                MediaKind::Other,
            ),
            ("a", b"PK\x03\x04", "application/zip", MediaKind::Other),
            (
                "a",
                b"BMW is a car maker",
                "application/octet-stream",
                MediaKind::Other,
            ),
            (
                "x.bmp",
                b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x02\0\0\0\x02\0\0\0",
                "image/bmp",
                MediaKind::Image,
            ),
            ("a.d/b", b"", "application/octet-stream", MediaKind::Other),
            ("a.pdf", b"%PDF-1.7", "application/pdf", MediaKind::Other),
        ];
        for (name, head, media_type, kind) in cases {
            let found = media(name.as_bytes(), head);
            assert_eq!(
                found,
                Media {
                    media_type,
                    kind: *kind
                },
                "{name}"
            );
        }
    }
}
