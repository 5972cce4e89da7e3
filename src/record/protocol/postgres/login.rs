//! Login with a password that the program does not have. The program sends its stand-in in plain
//! text, which crosses no network. The server gets the real password by its own method.

use super::message::{HEAD, Opening, error, length, message, opening, opening_length};
use super::scram::Scram;
use crate::protocol::dialogue::Fault;

/// `AuthenticationCleartextPassword`.
const ASK: [u8; 9] = [b'R', 0, 0, 0, 8, 0, 0, 0, 3];
/// `SSLRequest`.
pub(crate) const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
const MECHANISM: &[u8] = b"SCRAM-SHA-256";
/// Maximum length of a login message.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

enum LoginStage {
    /// The server has not requested authentication.
    Begun,
    /// The program is asked for its password. The server wants it by SCRAM or in plain text.
    Asked {
        scram: bool,
    },
    Proving(Scram),
    /// The server has proved that it knows the password.
    Proven,
    Done,
}

/// Messages to send after a received message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LoginMessages {
    pub to_client: Vec<u8>,
    pub to_server: Vec<u8>,
}

pub(crate) struct Login<'a> {
    stage: LoginStage,
    nonce: String,
    /// Replaces the password that a program gives by the real one.
    real: &'a (dyn Fn(&[u8]) -> Vec<u8> + Sync),
}

/// Kind of a client's first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// A request for TLS.
    Tls,
    /// A request for another encryption.
    Other,
    /// A request to cancel the statement of another connection.
    Cancel,
    Startup,
}

/// Returns the length and the kind of a client's first message, once it is complete.
pub(crate) fn beginning(asked: &[u8]) -> Result<Option<(usize, Beginning)>, Fault> {
    let Some(length) = opening_length(asked)?.filter(|length| *length <= asked.len()) else {
        return Ok(None);
    };
    let beginning = match opening(&asked[..length])? {
        Opening::Encryption => Beginning::Tls,
        Opening::Gss => Beginning::Other,
        Opening::Cancel => Beginning::Cancel,
        Opening::Startup => Beginning::Startup,
    };
    Ok(Some((length, beginning)))
}

/// Returns the length of the next message of a login, once it is complete.
pub(crate) fn next(said: &[u8]) -> Result<Option<usize>, Fault> {
    match length(said)? {
        Some(length) if length > MAX_MESSAGE_BYTES => Err("a message of the login is too long"),
        whole => Ok(whole.filter(|length| *length <= said.len())),
    }
}

/// Builds the error of a failed login.
pub(crate) fn failure(text: &str) -> Vec<u8> {
    error("FATAL", text)
}

impl<'a> Login<'a> {
    /// Creates a login. `nonce` must consist of unpredictable printable characters without a comma.
    pub(crate) fn new(nonce: String, real: &'a (dyn Fn(&[u8]) -> Vec<u8> + Sync)) -> Self {
        Self {
            stage: LoginStage::Begun,
            nonce,
            real,
        }
    }

    /// Returns true if the server has accepted the program.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.stage, LoginStage::Done)
    }

    pub(crate) fn server_said(&mut self, said: &[u8]) -> Result<LoginMessages, Fault> {
        let on = || LoginMessages {
            to_client: said.to_vec(),
            ..LoginMessages::default()
        };
        let ask = || LoginMessages {
            to_client: ASK.to_vec(),
            ..LoginMessages::default()
        };
        let Some(b'R') = said.first() else {
            return match said.first() {
                Some(b'E' | b'N' | b'v') => Ok(on()),
                _ => Err("the server sent an unexpected message during the login"),
            };
        };
        let (code, rest) = said[HEAD..]
            .split_at_checked(4)
            .ok_or("a PostgreSQL message is shorter than its content")?;
        match (&mut self.stage, code) {
            (LoginStage::Begun | LoginStage::Asked { .. } | LoginStage::Proven, [0, 0, 0, 0]) => {
                self.stage = LoginStage::Done;
                Ok(on())
            }
            (LoginStage::Begun, [0, 0, 0, 3]) => {
                self.stage = LoginStage::Asked { scram: false };
                Ok(ask())
            }
            (LoginStage::Begun, [0, 0, 0, 10])
                if rest.split(|byte| *byte == 0).any(|name| name == MECHANISM) =>
            {
                self.stage = LoginStage::Asked { scram: true };
                Ok(ask())
            }
            (LoginStage::Proving(scram), [0, 0, 0, 11]) => {
                let answer = scram.last("", rest)?;
                Ok(LoginMessages {
                    to_server: message(b'p', &[answer.as_bytes()]),
                    ..LoginMessages::default()
                })
            }
            (LoginStage::Proving(scram), [0, 0, 0, 12]) if scram.is_server(rest) => {
                self.stage = LoginStage::Proven;
                Ok(LoginMessages::default())
            }
            (LoginStage::Proving(_), _) => {
                Err("the server does not prove that it knows the password")
            }
            _ => Err(
                "the server wants an unsupported login method; supported are scram-sha-256 \
                and password",
            ),
        }
    }

    pub(crate) fn client_said(&mut self, said: &[u8]) -> Result<LoginMessages, Fault> {
        let given = said
            .strip_prefix(b"p")
            .and_then(|rest| rest.get(4..)?.strip_suffix(b"\0"));
        let (LoginStage::Asked { scram }, Some(given)) = (&self.stage, given) else {
            return Err("the program did not answer with a password");
        };
        let password = (self.real)(given);
        if !scram {
            return Ok(LoginMessages {
                to_server: message(b'p', &[&password, b"\0"]),
                ..LoginMessages::default()
            });
        }
        let scram = Scram::new(password, self.nonce.clone());
        let first = scram.first("");
        self.stage = LoginStage::Proving(scram);
        let length = (first.len() as u32).to_be_bytes();
        Ok(LoginMessages {
            to_server: message(b'p', &[MECHANISM, b"\0", &length, first.as_bytes()]),
            ..LoginMessages::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn real(given: &[u8]) -> Vec<u8> {
        if given == b"stand-in" {
            b"pencil".to_vec()
        } else {
            given.to_vec()
        }
    }

    fn to_client(bytes: &[u8]) -> LoginMessages {
        LoginMessages {
            to_client: bytes.to_vec(),
            ..LoginMessages::default()
        }
    }

    fn to_server(bytes: Vec<u8>) -> LoginMessages {
        LoginMessages {
            to_server: bytes,
            ..LoginMessages::default()
        }
    }

    fn challenge(code: u8, rest: &[u8]) -> Vec<u8> {
        message(b'R', &[&[0, 0, 0, code], rest])
    }

    #[test]
    fn postgres_server_gets_real_plain_password() {
        let mut login = Login::new("abc".to_owned(), &real);
        assert_eq!(login.server_said(&challenge(3, b"")), Ok(to_client(&ASK)));
        let given = login.client_said(&message(b'p', &[b"stand-in\0"]));
        assert_eq!(given, Ok(to_server(message(b'p', &[b"pencil\0"]))));
        let let_in = challenge(0, b"");
        assert!(!login.is_done());
        assert_eq!(login.server_said(&let_in), Ok(to_client(&let_in)));
        assert!(login.is_done());
    }

    #[test]
    fn postgres_trusting_server_asks_no_password() {
        let mut login = Login::new("abc".to_owned(), &real);
        assert_eq!(
            login.server_said(&challenge(0, b"")),
            Ok(to_client(&challenge(0, b"")))
        );
        assert!(login.is_done());
    }

    #[test]
    fn postgres_scram_server_must_prove_password() {
        let nonce = "rOprNGfwEbeRWgbNEkqO";
        let mut login = Login::new(nonce.to_owned(), &real);
        assert_eq!(
            login.server_said(&challenge(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0")),
            Ok(to_client(&ASK))
        );
        let first = [
            b"SCRAM-SHA-256\0\0\0\0\x1c",
            format!("n,,n=,r={nonce}").as_bytes(),
        ]
        .concat();
        assert_eq!(
            login.client_said(&message(b'p', &[b"stand-in\0"])),
            Ok(to_server(message(b'p', &[&first])))
        );
        let said =
            format!("r={nonce}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
        let sent = login
            .server_said(&challenge(11, said.as_bytes()))
            .unwrap()
            .to_server;
        assert!(
            sent[HEAD..]
                .starts_with(b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=")
        );
        let unproven = "the server does not prove that it knows the password";
        assert_eq!(login.server_said(&challenge(12, b"v=6rri")), Err(unproven));
        assert_eq!(login.server_said(&challenge(0, b"")), Err(unproven));
    }

    #[test]
    fn postgres_unsupported_login_methods_are_rejected() {
        let other = "the server wants an unsupported login method; supported are scram-sha-256 \
            and password";
        for said in [
            challenge(5, b"salt"),
            challenge(10, b"SCRAM-SHA-256-PLUS\0\0"),
            challenge(7, b""),
        ] {
            assert_eq!(
                Login::new("abc".to_owned(), &real).server_said(&said),
                Err(other)
            );
        }
        let mut login = Login::new("abc".to_owned(), &real);
        assert_eq!(
            login.client_said(&message(b'p', &[b"stand-in\0"])),
            Err("the program did not answer with a password")
        );
        let refused = failure("no");
        assert_eq!(login.server_said(&refused), Ok(to_client(&refused)));
    }

    #[test]
    fn postgres_opening_message_kind_is_detected() {
        let code = |code: u32| [&8_u32.to_be_bytes()[..], &code.to_be_bytes()].concat();
        let startup = [
            &16_u32.to_be_bytes()[..],
            &196_608_u32.to_be_bytes(),
            b"user\0a\0\0",
        ]
        .concat();
        assert_eq!(beginning(&SSL_REQUEST), Ok(Some((8, Beginning::Tls))));
        assert_eq!(
            beginning(&code(80_877_104)),
            Ok(Some((8, Beginning::Other)))
        );
        assert_eq!(
            beginning(&code(80_877_102)),
            Ok(Some((8, Beginning::Cancel)))
        );
        assert_eq!(beginning(&startup), Ok(Some((16, Beginning::Startup))));
        assert_eq!(beginning(&startup[..12]), Ok(None));
        assert!(beginning(&code(1)).is_err() && beginning(b"GET / HTTP/1.1").is_err());
        assert_eq!(next(&ASK), Ok(Some(9)));
        assert_eq!(next(&ASK[..6]), Ok(None));
        assert!(next(&[b'R', 0, 1, 0, 0]).is_err());
    }
}
