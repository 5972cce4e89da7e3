//! HTTP wire formats: HTTP/1, content codings and `WebSocket`.

pub(super) mod coding;
pub(super) mod digest;
pub(super) mod h1;
pub(super) mod websocket;
