//! Classification of names: decides from a name if its value is a secret.
//!
//! A name is split into words: `clientSecret`, `client-secret` and `CLIENT_SECRET` all become
//! `client` and `secret`. The last words decide, so `token_count`, `secretName` and `key_type` are
//! not secrets.

use std::borrow::Cow;

use percent_encoding::percent_decode;

use super::stand_in::{is_placeholder, looks_random};

/// Endings of secret names, without separators between words: one of these prefixes, then the
/// ending.
const ENDS: [(&str, &[&str]); 7] = [
    (
        "",
        &[
            "password",
            "passwd",
            "passphrase",
            "passcode",
            "secret",
            "token",
            "credential",
            "authorization",
        ],
    ),
    (
        "",
        &[
            "signature",
            "sessionid",
            "sessid",
            "cookie",
            "creditcard",
            "mnemonic",
            "assertion",
            "samlresponse",
        ],
    ),
    ("", &["codeverifier", "secretkeybase", "accesssign"]),
    ("number", &["cc", "card"]),
    (
        "key",
        &[
            "api",
            "access",
            "secret",
            "private",
            "signing",
            "encryption",
            "master",
            "account",
            "shared",
            "auth",
        ],
    ),
    (
        "key",
        &[
            "license",
            "subscription",
            "application",
            "app",
            "consumer",
            "storage",
            "webhook",
            "ssh",
            "servicerole",
        ],
    ),
    (
        "code",
        &[
            "auth",
            "verification",
            "authorization",
            "security",
            "recovery",
            "backup",
            "reset",
            "device",
            "mfa",
        ],
    ),
];
/// Last words of secret names, matched as whole words only.
const LAST: &str =
    " pass pwd pw pin otp totp cvv cvc jwt psk sig hmac sess bearer csrf xsrf ssn iban creds pan ";
/// Ambiguous last words: the value must look random.
const DOUBTFUL: &str = " session sid auth code pat appid ";
/// Last words for the form or the variant of a secret.
const FORMS: &str = " value hash digest confirmation confirm text string binary base64 sha256 sha1 current new old ";
/// Words that make a name harmless: pagination cursors, and identifiers of repeated requests or
/// connections.
const PAGES: &str = " page paging next prev previous cursor continuation sync idempotency socket ";
/// Maximum length of a name that is classified, in bytes.
const LONGEST_BYTES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameKind {
    Secret,
    /// A secret, except if the value is a word: parts of a text are called tokens, too.
    Worded,
    /// A secret if the value looks random.
    Doubtful,
    Other,
}

pub(super) fn is_secret_name(name: &str) -> bool {
    matches!(kind(name), NameKind::Secret | NameKind::Worded)
}

/// Classifies a name by its last part: `password` in `user[password]` and `user.password`.
pub(super) fn kind(name: &str) -> NameKind {
    let mut words = words(name);
    while words.len() > 1
        && words
            .last()
            .is_some_and(|last| is_in(FORMS, last) || is_number(last))
    {
        words.pop();
    }
    let Some(last) = words.last_mut() else {
        return NameKind::Other;
    };
    // Numbered passwords, such as `password2`.
    last.truncate(
        last.trim_end_matches(|letter: char| letter.is_ascii_digit())
            .len(),
    );
    let last = last.clone();
    let joined = words.concat();
    let single = joined.strip_suffix('s').unwrap_or(&joined);
    let is_page = is_page(&words);
    if single == "token"
        || (single.ends_with("sessionid") || single.ends_with("sessid")) && !is_page
    {
        NameKind::Worded
    } else if is_in(DOUBTFUL, &last) && !ends(single) {
        NameKind::Doubtful
    } else if (ends(single) || ends(&joined) || is_in(LAST, &last)) && !is_page {
        NameKind::Secret
    } else {
        NameKind::Other
    }
}

fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word && !word.is_empty())
}

fn is_page(words: &[String]) -> bool {
    words.iter().any(|word| is_in(PAGES, word))
}

/// Returns true if the name ends in `key` and the value looks random. For fields, query parameters
/// and variables only; documents have other kinds of keys.
pub(super) fn is_key(name: &str, value: &[u8]) -> bool {
    let words = words(name);
    words.last().is_some_and(|last| last == "key")
        && !is_page(&words)
        && looks_random(value)
        && !is_placeholder(value)
}

fn ends(joined: &str) -> bool {
    ENDS.iter().any(|(end, begins)| {
        joined
            .strip_suffix(end)
            .is_some_and(|before| begins.iter().any(|begin| before.ends_with(begin)))
    })
}

/// Returns true if this value of a name is a secret. `is_listed` marks items of a list under the
/// name, which often are plain words.
pub(super) fn is_secret(kind: NameKind, name: &str, value: &[u8], is_listed: bool) -> bool {
    match kind {
        _ if is_placeholder(value) => false,
        NameKind::Secret if is_listed => !is_word(value) && !is_flag(name, value),
        NameKind::Secret => !is_flag(name, value),
        NameKind::Worded => !is_word(value) && !is_flag(name, value),
        NameKind::Doubtful => looks_random(value),
        NameKind::Other => false,
    }
}

/// Returns true if the name is that of a signature, which differs for each request.
pub(super) fn is_signature(name: &str) -> bool {
    let mut words = words(name);
    words.retain(|word| !is_in(FORMS, word) && !is_number(word));
    words
        .last()
        .is_some_and(|last| matches!(last.as_str(), "signature" | "sig" | "sign" | "hmac"))
}

/// Returns true if a number under this name is a count and not a private number.
pub(super) fn is_counted(name: &str) -> bool {
    let joined = words(name).concat();
    [
        "token",
        "session",
        "sessid",
        "secret",
        "credential",
        "cookie",
    ]
    .iter()
    .any(|word| joined.contains(word))
}

/// Returns true if an environment variable is a secret, whose value is then searched everywhere.
pub(super) fn is_secret_variable(name: &str, value: &str) -> bool {
    const FEWEST_BYTES: usize = 8;
    let is_path = ["/", "./", "~/", "../"]
        .iter()
        .any(|begin| value.starts_with(begin));
    let is_doubtful = || kind(name) == NameKind::Doubtful && looks_random(value.as_bytes());
    let is_one = is_secret_name(name) || is_doubtful() || is_key(name, value.as_bytes());
    is_one
        && value.len() >= FEWEST_BYTES
        && !is_word(value.as_bytes())
        && !is_path
        && value.parse::<f64>().is_err()
}

/// Returns true for a count, a flag, the name itself as on a label, or an empty value. A card code
/// has three digits.
fn is_flag(name: &str, value: &[u8]) -> bool {
    const FEWEST_DIGITS: usize = 4;
    const MOST_COUNTED: usize = 19;
    let is_code = || matches!(words(name).last().map(String::as_str), Some("cvv" | "cvc"));
    let is_number = value.iter().all(u8::is_ascii_digit);
    is_number && value.len() < FEWEST_DIGITS && !(value.len() == 3 && is_code())
        || is_number && value.len() <= MOST_COUNTED && is_counted(name)
        || value.eq_ignore_ascii_case(name.as_bytes())
        || ["true", "false", "null", "none", "undefined"]
            .iter()
            .any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

/// Returns true for words: letters in usual case with at most two digits behind, or any text with
/// spaces.
pub(super) fn is_word(value: &[u8]) -> bool {
    const MOST_LETTERS: usize = 20;
    let is_part = |part: &[u8]| {
        let digits = part
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let letters = &part[..part.len() - digits];
        digits <= 2
            && letters.len() <= MOST_LETTERS
            && letters.iter().all(u8::is_ascii_alphabetic)
            && (letters.iter().skip(1).all(u8::is_ascii_lowercase)
                || letters.iter().all(u8::is_ascii_uppercase))
    };
    value.contains(&b' ') || value.split(|byte| b"-_.,:'".contains(byte)).all(is_part)
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the words of the last part of a name, in lower case; empty for an overlong name.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let last = name
        .rsplit(['[', ']', '.', ':', '/'])
        .find(|part| !part.is_empty())
        .unwrap_or_default();
    if name.len() > LONGEST_BYTES {
        return words;
    }
    let mut before = '_';
    let mut letters = last.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_mark = matches!(letter, '-' | '_' | ' ' | '*' | '$' | '@');
        let begins = letter.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || before.is_ascii_digit()
                || before.is_ascii_uppercase()
                    && letters.peek().is_some_and(char::is_ascii_lowercase));
        if begins || words.is_empty() || matches!(before, '-' | '_' | ' ') && !is_mark {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| !is_mark) {
            word.push(letter.to_ascii_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Decodes percent-encoding (RFC 3986, 2.1), and in forms `+` as a space. Invalid sequences stay.
pub(super) fn decoded(text: &[u8], is_form: bool) -> Cow<'_, [u8]> {
    if is_form && text.contains(&b'+') {
        let spaced: Vec<u8> = text
            .iter()
            .map(|byte| if *byte == b'+' { b' ' } else { *byte })
            .collect();
        return Cow::Owned(percent_decode(&spaced).collect());
    }
    percent_decode(text).into()
}
