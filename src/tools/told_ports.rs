//! Ports that replies have told, so that each is told once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Listening ports that replies have told, each with its port of the operator's machine.
#[derive(Debug, Default)]
pub struct ToldPorts(Mutex<BTreeMap<u16, Option<u16>>>);

impl ToldPorts {
    /// Stores the listening ports, and returns those that are new or published otherwise.
    pub(super) fn exchange(&self, now: BTreeMap<u16, Option<u16>>) -> Vec<u16> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |(port, outside): &(&u16, &Option<u16>)| told.get(port) != Some(outside);
        let new = now.iter().filter(is_new).map(|(port, _)| *port).collect();
        *told = now;
        new
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn port_is_told_once_until_it_changes() {
        let told = ToldPorts::default();
        let now = |ports: &[(u16, Option<u16>)]| ports.iter().copied().collect();
        assert_eq!(told.exchange(now(&[(1, None)])), [1]);
        assert_eq!(told.exchange(now(&[(1, None), (2, None)])), [2]);
        assert_eq!(told.exchange(now(&[(1, None), (2, None)])), [0; 0]);
        assert_eq!(told.exchange(now(&[(1, None), (2, Some(2))])), [2]);
        assert_eq!(told.exchange(now(&[])), [0; 0]);
        assert_eq!(told.exchange(now(&[(1, None)])), [1]);
    }
}
