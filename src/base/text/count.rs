//! Readable counts and durations.

use std::time::Duration;

/// Formats `1 call`, `2 calls`: the number with the singular or the plural.
pub fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// Formats a duration in a suitable unit: `4.2 ms`, `350 ms`, `1.2 s`, `12 min`.
pub fn duration(time: Duration) -> String {
    match time.as_micros() {
        0..100_000 => format!("{:.1} ms", time.as_secs_f64() * 1e3),
        100_000..1_000_000 => format!("{} ms", time.as_millis()),
        1_000_000..120_000_000 => format!("{:.1} s", time.as_secs_f64()),
        _ => format!("{} min", time.as_secs() / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_uses_singular_for_one() {
        assert_eq!(
            [0, 1, 2].map(|count| counted(count, "call", "calls")),
            ["0 calls", "1 call", "2 calls"]
        );
    }

    #[test]
    fn duration_uses_suitable_unit() {
        let times = [
            0,
            4_230,
            99_949,
            100_000,
            999_999,
            1_000_000,
            61_240_000,
            120_000_000,
            3_659_000_000,
        ];
        let shown = [
            "0.0 ms", "4.2 ms", "99.9 ms", "100 ms", "999 ms", "1.0 s", "61.2 s", "2 min", "60 min",
        ];
        assert_eq!(
            times.map(|micros| duration(Duration::from_micros(micros))),
            shown
        );
    }
}
