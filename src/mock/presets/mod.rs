//! Built-in manifests to test a client against.

/// A manifest that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name for `--preset`.
    pub name: &'static str,
    /// The attack that it models, in a sentence.
    pub about: &'static str,
    pub text: &'static str,
}

macro_rules! preset {
    ($name:literal, $about:literal) => {
        Preset {
            name: $name,
            about: $about,
            text: include_str!(concat!($name, ".yaml")),
        }
    };
}

/// All presets, in the order of the documentation.
pub const PRESETS: [Preset; 9] = [
    preset!(
        "evil",
        "poisoned descriptions, a shadowing tool, injections in results and resources, results that break the schema"
    ),
    preset!(
        "evil-auth",
        "over HTTP: an authorization server that mixes up issuers, redirects elsewhere, echoes tokens, and leads to link-local addresses"
    ),
    preset!(
        "rugpull",
        "a harmless tool that turns hostile after its first call, with notifications/tools/list_changed"
    ),
    preset!(
        "flood",
        "5,000 tools and a result of 8 MB: bounds on memory, context and display"
    ),
    preset!(
        "unicode",
        "instructions in invisible tag characters, bidirectional overrides, look-alike names"
    ),
    preset!(
        "slowloris",
        "answers a byte at a time: one slow line delays everything after it"
    ),
    preset!(
        "badjson",
        "answers that are not JSON, or half an answer: framing must survive a bad line"
    ),
    preset!(
        "wrong-id",
        "answers with an id that no request had, or twice: correlation must not be confused"
    ),
    preset!(
        "stdout-noise",
        "log lines on stdout between the messages, as from a stray print"
    ),
];

/// The commented manifest that `replay mock init` writes.
pub const STARTER: &str = include_str!("starter.yaml");

/// Returns the preset of this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalog, load};

    #[test]
    fn presets_and_starter_build_without_warnings() {
        let starter = Preset {
            name: "starter",
            about: "",
            text: STARTER,
        };
        for preset in PRESETS.iter().chain([&starter]) {
            let (manifest, source) = load(preset.name, preset.text.as_bytes()).unwrap();
            let (_, warnings) = Catalog::build(&manifest, &source).unwrap();
            assert_eq!(warnings, [], "{}", preset.name);
        }
    }
}
