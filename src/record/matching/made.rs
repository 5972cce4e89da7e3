//! Names that are made anew in each run: what in them nobody chose, and what is the same.

use crate::record::redact::is_made;

/// Marks between the parts of a name.
const MARKS: [char; 4] = [':', '/', '|', '.'];
/// Fewest letters of what nobody chose, where it has not always as many.
const FEWEST_LETTERS: usize = 16;

/// The pattern of two names that differ only in parts that nobody chose: `job:` and a UUID. `None` if they differ in more, or if
/// a number, a word or the like differs, which is another thing and no other name of the same. The pattern of a `whole` name
/// begins with a word: without one it would be that of any.
pub(super) fn pattern(one: &str, other: &str, whole: bool) -> Option<String> {
    if parts(one).count() != parts(other).count() {
        return None;
    }
    let begins = |part: &str| part.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let mut pattern = "^".to_owned();
    for (at, ((one, mark), (other, other_mark))) in parts(one).zip(parts(other)).enumerate() {
        if mark != other_mark || whole && at == 0 && !(one == other && begins(one)) {
            return None;
        }
        if one == other {
            pattern.push_str(&escaped(one));
        } else {
            let made = is_made(one.as_bytes()) && is_made(other.as_bytes());
            pattern.push_str(&made.then(|| letters(one, other))?);
        }
        pattern.push_str(&escaped(mark));
    }
    pattern.push('$');
    Some(pattern)
}

/// How many parts of two names differ; all, if they are not as many.
pub(super) fn distance(one: &str, other: &str) -> usize {
    let (ones, others) = (parts(one).count(), parts(other).count());
    if ones == others {
        parts(one).zip(parts(other)).filter(|(one, other)| one != other).count()
    } else {
        ones + others
    }
}

/// Each part, with the mark behind it.
fn parts(name: &str) -> impl Iterator<Item = (&str, &str)> {
    name.split_inclusive(MARKS).map(|part| part.split_at(part.strip_suffix(MARKS).map_or(part.len(), str::len)))
}

/// The pattern of what both are that nobody chose.
fn letters(one: &str, other: &str) -> String {
    let is_hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_uuid =
        |text: &str| text.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && is_hexadecimal(&text.replace('-', ""));
    let many = if one.len() == other.len() { format!("{{{}}}", one.len()) } else { format!("{{{FEWEST_LETTERS},}}") };
    if is_uuid(one) && is_uuid(other) {
        "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}".to_owned()
    } else if is_hexadecimal(one) && is_hexadecimal(other) {
        format!("[0-9a-fA-F]{many}")
    } else {
        format!("[^\\s:\\/|.]{many}")
    }
}

/// A pattern for this text.
fn escaped(text: &str) -> String {
    let mut pattern = String::new();
    for letter in text.chars() {
        if r"\^$.|?*+()[]{}/".contains(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_same_where_nobody_chose_what_differs() {
        let uuids = ["3f1c9a52-0d6e-4a7b-9c58-1b2d3e4f5a6b", "b7e0d4c1-9f3a-4e2b-8d6c-0a1b2c3d4e5f"];
        let key = |rest: &str, at: usize| format!("job:{}{rest}", uuids[at]);
        let uuid = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";
        let of = |one: &str, other: &str| pattern(one, other, true);
        assert_eq!(of(&key(":a+", 0), &key(":a+", 1)), Some(format!("^job:{uuid}:a\\+$")));
        assert_eq!(of(&key(":a", 0), &key(":b", 1)), None);
        assert_eq!(of(&key("", 0), &key(":b", 1)), None);
        let hexadecimal = ["9f86d081884c7d659a2feaa0c55ad015", "60303ae22b998861bce3b28f33eec1be"];
        assert_eq!(pattern(hexadecimal[0], hexadecimal[1], false), Some("^[0-9a-fA-F]{32}$".to_owned()));
        assert_eq!(of(hexadecimal[0], hexadecimal[1]), None);
        let base64 = ["q/V1StGXR8Z5jdHi6B-myT", "q/3Fq9sLwT7bXc2Kd8VnQpA0"];
        assert_eq!(of(base64[0], base64[1]), Some("^q\\/[^\\s:\\/|.]{16,}$".to_owned()));
        for (one, other) in
            [("cart:1", "cart:2"), ("cart:1234567890", "cart:1234567891"), ("a:blue", "a:green"), ("", "a")]
        {
            assert_eq!((of(one, other), pattern(one, other, false)), (None, None), "{one} {other}");
        }
        assert_eq!((distance("a:1:b", "a:2:c"), distance("a:1", "a:1"), distance("a", "a:1")), (2, 0, 3));
    }
}
