//! Outcomes of attempts.

use std::io;

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

/// Outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It had its effect; what that was.
    Through(String),
    /// It was refused: the name of the error, or what was found instead of the effect.
    Held(String),
    /// There is nothing here to try it on, or somebody with more rights must; why.
    NotPossible(String),
}

/// Reason that an attempt did not get through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// See [`Outcome::Held`].
    Held(String),
    /// See [`Outcome::NotPossible`].
    NotPossible(String),
}

/// Result of an attempt: its effect, or the reason that it was stopped.
pub type Try = Result<String, Stopped>;

impl From<Try> for Outcome {
    fn from(tried: Try) -> Self {
        match tried {
            Ok(effect) => Self::Through(effect),
            Err(Stopped::Held(why)) => Self::Held(why),
            Err(Stopped::NotPossible(why)) => Self::NotPossible(why),
        }
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Held(error_name(&error))
    }
}

impl From<rustix::io::Errno> for Stopped {
    fn from(error: rustix::io::Errno) -> Self {
        io::Error::from(error).into()
    }
}

impl From<Errno> for Stopped {
    fn from(error: Errno) -> Self {
        io::Error::from(error).into()
    }
}

/// `EACCES` and the like; the text of an error that did not come from the kernel.
pub(super) fn error_name(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(
        || error.to_string(),
        |number| format!("{:?}", Errno::from_raw(number)),
    )
}

/// The end of an attempt whose call alone is the effect.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the end of an attempt, as the two below are"
)]
pub(super) fn through(effect: impl Into<String>) -> Try {
    Ok(effect.into())
}

/// The end of an attempt whose call worked without the effect.
pub(super) fn blocked(why: impl Into<String>) -> Try {
    Err(Stopped::Held(why.into()))
}

/// The end of an attempt that cannot be made here.
pub(super) fn not_possible(why: impl Into<String>) -> Try {
    Err(Stopped::NotPossible(why.into()))
}

/// Through if any of some tries of the same kind gets through, and with which; otherwise what held
/// the first. A try that was not possible counts only if all were.
pub(super) fn any<T>(things: impl IntoIterator<Item = (String, T)>, run: impl Fn(T) -> Try) -> Try {
    let (mut through, mut held, mut not_possible) = (Vec::new(), None, None);
    for (name, thing) in things {
        match run(thing) {
            Ok(effect) if effect.is_empty() => through.push(name),
            Ok(effect) => through.push(format!("{name}: {effect}")),
            Err(Stopped::Held(why)) => {
                held.get_or_insert(why);
            }
            Err(Stopped::NotPossible(why)) => {
                not_possible.get_or_insert(why);
            }
        }
    }
    if !through.is_empty() {
        return Ok(through.join(", "));
    }
    match (held, not_possible) {
        (Some(why), _) => Err(Stopped::Held(why)),
        (None, Some(why)) => Err(Stopped::NotPossible(why)),
        (None, None) => Err(Stopped::NotPossible("there is none here".to_owned())),
    }
}

/// A way to an end, and its name.
type Way<'a> = (&'a str, &'a dyn Fn() -> Result<(), Stopped>);

/// Ways to the same end, each tried.
pub(super) fn each<const N: usize>(ways: [Way<'_>; N]) -> Try {
    any(ways.map(|(name, way)| (name.to_owned(), way)), |way| {
        way()?;
        through("")
    })
}
