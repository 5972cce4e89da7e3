//! The names of fields, keys and parameters whose value is a secret. Each word is declared here and nowhere else.
//!
//! A name is taken apart into words: `clientSecret`, `client-secret` and `CLIENT_SECRET` are all `client` and `secret`. What it
//! ends in says what it is: a word that is said of nothing but secrets ([`ENDS`], [`SHORT`]), or one that other things are
//! called by as well, behind a word that makes it one (an API *key*, a verification *code*). Names that say it of some values
//! alone ([`Doubt`]) count where the value is one that nobody chose.

use std::borrow::Cow;

use super::cards;
use super::meaning::is_only_word;
use super::placeholder::known;
pub(super) use super::random::is_random;
pub(in crate::record) use super::random::is_uuid;

/// What names of secrets end in, in lower case and without marks between words.
const ENDS: [&str; 34] = [
    "password",
    "passwords",
    "passwd",
    "passwordhash",
    "passworddigest",
    "passwdhash",
    "pwdhash",
    "passhash",
    "secrethash",
    "tokenhash",
    "passphrase",
    "passphrases",
    "passcode",
    "passwordconfirm",
    "passwordconfirmation",
    "secret",
    "secretstring",
    "secretbinary",
    "secrettext",
    "secretvalue",
    "secrets",
    "apikeys",
    "tokenvalue",
    "mnemonic",
    "seedphrase",
    "kubeconfig",
    "backupcodes",
    "recoverycodes",
    "secretkeybase",
    "sessionid",
    "sessid",
    "authorization",
    "codeverifier",
    "clientassertion",
];
/// Last words of such names: short ones, which may end other words.
const SHORT: [&str; 16] = [
    "pw",
    "pwd",
    "otp",
    "totp",
    "cvv",
    "cvc",
    "jwt",
    "psk",
    "bearer",
    "credential",
    "credentials",
    "creds",
    "csrf",
    "xsrf",
    "ssn",
    "iban",
];
/// Secrets that name somebody or something as well.
const IDENTIFIERS: [&str; 2] = ["ssn", "iban"];
/// Before `key`.
const KEYS: [&str; 28] = [
    "api",
    "access",
    "secret",
    "secretaccess",
    "sharedaccess",
    "private",
    "license",
    "licence",
    "subscription",
    "signing",
    "encryption",
    "master",
    "application",
    "app",
    "auth",
    "account",
    "shared",
    "hmac",
    "session",
    "deploy",
    "webhook",
    "admin",
    "servicerole",
    "stripe",
    "ssh",
    "consumer",
    "storage",
    "secretapi",
];
/// Before `code`.
const CODES: [&str; 15] = [
    "otp",
    "totp",
    "mfa",
    "factor",
    "2fa",
    "verification",
    "auth",
    "authorization",
    "security",
    "recovery",
    "backup",
    "reset",
    "device",
    "pin",
    "login",
];
/// Before `pass`, which may also stand alone.
const PASSES: [&str; 16] = [
    "user", "db", "database", "smtp", "mail", "email", "ftp", "auth", "root", "admin", "login", "proxy", "redis",
    "mysql", "pg", "rabbitmq",
];
/// Before `token`, of what is none: places in lists that are read in pages, what makes a request the same as another, and words
/// that models of language have.
const NO_TOKENS: [&str; 31] = [
    "page",
    "paging",
    "next",
    "prev",
    "previous",
    "continuation",
    "continue",
    "cursor",
    "sync",
    "start",
    "starting",
    "scroll",
    "resume",
    "skip",
    "since",
    "after",
    "before",
    "from",
    "until",
    "forward",
    "backward",
    "idempotency",
    "clientrequest",
    "stop",
    "pad",
    "eos",
    "bos",
    "unk",
    "mask",
    "cls",
    "sep",
];
/// Of these a mapping says something of the secret, and has a key for it: a mapping `token` says whose it is.
const MAPPINGS: [&str; 7] = ["token", "authorization", "credential", "credentials", "auth", "session", "otp"];
/// Parameters of queries and forms alone: elsewhere the names say other things as well.
const PARAMETERS: [&str; 11] = [
    "sig",
    "signature",
    "oauthsignature",
    "xamzsignature",
    "xamzcredential",
    "xamzsecuritytoken",
    "xgoogsignature",
    "xgoogcredential",
    "pin",
    "assertion",
    "samlresponse",
];

/// Longest name that is looked at, in bytes.
const LONGEST_BYTES: usize = 64;

/// What a name is said of as well; so its value tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    /// A secret if nobody chose it: of authorization, a country, an error; a key of a list.
    Code,
    /// A secret if nobody chose it; it may also be a UUID.
    Session,
    /// A secret unless it is a word, such as the name of a way to log in.
    Auth,
    /// A secret if it is digits: others are colours, places on a map and names.
    Pin,
}

/// What a key of JSON says of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is a secret.
    Secret,
    /// It depends on the value, or on what the key stands in.
    Doubtful,
    /// It describes the secret that it stands in.
    Description,
    /// Nothing.
    Other,
}

/// What a key of JSON says of its value.
pub(super) fn kind(key: &str) -> Kind {
    let Some(name) = plain(key) else { return Kind::Other };
    if is_key(&name) {
        Kind::Secret
    } else if name.is("id") || name.joined.ends_with("key") || doubt(&name).is_some() {
        Kind::Doubtful
    } else if is_description(key) {
        Kind::Description
    } else {
        Kind::Other
    }
}

/// Whether a key of JSON, an element of XML or a column holds a secret, whatever its value is.
pub fn is_secret_key(name: &str) -> bool {
    plain(name).is_some_and(|name| is_key(&name))
}

/// Whether this value of a key is a secret.
pub(super) fn is_secret_value(name: &str, value: &[u8]) -> bool {
    plain(name).is_some_and(|name| {
        !is_only_word(&name, value) && (is_key(&name) || doubt(&name).is_some_and(|doubt| doubt.is_secret(value)))
    })
}

/// Whether a value is a word, and not what it would be by this name.
pub(super) fn word_of(name: &str, value: &[u8]) -> bool {
    !value.is_empty() && plain(name).is_some_and(|name| is_only_word(&name, value))
}

fn doubt(key: &Name) -> Option<Doubt> {
    match key.joined.as_str() {
        "code" | "assertion" | "samlresponse" => Some(Doubt::Code),
        "session" | "pat" => Some(Doubt::Session),
        "auth" => Some(Doubt::Auth),
        "pin" => Some(Doubt::Pin),
        _ => None,
    }
}

/// Whether a parameter of a query or a form holds a secret, whatever its value is; its name may be percent-encoded.
pub fn is_secret_parameter(name: &str) -> bool {
    plain(&decoded(name)).is_some_and(|name| is_parameter(&name))
}

/// Whether this value of a parameter is a secret.
pub(super) fn is_secret_argument(name: &str, value: &[u8]) -> bool {
    let doubt = |name: &Name| match name.joined.as_str() {
        "code" | "key" | "appid" => Some(Doubt::Code),
        "session" | "sid" | "pat" => Some(Doubt::Session),
        "auth" => Some(Doubt::Auth),
        _ => None,
    };
    plain(&decoded(name)).is_some_and(|name| {
        !is_only_word(&name, value) && (is_parameter(&name) || doubt(&name).is_some_and(|doubt| doubt.is_secret(value)))
    })
}

fn is_parameter(name: &Name) -> bool {
    PARAMETERS.contains(&name.joined.as_str()) || is_key(name)
}

/// Whether a key that is none alone is one in what stands under this key: `{"api": {"key": ...}}`.
pub(super) fn is_secret_below(outer: &str, name: &str, value: &[u8]) -> bool {
    let (is_key, is_id) = (name.eq_ignore_ascii_case("key"), name.eq_ignore_ascii_case("id"));
    (is_key && is_secret_key(&format!("{outer}_key")))
        || (is_id && plain(outer).is_some_and(|outer| outer.is("session")) && Doubt::Session.is_secret(value))
}

/// Whether a number under a key that holds secrets is one. Tokens and sessions have numbers, there are tests that pass, and widths.
pub(super) fn is_secret_number(key: &str) -> bool {
    plain(key).is_some_and(|key| {
        let is_count = ["token", "session", "secrets"].iter().any(|word| key.joined.contains(word));
        !is_count && !key.is("pass") && !key.is("pw")
    })
}

/// Whether a key in a mapping that is secret says something of the secret.
pub(super) fn is_description(key: &str) -> bool {
    plain(key).is_some_and(|Name { joined: key, .. }| {
        let is = ["name", "kind", "scope", "scopes", "description", "version", "algorithm", "label"].contains(&&*key);
        is || key.starts_with("expir") || ["type", "name", "at", "id"].iter().any(|end| key.ends_with(end))
    })
}

/// Whether a mapping under this key says something of the secret, and has a key for it.
pub(super) fn is_doubtful(name: &str) -> bool {
    plain(name).is_some_and(|name| MAPPINGS.contains(&name.joined.as_str()))
}

/// Whether what stands under a key was thought of by a person, or is so short that it could be guessed by its digest.
pub(super) fn is_password(name: &str) -> bool {
    plain(&decoded(name)).is_some_and(|name| {
        let short = ["pwd", "pw", "otp", "totp", "cvv", "cvc"].contains(&name.last());
        let is_code = name.last() == "code"
            && !name.joined.ends_with("devicecode")
            && CODES.iter().any(|kind| name.is_kind(kind));
        short || is_code || name.joined.contains("pass") || name.joined.contains("pin")
    })
}

/// Whether a secret of this name is a name itself, so that one does not stand for any other.
pub(super) fn is_identifier(name: &str) -> bool {
    name == cards::NAME || plain(&decoded(name)).is_some_and(|name| IDENTIFIERS.contains(&name.last()))
}

fn is_key(name: &Name) -> bool {
    let joined = name.joined.as_str();
    let kinds = |last: &str, kinds: &[&str]| {
        joined.strip_suffix(last).is_some_and(|front| kinds.iter().any(|kind| front.ends_with(kind)))
    };
    let is_token =
        || joined.strip_suffix("token").is_some_and(|front| !NO_TOKENS.iter().any(|word| front.ends_with(word)));
    ENDS.iter().any(|end| joined.ends_with(end))
        || SHORT.contains(&name.last())
        || name.is("pass")
        || name.is("tokens")
        || kinds("key", &KEYS)
        // `pincode` is a code of places, `pin_code` a secret.
        || !name.is("pincode") && kinds("code", &CODES)
        || name.is("pincode") && name.last > 0
        || kinds("pass", &PASSES)
        || is_token()
}

/// A name in lower case and without marks between its words. Of `user[password]` and `user.password` the last part.
pub(super) struct Name {
    pub(super) joined: String,
    /// Where the last word begins.
    last: usize,
}

impl Name {
    pub(super) fn last(&self) -> &str {
        &self.joined[self.last..]
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.joined == name
    }

    /// Whether the last word stands behind this one.
    fn is_kind(&self, kind: &str) -> bool {
        self.joined[..self.last].ends_with(kind)
    }
}

/// The last part of a name; `None` where it is too long, or nothing.
pub(super) fn plain(name: &str) -> Option<Name> {
    if name.len() > LONGEST_BYTES {
        return None;
    }
    let mut parts = name.rsplit(['[', ']', '.', ':']).filter(|part| !part.is_empty());
    let last = parts.next()?;
    let mut plain = Name { joined: String::with_capacity(name.len()), last: 0 };
    // Of a key it counts whose it is: `api[key]`.
    let outer = if last.eq_ignore_ascii_case("key") { parts.next() } else { None };
    for part in outer.into_iter().chain([last]) {
        plain.last = plain.joined.len();
        let mut before = ' ';
        let mut letters = part.chars().peekable();
        while let Some(letter) = letters.next() {
            if matches!(letter, '-' | '_' | ' ') {
                plain.last = plain.joined.len();
            } else {
                let ends_capitals = before.is_ascii_uppercase() && letters.peek().is_some_and(char::is_ascii_lowercase);
                if letter.is_ascii_uppercase()
                    && (before.is_ascii_lowercase() || before.is_ascii_digit() || ends_capitals)
                {
                    plain.last = plain.joined.len();
                }
                plain.joined.push(letter.to_ascii_lowercase());
            }
            before = letter;
        }
    }
    // Of several passwords each has a number.
    let end = plain.joined.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    plain.last = if end > plain.last { plain.last } else { 0 };
    plain.joined.truncate(end);
    Some(plain)
}

impl Doubt {
    fn is_secret(self, value: &[u8]) -> bool {
        known(value).is_some()
            || match self {
                Self::Code => is_random(value),
                Self::Session => is_random(value) || is_uuid(value),
                Self::Auth => !is_word(value),
                Self::Pin => (4..=12).contains(&value.len()) && value.iter().all(u8::is_ascii_digit),
            }
    }
}

/// Whether this is a word, or some: all small letters, the first or all of each part a capital; short ones in any letters.
fn is_word(value: &[u8]) -> bool {
    let is_part = |part: &[u8]| {
        let letters = &part[..part.len() - part.iter().rev().take_while(|byte| byte.is_ascii_digit()).count()];
        part.len() - letters.len() <= 2
            && letters.len() <= 20
            && (letters.iter().skip(1).all(u8::is_ascii_lowercase) && letters.iter().all(u8::is_ascii_alphabetic)
                || letters.iter().all(u8::is_ascii_uppercase)
                || letters.len() < 8 && letters.iter().all(u8::is_ascii_alphabetic))
    };
    value.split(|byte| matches!(byte, b'-' | b'_' | b' ' | b'.' | b',')).all(is_part)
}

/// A text without its percent-encoding (RFC 3986, 2.1); what is none stays.
pub(in crate::record) fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        if *byte == b'%'
            && let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2))
        {
            out.push((high * 16 + low) as u8);
            at += 3;
        } else {
            out.push(*byte);
            at += 1;
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}
