//! Data model of recorded calls, and the properties of servers derived from them.

mod exchange;
mod framing;
mod link;
mod outline;
mod refusal;
mod statement_meta;

pub use exchange::{
    BodyEnd, Content, Dns, End, Exchange, Http, HttpRequest, HttpResponse, HttpVersion, Message,
    Protocol, Side, Target, Wire,
};
pub use framing::Framing;
pub use link::Link;
pub use outline::{FirstMessages, Outline};
pub use refusal::Refusal;
pub use statement_meta::StatementMeta;
