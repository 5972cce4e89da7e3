//! Secrets with a known shape. They are found in any text: fields without a telling name, gRPC
//! messages, database statements and values, answers.

use std::ops::Range;
use std::sync::LazyLock;

use regex_automata::meta::{Config, Regex};
use regex_automata::util::captures::Captures;
use regex_automata::util::syntax;
use replay_base::limits::MAX_PATTERN_PROGRAM_BYTES;

use super::stand_in::{is_part, is_placeholder, placeholder};

/// Name and pattern of each shape. The capture group is replaced; the prefix stays, because
/// programs read it. A pattern fails after at most some hundred bytes, or at a byte that cannot
/// begin it again. The search is therefore linear.
pub(super) const SHAPES: [(&str, &str); 69] = [
    ("AWS access key", r"(?:AKIA|ASIA)([0-9A-Z]{16})"),
    (
        "AWS secret key",
        r#"(?:SecretAccessKey|secret_access_key|SECRET_ACCESS_KEY)[\s"'>:=]{1,5}([A-Za-z0-9/+]{40,})"#,
    ),
    (
        "AWS session token",
        r#"(?:SessionToken|session_token|SESSION_TOKEN)[\s"'>:=]{1,5}([A-Za-z0-9/+]{40,}=*)"#,
    ),
    ("AWS Bedrock key", r"ABSK([A-Za-z0-9+/]{100,}=*)"),
    ("Google API key", r"AIza([\w-]{35})"),
    ("Google access token", r"ya29\.([\w.-]{20,})"),
    ("Google client secret", r"GOCSPX-([\w-]{24,})"),
    ("Azure storage key", r"AccountKey=([A-Za-z0-9+/]{20,}=*)"),
    (
        "Azure shared access key",
        r"SharedAccessKey=([A-Za-z0-9+/]{20,}=*)",
    ),
    (
        "Azure client secret",
        r"\b[a-zA-Z0-9_~.]{3}8Q~([\w~.-]{31,34})",
    ),
    (
        "signed address",
        r"(?:X-Amz-Signature|X-Goog-Signature|[?&;]sig|[?&;]Signature)=([\w%~.+/-]{8,})",
    ),
    ("signing caller", r"X-Amz-Security-Token=([\w%~.+/-]{16,})"),
    ("JSON web token", r"\.eyJ[\w-]{8,}\.([\w-]{16,})"),
    ("private key", PRIVATE_KEY),
    (
        "password in an address",
        r#"://[^\s/:@"'<>\\]{0,100}:([^\s/@"'<>\\]{1,200})@"#,
    ),
    ("bearer token", r"\b[Bb]earer ([\w.~+/-]{20,}=*)"),
    ("basic credentials", r"\b[Bb]asic ([A-Za-z0-9+/]{16,}=*)"),
    ("GitHub token", r"gh[pousr]_([A-Za-z0-9]{36,})"),
    ("GitHub fine-grained token", r"github_pat_(\w{40,})"),
    (
        "GitLab token",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-([\w.-]{20,})",
    ),
    ("Bitbucket app password", r"ATBB([A-Za-z0-9]{32})"),
    ("Slack token", r"xox[abeoprs][.-]([\w.-]{20,})"),
    ("Slack app token", r"xapp-([\w-]{20,})"),
    (
        "Slack webhook",
        r"/services/T[A-Z0-9]{6,12}/B[A-Z0-9]{6,12}/([A-Za-z0-9]{20,})",
    ),
    ("Stripe key", r"[rs]k_(?:live|test)_([A-Za-z0-9]{16,})"),
    ("Stripe webhook secret", r"whsec_([A-Za-z0-9+/]{24,}=*)"),
    ("npm token", r"npm_([A-Za-z0-9]{36})"),
    ("npm registry token", r"_authToken=([\w-]{8,})"),
    ("PyPI token", r"pypi-([\w-]{40,})"),
    ("RubyGems key", r"rubygems_([a-f0-9]{40,})"),
    ("crates.io token", r"\bcio([A-Za-z0-9]{32})\b"),
    ("Docker Hub token", r"dckr_[po]at_([\w-]{24,})"),
    ("DigitalOcean token", r"do[opr]_v1_([a-f0-9]{40,})"),
    ("Vault token", r"\bhv[sbr]\.([\w-]{24,})"),
    ("Shopify token", r"shp(?:at|ss|ca|pa)_([a-fA-F0-9]{32})"),
    ("Anthropic key", r"sk-ant-([\w-]{24,})"),
    (
        "OpenAI key",
        r"\bsk-(?:proj-|svcacct-|admin-)?([A-Za-z0-9][\w-]{38,})",
    ),
    ("Hugging Face token", r"\bhf_([A-Za-z0-9]{30,})"),
    ("Groq key", r"\bgsk_([A-Za-z0-9]{40,})"),
    ("xAI key", r"\bxai-([A-Za-z0-9]{40,})"),
    ("Replicate token", r"\br8_([A-Za-z0-9]{32,})"),
    ("SendGrid key", r"\bSG\.([\w-]{16,32}\.[\w-]{16,64})"),
    ("Mailgun key", r"\bkey-([a-f0-9]{32})\b"),
    ("Mailchimp key", r"\b([a-f0-9]{32})-us[0-9]{1,2}\b"),
    ("Twilio key", r"\bSK([a-f0-9]{32})\b"),
    ("Telegram bot", r":AA([\w-]{33})"),
    ("Discord webhook", r"/webhooks/[0-9]{16,20}/([\w-]{60,})"),
    (
        "Discord bot",
        r"\b[MNO][A-Za-z0-9]{23,27}\.[\w-]{6}\.([\w-]{27,40})",
    ),
    ("Square token", r"sq0(?:atp|csp|idp)-([\w-]{22,})"),
    ("Square access token", r"\bEAAA([\w-]{56,})"),
    (
        "PayPal access token",
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$([a-f0-9]{32})",
    ),
    ("Databricks token", r"\bdapi([a-f0-9]{32})"),
    ("Atlassian token", r"ATATT3x([\w=-]{40,})"),
    ("Linear key", r"lin_api_([A-Za-z0-9]{32,})"),
    ("Figma token", r"figd_([\w-]{32,})"),
    ("Notion token", r"\bntn_([A-Za-z0-9]{40,})"),
    ("Postman key", r"PMAK-([a-f0-9-]{40,})"),
    ("New Relic key", r"NRAK-([A-Z0-9]{27})"),
    ("Grafana token", r"gl(?:sa|c)_([\w=+/]{32,})"),
    ("Sentry token", r"sntry[su]_([\w=+/-]{40,})"),
    ("Supabase token", r"\bsbp_([a-f0-9]{40})"),
    ("Doppler token", r"\bdp\.(?:pt|st|ct|sa)\.([\w.-]{40,})"),
    (
        "PlanetScale password",
        r"pscale_(?:pw|tkn|oauth)_([\w.-]{32,})",
    ),
    ("age key", r"AGE-SECRET-KEY-1([A-Z0-9]{50,})"),
    ("Heroku key", r"HRKU-([\w-]{36,})"),
    ("Fly token", r"\bFlyV1 (?:fm[12]_)?([\w+/=,-]{40,})"),
    ("Airtable token", r"\bpat[A-Za-z0-9]{14}\.([a-f0-9]{64})"),
    ("HubSpot token", r"\bpat-(?:na|eu)[0-9]-([a-f0-9-]{36})"),
    (
        "Tailscale key",
        r"tskey-(?:auth|api|client)-([A-Za-z0-9-]{16,})",
    ),
];
/// Lines and line ends, possibly escaped, after optional encryption headers.
const PRIVATE_KEY: &str = r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\r|\\n)*(?:Proc-Type:[^\r\n\\]{0,40}(?:\s|\\r|\\n)+DEK-Info:[^\r\n\\]{0,80}(?:\s|\\r|\\n)+)?([A-Za-z0-9+/][A-Za-z0-9+/=\s\\]{15,})";
/// Password hashes (crypt(5); the PHC string format; frameworks; RFC 5803, 3). They stay in
/// database answers, because programs verify passwords against them.
pub(super) const HASHES: [(&str, &str); 7] = [
    ("bcrypt", r"\$2[abxy]?\$[0-9]{2}\$([A-Za-z0-9./]{22,})"),
    ("Argon2", r"\$argon2(?:id|i|d)\$([\w=,$+/-]{20,})"),
    (
        "crypt",
        r"\$(?:1|5|6|y|gy|7|md5|sha1|scrypt|P|H)\$([A-Za-z0-9./=,$+]{20,})",
    ),
    (
        "Django",
        r"\b(?:pbkdf2_sha(?:1|256)|bcrypt_sha256|argon2|scrypt)\$([A-Za-z0-9./=,$+]{20,})",
    ),
    (
        "Werkzeug",
        r"\b(?:pbkdf2:sha(?:1|256|512)|scrypt):([A-Za-z0-9./=,$+:]{20,})",
    ),
    ("LDAP", r"\{S?SHA(?:256|512)?\}([A-Za-z0-9+/]{20,}=*)"),
    (
        "PostgreSQL SCRAM",
        r"SCRAM-SHA-256\$([A-Za-z0-9+/=:$]{40,})",
    ),
];

static ALL: LazyLock<Shapes> = LazyLock::new(|| Shapes::of(SHAPES.iter().chain(&HASHES)));
static WITHOUT_HASHES: LazyLock<Shapes> = LazyLock::new(|| Shapes::of(SHAPES.iter()));

/// A set of patterns with one combined search.
#[derive(Debug)]
pub(super) struct Shapes(Regex);

impl Shapes {
    fn of<'a>(rows: impl Iterator<Item = &'a (&'static str, &'static str)>) -> Self {
        let patterns: Vec<&str> = rows.map(|(_, pattern)| *pattern).collect();
        // Without a valid table, secrets would be written to disk.
        Self::new(&patterns, false)
            .unwrap_or_else(|(_, reason)| unreachable!("the table of shapes: {reason}"))
    }

    /// Compiles patterns. Fails for an invalid pattern or if the total is too large, with the
    /// pattern's index if known and the reason.
    pub(super) fn new(patterns: &[&str], unicode: bool) -> Result<Self, (Option<usize>, String)> {
        let syntax = syntax::Config::new().unicode(unicode).utf8(false);
        let config = Config::new()
            .utf8_empty(false)
            .nfa_size_limit(Some(MAX_PATTERN_PROGRAM_BYTES));
        let built = Regex::builder()
            .configure(config)
            .syntax(syntax)
            .build_many(patterns);
        built.map(Self).map_err(|error| {
            let reason = error
                .syntax_error()
                .map_or_else(|| error.to_string(), ToString::to_string);
            let reason = reason
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_owned();
            (error.pattern().map(|at| at.as_usize()), reason)
        })
    }

    pub(super) fn built_in(with_hashes: bool) -> &'static Self {
        if with_hashes { &ALL } else { &WITHOUT_HASHES }
    }

    /// Replaces each secret by a placeholder of equal length. Returns true if there was a secret or
    /// a placeholder.
    pub(super) fn replace(&self, bytes: &mut [u8]) -> bool {
        let groups = self.0.captures_iter(&*bytes);
        let secret = |groups: Captures| {
            groups
                .get_group(1)
                .or(groups.get_match().map(|whole| whole.span()))
        };
        let found: Vec<Range<usize>> = groups.filter_map(secret).map(Range::from).collect();
        for at in &found {
            // A pattern may match part of a placeholder.
            if !is_placeholder(&bytes[around(bytes, at)]) {
                let other = placeholder(&bytes[at.clone()]);
                bytes[at.clone()].copy_from_slice(&other);
            }
        }
        !found.is_empty()
    }
}

/// Extends a range to the whole possible placeholder around it.
fn around(bytes: &[u8], at: &Range<usize>) -> Range<usize> {
    /// Maximum number of bytes to extend on either side.
    const MOST_BYTES: usize = 256;
    let before = bytes[at.start.saturating_sub(MOST_BYTES)..at.start]
        .iter()
        .rev()
        .take_while(|byte| is_part(**byte));
    let start = at.start - before.count();
    let after = bytes[at.end..]
        .iter()
        .take(MOST_BYTES)
        .take_while(|byte| is_part(**byte));
    start..at.end + after.count()
}
