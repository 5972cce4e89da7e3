//! Client side of SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding and `SASLprep`:
//! passwords are used as raw bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::protocol::dialogue::Fault;

type Hash = [u8; 32];

/// Maximum number of iterations; the server's default is 4,096.
const MAX_ROUNDS: u32 = 1_000_000;
/// No channel binding, no authorization identity.
const HEADER: &str = "n,,";

pub(super) struct Scram {
    nonce: String,
    password: Vec<u8>,
    /// The expected server signature, once it is known.
    signature: Option<Hash>,
}

impl Scram {
    /// Creates a client. `nonce` must consist of printable characters without a comma.
    pub(super) fn new(password: Vec<u8>, nonce: String) -> Self {
        Self {
            nonce,
            password,
            signature: None,
        }
    }

    pub(super) fn first(&self, user: &str) -> String {
        format!("{HEADER}n={user},r={}", self.nonce)
    }

    /// Returns the answer to the server's first message.
    pub(super) fn last(&mut self, user: &str, said: &[u8]) -> Result<String, Fault> {
        const ODD: Fault = "the server's SCRAM challenge is invalid";
        let said = std::str::from_utf8(said).map_err(|_| ODD)?;
        let field = |name: &str| {
            said.split(',')
                .find_map(|field| field.strip_prefix(name))
                .ok_or(ODD)
        };
        let nonce = field("r=")?;
        let salt = STANDARD.decode(field("s=")?).map_err(|_| ODD)?;
        let rounds: u32 = field("i=")?.parse().map_err(|_| ODD)?;
        if !nonce.starts_with(&self.nonce)
            || nonce.len() == self.nonce.len()
            || !(1..=MAX_ROUNDS).contains(&rounds)
        {
            return Err(ODD);
        }
        let salted = salt_password(&self.password, &salt, rounds);
        let without_proof = format!("c={},r={nonce}", STANDARD.encode(HEADER));
        let all = format!("n={user},r={},{said},{without_proof}", self.nonce);
        let key = hmac(&salted, &[b"Client Key"]);
        let mut proof = hmac(&Sha256::digest(key), &[all.as_bytes()]);
        proof
            .iter_mut()
            .zip(key)
            .for_each(|(byte, key)| *byte ^= key);
        self.signature = Some(hmac(&hmac(&salted, &[b"Server Key"]), &[all.as_bytes()]));
        Ok(format!("{without_proof},p={}", STANDARD.encode(proof)))
    }

    /// Returns true if the server has proved that it knows the password.
    pub(super) fn is_server(&self, said: &[u8]) -> bool {
        self.signature
            .is_some_and(|signature| said == format!("v={}", STANDARD.encode(signature)).as_bytes())
    }
}

/// `Hi` of RFC 5802, 2.2.
fn salt_password(password: &[u8], salt: &[u8], rounds: u32) -> Hash {
    let mut last = hmac(password, &[salt, &1_u32.to_be_bytes()]);
    let mut all = last;
    for _ in 1..rounds {
        last = hmac(password, &[&last]);
        all.iter_mut()
            .zip(last)
            .for_each(|(byte, more)| *byte ^= more);
    }
    all
}

/// RFC 2104.
fn hmac(key: &[u8], parts: &[&[u8]]) -> Hash {
    const BLOCK: usize = 64;
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let keyed = |pad: u8| Sha256::new().chain_update(block.map(|byte| byte ^ pad));
    let inner = parts
        .iter()
        .fold(keyed(0x36), Sha256::chain_update)
        .finalize();
    keyed(0x5c).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// RFC 7677, 3.
    #[test]
    fn scram_matches_rfc_7677_example() {
        let mut scram = Scram::new(b"pencil".to_vec(), "rOprNGfwEbeRWgbNEkqO".to_owned());
        assert_eq!(scram.first("user"), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let said = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        assert_eq!(
            scram.last("user", said.as_bytes()).unwrap(),
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert!(scram.is_server(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
        assert!(!scram.is_server(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5="));
    }

    #[test]
    fn scram_malformed_challenge_is_rejected() {
        let mut scram = Scram::new(b"pencil".to_vec(), "abc".to_owned());
        for said in [
            "",
            "r=abcd",
            "r=abc,s=,i=1",
            "r=xabcd,s=,i=1",
            "r=abcd,s=!,i=1",
            "r=abcd,s=,i=0",
            "r=abcd,s=,i=1000001",
        ] {
            assert!(scram.last("user", said.as_bytes()).is_err(), "{said}");
        }
        assert!(!scram.is_server(b""));
    }
}
