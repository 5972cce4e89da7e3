//! What of an entry that has ended runs outside, and what of that was put back.

use serde::Serialize;

use super::autorun_change::Outside;

/// What of an entry runs outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Settled {
    /// It stands.
    #[serde(rename = "changed", skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<Outside>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put_back: Vec<Outside>,
    /// Why not all was put back, or found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl Settled {
    pub(super) const fn none() -> Self {
        Self {
            outside: Vec::new(),
            put_back: Vec::new(),
            failed: None,
        }
    }

    pub fn is_nothing(&self) -> bool {
        *self == Self::none()
    }

    /// With what came of another entry of the call before.
    #[must_use]
    pub fn after(mut self, mut before: Self) -> Self {
        before.outside.retain(|known| !self.outside.contains(known));
        self.outside.splice(..0, before.outside.drain(..));
        self.after_parts(before)
    }

    /// With what came of earlier parts of the same entry: what stands is of the whole of it.
    pub(super) fn after_parts(self, before: Self) -> Self {
        let put_back = before.put_back.into_iter().chain(self.put_back).collect();
        Self {
            put_back,
            failed: self.failed.or(before.failed),
            ..self
        }
    }
}
