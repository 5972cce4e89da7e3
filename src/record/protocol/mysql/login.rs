//! Login with a password that the program does not have. The program proves a stand-in, and the
//! server gets a proof of the real password (`PAGE_PROTOCOL_CONNECTION_PHASE`, and the pages of
//! both plugins).

use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::handshake::{
    ATTRIBUTES, CACHING, ENCRYPTION, LONG_ANSWER, METHOD, PROTOCOL_41, SHORT_ANSWER, WITH_DATABASE,
    ZSTD, proof,
};
use super::packet;
use crate::protocol::dialogue::Fault;

const NATIVE: &[u8] = b"mysql_native_password";
/// The plugin that sends the plain password and NUL.
const CLEAR: &[u8] = b"mysql_clear_password";
const CHALLENGE_BYTES: usize = 20;
/// Maximum length of a login message.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// A password and its stand-in, which programs use.
pub struct PasswordSubstitution {
    pub stand_in: Vec<u8>,
    pub secret: Vec<u8>,
}

/// A request for a proof of the password: plugin and challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    method: Vec<u8>,
    challenge: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Greeting {
    /// The greeting without the plugin name at its end.
    payload: Vec<u8>,
    question: Question,
    pub offers_tls: bool,
}

/// The program's handshake response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    capabilities: u32,
    /// Longest packet, character set, filler.
    fixed: Vec<u8>,
    user: Vec<u8>,
    database: Vec<u8>,
    method: Vec<u8>,
    proof: Vec<u8>,
    /// Attributes and the bytes after them.
    rest: Vec<u8>,
}

/// Reaction to a message of the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send this answer.
    Answer(Vec<u8>),
    Wait,
    /// Pass the message to the program: it is the final result.
    Over {
        is_in: bool,
    },
}

/// Returns the length of the next packet of a login, once it is complete.
pub(crate) fn next(said: &[u8]) -> Result<Option<usize>, Fault> {
    match packet::length(said)? {
        Some(length) if length > MAX_MESSAGE_BYTES => Err("a packet of the login is too long"),
        whole => Ok(whole.filter(|length| *length <= said.len())),
    }
}

/// Builds a packet with the sequence number after `before`.
pub(crate) fn behind(before: &[u8], payload: &[u8]) -> Vec<u8> {
    packet::message(packet::sequence(before).wrapping_add(1), payload)
}

/// Builds the error of a failed login.
pub(crate) fn failure(before: &[u8], text: &str) -> Vec<u8> {
    packet::error(packet::sequence(before).wrapping_add(1), text)
}

pub(crate) fn payload(message: &[u8]) -> &[u8] {
    packet::payload(message)
}

/// Returns true if the server sends an error instead of a greeting.
pub(crate) fn is_refusal(message: &[u8]) -> bool {
    packet::code(message) == Some(0xff)
}

/// Returns true if a program requests TLS before its login.
pub(crate) fn asks_for_tls(message: &[u8]) -> bool {
    matches!(payload(message), [a, b, c, d, rest @ ..] if rest.len() == 28 && u32::from_le_bytes([*a, *b, *c, *d]) & ENCRYPTION != 0)
}

impl Greeting {
    pub(crate) fn read(message: &[u8]) -> Result<Self, Fault> {
        const ODD: Fault = "the server does not send the greeting of MySQL 5.5 or newer";
        let mut payload = packet::payload(message).to_vec();
        let mut rest = payload.strip_prefix(&[10]).ok_or(ODD)?;
        packet::text(&mut rest);
        packet::bytes(&mut rest, 4)?;
        let first = packet::bytes(&mut rest, 8)?.to_vec();
        packet::bytes(&mut rest, 1)?;
        let field = packet::bytes(&mut rest, 2 + 1 + 2 + 2 + 1 + 10)?;
        let capabilities = u32::from_le_bytes([field[0], field[1], field[5], field[6]]);
        if capabilities & (PROTOCOL_41 | SHORT_ANSWER | METHOD)
            != PROTOCOL_41 | SHORT_ANSWER | METHOD
        {
            return Err(ODD);
        }
        let second = packet::bytes(&mut rest, 13.max(usize::from(field[7]).saturating_sub(8)))?;
        let challenge = [&first, second.get(..CHALLENGE_BYTES - 8).ok_or(ODD)?].concat();
        let end = payload.len() - rest.len();
        let question = Question {
            method: packet::text(&mut rest).to_vec(),
            challenge,
        };
        payload.truncate(end);
        Ok(Self {
            payload,
            question,
            offers_tls: capabilities & ENCRYPTION != 0,
        })
    }

    /// Returns the greeting for the program, with a plugin that all clients know.
    pub(crate) fn to_client(&self) -> Vec<u8> {
        packet::message(0, &[&self.payload[..], NATIVE, b"\0"].concat())
    }
}

impl Hello {
    pub(crate) fn read(message: &[u8]) -> Result<Self, Fault> {
        let mut rest = packet::payload(message);
        let fixed = packet::bytes(&mut rest, 32)?;
        let capabilities = u32::from_le_bytes([fixed[0], fixed[1], fixed[2], fixed[3]]);
        if capabilities & PROTOCOL_41 == 0 {
            return Err(
                "the MySQL client speaks the protocol from before version 4.1, which is \
                not supported",
            );
        }
        let user = packet::text(&mut rest).to_vec();
        let proof = proof(&mut rest, capabilities)?.to_vec();
        let mut text = |flag: u32| {
            if capabilities & flag != 0 {
                packet::text(&mut rest).to_vec()
            } else {
                Vec::new()
            }
        };
        let (database, method) = (text(WITH_DATABASE), text(METHOD));
        let method = if capabilities & METHOD == 0 {
            NATIVE.to_vec()
        } else {
            method
        };
        let fixed = fixed[4..].to_vec();
        Ok(Self {
            capabilities,
            fixed,
            user,
            database,
            method,
            proof,
            rest: rest.to_vec(),
        })
    }

    /// Returns the password whose stand-in the program has proved, or a request for a better proof.
    pub(crate) fn secret<'a>(
        &self,
        greeting: &Greeting,
        known: &'a [PasswordSubstitution],
    ) -> Result<&'a PasswordSubstitution, Question> {
        let question = Question {
            method: self.method.clone(),
            challenge: greeting.question.challenge.clone(),
        };
        question.answered(&self.proof, known).ok_or(Question {
            method: NATIVE.to_vec(),
            ..question
        })
    }

    /// Returns true if the program expects the result of fast authentication before the final
    /// result.
    pub(crate) fn waits(&self) -> bool {
        self.method == CACHING
    }

    /// Builds the request for TLS.
    pub(crate) fn tls_request(&self) -> Vec<u8> {
        packet::message(
            1,
            &[
                &(self.capabilities | ENCRYPTION).to_le_bytes()[..],
                &self.fixed,
            ]
            .concat(),
        )
    }

    /// Returns the handshake response for the server, with this sequence number.
    pub(crate) fn to_server(
        &self,
        greeting: &Greeting,
        secret: &[u8],
        sequence: u8,
        is_tls: bool,
    ) -> Vec<u8> {
        let Question { method, challenge } = &greeting.question;
        // If the plugin is unknown, the server then requests another one.
        let (method, proof) = match prove(method, secret, challenge) {
            Some(proof) => (&method[..], proof),
            None => (NATIVE, Vec::new()),
        };
        let kept = self.capabilities & !(ENCRYPTION | LONG_ANSWER) | SHORT_ANSWER | METHOD;
        let capabilities = if is_tls { kept | ENCRYPTION } else { kept };
        let mut payload = [
            &capabilities.to_le_bytes()[..],
            &self.fixed,
            &self.user,
            b"\0",
        ]
        .concat();
        payload.extend([&[proof.len() as u8][..], &proof].concat());
        if capabilities & WITH_DATABASE != 0 {
            payload.extend([&self.database[..], b"\0"].concat());
        }
        payload.extend([method, b"\0"].concat());
        if capabilities & (ATTRIBUTES | ZSTD) != 0 {
            payload.extend(&self.rest);
        }
        packet::message(sequence, &payload)
    }
}

impl Question {
    /// Returns the payload that requests a proof from a program.
    pub(crate) fn asks(&self) -> Vec<u8> {
        [b"\xfe", &self.method[..], b"\0", &self.challenge, b"\0"].concat()
    }

    /// Returns the password whose stand-in this proves.
    pub(crate) fn answered<'a>(
        &self,
        proof: &[u8],
        known: &'a [PasswordSubstitution],
    ) -> Option<&'a PasswordSubstitution> {
        known.iter().find(|known| {
            prove(&self.method, &known.stand_in, &self.challenge).is_some_and(|it| it == proof)
        })
    }
}

/// Payload that reports success of fast authentication by [`CACHING`].
pub(crate) const ENOUGH: &[u8] = &[1, 3];

/// Returns the reaction to a message of the server. `is_tls`: the connection is encrypted.
/// `is_here`: the server is on this machine.
pub(crate) fn server_said(
    said: &[u8],
    secret: &[u8],
    is_tls: bool,
    is_here: bool,
) -> Result<Next, Fault> {
    const OTHER: Fault = "the server wants an unsupported login method; supported are \
        mysql_native_password, caching_sha2_password and mysql_clear_password";
    let clear = || [secret, b"\0"].concat();
    match packet::payload(said) {
        [0, ..] => Ok(Next::Over { is_in: true }),
        [0xff, ..] => Ok(Next::Over { is_in: false }),
        ENOUGH => Ok(Next::Wait),
        [1, 4] if is_tls => Ok(Next::Answer(clear())),
        [1, 4] => Err(
            "the server wants the plain password (caching_sha2_password), which is sent only over \
             TLS; switch TLS on at the server",
        ),
        [0xfe, rest @ ..] => {
            let mut rest = rest;
            let method = packet::text(&mut rest);
            if method == CLEAR && (is_tls || is_here) {
                return Ok(Next::Answer(clear()));
            }
            let challenge = rest.get(..CHALLENGE_BYTES).ok_or(OTHER)?;
            prove(method, secret, challenge)
                .map(Next::Answer)
                .ok_or(OTHER)
        }
        _ => Err(OTHER),
    }
}

/// Computes the proof of a password; `None` if the plugin is unknown.
fn prove(method: &[u8], password: &[u8], challenge: &[u8]) -> Option<Vec<u8>> {
    let mixed = |one: &[u8], other: &[u8]| {
        one.iter()
            .zip(other)
            .map(|(one, other)| one ^ other)
            .collect()
    };
    if method == NATIVE {
        let once = Sha1::digest(password);
        Some(mixed(
            &once,
            &Sha1::new()
                .chain_update(challenge)
                .chain_update(Sha1::digest(once))
                .finalize(),
        ))
    } else if method == CACHING {
        let once = Sha256::digest(password);
        let twice = Sha256::digest(once);
        Some(mixed(
            &once,
            &Sha256::new()
                .chain_update(twice)
                .chain_update(challenge)
                .finalize(),
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const CHALLENGE: &[u8] = b"abcdefghijklmnopqrst";

    fn greeting(method: &[u8], capabilities: u32) -> Vec<u8> {
        let [a, b, c, d] = capabilities.to_le_bytes();
        let head: &[u8] = b"\n8.4.2\0\x09\0\0\0abcdefgh\0";
        let rest: &[u8] = b"ijklmnopqrst\0";
        packet::message(
            0,
            &[
                head,
                &[a, b, 0xff, 2, 0, c, d, 21],
                &[0; 10],
                rest,
                method,
                b"\0",
            ]
            .concat(),
        )
    }

    fn hello(method: &[u8], proof: &[u8]) -> Vec<u8> {
        let capabilities = PROTOCOL_41 | SHORT_ANSWER | METHOD | WITH_DATABASE | ATTRIBUTES;
        let fixed = [&capabilities.to_le_bytes()[..], &[0, 0, 0, 1, 45], &[0; 23]].concat();
        let proof = [&[proof.len() as u8], proof].concat();
        packet::message(
            1,
            &[&fixed, &b"u\0"[..], &proof, b"d\0", method, b"\0\x03abc"].concat(),
        )
    }

    fn substitutions() -> [PasswordSubstitution; 2] {
        [("another", "other"), ("stand-in", "pencil")].map(|(stand_in, secret)| {
            PasswordSubstitution {
                stand_in: stand_in.into(),
                secret: secret.into(),
            }
        })
    }

    #[test]
    fn mysql_server_gets_proof_of_real_password() {
        for (theirs, ours) in [(NATIVE, CACHING), (CACHING, NATIVE), (CACHING, CACHING)] {
            let greeting = Greeting::read(&greeting(theirs, u32::MAX)).unwrap();
            assert_eq!(
                greeting.to_client(),
                super::tests::greeting(NATIVE, u32::MAX)
            );
            let given =
                Hello::read(&hello(ours, &prove(ours, b"stand-in", CHALLENGE).unwrap())).unwrap();
            let known = substitutions();
            let secret = &given
                .secret(&greeting, &known)
                .unwrap_or_else(|_| panic!("it is known"))
                .secret;
            assert_eq!(
                (&secret[..], given.waits()),
                (&b"pencil"[..], ours == CACHING)
            );
            let sent = given.to_server(&greeting, secret, 1, false);
            assert_eq!(
                sent,
                hello(theirs, &prove(theirs, b"pencil", CHALLENGE).unwrap())
            );
        }
    }

    #[test]
    fn mysql_failed_proof_is_retried_then_refused() {
        let greeting = Greeting::read(&greeting(b"client_ed25519", u32::MAX)).unwrap();
        for (method, proof) in [
            (&b"client_ed25519"[..], &b"x"[..]),
            (NATIVE, b""),
            (CACHING, &[0; 32]),
        ] {
            let known = substitutions();
            let Err(question) = Hello::read(&hello(method, proof))
                .unwrap()
                .secret(&greeting, &known)
            else {
                panic!("it proves nothing")
            };
            assert_eq!(
                question.asks(),
                [b"\xfemysql_native_password\0", CHALLENGE, b"\0"].concat()
            );
            let proof = prove(NATIVE, b"stand-in", CHALLENGE).unwrap();
            assert!(
                question
                    .answered(&proof, &known)
                    .is_some_and(|known| known.secret == b"pencil")
            );
            assert!(question.answered(b"", &known).is_none());
        }
        // The server must offer another plugin than the unknown one.
        let sent = Hello::read(&hello(NATIVE, b"x"))
            .unwrap()
            .to_server(&greeting, b"pencil", 1, false);
        assert_eq!(sent, hello(NATIVE, b""));
    }

    #[test]
    fn mysql_plain_password_requires_safe_channel() {
        let said = |bytes: &[u8]| packet::message(2, bytes);
        let switch = |method: &[u8]| said(&[b"\xfe", method, b"\0", CHALLENGE, b"\0"].concat());
        let (answer, clear) = (|bytes: &[u8]| Ok(Next::Answer(bytes.to_vec())), b"pencil\0");
        let tls = "the server wants the plain password (caching_sha2_password), which is sent \
            only over TLS; switch TLS on at the server";
        let other = "the server wants an unsupported login method; supported are \
            mysql_native_password, caching_sha2_password and mysql_clear_password";
        let cases = [
            (
                said(&[0, 0, 0]),
                false,
                false,
                Ok(Next::Over { is_in: true }),
            ),
            (
                said(&[0xff, 0, 0]),
                false,
                false,
                Ok(Next::Over { is_in: false }),
            ),
            (said(ENOUGH), false, false, Ok(Next::Wait)),
            (said(&[1, 4]), true, false, answer(clear)),
            (said(&[1, 4]), false, true, Err(tls)),
            (switch(CLEAR), true, false, answer(clear)),
            (switch(CLEAR), false, true, answer(clear)),
            (switch(CLEAR), false, false, Err(other)),
            (
                switch(NATIVE),
                false,
                false,
                answer(&prove(NATIVE, b"pencil", CHALLENGE).unwrap()),
            ),
            (
                switch(CACHING),
                false,
                false,
                answer(&prove(CACHING, b"pencil", CHALLENGE).unwrap()),
            ),
            (switch(b"client_ed25519"), true, true, Err(other)),
            (said(b"\xfe"), true, true, Err(other)),
            (said(&[1, 9]), true, true, Err(other)),
        ];
        for (said, is_tls, is_here, expected) in cases {
            assert_eq!(
                server_said(&said, b"pencil", is_tls, is_here),
                expected,
                "{said:?}"
            );
        }
    }

    #[test]
    fn mysql_malformed_login_is_rejected() {
        assert!(Greeting::read(&packet::message(0, b"\x09old")).is_err());
        assert!(Greeting::read(&greeting(NATIVE, !METHOD)).is_err());
        assert!(Greeting::read(&greeting(NATIVE, u32::MAX)[..40]).is_err());
        assert!(Hello::read(&packet::message(1, &[0; 32])).is_err());
        assert!(next(&[0, 0, 1, 0]).is_err());
        assert_eq!(
            (next(&[1, 0, 0, 0]), next(&[1, 0, 0, 0, 7, 8])),
            (Ok(None), Ok(Some(5)))
        );
        assert!(asks_for_tls(&packet::message(
            1,
            &[&ENCRYPTION.to_le_bytes()[..], &[0; 28]].concat()
        )));
        assert!(!asks_for_tls(&hello(NATIVE, b"")));
    }

    #[test]
    fn mysql_proof_depends_on_challenge() {
        let unmixed = |method, length| {
            let proof = prove(method, b"pencil", CHALLENGE).unwrap();
            assert_eq!(proof.len(), length);
            proof
        };
        let double = Sha1::digest(Sha1::digest(b"pencil"));
        let mask = Sha1::digest([CHALLENGE, &double].concat());
        let once: Vec<u8> = unmixed(NATIVE, 20)
            .iter()
            .zip(mask)
            .map(|(a, b)| a ^ b)
            .collect();
        assert_eq!(Sha1::digest(once), double);
        let double = Sha256::digest(Sha256::digest(b"pencil"));
        let mask = Sha256::digest([&double, CHALLENGE].concat());
        let once: Vec<u8> = unmixed(CACHING, 32)
            .iter()
            .zip(mask)
            .map(|(a, b)| a ^ b)
            .collect();
        assert_eq!(Sha256::digest(once), double);
    }
}
