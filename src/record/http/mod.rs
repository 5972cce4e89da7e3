//! HTTP as it is spoken: version 1, codings of bodies, and `WebSocket`.

pub(super) mod coding;
pub(super) mod h1;
pub(super) mod websocket;
