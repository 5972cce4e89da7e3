//! The names of fields, keys and parameters whose value is a secret. Each is declared here and nowhere else.

/// Fields of HTTP, in lower case.
const HEADERS: [&str; 21] = [
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
];
/// Ends of names of such fields. `-token` alone is not one of them: many are places in a list that is read in pages.
const HEADER_ENDS: [&str; 11] = [
    "-auth-token",
    "-access-token",
    "-refresh-token",
    "-security-token",
    "-session-token",
    "-csrf-token",
    "-xsrf-token",
    "-secret",
    "-password",
    "-api-key",
    "-authorization",
];
/// Their beginning.
const HEADER_BEGIN: &str = "x-auth-";

/// Keys of JSON and parameters of queries and forms, in lower case and without `-` and `_`. A name that is used for other
/// things as well (`key`, `code`) is none.
const KEYS: [&str; 32] = [
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
];
/// Their ends.
const KEY_ENDS: [&str; 7] =
    ["password", "secret", "accesstoken", "refreshtoken", "authtoken", "sessiontoken", "apikey"];
/// Keys that are as often a place in a list that is read in pages: hidden as the others, and told apart where several
/// were recorded.
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
    HEADERS.contains(&name.as_str())
        || name.starts_with(HEADER_BEGIN)
        || HEADER_ENDS.iter().any(|end| name.ends_with(end))
}

/// Whether a key of JSON holds a secret.
pub fn is_secret_key(name: &str) -> bool {
    plain(name).is_some_and(|name| is_key(&name))
}

/// Whether a parameter of a query or a form holds a secret.
pub fn is_secret_parameter(name: &str) -> bool {
    plain(name).is_some_and(|name| PARAMETERS.contains(&name.as_str()) || is_key(&name))
}

/// Whether a key or parameter of this name may be no secret, but what chooses the answer.
pub(super) fn is_doubtful(name: &str) -> bool {
    plain(name).is_some_and(|name| DOUBTFUL_KEYS.contains(&name.as_str()))
}

/// Whether what stands under a key was thought of by a person: short, and so never told apart by a digest.
pub(super) fn is_password(name: &str) -> bool {
    plain(name).is_some_and(|name| name.contains("pass") || name == "pwd")
}

fn is_key(plain: &str) -> bool {
    KEYS.contains(&plain) || DOUBTFUL_KEYS.contains(&plain) || KEY_ENDS.iter().any(|end| plain.ends_with(end))
}

/// In lower case and without `-` and `_`, which are how `client_secret`, `clientSecret` and `Client-Secret` differ.
fn plain(name: &str) -> Option<String> {
    (name.len() <= LONGEST_BYTES)
        .then(|| name.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect())
}
