//! Content codings (RFC 9110, 8.4.1). Recordings hold decoded bodies, which people can read and
//! edit. Answers are encoded again with the coding of the real server.

use std::borrow::Cow;
use std::io::Read;

use flate2::Compression;
use flate2::read::{DeflateDecoder, GzEncoder, MultiGzDecoder, ZlibDecoder, ZlibEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use replay_base::limits::MAX_RECORDED_BODY_BYTES;

use super::digest;
use crate::call::HttpResponse;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Returns the codings of a message in order of application; `None` without codings or with an
/// unknown one.
fn codings(headers: &[(String, Vec<u8>)]) -> Option<Vec<Coding>> {
    let mut found = Vec::new();
    for (_, value) in headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("content-encoding"))
    {
        for part in std::str::from_utf8(value).ok()?.split(',') {
            match part.trim().to_ascii_lowercase().as_str() {
                "" | "identity" => {}
                "gzip" | "x-gzip" => found.push(Coding::Gzip),
                "deflate" => found.push(Coding::Deflate),
                "br" => found.push(Coding::Brotli),
                "zstd" => found.push(Coding::Zstd),
                _ => return None,
            }
        }
    }
    Some(found).filter(|found| !found.is_empty())
}

/// Returns the decoded body. `None` if there is no coding, the coding is unknown, the data is
/// invalid, or the result exceeds the recording limit.
pub(crate) fn decoded(headers: &[(String, Vec<u8>)], body: &[u8]) -> Option<Vec<u8>> {
    let codings = codings(headers)?;
    let mut bytes = body.to_vec();
    for coding in codings.into_iter().rev() {
        bytes = match coding {
            Coding::Gzip => bounded(MultiGzDecoder::new(bytes.as_slice())),
            // `deflate` means zlib, but some servers send raw deflate (RFC 9110, 8.4.1.2, note).
            Coding::Deflate => bounded(ZlibDecoder::new(bytes.as_slice()))
                .or_else(|| bounded(DeflateDecoder::new(bytes.as_slice()))),
            Coding::Brotli => bounded(brotli_decompressor::Decompressor::new(
                bytes.as_slice(),
                4096,
            )),
            Coding::Zstd => {
                bounded(ruzstd::decoding::StreamingDecoder::new(bytes.as_slice()).ok()?)
            }
        }?;
    }
    Some(bytes)
}

/// Returns the decoded body, or the body itself if it cannot be decoded. Copies nothing without a
/// coding.
pub(crate) fn plain(headers: &[(String, Vec<u8>)], body: Vec<u8>) -> Vec<u8> {
    decoded(headers, &body).unwrap_or(body)
}

/// Returns a response with its body in the stored form, normally decoded. The body stays encoded in
/// two cases: it cannot be decoded, or a digest covers bytes that this encoder would not reproduce.
pub(crate) fn stored(mut response: HttpResponse) -> HttpResponse {
    let (headers, body) = (&response.headers, &response.body);
    if body.is_empty() || codings(headers).is_none() {
        return response;
    }
    let has_digest = digest::is_digested(headers);
    match decoded(headers, body) {
        Some(plain) if !has_digest || encoded(headers, &plain).as_ref() == Some(body) => {
            response.body = plain;
        }
        _ => response.is_coded = true,
    }
    response
}

/// Returns a body in its sent form, with the content codings of its fields applied.
pub(crate) fn sent_body(response: &HttpResponse) -> Cow<'_, [u8]> {
    let body = &response.body;
    let coded = (!response.is_coded).then(|| encoded(&response.headers, body));
    coded.flatten().map_or(Cow::Borrowed(body), Cow::Owned)
}

/// Returns the encoded body. `None` if no coding or an unknown one is named, or the body is empty.
pub(crate) fn encoded(headers: &[(String, Vec<u8>)], body: &[u8]) -> Option<Vec<u8>> {
    let codings = codings(headers).filter(|_| !body.is_empty())?;
    let mut bytes = body.to_vec();
    for coding in codings {
        bytes = match coding {
            Coding::Gzip => all(GzEncoder::new(bytes.as_slice(), Compression::fast()))?,
            Coding::Deflate => all(ZlibEncoder::new(bytes.as_slice(), Compression::fast()))?,
            Coding::Brotli => brotli(&bytes),
            Coding::Zstd => compress_to_vec(bytes.as_slice(), CompressionLevel::Uncompressed),
        };
    }
    Some(bytes)
}

fn bounded(reader: impl Read) -> Option<Vec<u8>> {
    all(reader.take(MAX_RECORDED_BODY_BYTES as u64 + 1))
        .filter(|bytes| bytes.len() <= MAX_RECORDED_BODY_BYTES)
}

fn all(mut reader: impl Read) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Encodes a brotli stream of uncompressed meta-blocks (RFC 7932, 9.2): validity matters, not size.
fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 16);
    // A window of 22 bits is 1011, lowest bit first (RFC 7932, 9.1).
    let mut bits: u32 = 0b1011;
    let mut width = 4;
    for piece in bytes.chunks(1 << 16) {
        // ISLAST 0, MNIBBLES 4 as `00`, the length minus one in 16 bits, ISUNCOMPRESSED 1, then
        // padding to the next byte.
        bits |= (((piece.len() as u32 - 1) << 3) | (1 << 19)) << width;
        width += 20;
        while width > 0 {
            out.push(bits as u8);
            bits >>= 8;
            width = if width > 8 { width - 8 } else { 0 };
        }
        out.extend_from_slice(piece);
        bits = 0;
    }
    // ISLAST and ISLASTEMPTY.
    out.push(0b11);
    out
}

#[cfg(test)]
mod tests;
