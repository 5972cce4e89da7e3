//! Addresses in texts: what may be a login or a token is taken out.

/// Shortest part of a path that may be a token, in bytes.
const MIN_TOKEN_BYTES: usize = 16;
/// Longest user name of an address that is passed, in bytes.
const MAX_USER_BYTES: usize = 20;

/// A text whose addresses have no login.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CleanText {
    pub(crate) text: String,
    /// Addresses that lost a login, in order.
    pub(crate) stripped: Vec<String>,
    /// Host of each address, with its port.
    pub(crate) hosts: Vec<String>,
}

/// Takes user, password and query out of each address of a text. `stand_in` may give another
/// password for an address. Returns `None` if a path may hold a token.
pub(crate) fn clean(text: &str, stand_in: &dyn Fn(&str) -> Option<String>) -> Option<CleanText> {
    let (mut clean, mut rest) = (String::new(), text);
    let (mut stripped, mut hosts) = (Vec::new(), Vec::new());
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        let end = after
            .find(|char: char| char.is_whitespace() || "\"'<>,|`\\".contains(char))
            .unwrap_or(after.len());
        let (address, behind) = after.split_at(end);
        let authority_end = address.find(['/', '?', '#']).unwrap_or(address.len());
        let (authority, path) = address.split_at(authority_end);
        let (login, host) = match authority.rsplit_once('@') {
            Some((login, host)) => (Some(login), host),
            None => (None, authority),
        };
        let path = path.split('?').next().unwrap_or_default();
        if has_token(path) {
            return None;
        }
        clean.push_str(before);
        if let Some(login) = login {
            let scheme = before[..at].rsplit(|char: char| !is_of_scheme(char)).next();
            let address = format!("{}://{host}{path}", scheme.unwrap_or_default());
            if is_harmless_user(scheme.unwrap_or_default(), login) {
                clean.push_str(login);
                clean.push('@');
            } else {
                if let Some(password) = stand_in(&address) {
                    if let Some((user, _)) = login.split_once(':') {
                        clean.push_str(user);
                        clean.push(':');
                    }
                    clean.push_str(&password);
                    clean.push('@');
                }
                stripped.push(address);
            }
        }
        clean.push_str(host);
        hosts.push(host.to_owned());
        clean.push_str(path);
        rest = behind;
    }
    clean.push_str(rest);
    Some(CleanText {
        text: clean,
        stripped,
        hosts,
    })
}

fn is_of_scheme(char: char) -> bool {
    char.is_ascii_alphanumeric() || "+-.".contains(char)
}

/// Returns true for a user without a password where a user is no login (`ssh://git@host`).
fn is_harmless_user(scheme: &str, login: &str) -> bool {
    !scheme.contains("http") && !login.contains(':') && login.len() < MAX_USER_BYTES
}

/// Returns true if a part of the path looks like a token: long with letters and digits, a UUID, or
/// behind `/t/`, as at conda and Cloudsmith.
fn has_token(path: &str) -> bool {
    let parts: Vec<&str> = path.split(['/', '#', '=', ':', ';']).collect();
    let behind_t = parts
        .windows(2)
        .any(|pair| pair[0] == "t" && !pair[1].is_empty());
    behind_t || parts.iter().any(|part| is_token(part) || is_uuid(part))
}

pub(crate) fn is_token(part: &str) -> bool {
    let runs = part.split(|char: char| !char.is_ascii_alphanumeric());
    runs.filter(|run| run.len() >= MIN_TOKEN_BYTES).any(|run| {
        let letters = run.bytes().filter(u8::is_ascii_alphabetic).count();
        letters >= 3 && run.len() - letters >= 3
    })
}

fn is_uuid(part: &str) -> bool {
    let lengths: Vec<usize> = part.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12]
        && part
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn cleaned(text: &str) -> Option<(String, Vec<String>)> {
        clean(text, &|_| None).map(|clean| (clean.text, clean.stripped))
    }

    #[test]
    fn address_loses_login_and_query() {
        for (text, clean, stripped) in [
            ("plain text", "plain text", &[][..]),
            ("https://npm.corp/a/", "https://npm.corp/a/", &[]),
            (
                "https://ann:pw@npm.corp/a/?key=1 x",
                "https://npm.corp/a/ x",
                &["https://npm.corp/a/"],
            ),
            ("https://token@h", "https://h", &["https://h"]),
            (
                "https://a:b@one/,direct|sparse+https://c:d@two/x",
                "https://one/,direct|sparse+https://two/x",
                &["https://one/", "sparse+https://two/x"],
            ),
            ("ssh://git@github.com/a", "ssh://git@github.com/a", &[]),
            ("ssh://git:pw@h/a", "ssh://h/a", &["ssh://h/a"]),
            (
                "ssh://abcdefghijklmnopqrstuvwxyz@h",
                "ssh://h",
                &["ssh://h"],
            ),
            ("http://u:p@w@h/", "http://h/", &["http://h/"]),
        ] {
            let stripped = stripped.iter().map(|&text| text.into()).collect();
            assert_eq!(cleaned(text), Some((clean.to_owned(), stripped)), "{text}");
        }
    }

    #[test]
    fn address_with_token_in_path_is_refused() {
        for text in [
            "https://dl.cloudsmith.io/aB3dE6gH9jK2mN5p/corp/npm/",
            "https://conda.anaconda.org/t/short/channel",
            "https://h/x/123e4567-e89b-12d3-a456-426614174000/simple",
            "https://h/#aB3dE6gH9jK2mN5p",
        ] {
            assert_eq!(cleaned(text), None, "{text}");
        }
        for text in [
            "https://h/artifactory/api/npm/npm-remote-2024/",
            "https://h/abcdefghijklmnopqrstuvwxyz/",
            "https://h/t/",
        ] {
            assert_eq!(cleaned(text), Some((text.to_owned(), Vec::new())), "{text}");
        }
    }

    #[test]
    fn stand_in_replaces_password() {
        let give = |address: &str| (address == "https://h/simple").then(|| "STAND".to_owned());
        let text = |text| clean(text, &give).map(|clean| clean.text);
        assert_eq!(
            text("https://ann:secret@h/simple").unwrap(),
            "https://ann:STAND@h/simple"
        );
        assert_eq!(
            text("https://tok@h/simple").unwrap(),
            "https://STAND@h/simple"
        );
        assert_eq!(text("https://a:b@other/").unwrap(), "https://other/");
    }
}
