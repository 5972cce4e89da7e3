//! What happens outside the protocol.

use std::sync::Arc;

use serde_json::Value;

/// Receives what happens outside the protocol, as a method and its parameters.
pub type Note = Arc<dyn Fn(&str, Value) + Send + Sync>;
