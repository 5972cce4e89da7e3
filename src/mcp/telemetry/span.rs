//! A span that has ended.

use std::borrow::Cow;

use crate::protocol::TraceContext;

/// Failure of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// `error.type`: of few kinds.
    pub kind: Cow<'static, str>,
    /// Description of the failure.
    pub message: String,
}

#[derive(Debug)]
pub struct Span {
    /// 16 bytes as lower-case hexadecimal.
    pub trace: String,
    /// 8 bytes as lower-case hexadecimal.
    pub id: String,
    /// Trace context of the caller in another process.
    pub context: Option<TraceContext>,
    pub name: String,
    /// Nanoseconds since 1970.
    pub begun_ns: u64,
    /// Nanoseconds since 1970.
    pub ended_ns: u64,
    /// Names and texts, in order.
    pub attributes: Vec<(&'static str, Cow<'static, str>)>,
    /// Failure, if any.
    pub failure: Option<Failure>,
}
