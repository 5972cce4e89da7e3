//! Receiver of events outside the protocol.

use std::sync::Arc;

use replay_mock::HttpEvent;
use serde_json::Value;

/// Receives events outside the protocol, each with its parameters.
pub type Note = Arc<dyn Fn(HttpEvent, Value) + Send + Sync>;
