//! Greeting and authentication (`PAGE_PROTOCOL_CONNECTION_PHASE`).

use super::packet;
use crate::protocol::dialogue::Fault;
use crate::protocol::script::Identity;

/// `CLIENT_CONNECT_WITH_DB`: a database follows.
pub(super) const WITH_DATABASE: u32 = 1 << 3;
const COMPRESS: u32 = 1 << 5;
pub(super) const PROTOCOL_41: u32 = 1 << 9;
pub(super) const ENCRYPTION: u32 = 1 << 11;
/// `CLIENT_SECURE_CONNECTION`: the auth response has a length of one byte.
pub(super) const SHORT_ANSWER: u32 = 1 << 15;
/// `CLIENT_PLUGIN_AUTH`: the name of an authentication plugin follows.
pub(super) const METHOD: u32 = 1 << 19;
pub(super) const ATTRIBUTES: u32 = 1 << 20;
/// `CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA`: the auth response has a length-encoded size.
pub(super) const LONG_ANSWER: u32 = 1 << 21;
/// `CLIENT_DEPRECATE_EOF`: rows end with an OK packet.
pub(super) const NO_EOF: u32 = 1 << 24;
const OPTIONAL_METADATA: u32 = 1 << 25;
pub(super) const ZSTD: u32 = 1 << 26;
const QUERY_ATTRIBUTES: u32 = 1 << 27;
/// `CLIENT_MYSQL` (`CLIENT_LONG_PASSWORD`): unset by `MariaDB`, which then has its own
/// capabilities.
const MYSQL: u32 = 1;
/// `MariaDB`'s progress reports and results without known columns: their answers have another
/// shape.
const MARIADB_REFUSED: u8 = 0x01 | 0x10;

/// Plugin whose fast authentication needs no password.
pub(super) const CACHING: &[u8] = b"caching_sha2_password";

/// Returns the greeting without capabilities that cannot be recorded: compression, query
/// attributes, results without columns, and encryption unless it is allowed. The client then does
/// without them.
pub(super) fn greeting(message: &[u8], encryption: bool) -> Result<Vec<u8>, Fault> {
    let mut greeting = message.to_vec();
    let version = memchr::memchr(0, packet::payload(message))
        .ok_or("the greeting of the MySQL server has no version")?;
    // Header of the packet, version, thread id, first part of the challenge, filler.
    let low = 4 + version + 1 + 4 + 8 + 1;
    let high = low + 2 + 1 + 2;
    let refused = COMPRESS
        | OPTIONAL_METADATA
        | ZSTD
        | QUERY_ATTRIBUTES
        | if encryption { 0 } else { ENCRYPTION };
    let Some(field) = greeting.get(low..high + 2) else {
        return Ok(greeting);
    };
    let is_mysql = u32::from(field[0]) & MYSQL != 0;
    for (at, bits) in [low, low + 1, high, high + 1]
        .into_iter()
        .zip(refused.to_le_bytes())
    {
        greeting[at] &= !bits;
    }
    // Length of the challenge and six bytes of filler precede them.
    if let Some(own) = greeting.get_mut(high + 2 + 1 + 6).filter(|_| !is_mysql) {
        *own &= !MARIADB_REFUSED;
    }
    Ok(greeting)
}

pub(super) fn is_greeting(message: &[u8]) -> bool {
    packet::code(message) == Some(10) && message.get(3) == Some(&0)
}

pub(super) enum HandshakeRequest {
    Encryption,
    Login(Login),
}

pub(crate) struct Login {
    pub(super) capabilities: u32,
    /// The message without password and attributes, for lookup.
    pub(super) question: Vec<u8>,
    pub(crate) who: Identity,
    /// `true` if the client waits for the result of fast authentication. That is so after a
    /// `caching_sha2_password` response, unless the password is empty.
    pub(super) waits: bool,
}

impl Login {
    fn new(
        capabilities: u32,
        question: Vec<u8>,
        [user, database]: [&[u8]; 2],
        method: &[u8],
        proof: &[u8],
    ) -> Self {
        let who = Identity {
            user: user.to_vec(),
            database: database.to_vec(),
            settings: Vec::new(),
        };
        let waits = method == CACHING && !matches!(proof, b"" | b"\0");
        Self {
            capabilities,
            question,
            who,
            waits,
        }
    }
}

/// Reads the auth response.
pub(super) fn proof<'a>(rest: &mut &'a [u8], capabilities: u32) -> Result<&'a [u8], Fault> {
    let length = if capabilities & LONG_ANSWER != 0 {
        packet::integer(rest)?
    } else if capabilities & SHORT_ANSWER != 0 {
        u64::from(packet::bytes(rest, 1)?[0])
    } else {
        return Ok(packet::text(rest));
    };
    packet::bytes(rest, usize::try_from(length).unwrap_or(usize::MAX))
}

/// Parses `HandshakeResponse41`, or its prefix that requests encryption.
pub(super) fn hello(message: &[u8]) -> Result<HandshakeRequest, Fault> {
    let mut rest = packet::payload(message);
    let fixed = packet::bytes(&mut rest, 32)?;
    let capabilities = u32::from_le_bytes([fixed[0], fixed[1], fixed[2], fixed[3]]);
    if capabilities & PROTOCOL_41 == 0 {
        return Err(
            "the MySQL client speaks the protocol from before version 4.1, which is not \
            supported",
        );
    }
    if rest.is_empty() && capabilities & ENCRYPTION != 0 {
        return Ok(HandshakeRequest::Encryption);
    }
    let user = packet::text(&mut rest);
    let proof = proof(&mut rest, capabilities)?;
    let mut text = |flag: u32| {
        if capabilities & flag != 0 {
            packet::text(&mut rest)
        } else {
            b""
        }
    };
    let (database, method) = (text(WITH_DATABASE), text(METHOD));
    // Encryption and attributes, which include the process id, are not part of the identity.
    let kept = capabilities & !(ENCRYPTION | ATTRIBUTES | LONG_ANSWER) | SHORT_ANSWER;
    let mut payload = [&kept.to_le_bytes()[..], &fixed[4..], user, b"\0\0"].concat();
    for (text, _) in [(database, WITH_DATABASE), (method, METHOD)]
        .iter()
        .filter(|(_, flag)| kept & flag != 0)
    {
        payload.extend([text, &b"\0"[..]].concat());
    }
    let question = packet::message(1, &payload);
    Ok(HandshakeRequest::Login(Login::new(
        capabilities,
        question,
        [user, database],
        method,
        proof,
    )))
}

/// Parses `COM_CHANGE_USER`, which reuses a connection for another user.
pub(super) fn change_user(message: &[u8], capabilities: u32) -> Result<Login, Fault> {
    let mut rest = packet::payload(message);
    packet::bytes(&mut rest, 1)?;
    let user = packet::text(&mut rest);
    let proof = proof(&mut rest, capabilities & !LONG_ANSWER)?;
    let database = packet::text(&mut rest);
    let length = rest.len().min(2);
    let charset = packet::bytes(&mut rest, length)?;
    let method = packet::text(&mut rest);
    let parts = [
        &[packet::command::CHANGE_USER],
        user,
        b"\0\0",
        database,
        b"\0",
        charset,
        method,
        b"\0",
    ];
    let question = packet::message(0, &parts.concat());
    Ok(Login::new(
        capabilities,
        question,
        [user, database],
        method,
        proof,
    ))
}
