//! Rate limit of a tenant: a token bucket.

use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    per_minute: f64,
    most: f64,
    left: f64,
    filled: Instant,
}

impl Bucket {
    /// Creates a full bucket. A rate of 0 means no limit.
    pub(super) fn new(per_minute: u64, burst: u64, now: Instant) -> Self {
        let most = burst.max(1) as f64;
        Self {
            per_minute: per_minute as f64,
            most,
            left: most,
            filled: now,
        }
    }

    /// Takes `count` tokens. The error is the time until they are available. A full bucket grants
    /// more than it holds, and goes into debt.
    pub(super) fn take(&mut self, count: usize, now: Instant) -> Result<(), Duration> {
        if self.per_minute == 0.0 {
            return Ok(());
        }
        let minutes = now.saturating_duration_since(self.filled).as_secs_f64() / 60.0;
        self.left = (self.left + minutes * self.per_minute).min(self.most);
        self.filled = self.filled.max(now);
        let wanted = count as f64;
        let needed = wanted.min(self.most);
        if self.left >= needed {
            self.left -= wanted;
            return Ok(());
        }
        Err(Duration::from_secs_f64(
            (needed - self.left) * 60.0 / self.per_minute,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_is_allowed_then_rate_applies() {
        let start = Instant::now();
        let mut bucket = Bucket::new(60, 3, start);
        assert_eq!(
            [0; 4].map(|_| bucket.take(1, start).is_ok()),
            [true, true, true, false]
        );
        assert_eq!(bucket.take(1, start), Err(Duration::from_secs(1)));
        let later = start + Duration::from_secs(1);
        assert_eq!([0; 2].map(|_| bucket.take(1, later).is_ok()), [true, false]);
        let much_later = start + Duration::from_hours(1);
        assert_eq!(
            [0; 4].map(|_| bucket.take(1, much_later).is_ok()),
            [true, true, true, false]
        );
        // The clock is monotonic, but threads may arrive out of order.
        assert!(bucket.take(1, start).is_err());
    }

    #[test]
    fn oversized_batch_is_charged_in_full() {
        let start = Instant::now();
        let mut bucket = Bucket::new(60, 3, start);
        assert_eq!(bucket.take(5, start), Ok(()));
        assert_eq!(bucket.take(1, start), Err(Duration::from_secs(3)));
        assert_eq!(Bucket::new(0, 1, start).take(1_000_000, start), Ok(()));
    }
}
