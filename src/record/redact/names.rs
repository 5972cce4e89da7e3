//! The names of fields, keys and parameters whose value is a secret. Each is declared here and nowhere else.

use std::borrow::Cow;

/// Fields of HTTP, in lower case.
const HEADERS: [&str; 31] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "cookie2",
    "set-cookie2",
    "x-api-key",
    "api-key",
    "apikey",
    "x-token",
    "x-access-key",
    "x-secret-key",
    "x-goog-api-key",
    "x-rapidapi-key",
    "x-functions-key",
    "ocp-apim-subscription-key",
    "private-token",
    "x-vault-token",
    "x-gitlab-token",
    "x-shopify-access-token",
    "x-subject-token",
    "x-auth",
    "x-credential",
    "x-credentials",
    "x-key",
    "x-pin",
    "x-signing-key",
    "auth",
    "authentication",
    "x-authentication",
    "x-authorization",
];
/// Ends of words of names of such fields.
const HEADER_WORD_ENDS: [&str; 11] =
    ["token", "secret", "password", "passwd", "signature", "session", "sessionid", "jwt", "csrf", "xsrf", "apikey"];
/// Ends of names of several words.
const HEADER_ENDS: [&str; 2] = ["-api-key", "-authorization"];
/// Words of names that are none, whatever the others are: places in lists that are read in pages, and what is said of
/// tokens. And the names of fields stand in `Access-Control-*`.
const HEADER_NOT: [&str; 13] = [
    "continuation",
    "next",
    "page",
    "cursor",
    "sync",
    "expires",
    "expiry",
    "type",
    "limit",
    "ratelimit",
    "remaining",
    "input",
    "control",
];
/// Fields of cookies, which change with every login: they do not tell who asks.
const COOKIES: [&str; 4] = ["cookie", "set-cookie", "cookie2", "set-cookie2"];
/// Parts of names of cookies that are secrets.
const COOKIE_PARTS: [&str; 10] =
    ["session", "sessid", "csrf", "xsrf", "token", "jwt", "secret", "passw", "apikey", "credential"];
/// Ends of words of such names: `connect.sid`, `.ASPXAUTH`.
const COOKIE_WORD_ENDS: [&str; 4] = ["sid", "sess", "auth", "authorization"];
/// Words of names of fields that change with every request: they do not tell who asks.
const HEADER_SIGNATURES: [&str; 2] = ["signature", "digest"];
/// Words of names of fields that may change with every page: they tell who asks only where they are known.
const HEADER_PASSING: [&str; 3] = ["csrf", "xsrf", "nonce"];
/// Schemes of authentication whose secret is made for each request, each with the parameters that name the caller, the
/// most telling first (RFC 7616, 3.4; RFC 5849, 3.1; "Signing HTTP Messages", draft 12, 2.1; AWS, "Signature Version 4").
const SIGNED_SCHEMES: [(&str, &[&str]); 7] = [
    ("digest", &["username", "username*"]),
    ("signature", &["keyid"]),
    ("hawk", &["id"]),
    ("oauth", &["oauth_token", "oauth_consumer_key"]),
    ("negotiate", &[]),
    ("aws4-hmac-sha256", &["credential"]),
    ("aws4-ecdsa-p256-sha256", &["credential"]),
];
/// Their beginning.
const HEADER_BEGIN: &str = "x-auth-";

/// Keys of JSON and parameters of queries and forms, in lower case and without `-` and `_`. A name that is used for other
/// things as well (`key`, `code`) is none.
const KEYS: [&str; 44] = [
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "authtoken",
    "apitoken",
    "bearertoken",
    "sessiontoken",
    "securitytoken",
    "oauthtoken",
    "oauthtokensecret",
    "csrftoken",
    "xsrftoken",
    "clientassertion",
    "apikey",
    "xapikey",
    "secretkey",
    "secretaccesskey",
    "privatekey",
    "authorization",
    "secret",
    "clientsecret",
    "sharedsecret",
    "passwd",
    "pwd",
    "passphrase",
    "password",
    "oldpassword",
    "newpassword",
    "currentpassword",
    "confirmpassword",
    "passwordconfirm",
    "passwordconfirmation",
    "secretkeybase",
    "passcode",
    "pincode",
    "userpass",
    "dbpass",
    "passphrases",
    "passwords",
    "tokens",
    "sessionid",
    "bearer",
    "jwt",
    "secretstring",
];
/// Their ends.
const KEY_ENDS: [&str; 8] =
    ["password", "secret", "accesstoken", "refreshtoken", "authtoken", "sessiontoken", "apikey", "secretaccesskey"];
/// Keys that are as often a place in a list that is read in pages, or a mapping that says of a token whose it is.
const DOUBTFUL_KEYS: [&str; 1] = ["token"];
/// Parameters alone, in the same spelling: elsewhere the names say other things as well.
const PARAMETERS: [&str; 8] = [
    "sig",
    "signature",
    "oauthsignature",
    "xamzsignature",
    "xamzcredential",
    "xamzsecuritytoken",
    "xgoogsignature",
    "xgoogcredential",
];

/// Longest name that is looked at, in bytes.
const LONGEST_BYTES: usize = 64;

/// Whether a field of HTTP holds a secret.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if HEADERS.contains(&name.as_str()) {
        return true;
    }
    let has = |words: &[&str]| name.split(['-', '_']).any(|word| words.contains(&word));
    let is_secret = name.starts_with(HEADER_BEGIN)
        || HEADER_ENDS.iter().any(|end| name.ends_with(end))
        || name.contains("api-key-")
        || name.split(['-', '_']).any(|word| HEADER_WORD_ENDS.iter().any(|end| word.ends_with(end)))
        || has(&["csrftoken", "xsrftoken"]);
    is_secret && !has(&HEADER_NOT)
}

/// Whether a secret field of HTTP tells who asks: as long as a login lasts, and longer.
pub(super) fn tells_who(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_signature = HEADER_SIGNATURES.iter().any(|part| name.contains(part));
    !is_signature && !passes(&name)
}

/// Whether a secret field of HTTP may be another one with every page.
pub(super) fn passes(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    COOKIES.contains(&name.as_str()) || HEADER_PASSING.iter().any(|part| name.contains(part))
}

/// Whether a cookie holds a secret.
pub(super) fn is_secret_cookie(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    COOKIE_PARTS.iter().any(|part| name.contains(part))
        || words.any(|word| COOKIE_WORD_ENDS.iter().any(|end| word.ends_with(end)))
}

/// The parameters that name the caller where a scheme of authentication signs requests; `None` of other schemes.
pub(super) fn callers(scheme: &[u8]) -> Option<&'static [&'static str]> {
    let known = SIGNED_SCHEMES.iter().find(|(signed, _)| scheme.eq_ignore_ascii_case(signed.as_bytes()));
    known.map(|(_, callers)| *callers)
}

/// Whether a key of JSON holds a secret.
pub fn is_secret_key(name: &str) -> bool {
    plain(name).is_some_and(|name| is_key(&name))
}

/// Whether a number under a key that holds secrets is one. Of tokens there are numbers.
pub(super) fn is_secret_number(key: &str) -> bool {
    plain(key).is_some_and(|key| !key.contains("token"))
}

/// Whether a key in a mapping that is secret says something of the secret.
pub(super) fn is_description(key: &str) -> bool {
    plain(key).is_some_and(|key| {
        let is = ["name", "kind", "scope", "scopes", "description", "version", "algorithm", "label"].contains(&&*key);
        is || key.starts_with("expire") || ["type", "name", "at", "id"].iter().any(|end| key.ends_with(end))
    })
}

/// Whether a parameter of a query or a form holds a secret; its name may be percent-encoded.
pub fn is_secret_parameter(name: &str) -> bool {
    plain(&decoded(name)).is_some_and(|name| PARAMETERS.contains(&name.as_str()) || is_key(&name))
}

/// Whether a key or parameter of this name may be no secret, but what chooses the answer.
pub(super) fn is_doubtful(name: &str) -> bool {
    plain(name).is_some_and(|name| DOUBTFUL_KEYS.contains(&name.as_str()))
}

/// Whether what stands under a key was thought of by a person, and could be guessed by its digest.
pub(super) fn is_password(name: &str) -> bool {
    plain(&decoded(name)).is_some_and(|name| name.contains("pass") || name.contains("pin") || name == "pwd")
}

fn is_key(plain: &str) -> bool {
    KEYS.contains(&plain) || DOUBTFUL_KEYS.contains(&plain) || KEY_ENDS.iter().any(|end| plain.ends_with(end))
}

/// In lower case and without `-` and `_`, which are how `client_secret`, `clientSecret` and `Client-Secret` differ. Of
/// `user[password]` and `user.password` the last part.
fn plain(name: &str) -> Option<String> {
    if name.len() > LONGEST_BYTES {
        return None;
    }
    let last = name.split(['[', ']', '.', ':']).rfind(|part| !part.is_empty())?;
    Some(last.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).map(|c| c.to_ascii_lowercase()).collect())
}

/// A text without its percent-encoding (RFC 3986, 2.1); what is none stays.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
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
