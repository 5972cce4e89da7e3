//! Old names of flags and keys. This version accepts them with a warning; the next one does not.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

/// Old flags and the words that replace them. A value that follows is unchanged.
const FLAGS: [(&str, &str); 5] = [
    ("--allow-net", "--allow-host"),
    ("--net", "--allow-hosts"),
    ("--deny-net", "--deny-host"),
    ("--allow-network", "--network=host"),
    ("--freeze-sinks", "--freeze-autorun"),
];

/// Old keys of profiles and token lines, with the new ones.
pub(crate) const RENAMED_KEYS: [(&str, &str); 4] = [
    ("allow_net", "allow_host"),
    ("deny_net", "deny_host"),
    ("allow_network", "network"),
    ("freeze_sinks", "freeze_autorun"),
];

/// Replaces old flags up to the first `--`, and warns about each.
pub(crate) fn with_new_names(typed: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let (words, replaced) = replace_old_flags(typed);
    for (old, new) in replaced {
        warn_of_old_name("command line", old, new);
    }
    words
}

/// Replaces old flags up to the first `--`. Returns also the replacements that were made.
fn replace_old_flags(
    typed: impl IntoIterator<Item = OsString>,
) -> (Vec<OsString>, Vec<(&'static str, &'static str)>) {
    let mut made = Vec::new();
    let mut is_over = false;
    let replaced = typed.into_iter().map(|word| {
        is_over |= word == "--";
        let renamed = (!is_over).then(|| replace_old_flag(&word)).flatten();
        let Some((word, pair)) = renamed else {
            return word;
        };
        if !made.contains(&pair) {
            made.push(pair);
        }
        word
    });
    (replaced.collect(), made)
}

/// New spelling of an old flag, alone or with `=VALUE`.
fn replace_old_flag(word: &OsStr) -> Option<(OsString, (&'static str, &'static str))> {
    FLAGS.into_iter().find_map(|(old, new)| {
        let rest = word.as_bytes().strip_prefix(old.as_bytes())?;
        let is_whole = rest.is_empty() || rest.starts_with(b"=");
        let replaced = [new.as_bytes(), rest].concat();
        is_whole.then(|| (OsString::from_vec(replaced), (old, new)))
    })
}

/// Warns on stderr about an old name and the place where it was found.
pub(crate) fn warn_of_old_name(place: &str, old: &str, new: &str) {
    warn(&format!(
        "{place}: `{old}` is now `{new}`; the next version does not accept `{old}`"
    ));
}

/// Warns that `--allow-host` does not name hosts of the HTTP server, as it once did.
pub(crate) fn warn_of_http_names() {
    warn(
        "--allow-host is a rule for the network of commands; for names by which clients reach \
         this server use --http-host",
    );
}

fn warn(message: &str) {
    // A lost warning changes nothing.
    let _ = writeln!(std::io::stderr(), "replay: {message}");
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn old_flags_before_separator_are_replaced() {
        let typed = "replay --allow-net a:1 --net=npm --allow-network --network none --net-log f \
                     --allow-net b:2 -- --deny-net x";
        let (words, made) = replace_old_flags(typed.split(' ').map(OsString::from));
        let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(
            words.join(" "),
            "replay --allow-host a:1 --allow-hosts=npm --network=host --network none --net-log f \
             --allow-host b:2 -- --deny-net x"
        );
        assert_eq!(made, [FLAGS[0], FLAGS[1], FLAGS[3]]);
    }
}
