//! Credentials that commands can use but not read. A command gets a stand-in, which is replaced by
//! the real value on the way to an allowed host.
//!
//! Both have the same length, so no length field changes in either direction.

mod conceal;
mod field;
mod target;

use std::fmt;
use std::io;

use rustix::rand::{GetRandomFlags, getrandom};
use thiserror::Error;

pub use conceal::{Concealer, Pair};
pub use target::{CredentialTarget, Scheme};

use super::request::RequestLine;
use super::rule::Destination;

/// Minimum length of a secret, in bytes. A shorter one may occur in an answer by chance.
pub(super) const MIN_SECRET_BYTES: usize = 8;
/// Maximum length of a secret, in bytes. It has to fit into an HTTP head.
pub const MAX_SECRET_BYTES: usize = 8192;

/// Prefix of a stand-in that is long enough, so that people recognize it.
const MARK: &str = "replay-credential-";
/// Number of random characters in a stand-in.
const RANDOM_CHARACTERS: usize = 16;

/// Secret bytes, which are never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// Name of the command's variable.
    pub name: String,
    pub stand_in: String,
    pub secret: Secret,
    pub targets: Vec<CredentialTarget>,
}

#[derive(Debug, Error)]
pub enum SecretError {
    #[error("has {0} bytes; {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} are allowed")]
    Length(usize),
    #[error("contains a control character, which HTTP headers cannot have")]
    Control,
    #[error("cannot be replaced by a placeholder: {0}")]
    Random(#[from] io::Error),
}

impl Credential {
    pub fn new(
        name: String,
        secret: Secret,
        targets: Vec<CredentialTarget>,
    ) -> Result<Self, SecretError> {
        let bytes = secret.bytes();
        if !(MIN_SECRET_BYTES..=MAX_SECRET_BYTES).contains(&bytes.len()) {
            return Err(SecretError::Length(bytes.len()));
        }
        if bytes.iter().any(u8::is_ascii_control) {
            return Err(SecretError::Control);
        }
        let stand_in = stand_in(bytes.len())?;
        Ok(Self {
            name,
            stand_in,
            secret,
            targets,
        })
    }

    /// Returns the secret and its base64 forms, in which a host may repeat it on another
    /// connection.
    fn concealing(&self) -> impl Iterator<Item = Pair> {
        let plain = Pair {
            text: self.secret.clone(),
            instead: self.stand_in.clone().into_bytes(),
        };
        std::iter::once(plain).chain(field::in_base64(
            self.secret.bytes(),
            self.stand_in.as_bytes(),
        ))
    }

    fn is_for_requests(&self, to: &Destination) -> bool {
        self.targets
            .iter()
            .any(|place| place.scheme.login_port().is_none() && place.names(to))
    }

    fn is_for_login(&self, scheme: Scheme, to: &Destination) -> bool {
        self.targets
            .iter()
            .any(|place| place.scheme == scheme && place.names(to))
    }
}

/// Returns a unique text of this length.
fn stand_in(length: usize) -> io::Result<String> {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
    let mark = &MARK[..MARK.len().min(length.saturating_sub(RANDOM_CHARACTERS))];
    let mut random = vec![0; length - mark.len()];
    // More than 256 bytes may come in parts (getrandom(2)).
    let mut filled = 0;
    while filled < random.len() {
        filled += getrandom(&mut random[filled..], GetRandomFlags::empty())?;
    }
    let digits = random
        .into_iter()
        .map(|byte| char::from(DIGITS[usize::from(byte) % DIGITS.len()]));
    Ok(mark.chars().chain(digits).collect())
}

/// All credentials of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials(Vec<Credential>);

impl Credentials {
    pub fn new(all: Vec<Credential>) -> Self {
        Self(all)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Credential> {
        self.0.iter()
    }

    /// Returns true if a credential applies to requests to this destination.
    pub fn are_for(&self, to: &Destination) -> bool {
        self.0.iter().any(|it| it.is_for_requests(to))
    }

    /// Returns the concealer for answers from this destination. It replaces the secrets, and the
    /// forms of them in `written`, by their stand-ins.
    pub fn concealer(&self, to: &Destination, written: Vec<Pair>) -> Concealer {
        let there = self.0.iter().filter(|it| it.is_for_requests(to));
        Concealer::new(there.flat_map(Credential::concealing).chain(written))
    }

    /// Returns a concealer that removes all credentials from a text.
    pub fn conceals(&self) -> Concealer {
        Concealer::new(self.0.iter().flat_map(Credential::concealing))
    }

    /// Puts the real values into a field's value if the request's destination is allowed for them.
    /// Adds re-encoded secrets to the pairs that are concealed in the answer.
    pub fn fill(
        &self,
        to: &Destination,
        line: RequestLine<'_>,
        value: &mut Vec<u8>,
        written: &mut Vec<Pair>,
    ) {
        let meant = self
            .0
            .iter()
            .filter(|it| it.targets.iter().any(|place| place.matches(to, line)));
        for Credential {
            stand_in, secret, ..
        } in meant
        {
            field::fill(value, stand_in.as_bytes(), secret.bytes(), written);
        }
    }

    /// Returns the credentials for a login with this scheme at this destination.
    pub fn for_login(&self, scheme: Scheme, to: &Destination) -> Vec<&Credential> {
        self.0
            .iter()
            .filter(|it| it.is_for_login(scheme, to))
            .collect()
    }

    /// Returns the name of a credential whose stand-in is in a field's value although the
    /// destination is not allowed for it.
    pub fn astray(&self, to: &Destination, line: RequestLine<'_>, value: &[u8]) -> Option<&str> {
        let is_meant = |it: &Credential| it.targets.iter().any(|place| place.matches(to, line));
        let stray = self
            .0
            .iter()
            .find(|it| field::holds(value, it.stand_in.as_bytes()) && !is_meant(it));
        stray.map(|it| it.name.as_str())
    }
}

#[cfg(test)]
mod tests;
