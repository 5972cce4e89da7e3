//! What a state says of which it is not sure that it matters.

use std::borrow::Cow;

use super::message::parameters;
use crate::record::state::HINT;

/// Names and values in a state.
pub(in crate::record) fn said_in_state(state: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    parameters(state)
}

/// A state without hints.
pub(in crate::record) fn firm(state: &[u8]) -> Cow<'_, [u8]> {
    let Some(version) = state.get(4..8) else { return Cow::Borrowed(state) };
    let kept = parameters(state).filter(|(name, _)| !name.starts_with(HINT.as_bytes()));
    let body: Vec<u8> = kept.flat_map(|(name, value)| [name, b"\0", value, b"\0"].concat()).collect();
    let length = (body.len() as u32 + 9).to_be_bytes();
    Cow::Owned([&length[..], version, &body, b"\0"].concat())
}
