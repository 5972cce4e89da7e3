//! Hash chain of an audit log. Each line holds the hash of the line before it. A change, removal,
//! insertion or move of a line breaks the chain, unless all lines after it are rewritten.
//!
//! A line is one JSON object. Its first members are `seq`, which counts from 1, and `prev`, the
//! hash of the line before (64 zeros in the first line). Its last member is `hash`: SHA-256 over
//! the bytes of the object without that member.
//!
//! With a key the hash is HMAC-SHA256 (RFC 2104), which only holders of the key can compute.
//! Without a key, anyone who can write the file can forge the whole chain.

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use replay_base::text::escape::hex;

/// `prev` of the first line.
pub(super) const FIRST_PREVIOUS: &str =
    "0000000000000000000000000000000000000000000000000000000000000000";
/// Text around the hash at the end of a line.
const BEFORE_HASH: &str = ",\"hash\":\"";
const AFTER_HASH: &str = "\"}";
/// Number of hexadecimal digits of a hash.
const DIGITS: usize = 64;
/// Block size of SHA-256 in bytes, to which RFC 2104 pads a key.
const BLOCK_BYTES: usize = 64;

/// The hash function of a chain.
#[derive(Clone)]
pub(crate) struct Hasher(Option<[u8; BLOCK_BYTES]>);

impl Hasher {
    /// Creates a SHA-256 hasher, or an HMAC-SHA256 hasher if there is a key.
    pub(crate) fn new(key: Option<&[u8]>) -> Self {
        Self(key.map(|key| {
            let mut block = [0; BLOCK_BYTES];
            if key.len() > BLOCK_BYTES {
                block[..32].copy_from_slice(&Sha256::digest(key));
            } else {
                block[..key.len()].copy_from_slice(key);
            }
            block
        }))
    }

    /// Name of the hash function.
    pub(crate) fn name(&self) -> &'static str {
        if self.0.is_some() {
            "hmac-sha256"
        } else {
            "sha256"
        }
    }

    /// Hashes the concatenated pieces and returns lower-case hexadecimal digits.
    pub(crate) fn hash(&self, pieces: &[&[u8]]) -> String {
        let mut inner = Sha256::new();
        if let Some(key) = &self.0 {
            inner.update(key.map(|byte| byte ^ 0x36));
        }
        for piece in pieces {
            inner.update(piece);
        }
        let digest = inner.finalize();
        let Some(key) = &self.0 else {
            return hex(&digest);
        };
        hex(&Sha256::new()
            .chain_update(key.map(|byte| byte ^ 0x5c))
            .chain_update(digest)
            .finalize())
    }
}

/// The last line of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Number of the last line; 0 for an empty chain.
    pub seq: u64,
    pub hash: String,
}

impl Default for Head {
    fn default() -> Self {
        Self {
            seq: 0,
            hash: FIRST_PREVIOUS.to_owned(),
        }
    }
}

impl Head {
    /// Returns the next line, with its newline, and the new head. `members` are the other members
    /// of the object as JSON, without braces.
    pub(super) fn line(&self, members: &str, hasher: &Hasher) -> (String, Self) {
        let seq = self.seq + 1;
        let open = format!("{{\"seq\":{seq},\"prev\":\"{}\",{members}", self.hash);
        let hash = hasher.hash(&[open.as_bytes(), b"}"]);
        (
            format!("{open}{BEFORE_HASH}{hash}{AFTER_HASH}\n"),
            Self { seq, hash },
        )
    }
}

/// Position of a line in the chain.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub(super) struct Link {
    pub seq: u64,
    /// Hash of the line before.
    pub prev: String,
    pub hash: String,
}

/// Checks that `line`, without its newline, is a line of an audit log and that its hash matches its
/// bytes. The error is a short description of the fault.
pub(super) fn check(line: &[u8], hasher: &Hasher) -> Result<Link, &'static str> {
    let tail = BEFORE_HASH.len() + DIGITS + AFTER_HASH.len();
    let link: Link =
        serde_json::from_slice(line).map_err(|_| "it is not a line of an audit log")?;
    let (open, close) = line.split_at(
        line.len()
            .checked_sub(tail)
            .ok_or("it is not a line of an audit log")?,
    );
    let hash = hasher.hash(&[open, b"}"]);
    if close != format!("{BEFORE_HASH}{hash}{AFTER_HASH}").as_bytes() || link.hash != hash {
        return Err("its hash is not that of its content");
    }
    Ok(link)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn keyed_hash_matches_rfc_4231() {
        // RFC 4231, test cases 2 and 6.
        let of = |key: &[u8], text: &[u8]| Hasher::new(Some(key)).hash(&[text]);
        assert_eq!(
            of(b"Jefe", b"what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            of(
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First"
            ),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn line_holds_previous_and_own_hash() {
        let hasher = Hasher::new(None);
        let (first, head) = Head::default().line("\"event\":\"start\"", &hasher);
        let content = format!("{{\"seq\":1,\"prev\":\"{FIRST_PREVIOUS}\",\"event\":\"start\"}}");
        let hash = hex(&Sha256::digest(content));
        assert_eq!(
            first,
            format!(
                "{{\"seq\":1,\"prev\":\"{FIRST_PREVIOUS}\",\"event\":\"start\",\"hash\":\"{hash}\"}}\n"
            )
        );
        assert_eq!(
            head,
            Head {
                seq: 1,
                hash: hash.clone()
            }
        );
        let (second, _) = head.line("\"event\":\"end\"", &hasher);
        let link = check(second.trim_end().as_bytes(), &hasher).unwrap();
        assert_eq!((link.seq, link.prev), (2, hash));
        assert_eq!(
            check(second.trim_end().as_bytes(), &Hasher::new(Some(b"key"))).unwrap_err(),
            "its hash is not that of its content"
        );
        for broken in ["", "{}", "{\"seq\":1,\"prev\":\"\",\"hash\":\"\"}"] {
            assert_eq!(
                check(broken.as_bytes(), &hasher).unwrap_err(),
                "it is not a line of an audit log",
                "{broken}"
            );
        }
    }
}
