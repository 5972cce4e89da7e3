//! Values that nobody chose: tokens and numbers that a program made.

/// Fewest bytes of a value that nobody chose, and of a part of it that is made of letters and digits.
const RANDOM_BYTES: [usize; 2] = [16, 12];
/// Fewest bytes of one in which letters and digits are scattered, and in how many of them there is a change between their kinds.
const SCATTERED_BYTES: usize = 20;
const CHANGES_IN: usize = 3;

/// Whether nobody chose a value: a long one without spaces, with a run of letters and digits in it, or of all kinds of them.
pub(super) fn is_random(value: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~+=/|:%!".contains(byte);
    let is_mixed = |run: &[u8]| {
        run.len() >= RANDOM_BYTES[1] && run.iter().any(u8::is_ascii_digit) && run.iter().any(u8::is_ascii_alphabetic)
    };
    value.len() >= RANDOM_BYTES[0]
        && value.iter().all(is_part)
        && (value.split(|byte| !byte.is_ascii_alphanumeric()).any(is_mixed) || is_scattered(value))
}

/// Whether small letters, capitals and digits are mixed as in base64, where marks may stand anywhere: words have most of theirs in
/// runs.
fn is_scattered(value: &[u8]) -> bool {
    let kinds: [fn(&u8) -> bool; 3] = [u8::is_ascii_lowercase, u8::is_ascii_uppercase, u8::is_ascii_digit];
    let kind = |byte: &u8| kinds.iter().position(|is_one| is_one(byte));
    let is_change = |two: &&[u8]| kind(&two[0]).zip(kind(&two[1])).is_some_and(|(one, other)| one != other);
    value.len() >= SCATTERED_BYTES
        && kinds.iter().all(|is_one| value.iter().any(is_one))
        && value.windows(2).filter(is_change).count() * CHANGES_IN >= value.len()
}

/// Whether this is written as a UUID (RFC 9562, 4).
pub(in crate::record) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
