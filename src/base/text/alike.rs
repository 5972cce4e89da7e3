//! Characters that look alike: quotes, dashes, spaces, normal forms, letters of two scripts, and
//! invisible ones.

use std::fmt;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Pairs of a letter of another script and the Latin one that it looks like (Unicode Technical
/// Standard 39, `confusables.txt`).
const LETTERS: &str = "аaвbеeкkмmнhоoрpсcтtуyхxѕsіiјjһhԁdԛqԝwАAВBЕEКKМMНHОOРPСCТTУYХXЅSІIЈJԚQԜWαaοoνvρpΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧX";
/// Names of invisible characters and spaces.
const NAMES: [(char, &str); 18] = [
    ('\n', "line feed"),
    ('\r', "carriage return"),
    ('\t', "tab"),
    (' ', "space"),
    ('\u{A0}', "no-break space"),
    ('\u{AD}', "soft hyphen"),
    ('\u{2009}', "thin space"),
    ('\u{200B}', "zero width space"),
    ('\u{200C}', "zero width non-joiner"),
    ('\u{200D}', "zero width joiner"),
    ('\u{200E}', "left-to-right mark"),
    ('\u{200F}', "right-to-left mark"),
    ('\u{2011}', "no-break hyphen"),
    ('\u{202F}', "narrow no-break space"),
    ('\u{2060}', "word joiner"),
    ('\u{3000}', "ideographic space"),
    ('\u{FE0F}', "variation selector"),
    ('\u{FEFF}', "zero width no-break space"),
];

/// Returns the same form for all texts that look the same.
pub fn skeleton(text: &str) -> String {
    FoldedText::new(text).text
}

/// Finds text that looks like `wanted`, but differs. `None` if there is none, or both are ASCII.
pub fn find(text: &str, wanted: &str) -> Option<Range<usize>> {
    if wanted.is_ascii() && text.is_ascii() {
        return None;
    }
    let (folded, wanted) = (FoldedText::new(text), skeleton(wanted));
    let start = if wanted.is_empty() {
        None
    } else {
        memchr::memmem::find(folded.text.as_bytes(), wanted.as_bytes())
    }?;
    // A character that expands to several ones may be split.
    let [start, end] = [start, start + wanted.len()].map(|at| folded.source_of(at));
    Some(text.floor_char_boundary(start)..text.ceil_char_boundary(end))
}

/// Returns the ASCII equivalent of a typographic character.
pub fn plain(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201B}' | '\u{2032}' | '\u{00B4}' => '\'',
        '\u{201C}'..='\u{201F}' | '\u{2033}' | '\u{00AB}' | '\u{00BB}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{00A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        c => c,
    }
}

/// A folded text, with a mapping to its source.
struct FoldedText {
    text: String,
    /// Pairs of offsets in this text and in its source, after which both advance equally.
    places: Vec<(usize, usize)>,
    source_len: usize,
}

impl FoldedText {
    fn new(source: &str) -> Self {
        let mut folded = Self {
            text: String::with_capacity(source.len()),
            places: vec![(0, 0)],
            source_len: source.len(),
        };
        let mut at = 0;
        while at < source.len() {
            // The last ASCII character may be the base of a mark.
            let run = source[at..]
                .bytes()
                .take_while(u8::is_ascii)
                .count()
                .saturating_sub(1);
            if run > 0 {
                folded.push(at, &source[at..at + run]);
                at += run;
            }
            let Some((_, cluster)) = clusters(&source[at..]).next() else {
                break;
            };
            if cluster.is_ascii() || cluster.chars().all(is_plain_letter) {
                folded.push(at, cluster);
            } else if !cluster.chars().all(is_invisible) {
                let shown = cluster.chars().filter(|c| !is_invisible(*c));
                let form: String = shown.map(|c| latin(plain(c))).nfkc().map(plain).collect();
                folded.push(at, &form);
            }
            at += cluster.len();
        }
        folded
    }

    /// Adds the folded form of the source at an offset.
    fn push(&mut self, at: usize, form: &str) {
        let now = self.text.len();
        if self
            .places
            .last()
            .is_none_or(|(place, source)| source + now - place != at)
        {
            self.places.push((now, at));
        }
        self.text.push_str(form);
    }

    fn source_of(&self, at: usize) -> usize {
        let index = self
            .places
            .partition_point(|(place, _)| *place <= at)
            .saturating_sub(1);
        let (place, source) = self.places[index];
        (source + at - place).min(self.source_len)
    }
}

/// Splits a text into parts that are normalized independently, with their offsets.
fn clusters(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let mut chars = text[at..].chars();
        let mut end = at + chars.next()?.len_utf8();
        end += chars
            .take_while(|c| joins(*c))
            .map(char::len_utf8)
            .sum::<usize>();
        let cluster = (at, &text[at..end]);
        at = end;
        Some(cluster)
    })
}

/// Returns true if the character belongs to the one before it: marks, and the vowels and final
/// consonants of a Korean syllable.
fn joins(c: char) -> bool {
    !c.is_ascii() && (is_combining_mark(c) || matches!(c, '\u{1160}'..='\u{11FF}'))
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}')
}

/// Returns true for ideographs and Korean syllables, which are frequent and have only one form.
fn is_plain_letter(c: char) -> bool {
    matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

fn latin(c: char) -> char {
    let mut pairs = LETTERS.chars();
    if matches!(c, '\u{370}'..='\u{52F}') {
        while let (Some(other), Some(latin)) = (pairs.next(), pairs.next()) {
            if other == c {
                return latin;
            }
        }
    }
    c
}

/// The first character in which two texts differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// Offset in the first text, in bytes.
    pub at: usize,
    found: String,
    given: String,
}

impl Divergence {
    /// Compares two texts; `None` if they are equal.
    pub fn of(found: &str, given: &str) -> Option<Self> {
        let (mut ours, mut theirs) = (clusters(found), clusters(given));
        loop {
            let (our, their) = (ours.next(), theirs.next());
            if our.is_none() && their.is_none() {
                return None;
            }
            let [one, other] =
                [our, their].map(|cluster| cluster.map_or("", |(_, cluster)| cluster));
            if one != other {
                let at = our.map_or(found.len(), |(at, _)| at);
                return Some(Self {
                    at,
                    found: one.to_owned(),
                    given: other.to_owned(),
                });
            }
        }
    }

    /// Returns true if the difference may be invisible.
    pub fn is_deceptive(&self) -> bool {
        !(self.found.is_ascii() && self.given.is_ascii())
    }

    /// Formats the difference like `U+2019 (’) where oldText has U+0027 (')`.
    pub fn words(&self, given_by: &str) -> String {
        format!(
            "{} where {given_by} has {}",
            CharacterNames(&self.found),
            CharacterNames(&self.given)
        )
    }
}

/// A character, displayed by its code points.
struct CharacterNames<'a>(&'a str);

impl fmt::Display for CharacterNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nothing more");
        }
        for (index, c) in self.0.chars().enumerate() {
            write!(
                f,
                "{}U+{:04X}",
                if index > 0 { " " } else { "" },
                u32::from(c)
            )?;
        }
        let first = self.0.chars().next().unwrap_or_default();
        let script = match first {
            '\u{370}'..='\u{3FF}' => ", Greek",
            '\u{400}'..='\u{52F}' => ", Cyrillic",
            _ => "",
        };
        let alone = self.0.chars().nth(1).is_none();
        match NAMES.iter().find(|(c, _)| *c == first && alone) {
            Some((_, name)) => write!(f, " ({name})"),
            None if first.is_whitespace() => f.write_str(" (a space)"),
            None if first.is_control() || is_invisible(first) || joins(first) => {
                f.write_str(" (invisible)")
            }
            None => write!(f, " ({}{script})", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn lookalike_texts_have_same_skeleton() {
        for (one, other) in [
            ("it’s “good” — now", "it's \"good\" - now"),
            ("caf\u{65}\u{301}", "caf\u{e9}"),
            ("\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}", "한글"),
            ("a\u{200B}b\u{FEFF}c\u{AD}", "abc"),
            ("9.41.00\u{202F}PM", "9.41.00 PM"),
            ("сору", "copy"),
            ("（ｆ）", "(f)"),
        ] {
            assert_eq!(skeleton(one), skeleton(other), "{one} {other}");
        }
        assert_ne!(skeleton("cafe"), skeleton("café"));
        assert_eq!(skeleton("漢字 x\u{301}"), "漢字 x\u{301}");
    }

    #[test]
    fn lookalike_text_is_found_with_range() {
        let text = "漢字: “go\u{200B}od” é, e\u{301}x";
        let found = |wanted: &str| find(text, wanted).map(|range| &text[range]);
        assert_eq!(found("\"good\""), Some("“go\u{200B}od”"));
        assert_eq!(found("\u{e9}x"), Some("e\u{301}x"));
        assert_eq!(found("字: \""), Some("字: “"));
        assert_eq!([found("bad"), found("\u{200B}")], [None; 2]);
        assert_eq!(find("good", "'good'"), None);
        // A small tilde folds to a space and a mark.
        assert_eq!(find("x\u{2DC}", "x "), Some(0..3));
    }

    #[test]
    fn divergence_names_both_characters() {
        let said = |found: &str, given: &str| {
            Divergence::of(found, given).map(|one| (one.at, one.words("oldText")))
        };
        let told = |at, words: &str| Some((at, words.to_owned()));
        assert_eq!(
            said("it’s", "it's"),
            told(2, "U+2019 (’) where oldText has U+0027 (')")
        );
        assert_eq!(
            said("e\u{301}", "é"),
            told(0, "U+0065 U+0301 (e\u{301}) where oldText has U+00E9 (é)")
        );
        assert_eq!(
            said("a\u{202F}b", "a b"),
            told(
                1,
                "U+202F (narrow no-break space) where oldText has U+0020 (space)"
            )
        );
        assert_eq!(
            said("xа", "xa"),
            told(1, "U+0430 (а, Cyrillic) where oldText has U+0061 (a)")
        );
        assert_eq!(
            said("ab\u{200B}", "ab"),
            told(
                2,
                "U+200B (zero width space) where oldText has nothing more"
            )
        );
        assert_eq!(said("ab", "ab"), None);
    }
}
