//! The names of fields of HTTP and of cookies whose value is a secret. Words of them are declared here, those of keys and
//! parameters in `names`.

/// Fields of HTTP that no word gives away, in lower case.
const HEADERS: [&str; 10] = [
    "cookie2",
    "set-cookie2",
    "authentication",
    "x-jfrog-art-api",
    "x-wp-nonce",
    "pass",
    "bearer",
    "mfa_code",
    "mfa-code",
    "x-mfa-code",
];
/// Ends of words of names of secret fields.
const HEADER_WORD_ENDS: [&str; 15] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "signature",
    "session",
    "sessionid",
    "jwt",
    "csrf",
    "xsrf",
    "apikey",
    "apikeys",
    "credential",
    "credentials",
];
/// Words of such names.
const HEADER_WORDS: [&str; 9] =
    ["totp", "pwd", "otp", "pin", "hmac", "cookie", "csrftoken", "xsrftoken", "authorization"];
/// Ends of the last word of such names.
const HEADER_LAST: [&str; 3] = ["auth", "authorization", "authentication"];
/// Their beginning.
const HEADER_BEGIN: &str = "x-auth-";
/// Words of names that are none, whatever the others are: places in lists that are read in pages, and what is said of tokens. And
/// the names of fields stand in `Access-Control-*`.
const HEADER_NOT: [&str; 30] = [
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
    "scope",
    "scopes",
    "policy",
    "status",
    "count",
    "region",
    "state",
    "mode",
    "method",
    "provider",
    "level",
    "result",
    "enabled",
    "required",
    "error",
    "length",
    "ttl",
];
/// Words of names of fields whose key names what is kept, found or sent once.
const HEADER_NOT_KEYS: [&str; 16] = [
    "idempotency",
    "websocket",
    "cache",
    "cachekey",
    "surrogate",
    "xkey",
    "partition",
    "partitionkey",
    "routing",
    "sort",
    "object",
    "message",
    "public",
    "deduplication",
    "request",
    "correlation",
];
/// Fields of cookies, which change with every login: they do not tell who asks.
const COOKIES: [&str; 4] = ["cookie", "set-cookie", "cookie2", "set-cookie2"];
/// Parts of names of cookies that are secrets.
const COOKIE_PARTS: [&str; 10] =
    ["session", "sessid", "csrf", "xsrf", "token", "jwt", "secret", "passw", "apikey", "credential"];
/// Ends of words of such names: `connect.sid`, `.ASPXAUTH`.
const COOKIE_WORD_ENDS: [&str; 4] = ["sid", "sess", "auth", "authorization"];
/// Words of names of fields that change with every request: they do not tell who asks.
const HEADER_SIGNATURES: [&str; 5] = ["signature", "digest", "hmac", "sign", "otp"];
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

/// Whether a field of HTTP holds a secret.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = || name.split(['-', '_']);
    let is_key = || words().next_back().is_some_and(|last| last.ends_with("key"));
    let is_secret = HEADERS.contains(&name.as_str())
        || name.starts_with(HEADER_BEGIN)
        || name.contains("api-key-")
        || words().any(|word| HEADER_WORDS.contains(&word) || HEADER_WORD_ENDS.iter().any(|end| word.ends_with(end)))
        || words().next_back().is_some_and(|last| last == "sign" || HEADER_LAST.iter().any(|end| last.ends_with(end)));
    let is_secret = is_secret || is_key() && !words().any(|word| HEADER_NOT_KEYS.contains(&word));
    is_secret && !words().any(|word| HEADER_NOT.contains(&word))
}

/// Whether a secret field of HTTP tells who asks: as long as a login lasts, and longer.
pub(super) fn tells_who(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_signature = name.split(['-', '_']).any(|word| HEADER_SIGNATURES.iter().any(|end| word.ends_with(end)));
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
