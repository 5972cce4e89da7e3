//! What a project's test script says beside the runner: the environment and the configuration that its tests are meant for.

/// A test script of `package.json`, as far as it is one plain command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestScript {
    /// Variables that it sets.
    pub environment: Vec<(String, String)>,
    /// The configuration that it names.
    pub config: Option<String>,
    /// Of what it says, what is not done: words of it.
    pub unheeded: Vec<String>,
}

/// Options that change nothing of which tests there are and what they do: the run has its own reporter, and no coverage.
const PLAIN: [&str; 22] = [
    "--bail",
    "--cache",
    "--ci",
    "--clearMocks",
    "--color",
    "--colors",
    "--coverage",
    "--detectOpenHandles",
    "--maxWorkers",
    "--no-cache",
    "--no-color",
    "--no-coverage",
    "--no-watch",
    "--passWithNoTests",
    "--reporter",
    "--reporters",
    "--run",
    "--runInBand",
    "--silent",
    "--verbose",
    "--watch",
    "--watchAll",
];

/// What a script says for a runner of Node. Of one that is more than one plain command, or does not run it, nothing is
/// heeded.
pub fn read(script: &str, runner: &str) -> TestScript {
    let nothing = || TestScript { unheeded: vec![script.trim().to_owned()], ..TestScript::default() };
    let Some(words) = words(script) else { return nothing() };
    let mut words = words.into_iter().peekable();
    let mut found = TestScript::default();
    while let Some(word) = words.next_if(|word| is_start(word)) {
        if let Some((name, value)) = word.split_once('=') {
            found.environment.push((name.to_owned(), value.to_owned()));
        }
    }
    if words.next_if(|word| word == "node").is_some() {
        while let Some(option) = words.next_if(|word| word.starts_with('-')) {
            found.unheeded.push(format!("node {option}"));
        }
    }
    let is_runner = |program: &String| {
        let name = program.rsplit('/').next().unwrap_or(program);
        name.split('.').next() == Some(runner)
    };
    if !words.next().as_ref().is_some_and(is_runner) {
        return nothing();
    }
    while let Some(word) = words.next() {
        let (option, value) =
            word.split_once('=').map_or((&*word, None), |(name, value)| (name, Some(value.to_owned())));
        match option {
            "-c" | "--config" => found.config = value.or_else(|| words.next()),
            "run" | "watch" | "-i" | "-w" => {}
            _ if PLAIN.contains(&option) || option.starts_with("--coverage.") => {
                if matches!(option, "--reporter" | "--reporters" | "--maxWorkers") && value.is_none() {
                    words.next_if(|word| !word.starts_with('-'));
                }
            }
            _ => found.unheeded.push(word),
        }
    }
    found
}

/// What may stand before the program: an assignment, or what only takes assignments or finds the program.
fn is_start(word: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|next| next.is_ascii_alphanumeric() || next == '_')
    };
    matches!(word, "cross-env" | "env" | "npx") || word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// The words of one plain command; none if a shell would do more with it than to take away quotes.
fn words(script: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for next in script.trim().chars() {
        match (quote, next) {
            (Some(open), _) if next == open => quote = None,
            (None | Some('"'), '$' | '`' | '\\') => return None,
            (None, '"' | '\'') => {
                word.get_or_insert_default();
                quote = Some(next);
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, '&' | '|' | ';' | '<' | '>' | '(' | ')' | '{' | '}' | '*' | '?' | '[' | '~' | '#' | '!' | '\n') => {
                return None;
            }
            _ => word.get_or_insert_default().push(next),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn of(script: &str, runner: &str) -> (Vec<String>, Option<String>, Vec<String>) {
        let TestScript { environment, config, unheeded } = read(script, runner);
        (environment.into_iter().map(|(name, value)| format!("{name}={value}")).collect(), config, unheeded)
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_plain_command_is_heeded() {
        let config = |name: &str| Some(name.to_owned());
        assert_eq!(of("MODE=full vitest run", "vitest"), (texts(&["MODE=full"]), None, vec![]));
        assert_eq!(
            of("cross-env NODE_OPTIONS='--a --b' npx jest -c e2e.config.js --ci --reporters x", "jest"),
            (texts(&["NODE_OPTIONS=--a --b"]), config("e2e.config.js"), vec![])
        );
        assert_eq!(of("vitest --config=v.ts --coverage.enabled", "vitest"), (vec![], config("v.ts"), vec![]));
        assert_eq!(of("./node_modules/.bin/jest", "jest"), (vec![], None, vec![]));
    }

    #[test]
    fn what_is_not_heeded_is_told() {
        let unheeded = |script, runner| of(script, runner).2;
        assert_eq!(unheeded("vitest run --project unit", "vitest"), ["--project", "unit"]);
        assert_eq!(unheeded("node --x node_modules/jest/bin/jest.js", "jest"), ["node --x"]);
        for script in ["tsc && A=1 jest", "A=$B jest", "mocha", "A=\"x jest", "A=1", ""] {
            assert_eq!(of(script, "jest"), (vec![], None, texts(&[script])));
        }
    }
}
