//! Generated values: UUIDs, ULIDs, hexadecimal ids and times near the run, recognized by shape after
//! any mark, and words that a comparison of both runs shows to be random. They are ignored if a call
//! differs only in them.
//!
//! A run repeats its generated values, so they are paired. A value that is new in a call of the
//! replay is paired with the value that was new in the recorded call. From then on it stands for no
//! other value, and replaces the recorded one in answers. Values that occur in the recording are
//! not paired with others.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use replay_base::limits::MAX_DIFFERENCES;
use replay_base::text::escape::hex;

use super::Entry;
use super::description::short;
use super::encoded_text;
use super::own_values::OwnValueIndex;
use crate::call::{Content, Exchange};
use crate::redact;

/// Maximum distance of a time from the run: the distance of time zones, and a little more.
const NEAR: Duration = Duration::from_hours(26);
/// Minimum length of a random token.
const TOKEN_CHARS: usize = 16;
/// Minimum score of a token, exclusive (see [`randomness`]).
///
/// 15 of 20,000 tokens of 22 characters are below. 0.6 % of 380,000 names in Debian and in Rust
/// sources are above.
const MIN_TOKEN_SCORE: i32 = 20;
/// The 200 most frequent pairs of letters in names: for each letter from `a` to `z` those after it.
const FREQUENT_PAIRS: [&[u8]; 26] = [
    b"bcdgilmnprstu",
    b"aeilu",
    b"acehiklortuy",
    b"adeios",
    b"acdefglmnpqrstvx",
    b"aefilo",
    b"ceirs",
    b"aeo",
    b"abcdefglmnoprstvz",
    b"e",
    b"e",
    b"adeilopstu",
    b"aeimop",
    b"acdefginostv",
    b"bcdgjlmnoprstuvw",
    b"adehiloprstu",
    b"u",
    b"acdegikmorstuvy",
    b"acehikloprstu",
    b"acehioprstuy",
    b"bdeilmnprst",
    b"aei",
    b"io",
    b"t",
    b"p",
    b"",
];
/// Minimum length of a piece of a word that differs.
const MIN_PIECE_CHARS: usize = 8;
/// Minimum number of changes between digits and letters in a random word of hexadecimal digits. A
/// code of letters and a number has one.
const MIN_HEX_CHANGES: usize = 2;
const ULID_CHARS: usize = 26;
/// Lengths of ids in hexadecimal: object ids (`MongoDB`), 128, 160 and 256 bits.
const HEX_CHARS: [usize; 4] = [24, 32, 40, 64];
/// Lengths of snowflake ids, and their epochs in milliseconds since 1970 (Twitter, Discord).
const SNOWFLAKE_CHARS: std::ops::RangeInclusive<usize> = 18..=19;
const SNOWFLAKE_EPOCHS_MS: [u64; 2] = [1_288_834_974_657, 1_420_070_400_000];
const UUID_CHARS: usize = 36;
/// Seconds from 1970 to 2000, the epoch of `PostgreSQL`'s binary times.
const POSTGRES_EPOCH_SECS: u64 = 946_684_800;
const BINARY_TIME_BYTES: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VolatileValue {
    pub(super) text: String,
    kind: ValueKind,
}

/// Matching rule of a generated value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueKind {
    /// Any time matches.
    Time,
    Id,
    /// A word that matches another one if a comparison shows that they were made anew.
    Run,
    Secret,
}

impl VolatileValue {
    fn is_id(&self) -> bool {
        matches!(self.kind, ValueKind::Id | ValueKind::Run)
    }

    /// Returns true if another run may have this value in place of that one.
    fn may_become(&self, other: &Self) -> bool {
        self.kind != ValueKind::Run || is_made_anew(&self.text, &other.text)
    }
}

/// Replaces generated values in texts by their shapes, and collects them.
#[derive(Clone, Debug)]
pub(super) struct ValueBlanker {
    near: SystemTime,
    /// `true` if only placeholders of secrets are replaced.
    is_exact: bool,
    /// Eight big-endian bytes of times near the run.
    binary_times: Vec<RangeInclusive<u64>>,
    pub(super) values: Vec<VolatileValue>,
}

impl ValueBlanker {
    pub(super) fn new(near: SystemTime, is_exact: bool) -> Self {
        Self {
            near,
            is_exact,
            binary_times: if is_exact {
                Vec::new()
            } else {
                binary_times(near)
            },
            values: Vec::new(),
        }
    }

    fn find_binary_time(&self, bytes: &[u8]) -> Option<usize> {
        let mut words = bytes.windows(BINARY_TIME_BYTES);
        words.position(|word| self.is_binary_time(word))
    }

    fn is_binary_time(&self, word: &[u8]) -> bool {
        let word = word.try_into().map(u64::from_be_bytes);
        word.is_ok_and(|word| self.binary_times.iter().any(|times| times.contains(&word)))
    }

    /// Returns a text with each generated value replaced by its shape.
    pub(super) fn text(&mut self, text: &[u8]) -> Vec<u8> {
        let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
        while let Some(at) = self.find_binary_time(rest) {
            let (before, time) = rest.split_at(at);
            out.extend(self.words(before));
            let (time, after) = time.split_at(BINARY_TIME_BYTES);
            self.values.push(VolatileValue {
                text: format!("0x{}", hex(time)),
                kind: ValueKind::Time,
            });
            out.extend_from_slice(b"\0binary time\0");
            rest = after;
        }
        out.extend(self.words(rest));
        out
    }

    /// Does the same as [`text`](Self::text) without binary times.
    fn words(&mut self, text: &[u8]) -> Vec<u8> {
        let (mut out, mut at) = (Vec::with_capacity(text.len()), 0);
        let mut secrets = redact::places(text).into_iter().peekable();
        while at < text.len() {
            if let Some(secret) = secrets.next_if(|secret| secret.start <= at) {
                let value = String::from_utf8_lossy(&text[secret.clone()]).into_owned();
                self.values.push(VolatileValue {
                    text: value,
                    kind: ValueKind::Secret,
                });
                out.extend_from_slice(b"\0secret\0");
                at = secret.end;
                continue;
            }
            // The start of a placeholder may look like part of a token.
            let end = secrets.peek().map_or(text.len(), |secret| secret.start);
            let text = &text[..end];
            if let Some((end, shape)) = self.encoded(text, at) {
                out.extend(shape);
                at = end;
            } else if let Some((length, shape)) = self.value(text, at) {
                out.push(0);
                out.extend(shape.into_bytes());
                out.push(0);
                at += length;
            } else {
                out.push(text[at]);
                at += 1;
            }
        }
        out
    }

    /// Returns a text with each time in it replaced by its shape. Also returns true if it has a value
    /// that looks made anew.
    pub(super) fn without_times(&self, text: &str) -> (String, bool) {
        let bytes = text.as_bytes();
        let words = bytes.split(|byte| !is_of_token(*byte));
        let (mut out, mut at, mut is_generated) = (Vec::new(), 0, words.into_iter().any(is_token));
        while at < bytes.len() {
            match self.known_shape(bytes, at).filter(|_| !self.is_exact) {
                Some((length, shape, ValueKind::Time)) => {
                    out.extend(shape.into_bytes());
                    at += length;
                }
                found => {
                    is_generated |= found.is_some();
                    out.push(bytes[at]);
                    at += 1;
                }
            }
        }
        (String::from_utf8_lossy(&out).into_owned(), is_generated)
    }

    /// Replaces generated values in a bound parameter: a binary time, or its text.
    pub(super) fn bound(&mut self, bytes: &[u8], told: &str) -> Vec<u8> {
        let is_binary_time = told.starts_with("0x") && self.is_binary_time(bytes);
        self.text(if is_binary_time {
            bytes
        } else {
            told.as_bytes()
        })
    }

    /// Reads the text in base64 at this place, if it has values: its end and its shape.
    fn encoded(&mut self, text: &[u8], at: usize) -> Option<(usize, Vec<u8>)> {
        if self.is_exact {
            return None;
        }
        let (end, decoded) = encoded_text::decoded_at(text, at)?;
        let known = self.values.len();
        let shape = self.words(&decoded);
        (self.values.len() > known).then(|| (end, [b"\0base64 ", &shape[..], b"\0"].concat()))
    }

    /// Reads the value at this place of a text: its length and its shape.
    fn value(&mut self, text: &[u8], at: usize) -> Option<(usize, String)> {
        if self.is_exact {
            return None;
        }
        let (length, shape, kind) = self.known_shape(text, at).or_else(|| self.run(text, at))?;
        let mut text = String::from_utf8_lossy(&text[at..at + length]).into_owned();
        if shape == "uuid" {
            text.make_ascii_lowercase();
        }
        self.values.push(VolatileValue { text, kind });
        Some((length, shape))
    }

    /// Reads a value whose form alone shows that each run makes it anew. It may follow any mark.
    fn known_shape(&self, text: &[u8], at: usize) -> Option<(usize, String, ValueKind)> {
        if at > 0 && text[at - 1].is_ascii_alphanumeric() {
            return None;
        }
        let text = &text[at..];
        if text.get(..UUID_CHARS).is_some_and(redact::is_uuid) && ends(text, UUID_CHARS) {
            return Some((UUID_CHARS, "uuid".to_owned(), ValueKind::Id));
        }
        if let Some((length, shape)) = self.date(text) {
            return Some((length, shape, ValueKind::Time));
        }
        let run = text
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .count();
        let word = &text[..run];
        if self.is_number_of_time(word) {
            return Some((
                run + fraction(&text[run..]),
                format!("time{run}"),
                ValueKind::Time,
            ));
        }
        if self.is_snowflake(word) {
            return Some((run, "snowflake".to_owned(), ValueKind::Id));
        }
        let is_hex = word.iter().any(u8::is_ascii_digit) && word.iter().all(u8::is_ascii_hexdigit);
        if HEX_CHARS.contains(&run) && is_hex {
            return Some((run, format!("hex{run}"), ValueKind::Id));
        }
        (run == ULID_CHARS && is_ulid(word)).then(|| (run, "ulid".to_owned(), ValueKind::Id))
    }

    /// Reads a run of letters, digits, `-` and `_` that may be made anew, up to a value of a known
    /// shape. Its length alone is its shape, so that a comparison of two runs decides.
    fn run(&self, text: &[u8], at: usize) -> Option<(usize, String, ValueKind)> {
        if !is_of_token(text[at]) || at > 0 && is_of_token(text[at - 1]) {
            return None;
        }
        let ends = |next: &usize| {
            let is_after_mark = *next > at && !text[*next - 1].is_ascii_alphanumeric();
            !is_of_token(text[*next]) || is_after_mark && self.known_shape(text, *next).is_some()
        };
        let end = (at..text.len()).find(ends).unwrap_or(text.len());
        let run = &text[at..end];
        let has = |kind: fn(&u8) -> bool| run.iter().any(kind);
        let may_be_new = run.len() >= TOKEN_CHARS
            || run.len() >= MIN_PIECE_CHARS
                && has(u8::is_ascii_digit)
                && has(u8::is_ascii_alphabetic);
        may_be_new.then(|| (run.len(), format!("run{}", run.len()), ValueKind::Run))
    }

    /// Reads `2026-11-23`, with or without a time, `20261123T215019Z`, or
    /// `Mon, 23 Nov 2026 21:50:19 GMT`.
    fn date(&self, text: &[u8]) -> Option<(usize, String)> {
        const HTTP: &[u8] = b"Aaa, 00 Aaa 0000 00:00:00 GMT";
        const BASIC: &[u8] = b"00000000T000000Z";
        const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
        let number = |range: std::ops::Range<usize>| {
            std::str::from_utf8(text.get(range)?)
                .ok()?
                .parse::<u64>()
                .ok()
        };
        if has_form(text, HTTP) {
            let month = MONTHS.find(std::str::from_utf8(text.get(8..11)?).ok()?)? as u64 / 3 + 1;
            let secs = secs_of(number(12..16)?, month, number(5..7)?)? + number(17..19)? * 3_600;
            return self
                .is_near(secs)
                .then(|| (HTTP.len(), "date of HTTP".to_owned()));
        }
        // ISO 8601, 5.4.2.1: the basic format, as in signatures of Amazon.
        if has_form(text, BASIC) && ends(text, BASIC.len()) {
            let secs = secs_of(number(0..4)?, number(4..6)?, number(6..8)?)?;
            let secs = secs + number(9..11)? * 3_600 + number(11..13)? * 60;
            let is_near = self.is_near(secs);
            return is_near.then(|| (BASIC.len(), "basic time".to_owned()));
        }
        if !has_form(text, b"0000-00-00") {
            return None;
        }
        let mut secs = secs_of(number(0..4)?, number(5..7)?, number(8..10)?)?;
        let mut length = 10;
        if matches!(text.get(length), Some(b'T' | b't' | b' '))
            && has_form(&text[length + 1..], b"00:00")
        {
            secs += number(11..13)? * 3_600 + number(14..16)? * 60;
            length += 6;
            if has_form(&text[length..], b":00") {
                length += 3;
            }
            if text.get(length) == Some(&b'.') {
                let digits = text[length + 1..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_digit())
                    .count();
                length += 1 + digits;
            }
            length += zone(&text[length..]);
        }
        // Fractional digits vary, since some writers drop trailing zeros. A date stands for any
        // time of its day.
        let is_near = self.is_near(secs) || length == 10 && self.is_near(secs + 86_400);
        (is_near && ends(text, length))
            .then(|| (length, if length > 10 { "time" } else { "day" }.to_owned()))
    }

    /// Returns true for an id whose upper bits are a time near the run (Twitter, Discord).
    fn is_snowflake(&self, word: &[u8]) -> bool {
        let number = str::from_utf8(word)
            .ok()
            .and_then(|word| word.parse::<u64>().ok());
        let number = number.filter(|_| SNOWFLAKE_CHARS.contains(&word.len()));
        number.is_some_and(|number| {
            let is_near = |epoch: &u64| self.is_near(((number >> 22) + epoch) / 1000);
            SNOWFLAKE_EPOCHS_MS.iter().any(is_near)
        })
    }

    /// Returns true for seconds, milliseconds, microseconds or nanoseconds since 1970 near the run.
    fn is_number_of_time(&self, word: &[u8]) -> bool {
        let digits = word.len();
        let number = std::str::from_utf8(word)
            .ok()
            .and_then(|word| word.parse::<u64>().ok());
        let number = number.filter(|_| matches!(digits, 10 | 13 | 16 | 19));
        number.is_some_and(|number| self.is_near(number / 10_u64.pow(digits as u32 - 10)))
    }

    fn is_near(&self, secs: u64) -> bool {
        let now = self
            .near
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        now.abs_diff(Duration::from_secs(secs)) <= NEAR
    }
}

/// Returns the bytes of times near this one: numbers of seconds, milliseconds, microseconds and
/// nanoseconds since 1970, of microseconds since 2000 (`PostgreSQL`), and doubles. Doubles of
/// positive numbers have the order of their bytes.
fn binary_times(near: SystemTime) -> Vec<RangeInclusive<u64>> {
    let since = |near: SystemTime| near.duration_since(SystemTime::UNIX_EPOCH).ok();
    let near = near
        .checked_sub(NEAR)
        .and_then(since)
        .map(|from| (from, from + 2 * NEAR));
    let Some((from, until)) = near.filter(|(from, _)| from.as_secs() > POSTGRES_EPOCH_SECS) else {
        return Vec::new();
    };
    let range = |form: &dyn Fn(Duration) -> u64| form(from)..=form(until);
    let whole = [1, 1_000, 1_000_000, 1_000_000_000]
        .map(|unit| range(&|time| time.as_secs().saturating_mul(unit)));
    let doubles = [1.0, 1e3, 1e6].map(|unit| range(&|time| (time.as_secs_f64() * unit).to_bits()));
    let postgres = range(&|time| (time.as_secs() - POSTGRES_EPOCH_SECS).saturating_mul(1_000_000));
    whole.into_iter().chain(doubles).chain([postgres]).collect()
}

/// Returns the length of `Z`, `+00`, `+00:00`, `+0000`.
fn zone(text: &[u8]) -> usize {
    let forms: [&[u8]; 3] = [b"00:00", b"0000", b"00"];
    match text.first() {
        Some(b'Z' | b'z') => 1,
        Some(b'+' | b'-') => forms
            .iter()
            .find(|form| has_form(&text[1..], form))
            .map_or(0, |form| 1 + form.len()),
        _ => 0,
    }
}

/// Returns the seconds from 1970 to the start of a day.
fn secs_of(year: u64, month: u64, day: u64) -> Option<u64> {
    let month = time::Month::try_from(month as u8).ok()?;
    let date = time::Date::from_calendar_date(year as i32, month, day as u8).ok()?;
    u64::try_from(date.midnight().assume_utc().unix_timestamp()).ok()
}

/// Returns true if a text begins with this form: `0` matches a digit, a letter any letter of its
/// case.
fn has_form(text: &[u8], form: &[u8]) -> bool {
    let fits = |(byte, form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        b'a' => byte.is_ascii_lowercase(),
        b'A' => byte.is_ascii_uppercase(),
        mark => byte == mark,
    };
    text.len() >= form.len() && text.iter().zip(form).all(fits)
}

/// Returns the length of a fraction of seconds, which belongs to the number before it.
fn fraction(text: &[u8]) -> usize {
    let digits = text.iter().skip(1).take_while(|byte| byte.is_ascii_digit());
    let digits = digits.count();
    if text.first() == Some(&b'.') && digits > 0 && ends(text, 1 + digits) {
        1 + digits
    } else {
        0
    }
}

fn ends(text: &[u8], at: usize) -> bool {
    text.get(at)
        .is_none_or(|next| !next.is_ascii_alphanumeric())
}

/// Checks for Crockford's base 32, limited to 128 bits.
fn is_ulid(text: &[u8]) -> bool {
    let is_part =
        |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_uppercase() && !b"ILOU".contains(byte);
    text[0] <= b'7'
        && text.iter().all(is_part)
        && text.iter().filter(|byte| byte.is_ascii_digit()).count() > 1
}

/// Base64 for URLs includes `-` and `_`.
fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_".contains(&byte)
}

/// Returns true for a word that looks random: long, with rare pairs of letters or frequent changes
/// between digits and cases. Hexadecimal words of this length are never names, but letters before a
/// number may be a code.
fn is_token(word: &[u8]) -> bool {
    let is_hex = word.iter().all(u8::is_ascii_hexdigit) && digit_changes(word) >= MIN_HEX_CHANGES;
    word.len() >= TOKEN_CHARS && is_mixed(word) && (is_hex || score(word) > MIN_TOKEN_SCORE)
}

/// Returns false for words in one case without digits, which are names, such as currencies.
fn is_mixed(word: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| word.iter().any(kind);
    let has_digit = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    has_digit || has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
}

/// Returns the sum of [`randomness`] over all neighbours.
fn score(word: &[u8]) -> i32 {
    let pairs = word.windows(2);
    pairs.map(|pair| randomness(pair[0], pair[1])).sum()
}

/// Returns true if two runs of one length differ only in pieces that each run makes anew: they look
/// random in either.
fn is_made_anew(one: &str, other: &str) -> bool {
    let pieces = |run| str::split(run, ['-', '_']);
    let lengths = |run| pieces(run).map(str::len).collect::<Vec<_>>();
    let mut pairs = pieces(one).zip(pieces(other));
    if lengths(one) == lengths(other)
        && pairs.all(|(one, other)| one == other || is_piece_anew(one, other))
    {
        return true;
    }
    // Base64 for URLs has the marks, too. The text before the first difference is a name.
    let common = one
        .bytes()
        .zip(other.bytes())
        .take_while(|(one, other)| one == other)
        .count();
    let start = one[..common].rfind(['-', '_']).map_or(0, |mark| mark + 1);
    let rests = [one, other].map(|run| &run.as_bytes()[start..]);
    differ_widely(rests[0], rests[1]) && rests.into_iter().any(is_token)
}

fn is_piece_anew(one: &str, other: &str) -> bool {
    let pieces = [one.as_bytes(), other.as_bytes()];
    let are_hex = pieces
        .iter()
        .all(|piece| piece.iter().all(u8::is_ascii_hexdigit));
    let looks_random = match one.len() {
        ..MIN_PIECE_CHARS => false,
        TOKEN_CHARS.. => pieces.into_iter().any(is_token),
        _ => pieces.iter().any(|piece| is_short_token(piece, are_hex)),
    };
    looks_random && differ_widely(pieces[0], pieces[1])
}

/// Returns true if fewer than half of the characters are equal: numbers in sequence share more.
fn differ_widely(one: &[u8], other: &[u8]) -> bool {
    let equal = one.iter().zip(other).filter(|(one, other)| one == other);
    2 * equal.count() < one.len()
}

/// Returns the number of neighbours of which one is a digit.
fn digit_changes(word: &[u8]) -> usize {
    let pairs = word.windows(2);
    pairs
        .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit())
        .count()
}

/// Returns true for a word of 8 to 15 characters that looks random: digits and letters alternate.
fn is_short_token(word: &[u8], is_hex: bool) -> bool {
    let changes = digit_changes(word);
    if is_hex {
        changes >= MIN_HEX_CHANGES
    } else {
        changes > MIN_HEX_CHANGES && score(word) > MIN_TOKEN_SCORE
    }
}

/// Returns the evidence that two neighbours are of a random token and not of a name.
///
/// The unit is a tenth of the natural logarithm of the ratio of the two frequencies.
fn randomness(one: u8, other: u8) -> i32 {
    let letters = if one.is_ascii_alphabetic() && other.is_ascii_alphabetic() {
        let at = usize::from(one.to_ascii_lowercase() - b'a');
        let is_frequent = FREQUENT_PAIRS[at].contains(&other.to_ascii_lowercase());
        if is_frequent { -11 } else { 20 }
    } else {
        0
    };
    let kind = |byte: u8| match byte {
        b'a'..=b'z' => 'a',
        b'A'..=b'Z' => 'A',
        b'0'..=b'9' => '0',
        _ => '-',
    };
    let classes = match (kind(one), kind(other)) {
        ('-', _) | (_, '-') | ('A', 'a' | 'A') => 0,
        ('a', 'a') => -7,
        ('0', '0') => -12,
        _ => 15,
    };
    letters + classes
}

/// Pairs of values in this replay and in the recordings.
#[derive(Default)]
pub(super) struct ValuePairs {
    /// Values of the recordings, each with the index of its first recording.
    first: HashMap<String, usize>,
    /// Places in answers, found with the first pair.
    own: OnceLock<OwnValueIndex>,
    made: Mutex<PairingState>,
}

#[derive(Default)]
struct PairingState {
    /// Recorded values by those of this run.
    recorded: HashMap<String, String>,
    /// Values of this run by the recorded ones.
    asked: HashMap<String, String>,
    /// Names of recordings that answered with other values, each with the first differences.
    told: BTreeMap<String, String>,
    /// Names of recordings whose answers kept a recorded value, each with that value.
    kept: BTreeMap<String, String>,
}

impl ValuePairs {
    pub(super) fn know(&mut self, values: &[VolatileValue], index: usize) {
        for value in values.iter().filter(|value| value.is_id()) {
            self.first.entry(value.text.clone()).or_insert(index);
        }
    }

    /// Returns true if the recording at this index, with these values, may answer a request with
    /// those. `is_constant` returns true for a value that is the same in all recordings of the
    /// call; then any secret matches.
    pub(super) fn fit(
        &self,
        index: usize,
        is_constant: impl Fn(usize) -> bool,
        recorded: &[VolatileValue],
        asked: &[VolatileValue],
    ) -> bool {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |one: &VolatileValue, other: &VolatileValue| {
            let is_known =
                self.first.contains_key(&other.text) || made.asked.contains_key(&one.text);
            !is_known && self.first.get(&one.text) == Some(&index)
        };
        let fits = |(at, (one, other)): (usize, (&VolatileValue, &VolatileValue))| match one.kind {
            ValueKind::Time => true,
            ValueKind::Secret => one.text == other.text || is_constant(at),
            ValueKind::Id | ValueKind::Run => match made.recorded.get(&other.text) {
                Some(known) => *known == one.text,
                None => one.text == other.text || is_new(one, other) && one.may_become(other),
            },
        };
        recorded.len() == asked.len() && recorded.iter().zip(asked).enumerate().all(fits)
    }

    /// Returns true if neither the recordings nor this run had these ids before.
    pub(super) fn are_new(&self, asked: &[VolatileValue]) -> bool {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known =
            |text: &String| self.first.contains_key(text) || made.recorded.contains_key(text);
        let mut ids = asked.iter().filter(|value| value.is_id());
        !ids.any(|value| is_known(&value.text))
    }

    pub(super) fn pair(&self, name: &str, recorded: &[VolatileValue], asked: &[VolatileValue]) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let pairs = || {
            recorded
                .iter()
                .zip(asked)
                .filter(|(one, other)| one.text != other.text)
        };
        for (one, other) in pairs().filter(|(one, _)| one.is_id()) {
            made.recorded.insert(other.text.clone(), one.text.clone());
            made.asked.insert(one.text.clone(), other.text.clone());
        }
        let said = |(one, other): (&VolatileValue, &VolatileValue)| {
            format!(
                "recorded `{}`, asked `{}`",
                short(&one.text),
                short(&other.text)
            )
        };
        let told: Vec<String> = pairs().take(MAX_DIFFERENCES).map(said).collect();
        if !told.is_empty() {
            made.told
                .entry(name.to_owned())
                .or_insert_with(|| told.join("; "));
        }
    }

    /// Pairs each value with itself, after a recording has answered a request with equal values.
    pub(super) fn keep(&self, recorded: &[VolatileValue]) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        for value in recorded.iter().filter(|value| value.is_id()) {
            if !made.asked.contains_key(&value.text) {
                made.asked.insert(value.text.clone(), value.text.clone());
                made.recorded.insert(value.text.clone(), value.text.clone());
            }
        }
    }

    /// Replaces the program's own values in the answer of the recording at this index, with this
    /// name, by those of this run.
    pub(super) fn replace_own(
        &self,
        entries: &[Entry],
        index: usize,
        found: Arc<Exchange>,
    ) -> Arc<Exchange> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        // Differences are noted with the first pair.
        if made.told.is_empty() {
            return found;
        }
        let own = self
            .own
            .get_or_init(|| OwnValueIndex::new(entries, &self.first));
        let asked = |recorded: &str| made.asked.get(recorded).map(String::as_str);
        if !own.differs(index, asked) {
            return found;
        }
        let mut answer = found;
        let stays = own.replace(index, asked, Arc::make_mut(&mut answer));
        if let Some(value) = stays.map(short) {
            made.kept.insert(entries[index].name.clone(), value);
        }
        answer
    }

    /// Returns a message of the recording at this index with the values of this run; `None` if it
    /// has none of them.
    pub(super) fn renewed_message(
        &self,
        entries: &[Entry],
        index: usize,
        at: usize,
    ) -> Option<Vec<u8>> {
        let answer = self.replace_own(entries, index, Arc::clone(&entries[index].exchange));
        let Content::Wire(_, wire) = &answer.content else {
            return None;
        };
        Some(wire.messages.get(at)?.bytes.clone())
    }

    /// Replaces values of this run by the recorded ones of the same length.
    pub(super) fn as_recorded(&self, text: &[u8]) -> Vec<u8> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = text.to_vec();
        for (asked, recorded) in &made.recorded {
            if asked.len() != recorded.len() || asked.is_empty() {
                continue;
            }
            let places = memchr::memmem::find_iter(&text, asked.as_bytes());
            for at in places.collect::<Vec<_>>() {
                text[at..at + asked.len()].copy_from_slice(recorded.as_bytes());
            }
        }
        text
    }

    /// Returns the names of recordings whose answers kept a recorded value, each with that value.
    pub(super) fn kept(&self) -> BTreeMap<String, String> {
        self.made
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .kept
            .clone()
    }

    pub(super) fn differences(&self) -> BTreeMap<String, String> {
        self.made
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .told
            .clone()
    }
}

#[cfg(test)]
mod tests;
