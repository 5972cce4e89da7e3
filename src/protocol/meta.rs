//! `params._meta`: the progress token, and the fields that make a request stateless.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::Id;

/// Key under which every stateless result names the server (2026-07-28, basic/index.mdx).
pub const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The members this server reads; others are allowed and ignored.
#[derive(Debug, Default, Deserialize)]
pub struct Meta<'a> {
    /// Set by a client that wants progress: a string or an integer, like an id.
    #[serde(rename = "progressToken", default)]
    pub progress_token: Option<Id>,
    /// Present on every stateless request; its presence is what makes one.
    #[serde(rename = "io.modelcontextprotocol/protocolVersion", borrow, default)]
    pub protocol_version: Option<&'a RawValue>,
    /// Required beside the version.
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities", borrow, default)]
    pub client_capabilities: Option<&'a RawValue>,
    /// Least severity of log messages wanted for this request (2026-07-28).
    #[serde(rename = "io.modelcontextprotocol/logLevel", borrow, default)]
    pub log_level: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Holder<'a> {
    #[serde(rename = "_meta", borrow, default)]
    meta: Option<Meta<'a>>,
}

impl<'a> Meta<'a> {
    /// Reads `_meta` out of `params`. Fails, with the reason, when it is there and is not what the specification says.
    pub fn of(params: Option<&'a RawValue>) -> Result<Self, String> {
        let Some(params) = params else { return Ok(Self::default()) };
        let text = params.get();
        // Most handshake requests have none; one search is cheaper than a parse.
        if memchr::memmem::find(text.as_bytes(), b"\"_meta\"").is_none() {
            return Ok(Self::default());
        }
        serde_json::from_str::<Holder<'a>>(text)
            .map(|holder| holder.meta.unwrap_or_default())
            .map_err(|error| format!("`_meta` cannot be read: {error}"))
    }
}
