//! Hints for patterns that are not well formed.

const ESCAPE: &str = "write `\\` before `( ) [ ] { } * + ? . ^ $ |` to mean the character itself";
const GROUPS: &str = "JavaScript has `(?:...)`, `(?<name>...)`, `(?=...)`, `(?!...)`, `(?<=...)`, `(?<!...)` and `(?i:...)`";

/// A hint for a fault of which `rest` is the pattern from its place on.
pub(super) fn for_fault(reason: &str, rest: &str) -> &'static str {
    match reason {
        "Invalid group" => for_group(rest),
        "Nothing to repeat" if rest.starts_with('+') => {
            "JavaScript has no possessive quantifiers: write `(?=(a*))\\1` for `a*+`, or `\\+` for the character itself"
        }
        "Nothing to repeat" | "Invalid quantifier" => {
            "put what is repeated before the quantifier, or `\\` before it to mean the character itself"
        }
        "Range out of order in character class" => {
            "write the lower end first, or put a `-` that means itself at the end of the class"
        }
        "numbers out of order in {} quantifier" => "write the smaller number first, as in `{1,3}`",
        "Invalid capture group name" => {
            "a name has letters, digits, `_` and `$` only: `(?<name>...)`, `\\k<name>`"
        }
        "Duplicate capture group name" => {
            "a name may come twice only in different alternatives, `(?<a>x)|(?<a>y)`"
        }
        "Invalid named reference" | "Invalid escape" => {
            "where groups have names, `\\k` must be followed by one: `\\k<name>`; write `k` for the letter"
        }
        "Invalid named capture referenced" => {
            "no group has this name: write `(?<name>...)` somewhere"
        }
        "Unterminated group" => "close the group with `)`, or write `\\(` for the character itself",
        "Unmatched ')'" => "write `\\)` for the character itself, or open the group with `(`",
        "\\ at end of pattern" => "write `\\\\` for the character itself",
        "Unterminated character class" => {
            "close the class with `]`, or write `\\[` for the character itself"
        }
        "Repeated flag in flag group" | "Multiple dashes in flag group" | "Invalid flag group" => {
            "flags are `i`, `m` and `s`, each at most once, as in `(?i-s:...)`"
        }
        _ => ESCAPE,
    }
}

/// Group heads that other languages have.
fn for_group(rest: &str) -> &'static str {
    let head = rest.strip_prefix("(?").unwrap_or(rest);
    let flags = head.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '-');
    if head.starts_with("P<") {
        "write `(?<name>...)` for a group with a name, and `\\k<name>` to refer to it"
    } else if head.starts_with("P=") {
        "write `\\k<name>` for a reference to a group with a name"
    } else if head.starts_with('>') {
        "JavaScript has no atomic groups: write `(?=(...))\\1` for `(?>...)`"
    } else if head.starts_with('#') {
        "JavaScript has no comments in patterns"
    } else if flags.starts_with(')') && head.starts_with('s') {
        "write `(?s:...)` around what `.` shall match line endings in, or `[^]` for any character"
    } else if flags.starts_with(')') && head.starts_with('m') {
        "leave the flag out: `^` and `$` match at each line anyway"
    } else if flags.starts_with(')') && head.starts_with('x') {
        "JavaScript has no such mode: write the pattern without spaces and comments"
    } else if flags.len() < head.len() && flags.starts_with(')') {
        "flags need a group, `(?i:...)`; for the whole pattern set `caseInsensitive` instead"
    } else {
        GROUPS
    }
}
