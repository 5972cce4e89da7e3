//! Tokens that are known by their shape, wherever they stand: in fields without a telling name, in messages that name nothing,
//! such as those of gRPC, in values of databases, in answers. What stands for one is as long as it was, so lengths beside it
//! still hold.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;

use super::names::is_random;
use super::placeholder::{STAND_IN, known};
use super::walk::{Edit, Form, Replace, Secret};

/// How tokens of a service begin, and fewest bytes that follow (documentation of GitHub, GitLab, Stripe, Slack, AWS, Google,
/// `SendGrid`, npm, `PyPI`, `RubyGems`, Docker Hub, `DigitalOcean`, Vault, Shopify, Anthropic, `OpenAI`, Hugging Face, Groq,
/// xAI, Replicate, Doppler, `PlanetScale`, age, Databricks, Atlassian, Linear, Figma, Notion, Postman, New Relic, Grafana, Sentry, Square, Supabase, Twilio).
const BEGINNINGS: [(&str, usize); 62] = [
    ("ghp_", 36),
    ("gho_", 36),
    ("ghu_", 36),
    ("ghs_", 36),
    ("ghr_", 36),
    ("github_pat_", 40),
    ("glpat-", 20),
    ("gldt-", 20),
    ("glrt-", 20),
    ("sk_live_", 16),
    ("rk_live_", 16),
    ("sk_test_", 16),
    ("rk_test_", 16),
    ("whsec_", 24),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("xoxa-", 20),
    ("xoxr-", 20),
    ("xoxe.", 20),
    ("xapp-", 20),
    ("AIza", 35),
    ("ya29.", 20),
    ("GOCSPX-", 24),
    ("SG.", 40),
    ("npm_", 36),
    ("pypi-", 40),
    ("rubygems_", 40),
    ("dckr_pat_", 24),
    ("dop_v1_", 40),
    ("hvs.", 24),
    ("hvb.", 24),
    ("shpat_", 32),
    ("shpss_", 32),
    ("shpca_", 32),
    ("shppa_", 32),
    ("sk-ant-", 24),
    ("sk-proj-", 24),
    ("sk-svcacct-", 24),
    ("sk-", 40),
    ("hf_", 30),
    ("xai-", 40),
    ("r8_", 32),
    ("dp.pt.", 40),
    ("pscale_pw_", 32),
    ("AGE-SECRET-KEY-1", 50),
    ("gsk_", 40),
    ("dapi", 32),
    ("ATATT3x", 40),
    ("lin_api_", 32),
    ("figd_", 32),
    ("ntn_", 40),
    ("secret_", 43),
    ("PMAK-", 40),
    ("NRAK-", 27),
    ("glsa_", 32),
    ("sntrys_", 40),
    ("sq0atp-", 22),
    ("sq0csp-", 40),
    ("sbp_", 40),
    ("EAAA", 56),
    ("SK", 32),
    ("-----BEGIN ", 0),
];
/// Those of them whose tokens are hexadecimal: what follows has no other letters, and no more digits.
const HEXADECIMAL: [&str; 4] = ["SK", "dapi", "shpat_", "sbp_"];
/// Those that words may begin with: they count where they stand alone and are followed by what nobody chose.
const LIKE_WORDS: [&str; 8] = ["xai-", "r8_", "sk-", "hf_", "gsk_", "ntn_", "secret_", "EAAA"];
/// Keys of AWS: so many letters in upper case and digits follow, and nothing more.
const AWS: [&str; 2] = ["AKIA", "ASIA"];
const AWS_BYTES: usize = 16;
/// What is said before credentials (RFC 6750, 2.1; RFC 7617, 2), without its first letter, which may be a capital.
const SCHEMES: [&str; 2] = ["earer ", "asic "];
/// How a JSON object begins in base64url.
const OBJECT: &str = "eyJ";
/// Fewest bytes of any of them.
const SHORTEST_BYTES: usize = 20;
/// The first two bytes of any of them, a bit for each: every text of a call is searched for all of them at once.
static STARTS: LazyLock<Box<[u64; 1024]>> = LazyLock::new(|| {
    let mut bits = Box::new([0; 1024]);
    for begin in BEGINNINGS.iter().map(|(begin, _)| *begin).chain(AWS).chain(["Be", "be", "Ba", "ba", OBJECT]) {
        let pair = pair(begin.as_bytes());
        bits[pair / 64] |= 1 << (pair % 64);
    }
    bits
});
/// Bytes of what may be a token in which it is seen whether somebody chose it.
const MOST_OF_TOKEN: usize = 512;
/// Fewest bytes of credentials that are replaced: nothing shorter can stand for them.
const CREDENTIALS_BYTES: usize = 13;
/// Fewest bytes of a signature of a JSON web token that is replaced.
const SIGNATURE_BYTES: usize = 16;

/// The same with others in place of tokens. `named` is the same without the secrets that have a name: no token stands in one.
pub(super) fn replaced(bytes: &[u8], named: impl FnOnce() -> Option<Vec<u8>>, replace: Replace<'_>) -> Option<Vec<u8>> {
    let found = places(bytes);
    if found.is_empty() {
        return None;
    }
    let others = named();
    let others: Option<HashSet<&[u8]>> =
        others.as_deref().map(|others| places(others).into_iter().map(|at| &others[at]).collect());
    let mut edit = Edit::new(bytes);
    for at in found {
        let value = &bytes[at.clone()];
        if others.as_ref().is_none_or(|others| others.contains(value)) {
            edit.put(at, replace(&Secret { name: "token", value, form: Form::Token, guessable: false, place: 0 }));
        }
    }
    edit.end()
}

/// The part of a token that is replaced; the rest says what it is.
pub(super) fn tail(token: &[u8]) -> Option<&[u8]> {
    let beginnings = BEGINNINGS.iter().map(|(begin, _)| *begin).chain(AWS);
    beginnings.into_iter().find(|begin| begins(token, begin)).map(|begin| &token[begin.len()..])
}

/// Whether a text begins with this, which most do not: so the first bytes are looked at first.
fn begins(text: &[u8], begin: &str) -> bool {
    text.first_chunk::<2>().is_some_and(|two| begin.as_bytes().starts_with(two)) && text.starts_with(begin.as_bytes())
}

fn pair(bytes: &[u8]) -> usize {
    usize::from(bytes[0]) << 8 | usize::from(bytes[1])
}

/// Where tokens are, in their order.
fn places(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    if bytes.len() < SHORTEST_BYTES {
        return found;
    }
    let starts = &**STARTS;
    let mut runs = Runs::default();
    let mut end = 0;
    for (at, two) in bytes.windows(2).enumerate() {
        let pair = pair(two);
        if at >= end
            && starts[pair / 64] & (1 << (pair % 64)) != 0
            && let Some(token) = token(bytes, at, &mut runs)
        {
            end = token.end;
            found.push(token);
        }
    }
    found
}

/// The token that begins here, the longest; of credentials what follows their scheme.
fn token(bytes: &[u8], at: usize, runs: &mut Runs) -> Option<Range<usize>> {
    let rest = &bytes[at..];
    let named = BEGINNINGS.iter().filter(|(begin, _)| begins(rest, begin));
    let service = named.filter_map(|(begin, fewest)| of_service(bytes, at, begin, *fewest, runs));
    let service = service.max_by_key(|at| at.end);
    let aws = || AWS.iter().any(|begin| rest.starts_with(begin.as_bytes())).then(|| of_aws(bytes, at)).flatten();
    let json = || rest.starts_with(OBJECT.as_bytes()).then(|| web_token(bytes, at, runs)).flatten();
    service.or_else(aws).or_else(json).or_else(|| credentials(bytes, at))
}

/// Runs of the letters of tokens, the last few that were met: texts may begin like a token at every other letter of one.
#[derive(Default)]
struct Runs {
    /// From where to where, and whether points are letters.
    met: [(Range<usize>, bool); MOST_PARTS],
    next: usize,
}

/// Parts of a token, each a run.
const MOST_PARTS: usize = 3;

impl Runs {
    /// Where the run ends that goes on here.
    fn end(&mut self, bytes: &[u8], start: usize, has_dots: bool) -> usize {
        let goes_on = |(run, dots): &&(Range<usize>, bool)| *dots == has_dots && run.contains(&start);
        if let Some((run, _)) = self.met.iter().find(goes_on) {
            return run.end;
        }
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte) || has_dots && **byte == b'.';
        let end = start + bytes[start..].iter().take_while(is_part).count();
        self.met[self.next % MOST_PARTS] = (start..end, has_dots);
        self.next += 1;
        end
    }
}

fn of_service(bytes: &[u8], at: usize, begin: &str, fewest: usize, runs: &mut Runs) -> Option<Range<usize>> {
    let start = at + begin.len();
    if fewest == 0 {
        return private_key(bytes, start);
    }
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_alone = || !at.checked_sub(1).is_some_and(|before| is_word(&bytes[before]));
    if bytes[start..].starts_with(STAND_IN.as_bytes()) {
        let is_part = |byte: &&u8| byte.is_ascii_hexdigit() || **byte == b'-';
        let digits = bytes[start + STAND_IN.len()..].iter().take_while(is_part).count();
        let length = STAND_IN.len() + digits;
        return (length >= fewest).then_some(at..start + length);
    }
    let is_hexadecimal = HEXADECIMAL.contains(&begin);
    let has_dots = begin.ends_with('.');
    let token = &bytes[start..runs.end(bytes, start, has_dots)];
    let good = if is_hexadecimal {
        is_alone() && token.len() == fewest && token.iter().all(u8::is_ascii_hexdigit)
    } else if LIKE_WORDS.contains(&begin) {
        is_alone() && token.len() >= fewest && is_random(&token[..token.len().min(MOST_OF_TOKEN)])
    } else {
        token.len() >= fewest
    };
    good.then_some(at..start + token.len())
}

fn of_aws(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at + AWS[0].len();
    let key = bytes.get(start..start + AWS_BYTES)?;
    let is_key = key.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let ends = !bytes.get(start + AWS_BYTES).is_some_and(u8::is_ascii_alphanumeric);
    (is_key && ends || key.starts_with(STAND_IN.as_bytes())).then_some(at..start + AWS_BYTES)
}

/// What follows the scheme of authentication that begins here, if nobody chose it: `Basic` and `Bearer` are also words.
fn credentials(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let is_alone = !at.checked_sub(1).is_some_and(|before| bytes[before].is_ascii_alphanumeric());
    let rest = &bytes[at + 1..];
    let scheme = SCHEMES.iter().position(|scheme| rest.starts_with(scheme.as_bytes())).filter(|_| is_alone)?;
    let start = at + 1 + SCHEMES[scheme].len();
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte);
    let length = bytes[start..].iter().take_while(is_part).count();
    let value = &bytes[start..start + length];
    let value = value.strip_suffix(b".").unwrap_or(value);
    let is_secret = || if scheme == 0 { is_random(value) } else { is_pair(value) };
    (value.len() >= CREDENTIALS_BYTES && (known(value).is_some() || is_secret())).then_some(start..start + value.len())
}

/// Whether this is a user and a password in base64 (RFC 7617, 2).
fn is_pair(value: &[u8]) -> bool {
    let plain = STANDARD.decode(value).ok().and_then(|plain| String::from_utf8(plain).ok());
    plain.is_some_and(|plain| plain.contains(':') && !plain.contains(char::is_control))
}

/// A JSON web token that begins here (RFC 7515, 7.1).
fn web_token(bytes: &[u8], at: usize, runs: &mut Runs) -> Option<Range<usize>> {
    let mut part = |start: usize| runs.end(bytes, start, false);
    let head = part(at);
    let claims = part((bytes.get(head) == Some(&b'.')).then_some(head + 1)?);
    let end = part((bytes.get(claims) == Some(&b'.')).then_some(claims + 1)?);
    let is_long = end - claims > SIGNATURE_BYTES && bytes[head + 1..].starts_with(OBJECT.as_bytes());
    (is_long && bytes.get(end) != Some(&b'.')).then_some(at..end)
}

/// What is between the lines of a private key (RFC 7468), whose first line goes on here.
fn private_key(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    const KEY: &[u8] = b"PRIVATE KEY-----";
    const END: &[u8] = b"-----END ";
    let line = &bytes[start..bytes.len().min(start + 40)];
    let from = start + memmem::find(line, KEY)? + KEY.len();
    let length = memmem::find(&bytes[from..], END).unwrap_or(bytes.len() - from);
    let inside = &bytes[from..from + length];
    // Line ends stay, also those that are written as escapes.
    let is_end = |byte: &u8| byte.is_ascii_whitespace();
    let skipped = inside.iter().take_while(|byte| is_end(byte)).count();
    let skipped = if inside.starts_with(br"\r\n") {
        4
    } else if inside.starts_with(br"\n") {
        2
    } else {
        skipped
    };
    (length > skipped + SIGNATURE_BYTES).then_some(from + skipped..from + length)
}
