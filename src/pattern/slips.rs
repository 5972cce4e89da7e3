//! Patterns that are well formed but in JavaScript mean something else than their author is likely
//! to think.

/// Returns a hint for a pattern that matched nothing but has syntax of other languages, or of
/// JavaScript with the flag `u`.
pub fn slip(source: &str) -> Option<&'static str> {
    if is_between_slashes(source) {
        return Some(
            "the slashes of `/.../` are part of the pattern here: leave them and the flags away",
        );
    }
    if [
        "[[:alpha:]",
        "[[:digit:]",
        "[[:alnum:]",
        "[[:space:]",
        "[[:upper:]",
        "[[:lower:]",
        "[[:punct:]",
        "[[:word:]",
    ]
    .iter()
    .any(|class| source.contains(class))
    {
        return Some(
            "`[[:alpha:]]` is no class in JavaScript: write `[A-Za-z]`, `\\d`, `\\w` or `\\s`",
        );
    }
    let mut rest = source;
    while let Some(at) = rest.find('\\') {
        let mut behind = rest[at + 1..].chars();
        let letter = behind.next()?;
        let braced = behind.as_str().starts_with('{');
        match letter {
            'p' | 'P' if braced => {
                return Some(
                    "`\\p{...}` needs the flag `u`, which is not set: write out the characters, as in `[A-Za-zÀ-ɏ]`",
                );
            }
            'u' if braced => {
                return Some(
                    "`\\u{...}` needs the flag `u`, which is not set: write `\\uXXXX` or the character itself",
                );
            }
            'A' => {
                return Some(
                    "`\\A` is the letter `A` in JavaScript: `^` is the beginning of a line, `(?-m:^)` of the text",
                );
            }
            'z' | 'Z' => {
                return Some(
                    "`\\z` and `\\Z` are letters in JavaScript: `$` is the end of a line, `(?-m:$)` of the text",
                );
            }
            '|' => {
                return Some(
                    "`\\|` is the character itself in JavaScript: write `|` between alternatives",
                );
            }
            'h' | 'R' | 'K' | 'G' | 'Q' | 'E' | '<' | '>' => {
                return Some(
                    "JavaScript reads `\\h`, `\\R`, `\\K`, `\\G`, `\\Q`, `\\<` and the like as the characters themselves",
                );
            }
            _ => rest = behind.as_str(),
        }
    }
    None
}

/// Returns a hint for a replacement text with syntax that elsewhere refers to a group or character
/// but is literal here.
pub fn replacement_slip(text: &str) -> Option<&'static str> {
    let has = |sign: &str, next: fn(char) -> bool| {
        text.match_indices(sign)
            .any(|(at, _)| text[at + sign.len()..].starts_with(next))
    };
    if has("${", |c| c.is_ascii_digit()) {
        Some("`${1}` in newText stands as it is; a group is `$1`, and `$<name>` if it has a name")
    } else if has("\\g", |c| c == '<' || c == '{' || c.is_ascii_digit()) {
        Some("`\\g<1>` in newText stands as it is; a group is `$1`, and `$<name>` if it has a name")
    } else if has("\\", |c| matches!(c, 'n' | 't')) {
        Some(
            "`\\n` and `\\t` in newText stand as they are; put the characters themselves into the JSON string",
        )
    } else if has("\\", |c| matches!(c, 'U' | 'L' | 'E')) {
        Some("`\\U`, `\\L` and `\\E` in newText stand as they are; case is not changed")
    } else {
        None
    }
}

/// `/x/` or `/x/gi`. A pattern for a path may begin and end with a slash, too, but not often does
/// it hold no other.
fn is_between_slashes(source: &str) -> bool {
    let inside = source
        .strip_prefix('/')
        .and_then(|rest| rest.rsplit_once('/'));
    inside.is_some_and(|(inside, flags)| {
        !inside.is_empty()
            && flags.chars().all(|flag| "dgimsuvy".contains(flag))
            && !inside.replace("\\/", "").contains('/')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_slips_give_hint() {
        for (source, word) in [
            ("\\p{L}+", "`\\p{...}`"),
            ("x\\u{1F600}", "`\\u{...}`"),
            ("\\Afoo", "`\\A`"),
            ("foo\\z", "`\\z`"),
            ("\\<foo\\>", "`\\<`"),
            ("/foo/i", "slashes"),
            ("[[:alpha:]]+", "[A-Za-z]"),
        ] {
            assert!(
                slip(source).is_some_and(|hint| hint.contains(word)),
                "{source}"
            );
        }
    }

    #[test]
    fn good_patterns_give_no_hint() {
        for source in [
            "\\\\A",
            "\\d+\\.\\w",
            "/usr/bin/",
            "a/b",
            "\\u0041",
            "\\",
            "/",
            "//",
            "[[:]",
        ] {
            assert_eq!(slip(source), None, "{source}");
        }
    }
}
