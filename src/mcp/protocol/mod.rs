//! Wire format: JSON-RPC 2.0 messages and the five MCP revisions. Independent of disk and tools.

mod code;
mod headers;
mod json;
mod message;
mod meta;
mod render;
mod reply;
mod revision;
mod syntax;
mod trace;

pub use code::Code;
pub use headers::Mirrored;
pub use json::escape_into;
pub use message::{Id, Incoming, Refusal, Request, Response, parse};
pub use meta::{Meta, SERVER_INFO_KEY};
pub use render::{notification, render, rendered_length, reply_length};
pub use reply::{
    Body, Content, Outcome, ReplyForm, RpcError, ToolReply, Unsent, outside, with_notes,
};
pub use revision::Revision;
pub use syntax::fault;
pub use trace::TraceContext;
