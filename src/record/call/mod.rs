//! One call in memory, and what calls tell of the servers that they went to.

mod exchange;
mod link;
mod outline;
mod silence;

pub use exchange::{
    Content, Dns, Exchange, Http, HttpRequest, HttpResponse, HttpVersion, Message, Protocol, Side, Target, Wire,
};
pub use link::Link;
pub use outline::{Outline, Refusal, Said, is_no_call};
pub use silence::Silence;
