//! Patterns with remembered results, each with a bit in every record.

use replay_base::limits::{FORGOTTEN_PATTERNS, REMEMBERED_PATTERNS};

/// The patterns of the bits.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    slots: Vec<Slot>,
    turn: u64,
}

#[derive(Debug)]
struct Slot {
    /// `None`: free, and its bit is clear in every record.
    key: Option<Box<[u8]>>,
    /// Searches that set this bit now.
    pins: usize,
    used: u64,
    /// Turn in which the bit got its pattern.
    since: u64,
}

/// Key of each bit's pattern.
pub(super) type PatternKeys = Vec<Option<Box<[u8]>>>;

/// The patterns of the bits at one moment, each with the turn in which it got its bit.
pub(super) type Keys = Vec<Option<(u64, Box<[u8]>)>>;

impl Patterns {
    /// Returns the bit of a pattern, in use until [`Patterns::unpin`]. `clear` removes bits from
    /// all records. `None` if all bits are in use.
    pub(super) fn pin(&mut self, key: &[u8], clear: impl FnOnce(u64)) -> Option<u32> {
        self.turn += 1;
        let known = self
            .slots
            .iter()
            .position(|slot| slot.key.as_deref() == Some(key));
        let at = match known.or_else(|| self.free()) {
            Some(at) => at,
            None if self.slots.len() < REMEMBERED_PATTERNS => {
                self.slots.push(Slot {
                    key: None,
                    pins: 0,
                    used: 0,
                    since: 0,
                });
                self.slots.len() - 1
            }
            None => {
                clear(self.forget());
                self.free()?
            }
        };
        let slot = &mut self.slots[at];
        if slot.key.is_none() {
            (slot.key, slot.since) = (Some(key.into()), self.turn);
        }
        slot.pins += 1;
        slot.used = self.turn;
        u32::try_from(at).ok()
    }

    pub(super) fn unpin(&mut self, bit: u32) {
        if let Some(slot) = self.slots.get_mut(bit as usize) {
            slot.pins = slot.pins.saturating_sub(1);
        }
    }

    /// Adopts the patterns of an earlier session, if there are none yet.
    pub(super) fn adopt(&mut self, keys: PatternKeys) {
        if self.slots.is_empty() {
            let slots = keys.into_iter().take(REMEMBERED_PATTERNS);
            self.slots = slots
                .map(|key| Slot {
                    key,
                    pins: 0,
                    used: 0,
                    since: 0,
                })
                .collect();
        }
    }

    /// Returns the current pattern of each bit.
    pub(super) fn keys(&self) -> Keys {
        self.slots
            .iter()
            .map(|slot| Some((slot.since, slot.key.clone()?)))
            .collect()
    }

    /// Returns the size of the keys, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.slots
            .iter()
            .filter_map(|slot| slot.key.as_ref())
            .map(|key| key.len())
            .sum()
    }

    fn free(&self) -> Option<usize> {
        self.slots.iter().position(|slot| slot.key.is_none())
    }

    /// Evicts the least recently used patterns and returns their bits. A pattern in use stays,
    /// since its searches would set the bit of its successor.
    fn forget(&mut self) -> u64 {
        let mut idle: Vec<usize> = (0..self.slots.len())
            .filter(|&at| self.slots[at].pins == 0)
            .collect();
        idle.sort_unstable_by_key(|&at| self.slots[at].used);
        idle.truncate(FORGOTTEN_PATTERNS);
        idle.into_iter().fold(0, |bits, at| {
            self.slots[at].key = None;
            bits | 1 << at
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_in_use_keeps_its_bit() {
        let mut patterns = Patterns::default();
        let mut cleared = Vec::new();
        let first = patterns.pin(b"first", |_| ()).unwrap();
        for number in 0..REMEMBERED_PATTERNS as u32 - 1 {
            let bit = patterns.pin(&number.to_ne_bytes(), |_| ()).unwrap();
            assert_eq!(bit, number + 1);
            patterns.unpin(bit);
        }
        assert_eq!(patterns.pin(&0_u32.to_ne_bytes(), |_| ()), Some(1));
        patterns.unpin(1);
        assert_eq!(patterns.pin(b"new", |bits| cleared.push(bits)), Some(2));
        let forgotten: u64 = (2..2 + FORGOTTEN_PATTERNS).map(|bit| 1 << bit).sum();
        assert_eq!(cleared, [forgotten]);
        assert_eq!(
            patterns.pin(b"first", |bits| cleared.push(bits)),
            Some(first)
        );
        assert_eq!(
            patterns.pin(&1_u32.to_ne_bytes(), |bits| cleared.push(bits)),
            Some(3)
        );
        assert_eq!(cleared.len(), 1);
    }

    #[test]
    fn new_pattern_gets_no_bit_when_all_in_use() {
        let mut patterns = Patterns::default();
        for number in 0..REMEMBERED_PATTERNS as u32 {
            assert_eq!(patterns.pin(&number.to_ne_bytes(), |_| ()), Some(number));
        }
        assert_eq!(patterns.pin(b"more", |bits| assert_eq!(bits, 0)), None);
        patterns.unpin(7);
        assert_eq!(
            patterns.pin(b"more", |bits| assert_eq!(bits, 1 << 7)),
            Some(7)
        );
        assert_eq!(patterns.bytes(), 4 * (REMEMBERED_PATTERNS - 1) + 4);
    }
}
