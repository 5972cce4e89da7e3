//! Digests of bodies in header fields, which programs check.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use replay_base::text::escape::hex;
use sha2::Digest as _;

/// Fields with a digest of the encoded body (RFC 9530, 2 and 3; RFC 3230, 4.3.2; RFC 1864; Amazon
/// S3 and `DynamoDB`, Google Cloud Storage).
const DIGESTS: [&str; 6] = [
    "content-digest",
    "repr-digest",
    "digest",
    "content-md5",
    "x-amz-crc32",
    "x-goog-hash",
];

/// Polynomials of the CRC of Amazon S3, lowest bit first: CRC-32, CRC-32C, CRC-64/NVME.
const POLYNOMIALS: [(u64, usize); 3] = [
    (0xEDB8_8320, 4),
    (0x82F6_3B78, 4),
    (0x9A6C_9329_AC4B_C9B5, 8),
];

fn is_digest(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    DIGESTS.contains(&name.as_str()) || name.starts_with("x-amz-checksum-")
}

/// Returns true if a field has a digest of the body.
pub(crate) fn is_digested(headers: &[(String, Vec<u8>)]) -> bool {
    headers.iter().any(|(name, _)| is_digest(name))
}

/// Replaces the digests of a body by those of another one. Returns `None` if a field has another
/// digest, or a signature.
pub(crate) fn renewed(
    headers: &[(String, Vec<u8>)],
    before: &[u8],
    now: &[u8],
) -> Option<Vec<(String, Vec<u8>)>> {
    let mut renewed = headers.to_vec();
    for (name, value) in &mut renewed {
        if name.to_ascii_lowercase().contains("signature") {
            return None;
        }
        // The type of a checksum is no digest.
        if is_digest(name) && !name.eq_ignore_ascii_case("x-amz-checksum-type") {
            *value = renewed_value(value, before, now)?;
        }
    }
    Some(renewed)
}

/// Replaces each digest in a list, such as `sha-256=:4REjxQ4yrqUVicfSKYNO/cF9zNj5ANbzgDZt3/h3Qxo=:`.
fn renewed_value(value: &[u8], before: &[u8], now: &[u8]) -> Option<Vec<u8>> {
    let value = str::from_utf8(value).ok()?;
    let (known, new) = (digests(before), digests(now));
    let renew = |member: &str| {
        let (old, new) = known.iter().zip(&new).find(|(old, _)| {
            let digest = member.trim().trim_end_matches(':');
            digest
                .strip_suffix(old.as_str())
                .is_some_and(|name| name.is_empty() || name.ends_with(['=', ':']))
        })?;
        Some(member.replace(old.as_str(), new))
    };
    let members: Option<Vec<String>> = value.split(',').map(renew).collect();
    members.map(|members| members.join(",").into_bytes())
}

/// Returns the digests of a body in their written forms.
fn digests(body: &[u8]) -> Vec<String> {
    let mut digests = vec![
        STANDARD.encode(sha2::Sha256::digest(body)),
        STANDARD.encode(sha2::Sha512::digest(body)),
        STANDARD.encode(sha1::Sha1::digest(body)),
        hex(&sha2::Sha256::digest(body)),
    ];
    for (polynomial, bytes) in POLYNOMIALS {
        let crc = crc(body, polynomial, bytes);
        digests.push(STANDARD.encode(&crc.to_be_bytes()[8 - bytes..]));
        digests.push(crc.to_string());
    }
    digests
}

/// Returns the cyclic redundancy check of some bytes, with all bits inverted before and after.
fn crc(bytes: &[u8], polynomial: u64, width: usize) -> u64 {
    let ones = u64::MAX >> (64 - 8 * width);
    let mut crc = ones;
    for byte in bytes {
        crc ^= u64::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { polynomial } else { 0 };
        }
    }
    crc ^ ones
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn crc_of_digits_equals_catalogue_value() {
        let checks = POLYNOMIALS.map(|(polynomial, width)| crc(b"123456789", polynomial, width));
        assert_eq!(checks, [0xCBF4_3926, 0xE306_9283, 0xAE8B_1486_0A79_9888]);
    }

    #[test]
    fn digest_fields_are_renewed_for_new_body() {
        let fields = |body: &[u8]| {
            let sha256 = STANDARD.encode(sha2::Sha256::digest(body));
            let crc32 = crc(body, POLYNOMIALS[0].0, 4);
            let of = |name: &str, value: String| (name.to_owned(), value.into_bytes());
            vec![
                of("Content-Digest", format!("sha-256=:{sha256}:")),
                of("Digest", format!("SHA-256={sha256}, crc32={crc32}")),
                of("x-amz-crc32", crc32.to_string()),
                of("x-amz-checksum-sha256", sha256),
                of("x-amz-checksum-type", "FULL_OBJECT".to_owned()),
                of("ETag", "\"x\"".to_owned()),
            ]
        };
        let new = renewed(&fields(b"before"), b"before", b"now");
        assert_eq!(new, Some(fields(b"now")));
    }

    #[test]
    fn unknown_digest_or_signature_is_not_renewed() {
        for (name, value) in [
            ("Content-MD5", "Q2hlY2sgSW50ZWdyaXR5IQ=="),
            ("Content-Digest", "sha-256=:AAAA:"),
            ("Signature", "sig1=:AAAA:"),
            ("X-Hub-Signature-256", "sha256=00"),
        ] {
            let fields = [(name.to_owned(), value.as_bytes().to_vec())];
            assert_eq!(renewed(&fields, b"before", b"now"), None, "{name}");
        }
    }
}
