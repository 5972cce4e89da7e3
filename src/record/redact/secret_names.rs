//! The one rule by which a name says that its value is a secret.
//!
//! A name is taken apart into words: `clientSecret`, `client-secret` and `CLIENT_SECRET` are all
//! `client` and `secret`. What it ends in says what it is, so `token_count`, `secretName` and
//! `key_type` are none.

use std::borrow::Cow;

use percent_encoding::percent_decode;

use super::stand_in::{is_made, is_stand_in};

/// What names of secrets end in, without marks between their words: one of these ends, behind one
/// of those beginnings.
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
/// Last words of such names, which may be the end of other words.
const LAST: &str =
    " pass pwd pw pin otp totp cvv cvc jwt psk sig hmac sess bearer csrf xsrf ssn iban creds pan ";
/// Last words of names that are said of other things as well: the value has to be one that nobody
/// chose.
const DOUBTFUL: &str = " session sid auth code pat appid ";
/// Last words that say in which form a secret is, or which of several.
const FORMS: &str = " value hash digest confirmation confirm text string binary base64 sha256 sha1 current new old ";
/// Words of names that have such an end and are none: places in lists that are read in pages, and
/// what makes a request or a connection the same as another.
const PAGES: &str = " page paging next prev previous cursor continuation sync idempotency socket ";
/// Longest name that is looked at, in bytes.
const LONGEST_BYTES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameKind {
    Secret,
    /// It is one unless it is a word: parts of a text are tokens, too.
    Worded,
    /// It is one if nobody chose it.
    Doubtful,
    Other,
}

pub fn is_secret_name(name: &str) -> bool {
    matches!(kind(name), NameKind::Secret | NameKind::Worded)
}

/// What a name says of its value. Of `user[password]` and `user.password` the last part counts.
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
    // Of several passwords each has a number.
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

/// Whether this value of a field, a parameter of a query or a variable is a key that nobody chose.
/// Documents have other keys.
pub(super) fn is_key(name: &str, value: &[u8]) -> bool {
    let words = words(name);
    words.last().is_some_and(|last| last == "key")
        && !is_page(&words)
        && is_made(value)
        && !is_stand_in(value)
}

fn ends(joined: &str) -> bool {
    ENDS.iter().any(|(end, begins)| {
        joined
            .strip_suffix(end)
            .is_some_and(|before| begins.iter().any(|begin| before.ends_with(begin)))
    })
}

/// Whether this value of a name is a secret. `is_listed` of those that stand in a list under the
/// name, which are words as often.
pub(super) fn is_secret(kind: NameKind, name: &str, value: &[u8], is_listed: bool) -> bool {
    match kind {
        _ if is_stand_in(value) => false,
        NameKind::Secret if is_listed => !is_word(value) && !is_flag(name, value),
        NameKind::Secret => !is_flag(name, value),
        NameKind::Worded => !is_word(value) && !is_flag(name, value),
        NameKind::Doubtful => is_made(value),
        NameKind::Other => false,
    }
}

/// Whether a secret of this name is made for each request, and tells nothing apart.
pub(super) fn is_signature(name: &str) -> bool {
    let mut words = words(name);
    words.retain(|word| !is_in(FORMS, word) && !is_number(word));
    words
        .last()
        .is_some_and(|last| matches!(last.as_str(), "signature" | "sig" | "sign" | "hmac"))
}

/// Whether a number under this name is a count, and none that a person keeps for herself.
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

/// Whether a variable of the environment with this name and value is a secret: its value is looked
/// for wherever it may stand.
pub(super) fn is_secret_variable(name: &str, value: &str) -> bool {
    const FEWEST_BYTES: usize = 8;
    let is_path = ["/", "./", "~/", "../"]
        .iter()
        .any(|begin| value.starts_with(begin));
    let is_doubtful = || kind(name) == NameKind::Doubtful && is_made(value.as_bytes());
    let is_one = is_secret_name(name) || is_doubtful() || is_key(name, value.as_bytes());
    is_one
        && value.len() >= FEWEST_BYTES
        && !is_word(value.as_bytes())
        && !is_path
        && value.parse::<f64>().is_err()
}

/// A count, a flag, the name again as on a label, or nothing: no secret whatever it is called.
/// Codes on cards have three digits.
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

/// Whether this is a word, or some: letters as words have them, and behind them at most two digits;
/// or a text with spaces.
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

/// The words of the last part of a name, in small letters; none of one that is too long.
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

/// A text without its percent-encoding (RFC 3986, 2.1), in forms with spaces for `+`; what is none
/// stays.
pub fn decoded(text: &[u8], is_form: bool) -> Cow<'_, [u8]> {
    if is_form && text.contains(&b'+') {
        let spaced: Vec<u8> = text
            .iter()
            .map(|byte| if *byte == b'+' { b' ' } else { *byte })
            .collect();
        return Cow::Owned(percent_decode(&spaced).collect());
    }
    percent_decode(text).into()
}
