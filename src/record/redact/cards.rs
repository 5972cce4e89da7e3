//! Numbers of payment cards (ISO/IEC 7812-1): they have no shape but their length, how they begin and a check digit, so one
//! number in ten of such a length looks like one. They count where the name says it, and in texts in groups of four.

use std::ops::Range;

use memchr::memmem;

use super::placeholder::STAND_IN;

/// What a card number is called.
pub(super) const NAME: &str = "card number";

/// How numbers of a network begin, from and to, and how many digits they have (Visa, Mastercard, American Express, Discover,
/// Diners Club, JCB, `UnionPay`).
const NETWORKS: [(u32, u32, usize); 13] = [
    (4000, 4999, 16),
    (4000, 4999, 19),
    (5100, 5599, 16),
    (2221, 2720, 16),
    (3400, 3499, 15),
    (3700, 3799, 15),
    (6011, 6011, 16),
    (6440, 6599, 16),
    (3000, 3059, 14),
    (3600, 3699, 14),
    (3800, 3999, 14),
    (3528, 3589, 16),
    (6200, 6299, 16),
];
/// Fewest and most digits of them.
pub(super) const DIGITS: [usize; 2] = [14, 19];
/// How digits are put in groups, but for those of four.
const GROUPS: [&[usize]; 2] = [&[4, 6, 5], &[4, 6, 4]];

/// Whether a whole text is the number of a card, in groups or not.
pub(super) fn is_number(text: &[u8]) -> bool {
    if !(DIGITS[0]..=DIGITS[1] + 4).contains(&text.len()) {
        return false;
    }
    if text[0] == STAND_IN.as_bytes()[0] {
        return is_stand_in(text);
    }
    let mark = text.iter().copied().find(|byte| !byte.is_ascii_digit());
    let Some(mark) = mark else { return is_valid(text) };
    let groups: Vec<&[u8]> = text.split(|byte| *byte == mark).collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let is_grouped = lengths.iter().rev().skip(1).all(|length| *length == 4)
        && lengths.last().is_some_and(|last| (1..=4).contains(last));
    matches!(mark, b' ' | b'-') && (is_grouped || GROUPS.contains(&&*lengths)) && is_valid(&groups.concat())
}

/// What stands for one: it is as long, and has fewer digits than there would be room for, since it could be guessed by them.
fn is_stand_in(text: &[u8]) -> bool {
    let rest = text.strip_prefix(STAND_IN.as_bytes()).unwrap_or_default();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    digits > 0 && rest.len() > digits && rest[digits..].iter().all(|byte| *byte == b'-')
}

/// Four groups of four digits.
fn is_in_fours(text: &[u8]) -> bool {
    text.len() == 19 && [4, 9, 14].iter().all(|at| !text[*at].is_ascii_digit()) && is_number(text)
}

/// Where numbers in groups of four, and what stands for them, stand alone in a text.
pub(super) fn places(text: &[u8]) -> Vec<Range<usize>> {
    let is_part = |byte: &&u8| byte.is_ascii_hexdigit() || **byte == b'-';
    let ends =
        |start: usize| start + STAND_IN.len() + text[start + STAND_IN.len()..].iter().take_while(is_part).count();
    let known = memmem::find_iter(text, STAND_IN).map(|start| start..ends(start));
    let mut found: Vec<Range<usize>> = known.filter(|at| at.len() == 19 && is_number(&text[at.clone()])).collect();
    let is_joined =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_-./#%+$".contains(byte));
    let mut at = 0;
    while let Some(start) = text[at..].iter().position(u8::is_ascii_digit).map(|next| at + next) {
        let is_part = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-');
        let run = &text[start..];
        let run = &run[..run.iter().take_while(is_part).count()];
        let end = start + run.iter().rposition(u8::is_ascii_digit).map_or(1, |last| last + 1);
        let before = start.checked_sub(1).and_then(|before| text.get(before));
        let after =
            text.get(end).filter(|byte| **byte != b'.' || text.get(end + 1).is_some_and(u8::is_ascii_alphanumeric));
        if !is_joined(before) && !is_joined(after) && is_in_fours(&text[start..end]) {
            found.push(start..end);
        }
        at = end;
    }
    found
}

fn is_valid(digits: &[u8]) -> bool {
    let begin = digits
        .iter()
        .take(4)
        .try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0')));
    let is_known = begin.is_some_and(|begin| {
        NETWORKS.iter().any(|(from, to, length)| (*from..=*to).contains(&begin) && *length == digits.len())
    });
    is_known && digits.iter().all(u8::is_ascii_digit) && check(digits).is_multiple_of(10)
}

/// The sum that is a multiple of ten (ISO/IEC 7812-1, annex B).
fn check(digits: &[u8]) -> u32 {
    let value = |(at, digit): (usize, &u8)| {
        let digit = u32::from(digit - b'0');
        match at % 2 {
            0 => digit,
            _ if digit > 4 => 2 * digit - 9,
            _ => 2 * digit,
        }
    };
    digits.iter().rev().enumerate().map(value).sum()
}
