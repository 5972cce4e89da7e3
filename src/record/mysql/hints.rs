//! What a state says of which it is not sure that it matters.

use std::borrow::Cow;

use super::packet::{self, command};
use crate::record::state::HINT;

/// Names and values in a state.
pub(in crate::record) fn said_in_state(state: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let parts = packet::payload(state).split(|byte| *byte == 0).skip(1);
    parts.filter_map(|part| part.iter().position(|byte| *byte == b'=').map(|at| (&part[..at], &part[at + 1..])))
}

/// A state without hints, if it says anything else.
pub(in crate::record) fn firm(state: &[u8]) -> Option<Cow<'_, [u8]>> {
    let mut parts = packet::payload(state).split(|byte| *byte == 0);
    let database = parts.next().unwrap_or_default();
    let kept: Vec<&[u8]> = parts.filter(|part| !part.starts_with(HINT.as_bytes())).collect();
    let is_empty = kept.is_empty() && database == [command::INIT_DB];
    (!is_empty).then(|| Cow::Owned(packet::message(0, &[&[database], kept.as_slice()].concat().join(&0))))
}
