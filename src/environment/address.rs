//! Addresses in texts: what may be a login or a token is taken out, or refuses the text.

/// Shortest part of a text that may be a token, in bytes.
const MIN_TOKEN_BYTES: usize = 16;
/// Most addresses of one text.
const MAX_ADDRESSES: usize = 32;
/// Words that name a secret in a text such as `--password x` or `token=x`.
const SECRET_WORDS: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "token",
    "secret",
    "authorization",
    "credential",
    "api-key",
    "apikey",
    "api_key",
    "-key",
];

/// A text whose addresses have no login.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CleanText {
    pub(crate) text: String,
    /// Addresses that lost a login, in order.
    pub(crate) stripped: Vec<String>,
    /// Scheme and host of each address, with its port.
    pub(crate) origins: Vec<String>,
}

/// Takes login, query and fragment out of each address of a text. `stand_in` may give another
/// password for scheme and host. Returns `None` if the text may hold a secret in another form.
pub(crate) fn clean(text: &str, stand_in: &dyn Fn(&str) -> Option<String>) -> Option<CleanText> {
    let mut clean = CleanText {
        text: String::new(),
        stripped: Vec::new(),
        origins: Vec::new(),
    };
    if names_secret(text) {
        return None;
    }
    let mut rest = text;
    while !rest.is_empty() {
        let blanks = rest.len() - rest.trim_start().len();
        let (blank, behind) = rest.split_at(blanks);
        let end = behind.find(char::is_whitespace).unwrap_or(behind.len());
        let (word, after) = behind.split_at(end);
        clean.text.push_str(blank);
        if word.contains("://") {
            // A list, as of GOPROXY.
            for piece in word.split_inclusive([',', '|']) {
                let piece_end = piece.trim_end_matches([',', '|']).len();
                clean.add_address(&piece[..piece_end], stand_in)?;
                clean.text.push_str(&piece[piece_end..]);
            }
        } else {
            let may_be_login = word
                .split_once('@')
                .is_some_and(|(before, _)| before.contains([':', '%']));
            if may_be_login || has_token(word) {
                return None;
            }
            clean.text.push_str(word);
        }
        rest = after;
    }
    (clean.origins.len() <= MAX_ADDRESSES).then_some(clean)
}

impl CleanText {
    /// Adds a word of an address; `None` if it is not understood, or may hold a token.
    fn add_address(&mut self, word: &str, stand_in: &dyn Fn(&str) -> Option<String>) -> Option<()> {
        let Some((before, address)) = word.split_once("://") else {
            if word.contains(['@', ':', '%', '/']) || has_token(word) {
                return None;
            }
            self.text.push_str(word);
            return Some(());
        };
        let is_of_scheme = |char: char| char.is_ascii_alphanumeric() || "+-.".contains(char);
        let scheme = before.rsplit(|char| !is_of_scheme(char)).next()?;
        let before = &before[..before.len() - scheme.len()];
        if has_token(before) || before.contains('@') || address.contains("://") {
            return None;
        }
        let end = address.find(['/', '?', '#']).unwrap_or(address.len());
        let (authority, path) = address.split_at(end);
        let path = path.split(['?', '#', ';']).next().unwrap_or_default();
        let (login, host) = match authority.rsplit_once('@') {
            Some((login, host)) => (Some(login), host),
            None => (None, authority),
        };
        // A password with a `/` ends the authority early.
        let has_late_login = path
            .split('/')
            .any(|part| part.find('@').is_some_and(|at| at > 0));
        let is_local = scheme.eq_ignore_ascii_case("file") && authority.is_empty();
        if !(is_host(host) || is_local) || has_late_login || path.contains(['=', '%', '\\', '"']) {
            return None;
        }
        if has_token(path) || has_token(host) {
            return None;
        }
        self.text.push_str(before);
        self.text.push_str(scheme);
        self.text.push_str("://");
        if let Some(login) = login {
            let address = format!("{scheme}://{host}{path}");
            if let Some(password) = stand_in(origin(&address)) {
                if let Some((user, _)) = login.split_once(':') {
                    self.text.push_str(user);
                    self.text.push(':');
                }
                self.text.push_str(&password);
                self.text.push('@');
            }
            self.stripped.push(address);
        }
        self.text.push_str(host);
        self.text.push_str(path);
        if !host.is_empty() {
            let address = format!("{scheme}://{host}");
            self.origins.push(origin(&address).to_owned());
        }
        Some(())
    }
}

/// Returns scheme, host and port of an address, without what cargo and pip put before the scheme.
pub(crate) fn origin(address: &str) -> &str {
    let Some(at) = address.find("://") else {
        return address;
    };
    let start = address[..at].rfind('+').map_or(0, |plus| plus + 1);
    let host = at + "://".len();
    let end = address[host..].find('/');
    &address[start..end.map_or(address.len(), |end| host + end)]
}

/// Returns true for a host name or address, with or without a port.
fn is_host(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) => (address, port.strip_prefix(':')),
            None => return false,
        },
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
    !name.is_empty()
        && name.bytes().all(is_of_name)
        && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

/// Returns true if a text gives a value to a word that names a secret.
fn names_secret(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let gives = lower.contains(['=', ' ', '\n']);
    lower.contains("private key") || (gives && SECRET_WORDS.iter().any(|word| lower.contains(word)))
}

/// Returns true if a part of a text looks like a token: long with letters and digits, a UUID, or
/// behind `/t/`, as at conda and Cloudsmith.
pub(crate) fn has_token(text: &str) -> bool {
    let parts: Vec<&str> = text.split(['/', '#', '=', ':', ';', '@', ',']).collect();
    let behind_t = parts
        .windows(2)
        .any(|pair| pair[0] == "t" && !pair[1].is_empty());
    behind_t || parts.iter().any(|part| is_token(part) || is_uuid(part))
}

fn is_token(part: &str) -> bool {
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
                "https://npm.corp:8443/@acme/x",
                "https://npm.corp:8443/@acme/x",
                &[],
            ),
            (
                "https://ann:pw@npm.corp/a/?key=1 x",
                "https://npm.corp/a/ x",
                &["https://npm.corp/a/"],
            ),
            ("https://token@h#frag", "https://h", &["https://h"]),
            (
                "https://one/,direct|https://two/x;y",
                "https://one/,direct|https://two/x",
                &[],
            ),
            (
                "sparse+https://a:b@h/x",
                "sparse+https://h/x",
                &["sparse+https://h/x"],
            ),
            (
                "SSH://git@github.com/a",
                "SSH://github.com/a",
                &["SSH://github.com/a"],
            ),
            ("http://[::1]:80/", "http://[::1]:80/", &[]),
            ("file:///usr/share", "file:///usr/share", &[]),
            ("git@github.com:a/b.git", "git@github.com:a/b.git", &[]),
            ("ann@work.example", "ann@work.example", &[]),
        ] {
            let stripped = stripped.iter().map(|&text| text.into()).collect();
            assert_eq!(cleaned(text), Some((clean.to_owned(), stripped)), "{text}");
        }
    }

    #[test]
    fn text_with_possible_secret_is_refused() {
        for text in [
            "https://dl.cloudsmith.io/aB3dE6gH9jK2mN5p/corp/npm/",
            "https://conda.anaconda.org/t/short/channel",
            "h/t/short/channel",
            "https://h/x/123e4567-e89b-12d3-a456-426614174000/simple",
            "123e4567-e89b-12d3-a456-426614174000",
            "https://ann:Tr0ub4|dor@npm.corp/",
            "https://ann:pa,ss@h/",
            "https://ann:pa/ss@h/",
            "https://ann:pa?ss@h/",
            "https://ann:pa ss@h/",
            "https://a.b/x@b:pw@c",
            "//ann:pw@h",
            "ann:pw@h",
            "https:/ann:pw@h",
            "https:///ann:pw@h",
            "https%3A%2F%2Fann:pw@h",
            "https://h/?a,ghp_1234567890abcdefghijABCD",
            "https://h/a=b",
            "-Djavax.net.ssl.keyStorePassword=hunter2",
            "-c http.extraHeader='Authorization: Basic YW5uOnB3' fetch",
            "tool --token abc",
            "-----BEGIN RSA PRIVATE KEY-----",
        ] {
            assert_eq!(cleaned(text), None, "{text}");
        }
        for text in [
            "https://h/artifactory/api/npm/npm-remote-2024/",
            "https://h/abcdefghijklmnopqrstuvwxyz/",
            "https://h/t/",
            "cargo:token",
        ] {
            assert_eq!(cleaned(text), Some((text.to_owned(), Vec::new())), "{text}");
        }
    }

    #[test]
    fn stand_in_replaces_password() {
        let give = |origin: &str| (origin == "https://h").then(|| "STAND".to_owned());
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
