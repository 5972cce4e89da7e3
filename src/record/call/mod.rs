//! One call in memory, and what calls tell of the servers that they went to.

mod exchange;
mod link;
mod outline;
mod refusal;

pub use exchange::{
    Content, Dns, End, Exchange, Http, HttpRequest, HttpResponse, HttpVersion, Message, Protocol,
    Side, Target, Wire,
};
pub use link::Link;
pub use outline::{Outline, Said};
pub use refusal::Refusal;
