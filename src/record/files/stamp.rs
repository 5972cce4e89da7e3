//! Times as Go writes them (`RFC3339Nano`), from year 0 on: Go's zero time is a legal value of a field that was not set.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY_SECS: i64 = 86_400;

/// Days since 1970-01-01 of a date in the proleptic Gregorian calendar
/// (Howard Hinnant, "chrono-compatible low-level date algorithms", `days_from_civil`).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a day (`civil_from_days`, as above).
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, of_year - (153 * shifted + 2) / 5 + 1)
}

/// Reads a time; `None` if it is none.
pub fn parse(text: &str) -> Option<SystemTime> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let marks = [(4, "-"), (7, "-"), (13, ":"), (16, ":")];
    let separated = text.get(10..11).is_some_and(|mark| matches!(mark, "T" | "t" | " "));
    if !separated || !marks.iter().all(|(at, mark)| text.get(*at..at + 1) == Some(mark)) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut nanos: u32 = 0;
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return None;
        }
        let nine: String = fraction[..digits].chars().chain("000000000".chars()).take(9).collect();
        nanos = nine.parse().ok()?;
        rest = &fraction[digits..];
    }
    let offset = match rest {
        "Z" | "z" => 0,
        _ if rest.len() == 6 && rest.get(3..4) == Some(":") => {
            let start = text.len() - 6;
            let secs = number(start + 1, start + 3)? * 3600 + number(start + 4, start + 6)? * 60;
            match rest.as_bytes()[0] {
                b'+' => secs,
                b'-' => -secs,
                _ => return None,
            }
        }
        _ => return None,
    };
    let secs = days(year, month, day) * DAY_SECS + hour * 3600 + minute * 60 + second - offset;
    let whole = Duration::from_secs(secs.unsigned_abs());
    let base = if secs < 0 { UNIX_EPOCH.checked_sub(whole)? } else { UNIX_EPOCH.checked_add(whole)? };
    base.checked_add(Duration::from_nanos(u64::from(nanos)))
}

/// Writes a time in UTC, with as many decimals as it has.
pub fn format(time: SystemTime) -> String {
    let (secs, nanos) = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos()),
        Err(error) => {
            let before = error.duration();
            let secs = -i64::try_from(before.as_secs()).unwrap_or(i64::MAX);
            match before.subsec_nanos() {
                0 => (secs, 0),
                nanos => (secs - 1, 1_000_000_000 - nanos),
            }
        }
    };
    let (year, month, day) = date(secs.div_euclid(DAY_SECS));
    let of_day = secs.rem_euclid(DAY_SECS);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    if nanos > 0 {
        // Writing into a string cannot fail.
        let _ = write!(text, ".{nanos:09}");
        text.truncate(text.trim_end_matches('0').len());
    }
    text.push('Z');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn times_of_every_zone() {
        let same = |text: &str| format(parse(text).unwrap());
        assert_eq!(same("2024-02-29T23:59:59.123456789+05:30"), "2024-02-29T18:29:59.123456789Z");
        assert_eq!(same("2023-12-31T20:00:00.5-08:00"), "2024-01-01T04:00:00.5Z");
        assert_eq!(same("0001-01-01T00:00:00Z"), "0001-01-01T00:00:00Z");
        assert_eq!(same("1969-12-31T23:59:59.25Z"), "1969-12-31T23:59:59.25Z");
        assert_eq!(parse("1970-01-02T00:00:01Z"), Some(UNIX_EPOCH + Duration::from_secs(86_401)));
        for text in [
            "",
            "2024-02-29",
            "2024-13-01T00:00:00Z",
            "2024-01-01T00:00:00",
            "2024-01-01T00:00:00.Z",
            "\u{e9}024-01-01T00:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn every_day_has_one_number() {
        for number in (-800_000..800_000).step_by(37) {
            let (year, month, day) = date(number);
            assert_eq!(days(year, month, day), number);
        }
    }
}
