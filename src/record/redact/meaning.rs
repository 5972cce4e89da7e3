//! What a value says for itself where its name would make a secret of it, and what a name says of a mapping: messages about
//! a password, labels, parts of a text that are called tokens, and numbers of cards.

use super::names::{Name, plain};
use super::placeholder::known;

/// Keys of a mapping that hold the secret that the mapping is called by.
const HOLDS: [&str; 22] = [
    "value",
    "values",
    "key",
    "keys",
    "code",
    "codes",
    "hash",
    "raw",
    "plain",
    "plaintext",
    "text",
    "data",
    "string",
    "current",
    "new",
    "old",
    "previous",
    "first",
    "second",
    "confirm",
    "confirmation",
    "repeat",
];
/// Names of mappings from any key to a secret.
const MANY: [&str; 4] = ["secrets", "apikeys", "passwords", "passphrases"];
/// Names of mappings from fields to what is wrong with them, or to what is shown beside them.
const MESSAGES: [&str; 14] = [
    "error",
    "errors",
    "fielderrors",
    "validationerrors",
    "violations",
    "messages",
    "labels",
    "placeholders",
    "hints",
    "helptexts",
    "translations",
    "i18n",
    "locale",
    "locales",
];
/// Names whose value is no secret where it is a word; one with more words (`access_token`) says that it is one.
const WORDY: [&str; 7] = ["token", "otp", "totp", "jwt", "bearer", "session", "passwordhash"];
/// What names of sessions end in: people give them numbers and names.
const SESSIONS: [&str; 2] = ["sessionid", "sessid"];
/// Longest number of a session, and of a place in a list, which may be called a token. A code has more digits.
const LONGEST_SESSION_NUMBER_DIGITS: usize = 8;
const LONGEST_PLACE_DIGITS: usize = 3;
/// Parts of names of secrets that are made of words.
const PHRASES: [&str; 4] = ["phrase", "mnemonic", "seed", "backup"];
/// What is said before a secret (RFC 9110, 11.4).
const SCHEMES: [&str; 4] = ["bearer", "basic", "token", "digest"];
/// What names of the number of a card end in.
const CARDS: [&str; 13] = [
    "cardnumber",
    "cardnum",
    "cardno",
    "creditcard",
    "debitcard",
    "bankcard",
    "paymentcard",
    "ccnumber",
    "ccnum",
    "ccno",
    "cardpan",
    "primaryaccountnumber",
    "creditcardnr",
];
/// What the number is called in a mapping that is called by a card.
const NUMBERS: [&str; 8] = ["number", "num", "no", "nr", "pan", "value", "digits", "raw"];
/// Longest part of a text, and fewest bytes of a token with digits in it.
const LONGEST_PART_BYTES: usize = 12;
/// Longest word.
const LONGEST_WORD_BYTES: usize = 20;
/// Fewest small letters that are a word: fewer may be an example of a token.
const SHORTEST_WORD_BYTES: usize = 4;
/// Fewest bytes of a word in a sentence that may be a secret.
const SECRET_BYTES: usize = 20;

/// Whether a key in a mapping that is called by a secret holds it.
pub(super) fn holds(outer: &str, key: &str) -> bool {
    let is = |name: &str, known: &[&str]| plain(name).is_some_and(|name| known.contains(&name.joined.as_str()));
    is(outer, &MANY) || is(key, &HOLDS)
}

/// Whether a mapping under this key tells what is wrong with fields, or what is shown beside them.
pub(super) fn tells_of_fields(key: &str) -> bool {
    plain(key).is_some_and(|key| MESSAGES.contains(&key.joined.as_str()))
}

/// Whether a value is none that this name is said of otherwise: a word where it would be a token, a name in a list of them.
pub(super) fn is_only_word(name: &Name, value: &[u8]) -> bool {
    match name.joined.as_str() {
        "tokens" => value.len() < LONGEST_PART_BYTES || is_word(value),
        "secrets" | "apikeys" => is_word(value),
        joined if SESSIONS.iter().any(|end| joined.ends_with(end)) => {
            is_number(value, LONGEST_SESSION_NUMBER_DIGITS) || names_something(value)
        }
        joined => {
            WORDY.contains(&joined) && is_long_word(value)
                || joined.ends_with("token") && is_number(value, LONGEST_PLACE_DIGITS)
        }
    }
}

/// Whether what an answer has under the name of a secret tells something of it: a sentence, a label, a state.
pub(super) fn is_message(name: &str, value: &[u8]) -> bool {
    let Some(name) = plain(name) else { return false };
    if PHRASES.iter().any(|part| name.joined.contains(part)) {
        return false;
    }
    let text = String::from_utf8_lossy(value);
    let is_foreign = !text.is_empty() && text.chars().all(|letter| !letter.is_ascii() && letter.is_alphabetic());
    let is_state = name.is("pass") && is_long_word(value);
    is_foreign || is_state || is_sentence(&text)
}

/// Whether a text under the name of a field tells something of the field.
pub(super) fn is_text(value: &[u8]) -> bool {
    is_sentence(&String::from_utf8_lossy(value)) || value.split(|byte| matches!(byte, b'_' | b'-')).all(is_word)
}

/// Whether this name, in what it stands in, says that a number is one of a card.
pub(super) fn is_card(outer: Option<&str>, name: &str) -> bool {
    let is_of_card = |name: &Name| {
        matches!(name.last(), "card" | "pan" | "cc") || CARDS.iter().any(|end| name.joined.ends_with(end))
    };
    let is_card = |name: &str| plain(name).is_some_and(|name| is_of_card(&name));
    if is_card(name) {
        return true;
    }
    let mut parts = name.rsplit(['[', ']', '.']).filter(|part| !part.is_empty());
    let last = parts.next().unwrap_or_default().to_ascii_lowercase();
    NUMBERS.contains(&last.as_str()) && parts.next().or(outer).is_some_and(is_card)
}

/// Words with blanks between them, of which none may be a secret.
fn is_sentence(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [first, .., last] = words.as_slice() else { return false };
    let is_credential = words.len() == 2 && SCHEMES.iter().any(|scheme| first.eq_ignore_ascii_case(scheme));
    let may_be_secret = |word: &&str| {
        let has = |is_one: fn(&u8) -> bool| word.bytes().any(|byte| is_one(&byte));
        word.len() >= SECRET_BYTES && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
    };
    let is_plain = |word: &str| word.chars().all(|letter| letter.is_alphabetic() || ".,:;!?'’…()".contains(letter));
    let is_pair = words.len() > 2 || is_plain(first) && is_plain(last);
    is_pair && !is_credential && !text.starts_with('[') && !words.iter().any(may_be_secret)
}

fn is_number(value: &[u8], longest: usize) -> bool {
    (1..=longest).contains(&value.len()) && value.iter().all(u8::is_ascii_digit)
}

/// Words with a number or others behind them: `order-1`, `chat_main`. One short word alone may be an example of a secret.
fn names_something(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| matches!(byte, b'-' | b'_')).peekable();
    let begins = parts.next().is_some_and(is_word) && parts.peek().is_some();
    is_long_word(value)
        || begins && known(value).is_none() && parts.all(|part| is_word(part) || is_number(part, LONGEST_PLACE_DIGITS))
}

/// Letters alone, all small but for the first, or all capitals.
fn is_word(value: &[u8]) -> bool {
    let Some((first, rest)) = value.split_first() else { return false };
    value.len() <= LONGEST_WORD_BYTES
        && first.is_ascii_alphabetic()
        && (rest.iter().all(u8::is_ascii_lowercase) || value.iter().all(u8::is_ascii_uppercase))
}

/// A word that is no short example of a token: with a capital, or of several letters and a vowel.
fn is_long_word(value: &[u8]) -> bool {
    let has_capital = value.len() > 1 && value[0].is_ascii_uppercase();
    let has_vowel = value.iter().any(|byte| b"aeiouy".contains(byte));
    is_word(value) && (has_capital || value.len() >= SHORTEST_WORD_BYTES && has_vowel)
}
