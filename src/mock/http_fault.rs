//! Faults of HTTP and of authorization.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use super::problems::nearest;

/// Largest number of a fault: ten minutes in milliseconds.
const MAX_NUMBER: u64 = 600_000;

/// Part of an exchange that a fault changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPlace {
    /// Any request to the MCP endpoint.
    Request,
    /// A request to the MCP endpoint after the handshake.
    LaterRequest,
    /// An answer of the MCP endpoint to a request with an id.
    Answer,
    /// The answer to `initialize`.
    Handshake,
    /// The metadata of the authorization server.
    Metadata,
    /// The authorization endpoint.
    Authorize,
    /// The token endpoint.
    Token,
    /// A token that is issued.
    Issue,
}

impl FaultPlace {
    /// Returns true for the parts of a login.
    pub(crate) fn is_of_authorization(self) -> bool {
        match self {
            Self::Request | Self::LaterRequest | Self::Answer | Self::Handshake => false,
            Self::Metadata | Self::Authorize | Self::Token | Self::Issue => true,
        }
    }
}

macro_rules! faults {
    ($($variant:ident $place:ident $name:literal $number:literal $meaning:literal),* $(,)?) => {
        /// Kind of a fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum HttpFaultKind {
            $(#[doc = $meaning] $variant,)*
        }

        /// Kind, place, name, unit of the number (empty without one), and meaning of each fault.
        const FAULTS: &[(HttpFaultKind, FaultPlace, &str, &str, &str)] = &[
            $((HttpFaultKind::$variant, FaultPlace::$place, $name, $number, $meaning),)*
        ];
    };
}

faults! {
    Unauthorized Request "unauthorized" "" "401, although the token is good",
    RateLimited Request "rate-limited" "SECONDS" "429 with Retry-After",
    BadGateway Request "bad-gateway" "" "502 with a page of HTML",
    Redirect Request "redirect" "" "307 to another origin, which notes what arrives",
    TokenEcho Request "token-echo" "" "401 whose message repeats the token",
    Slow Request "slow" "MS" "the request waits before it goes on",
    Hang Request "hang" "" "no answer, until the client gives up",
    Gone LaterRequest "gone" "" "the connection ends without an answer",
    ForgetSession LaterRequest "forget-session" "" "404: the session does not exist",
    InsufficientScope LaterRequest "insufficient-scope" "" "403: the token lacks a scope, which none has",
    VersionRefused LaterRequest "version-refused" "" "400: the protocol version is not supported",
    HeaderMismatch LaterRequest "header-mismatch" "" "400: a header differs from the message",
    UnknownRevision Handshake "unknown-revision" "" "initialize is answered with a revision that nobody has",
    OddSession Handshake "odd-session" "" "Mcp-Session-Id has every character that it may have",
    Cut Answer "cut" "" "the connection ends in the middle of the answer",
    CutResumable Answer "cut-resumable" "" "a stream ends before its answer, and Last-Event-ID resumes it",
    DuplicateEvent Answer "duplicate-event" "" "the last event of a stream comes twice, with the same id",
    WrongIssuer Metadata "wrong-issuer" "" "the metadata names another issuer",
    LinkLocal Metadata "link-local" "" "the metadata leads to 169.254.169.254",
    MixUp Authorize "mix-up" "" "the code comes with the `iss` of another server",
    OpenRedirect Authorize "open-redirect" "" "the code goes to another origin",
    WrongState Authorize "wrong-state" "" "the code comes with another `state`",
    SlowToken Token "slow-token" "MS" "the token endpoint answers after a delay",
    RefreshFails Token "refresh-fails" "" "a refresh gets `invalid_grant`",
    WrongAudience Issue "wrong-audience" "" "the token is for another resource, which this one refuses",
    ExpiredToken Issue "expired-token" "" "the token has expired by its first use",
}

/// A fault of HTTP or of authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpFault {
    pub kind: HttpFaultKind,
    /// The number in its name, or 0.
    pub number: u64,
}

impl HttpFault {
    pub fn place(self) -> FaultPlace {
        FAULTS[self.kind as usize].1
    }

    /// Returns the name of each fault, as typed, and its meaning.
    pub fn meanings() -> impl Iterator<Item = (String, &'static str)> {
        FAULTS
            .iter()
            .map(|(_, _, name, number, meaning)| (typed(name, number), *meaning))
    }
}

fn typed(name: &str, number: &str) -> String {
    if number.is_empty() {
        name.to_owned()
    } else {
        format!("{name}:{number}")
    }
}

fn names() -> String {
    let names: Vec<String> = HttpFault::meanings().map(|(name, _)| name).collect();
    names.join(", ")
}

impl FromStr for HttpFault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = match text.split_once(':') {
            Some((name, number)) => (name, Some(number)),
            None => (text, None),
        };
        let known = FAULTS.iter().find(|(_, _, known, _, _)| *known == name);
        let Some((kind, _, _, unit, _)) = known else {
            let near = nearest(name, FAULTS.iter().map(|fault| fault.2));
            let names = names();
            return Err(format!(
                "`{text}` is no fault of HTTP{near}; valid: {names}"
            ));
        };
        match (unit.is_empty(), number) {
            (true, Some(_)) => return Err(format!("`{text}` has a number; use `{name}`")),
            (false, None) => return Err(format!("`{text}` lacks {unit}, as in `{name}:2`")),
            _ => {}
        }
        let number = number.map_or(Some(0), |number| {
            number.parse().ok().filter(|number| *number <= MAX_NUMBER)
        });
        number
            .map(|number| Self {
                kind: *kind,
                number,
            })
            .ok_or_else(|| format!("`{text}`: {unit} must be a number, at most {MAX_NUMBER}"))
    }
}

impl fmt::Display for HttpFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, _, name, unit, _) = FAULTS[self.kind as usize];
        f.write_str(name)?;
        if unit.is_empty() {
            Ok(())
        } else {
            write!(f, ":{}", self.number)
        }
    }
}

impl<'de> Deserialize<'de> for HttpFault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for HttpFault {
    fn schema_name() -> Cow<'static, str> {
        "HttpFault".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let patterns: Vec<String> = FAULTS
            .iter()
            .map(|(_, _, name, unit, _)| typed(name, if unit.is_empty() { "" } else { "\\d+" }))
            .collect();
        json_schema!({
            "type": "string",
            "description": format!("One of {}.", names()),
            "pattern": format!("^({})$", patterns.join("|")),
        })
    }
}

/// A fault of HTTP or of authorization, and when it happens.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultRule {
    /// The fault.
    pub fault: HttpFault,
    /// Number of requests with the fault; all by default.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub times: Option<u64>,
    /// Number of matching requests without the fault before the first one with it.
    #[serde(default)]
    pub after: u64,
    /// Only for requests of this method.
    #[serde(default)]
    pub method: Option<String>,
    /// Only for calls of this tool.
    #[serde(default)]
    pub tool: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_names_round_trip() {
        for (index, (kind, ..)) in FAULTS.iter().enumerate() {
            assert_eq!(*kind as usize, index);
        }
        for (name, _) in HttpFault::meanings() {
            let text = name.replace("SECONDS", "2").replace("MS", "30");
            assert_eq!(text.parse::<HttpFault>().unwrap().to_string(), text);
        }
        let number = "`slow-token:x`: MS must be a number, at most 600000";
        assert_eq!("slow-token:x".parse::<HttpFault>(), Err(number.to_owned()));
        for wrong in ["", "slow-token", "cut:1", "slow-token:600001"] {
            assert!(wrong.parse::<HttpFault>().is_err(), "{wrong}");
        }
    }
}
