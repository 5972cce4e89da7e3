//! The parts of a client's message that decide about it.

use serde_json::Value;

/// A request of a client to the MCP endpoint.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClientRequest {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) tool: Option<String>,
}

impl ClientRequest {
    /// Reads the body of a POST; `None` for anything but a single request with an id.
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let message: Value = serde_json::from_slice(body).ok()?;
        let method = message["method"].as_str()?.to_owned();
        let id = message.get("id").filter(|id| !id.is_null())?.clone();
        let tool = message["params"]["name"]
            .as_str()
            .filter(|_| method == "tools/call");
        Some(Self {
            id,
            tool: tool.map(str::to_owned),
            method,
        })
    }

    /// Returns true for the requests that begin a connection.
    pub(crate) fn is_handshake(&self) -> bool {
        ["initialize", "server/discover"].contains(&&*self.method)
    }
}
