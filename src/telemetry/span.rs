//! A span that has ended.

use std::borrow::Cow;

use crate::protocol::TraceContext;

/// That a request did not go well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// `error.type`: of few kinds.
    pub kind: Cow<'static, str>,
    /// What is said about it.
    pub message: String,
}

#[derive(Debug)]
pub struct Span {
    /// 16 bytes as lower-case hexadecimal.
    pub trace: String,
    /// 8 bytes as lower-case hexadecimal.
    pub id: String,
    /// Who asked, in another process.
    pub context: Option<TraceContext>,
    pub name: String,
    /// Nanoseconds since 1970.
    pub begun_ns: u64,
    /// Nanoseconds since 1970.
    pub ended_ns: u64,
    /// Names and texts, in order.
    pub attributes: Vec<(&'static str, Cow<'static, str>)>,
    /// Whether it went well.
    pub failure: Option<Failure>,
}
