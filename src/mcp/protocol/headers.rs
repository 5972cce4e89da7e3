//! HTTP headers that mirror fields of the message, so that proxies need not parse the body
//! (2026-07-28, basic/transports/streamable-http.mdx). The server must compare the two. Otherwise a
//! client could pass a proxy's check by a false header.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::code::Code;
use super::message::Request;
use super::reply::RpcError;

/// The mirrored headers, each `None` if absent. A header that occurs twice is not read, and matches
/// nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mirrored<'a> {
    /// `MCP-Protocol-Version`.
    pub version: Option<&'a str>,
    /// `Mcp-Method`.
    pub method: Option<&'a str>,
    /// `Mcp-Name`.
    pub name: Option<&'a str>,
}

#[derive(Deserialize)]
struct NameParams {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    uri: Option<String>,
}

impl Mirrored<'_> {
    /// Compares the headers with a stateless message of the revision `version`. The error is
    /// [`Code::HeaderMismatch`], and names the header.
    pub fn check(&self, request: &Request<'_>, version: &str) -> Result<(), RpcError> {
        expect_header("MCP-Protocol-Version", self.version, version)?;
        expect_header("Mcp-Method", self.method, &request.method)?;
        let Some(name) = name_of(request) else {
            return Ok(());
        };
        let Some(given) = self.name else {
            return expect_header("Mcp-Name", None, &name);
        };
        match decode(given) {
            Some(plain) => expect_header("Mcp-Name", Some(&plain), &name),
            None => Err(RpcError::new(
                Code::HeaderMismatch,
                "the header `Mcp-Name` is no base64 of UTF-8 between =?base64? and ?=",
            )),
        }
    }
}

fn expect_header(header: &str, given: Option<&str>, own: &str) -> Result<(), RpcError> {
    let message = match given {
        Some(given) if given == own => return Ok(()),
        Some(given) => {
            format!(
                "the header `{header}` is `{given}`, and the message says `{own}`; they must be the same"
            )
        }
        None => format!("the header `{header}` is missing; it must be `{own}`, as in the message"),
    };
    Err(RpcError::new(Code::HeaderMismatch, message))
}

/// Returns the `name` or `uri` of the parameters, for the methods that mirror it in `Mcp-Name`.
fn name_of(request: &Request<'_>) -> Option<String> {
    let named: NameParams = serde_json::from_str(request.params.map(RawValue::get)?).ok()?;
    match &*request.method {
        "tools/call" | "prompts/get" => named.name,
        "resources/read" => named.uri,
        _ => None,
    }
}

/// Decodes the form `=?base64?...?=`, which carries values that a header cannot hold as plain text.
fn decode(value: &str) -> Option<String> {
    let Some(inner) = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="))
    else {
        return Some(value.to_owned());
    };
    String::from_utf8(STANDARD.decode(inner).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Incoming, parse};

    fn check_headers(line: &str, headers: Mirrored<'_>) -> Result<(), String> {
        let Incoming::Request(request) = parse(line.as_bytes()) else {
            panic!("a request")
        };
        headers.check(&request, "2026-07-28").map_err(|error| {
            assert_eq!(error.code, Code::HeaderMismatch);
            error.message
        })
    }

    #[test]
    fn mirrored_header_that_differs_is_refused() {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"größe"}}"#;
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let version = Some("2026-07-28");
        let headers = |method, name| Mirrored {
            version,
            method: Some(method),
            name,
        };
        assert_eq!(check_headers(list, headers("tools/list", None)), Ok(()));
        assert_eq!(
            check_headers(call, headers("tools/call", Some("=?base64?Z3LDtsOfZQ==?="))),
            Ok(())
        );
        let missing = |header: &str, own: &str| {
            Err(format!(
                "the header `{header}` is missing; it must be `{own}`, as in the message"
            ))
        };
        assert_eq!(
            check_headers(list, Mirrored::default()),
            missing("MCP-Protocol-Version", "2026-07-28")
        );
        assert_eq!(
            check_headers(
                list,
                Mirrored {
                    version,
                    ..Mirrored::default()
                }
            ),
            missing("Mcp-Method", "tools/list")
        );
        assert_eq!(
            check_headers(call, headers("tools/call", None)),
            missing("Mcp-Name", "größe")
        );
        let other = "the header `Mcp-Name` is `read_file`, and the message says `größe`; they must be the same";
        assert_eq!(
            check_headers(call, headers("tools/call", Some("read_file"))),
            Err(other.to_owned())
        );
        let broken = "the header `Mcp-Name` is no base64 of UTF-8 between =?base64? and ?=";
        assert_eq!(
            check_headers(call, headers("tools/call", Some("=?base64?%?="))),
            Err(broken.to_owned())
        );
    }
}
