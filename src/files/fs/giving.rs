//! Creates names only where they are allowed at that moment.

use super::error::FsError;

/// Checks before and after the name is created. Removes it again if the directory was moved
/// meanwhile to a place where the name is refused.
pub(super) fn give<T>(
    may: impl Fn() -> Result<(), FsError>,
    give: impl FnOnce() -> Result<T, FsError>,
    take_back: impl FnOnce(T) -> Result<(), FsError>,
) -> Result<T, FsError> {
    may()?;
    #[cfg(test)]
    meanwhile::happen();
    let given = give()?;
    let Err(error) = may() else { return Ok(given) };
    take_back(given)?;
    Err(error)
}

/// Simulated changes by others between check and change, for tests.
#[cfg(test)]
pub(super) mod meanwhile {
    use std::cell::RefCell;

    thread_local!(static NEXT: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) });

    pub(in crate::fs) fn does(next: impl FnOnce() + 'static) {
        NEXT.set(Some(Box::new(next)));
    }

    pub(super) fn happen() {
        if let Some(next) = NEXT.take() {
            next();
        }
    }
}
