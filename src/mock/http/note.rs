//! Receiver of events outside the protocol.

use std::sync::Arc;

use serde_json::Value;

/// Receives events outside the protocol, each as a method and its parameters.
pub type Note = Arc<dyn Fn(&str, Value) + Send + Sync>;
