//! Functions of cryptography, whose values are secrets wherever they stand.

use super::found::Found;
use super::lexer::Token;

/// Functions of cryptography, with the places of those of their values that are secrets (`PostgreSQL`, "pgcrypto"; `MySQL`,
/// "Encryption and Compression Functions").
const FUNCTIONS: [(&str, &[usize]); 13] = [
    ("crypt", &[0]),
    ("digest", &[0]),
    ("hmac", &[1]),
    ("pgp_sym_encrypt", &[0, 1]),
    ("pgp_sym_encrypt_bytea", &[0, 1]),
    ("pgp_sym_decrypt", &[1]),
    ("pgp_sym_decrypt_bytea", &[1]),
    ("pgp_pub_encrypt", &[0]),
    ("pgp_pub_decrypt", &[2]),
    ("encrypt", &[0, 1]),
    ("decrypt", &[1]),
    ("aes_encrypt", &[0, 1]),
    ("aes_decrypt", &[1]),
];

/// The places of the secrets among the values of the function that has this name, if it is one of cryptography.
pub(super) fn secrets(is: impl Fn(&str) -> bool) -> Option<&'static [usize]> {
    FUNCTIONS.iter().find(|(function, _)| is(function)).map(|(_, secret)| *secret)
}

/// The values of a function at these places, which stand behind the bracket that opens here; where it ends.
pub(super) fn given(tokens: &[Token], open: usize, secret: &[usize], found: &mut Found) -> usize {
    let (mut depth, mut place) = (0_usize, 0);
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Mark(b'(') => depth += 1,
            Token::Mark(b')') if depth <= 1 => return at,
            Token::Mark(b')') => depth -= 1,
            Token::Mark(b',') if depth == 1 => place += 1,
            Token::Mark(b';') => return at,
            _ if token.is_value() && depth == 1 && secret.contains(&place) => {
                found.insert(at, "password");
            }
            _ => {}
        }
    }
    tokens.len()
}
