//! The parts of a client's message that decide about it.

use serde_json::Value;

/// A request of a client to the MCP endpoint.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClientRequest {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) tool: Option<String>,
    /// `true` if the request names a session.
    pub(crate) has_session: bool,
}

impl ClientRequest {
    /// Reads a message; `None` for anything but a single request with an id.
    pub(crate) fn of(message: &Value, has_session: bool) -> Option<Self> {
        let method = message["method"].as_str()?.to_owned();
        let id = message.get("id").filter(|id| !id.is_null())?.clone();
        let tool = tool(message).map(str::to_owned);
        Some(Self {
            id,
            method,
            tool,
            has_session,
        })
    }

    /// Returns true for the requests that begin a connection.
    pub(crate) fn is_handshake(&self) -> bool {
        ["initialize", "server/discover"].contains(&&*self.method)
    }
}

/// Returns the tools that a message or a batch calls.
pub(crate) fn tools(message: &Value) -> Vec<&str> {
    let members = message
        .as_array()
        .map_or(std::slice::from_ref(message), Vec::as_slice);
    members.iter().filter_map(tool).collect()
}

fn tool(message: &Value) -> Option<&str> {
    let name = message["params"]["name"].as_str();
    name.filter(|_| message["method"] == "tools/call")
}
