//! Limits on the work of an edit.

use replay_base::cancel::Bound;
use replay_base::limits::{MAX_EDIT_BYTES, MAX_EDIT_PLACES};
use replay_pattern::PatternError;

use super::error::EditErrorKind;

pub(super) fn check(bound: Bound<'_>) -> Result<(), EditErrorKind> {
    if bound.is_over() {
        return Err(EditErrorKind::TimedOut);
    }
    Ok(())
}

/// Fails if `bytes` of new text are too many.
pub(super) fn fits(bytes: usize) -> Result<(), EditErrorKind> {
    if bytes as u64 > MAX_EDIT_BYTES {
        return Err(EditErrorKind::TooLarge);
    }
    Ok(())
}

/// Fails if there are too many matches.
pub(super) fn few_enough(places: usize) -> Result<(), EditErrorKind> {
    if places > MAX_EDIT_PLACES {
        return Err(EditErrorKind::TooMany);
    }
    Ok(())
}

/// Distinguishes the two limits for which the engine returns the same error.
pub(super) fn out_of_time(error: PatternError, bound: Bound<'_>) -> EditErrorKind {
    check(bound).err().unwrap_or(EditErrorKind::Pattern(error))
}
