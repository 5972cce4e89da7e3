//! Autorun files that an ended entry changed, and those that were restored.

use serde::Serialize;

use super::autorun_change::Outside;

/// Autorun files that an entry changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AutorunChanges {
    /// Changes that are still in effect.
    #[serde(rename = "changed", skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<Outside>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put_back: Vec<Outside>,
    /// Reason why not all were found or restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl AutorunChanges {
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

    /// Merges the result of an earlier entry of the same call.
    #[must_use]
    pub fn after(mut self, mut before: Self) -> Self {
        before.outside.retain(|known| !self.outside.contains(known));
        self.outside.splice(..0, before.outside.drain(..));
        self.after_parts(before)
    }

    /// Merges the results of earlier parts of the same entry; remaining changes cover the whole
    /// entry.
    pub(super) fn after_parts(self, before: Self) -> Self {
        let put_back = before.put_back.into_iter().chain(self.put_back).collect();
        Self {
            put_back,
            failed: self.failed.or(before.failed),
            ..self
        }
    }
}
