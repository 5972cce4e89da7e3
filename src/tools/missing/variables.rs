//! Variables of the operator that a command may have missed.

/// Variable of the operator that commands do not get.
#[derive(Clone, Debug)]
pub struct UnsetVariable {
    pub name: String,
    /// Existing paths of its value that commands do not see, as messages show them.
    pub unseen: Vec<String>,
    /// Flags with which the operator gives it; `None` if it may hold secrets.
    pub flags: Option<String>,
}

impl UnsetVariable {
    /// Returns true if the command line expands it and does not set it.
    pub(super) fn is_read_by(&self, line: &str) -> bool {
        let name = &self.name;
        let is_set = words_of(line, name).any(|(_, after)| after.starts_with('='));
        let is_read =
            words_of(line, name).any(|(before, _)| before.ends_with('$') || before.ends_with("${"));
        is_read && !is_set
    }

    /// Returns true if a text names it.
    pub(super) fn is_named_in(&self, text: &str) -> bool {
        let is_marked = |before: &str| before.ends_with(['$', '{', '\'', '"', '`']);
        // A word without a sign, such as NAME, is a title of a column.
        let is_sign = self.name.contains('_');
        words_of(text, &self.name).any(|(before, _)| is_sign || is_marked(before))
    }

    /// Returns true if it has paths for a program that one of these texts names: `NLTK_DATA` is for
    /// nltk, `PYTHONPATH` for python.
    pub(super) fn is_for_program_in(&self, texts: &[&str]) -> bool {
        const MIN_LETTERS: usize = 3;
        let first = self.name.split('_').next().unwrap_or_default();
        let program = first.strip_suffix("PATH").unwrap_or(first);
        let program = program.to_ascii_lowercase();
        let is_word = program.len() >= MIN_LETTERS && program != self.name.to_ascii_lowercase();
        let is_letter = |char: char| char.is_ascii_alphabetic();
        let has_it = |text: &&str| {
            let text = text.to_ascii_lowercase();
            let mut words = text.split(|char| !is_letter(char));
            words.any(|word| word == program)
        };
        is_word && !self.unseen.is_empty() && texts.iter().any(has_it)
    }

    /// Returns true if a text tells that something is not there which its value could give.
    pub(super) fn tells_absence(&self, text: &str) -> bool {
        let is_list = self.name.ends_with("PATH");
        text.lines().any(|line| {
            let has = |words: &&str| line.contains(words);
            ABSENCE.iter().any(has) && (!is_list || LISTED.iter().any(has))
        })
    }

    /// Returns the note on a failed command.
    pub(super) fn note(&self) -> String {
        let (name, unseen) = (&self.name, self.unseen.join(", "));
        let paths = if unseen.is_empty() {
            String::new()
        } else {
            format!(", and do not see {unseen}")
        };
        let remedy = match &self.flags {
            Some(flags) => format!("; the operator can give it ({flags})"),
            None => ": it may hold secrets".to_owned(),
        };
        format!("commands do not have {name} of the operator's environment{paths}{remedy}")
    }

    /// Returns the first flag that gives it.
    pub(super) fn flag(&self) -> Option<&str> {
        self.flags.as_deref()?.split(' ').next()
    }
}

/// Words of an error about a thing that is not there.
const ABSENCE: [&str; 14] = [
    "o such ",
    "o module",
    "ot found",
    "ot set",
    "ot defined",
    "not exist",
    "n't exist",
    "annot find",
    "ould not find",
    "n't find",
    "nable to find",
    "nable to locate",
    "annot open",
    "issing",
];
/// Words for things that are looked for in a list of directories.
const LISTED: [&str; 4] = ["odule", "ackage", "ibrar", "shared object"];

/// Returns the names in `${NAME}` of a text; not those with a default.
pub(super) fn expanded_variables(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    text.split("${").skip(1).filter_map(move |rest| {
        let end = rest.find(|char| !is_part(char))?;
        let is_required = rest[end..].starts_with('}');
        (end > 0 && is_required).then_some(&rest[..end])
    })
}

/// Finds the whole words of a text that are this name, each with what is before and after it.
fn words_of<'t>(text: &'t str, name: &str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let places: Vec<usize> = text.match_indices(name).map(|(at, _)| at).collect();
    let length = name.len();
    places.into_iter().filter_map(move |at| {
        let (before, after) = (&text[..at], &text[at + length..]);
        (!before.ends_with(is_part) && !after.starts_with(is_part)).then_some((before, after))
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn variable(name: &str, unseen: &[&str], flags: Option<&str>) -> UnsetVariable {
        UnsetVariable {
            name: name.to_owned(),
            unseen: unseen.iter().map(|&path| path.to_owned()).collect(),
            flags: flags.map(str::to_owned),
        }
    }

    #[test]
    fn variable_of_line_is_read_unless_set() {
        let data = variable("DATA", &[], None);
        for (line, is_read) in [
            ("ls $DATA/x", true),
            ("ls \"${DATA}\"", true),
            ("ls ${DATA:-x}", true),
            ("ls $DATA_DIR", false),
            ("DATA=/x; ls $DATA", false),
            ("echo DATA", false),
        ] {
            assert_eq!(data.is_read_by(line), is_read, "{line}");
        }
    }

    #[test]
    fn variable_is_named_by_sign_or_quote() {
        let (name, data) = (variable("NAME", &[], None), variable("MY_DATA", &[], None));
        assert!(!name.is_named_in("NAME   STATUS"));
        assert!(name.is_named_in("KeyError: 'NAME'"));
        assert!(data.is_named_in("MY_DATA is not set"));
        assert!(!data.is_named_in("MY_DATABASE is not set"));
    }

    #[test]
    fn variable_is_for_program_of_its_name() {
        let nltk = variable("NLTK_DATA", &["~/nltk"], None);
        assert!(nltk.is_for_program_in(&["", "please use the NLTK Downloader"]));
        assert!(!nltk.is_for_program_in(&["python3 x.py"]));
        let path = variable("PYTHONPATH", &["~/lib"], None);
        assert!(path.is_for_program_in(&["python3 x.py"]));
        assert!(!variable("PYTHONPATH", &[], None).is_for_program_in(&["python"]));
        assert!(!variable("MY_DATA", &["~/x"], None).is_for_program_in(&["my"]));
        assert!(!variable("SPARK", &["~/x"], None).is_for_program_in(&["spark"]));
    }

    #[test]
    fn absence_of_listed_thing_is_for_search_path() {
        let (data, path) = (variable("A_DATA", &[], None), variable("A_PATH", &[], None));
        for (text, of_data, of_path) in [
            ("x\nResource words not found.", true, false),
            ("No module named 'x'", true, true),
            ("Package x was not found in the search path", true, true),
            ("2 tests failed", false, false),
        ] {
            assert_eq!(data.tells_absence(text), of_data, "{text}");
            assert_eq!(path.tells_absence(text), of_path, "{text}");
        }
    }

    #[test]
    fn note_has_paths_and_flags() {
        let note = |unseen: &[&str], flags| variable("A_B", unseen, flags).note();
        assert_eq!(
            note(&["~/a", "~/b"], Some("--env A_B --system ~/a --system ~/b")),
            "commands do not have A_B of the operator's environment, and do not see ~/a, ~/b; the operator can give it \
             (--env A_B --system ~/a --system ~/b)"
        );
        assert_eq!(
            note(&["~/.x"], None),
            "commands do not have A_B of the operator's environment, and do not see ~/.x: it may hold secrets"
        );
    }
}
