//! Test script of a Node project: the environment and the options that it sets for its runner.

/// A test script of `package.json`, as far as it is a plain command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestScript {
    /// Variables of the script.
    pub environment: Vec<(String, String)>,
    /// Options of Node.
    pub node: Vec<String>,
    /// Options and other arguments of the runner.
    pub options: Vec<String>,
    /// Parts of the script that are not applied.
    pub unheeded: Option<String>,
}

/// Options that a run sets itself: reporter, no other output, no coverage, a single complete pass.
const RUN_OPTIONS: [&str; 22] = [
    "-b",
    "-w",
    "--bail",
    "--coverage",
    "--coverage-dir",
    "--coverage-reporter",
    "--collectCoverage",
    "--fail-fast",
    "--json",
    "--junit-path",
    "--no-run",
    "--no-coverage",
    "--no-watch",
    "--outputFile",
    "--reporter",
    "--reporter-outfile",
    "--reporters",
    "--run",
    "--ui",
    "--watch",
    "--watchAll",
    "--watchman",
];
/// Options in [`RUN_OPTIONS`] that may take a value in the next word.
const VALUE_OPTIONS: [&str; 8] = [
    "--bail",
    "--coverage-dir",
    "--coverage-reporter",
    "--junit-path",
    "--outputFile",
    "--reporter",
    "--reporter-outfile",
    "--reporters",
];
/// Runtimes, whose tests are a subcommand.
const RUNTIMES: [&str; 2] = ["bun", "deno"];
/// Prefixes of Node options that keep a program from starting or from ending.
const BLOCKING_OPTIONS: [&str; 2] = ["--inspect", "--watch"];

const VITEST: &str = "vitest";
/// Vitest subcommands that run tests, which may follow options (<https://vitest.dev/guide/cli>).
const TEST_SUBCOMMANDS: [&str; 3] = ["run", "watch", "dev"];
/// Vitest subcommands for other work.
const OTHER_SUBCOMMANDS: [&str; 4] = ["bench", "init", "list", "related"];

/// Parses a script for a runner of Node. In a sequence of commands, takes the one that calls the
/// runner.
pub(crate) fn read(script: &str, runner: &str) -> TestScript {
    let parts: Vec<&str> = script.split("&&").map(str::trim).collect();
    let found: Vec<Option<TestScript>> = parts.iter().map(|part| plain(part, runner)).collect();
    if found.iter().flatten().count() != 1 {
        return TestScript {
            unheeded: Some(script.trim().to_owned()),
            ..TestScript::default()
        };
    }
    let others: Vec<&str> = parts
        .iter()
        .zip(&found)
        .filter(|(_, own)| own.is_none())
        .map(|(part, _)| *part)
        .collect();
    let unheeded = (!others.is_empty()).then(|| others.join(" && "));
    TestScript {
        unheeded,
        ..found.into_iter().flatten().next().unwrap_or_default()
    }
}

fn plain(script: &str, runner: &str) -> Option<TestScript> {
    let mut words = words(script)?.into_iter().peekable();
    let mut found = TestScript::default();
    while let Some(word) = words.next_if(|word| is_start(word)) {
        if let Some((name, value)) = word.split_once('=') {
            found.environment.push((name.to_owned(), value.to_owned()));
        }
    }
    if words.next_if(|word| word == "node").is_some() {
        while let Some(option) = words.next_if(|word| word.starts_with('-')) {
            if !BLOCKING_OPTIONS
                .iter()
                .any(|begin| option.starts_with(begin))
            {
                found.node.push(option);
            }
        }
    }
    let program = words.next()?;
    let name = program.rsplit('/').next().unwrap_or(&program);
    if name.split('.').next() != Some(runner) {
        return None;
    }
    if RUNTIMES.contains(&runner) && words.next()? != "test" {
        return None;
    }
    while let Some(word) = words.next() {
        // Words after `--` are not options, and options of the run would follow them.
        if word == "--" || runner == VITEST && OTHER_SUBCOMMANDS.contains(&&*word) {
            return None;
        }
        if runner == VITEST && TEST_SUBCOMMANDS.contains(&&*word) {
            continue;
        }
        let (option, value) = word
            .split_once('=')
            .map_or((&*word, None), |(name, value)| (name, Some(value)));
        if !RUN_OPTIONS.contains(&option)
            && !["--coverage.", "--outputFile."]
                .iter()
                .any(|of| option.starts_with(of))
        {
            found.options.push(word);
        } else if VALUE_OPTIONS.contains(&option) && value.is_none() {
            words.next_if(|word| !word.starts_with('-'));
        }
    }
    Some(found)
}

/// Returns true for a word that may precede the program: an assignment, or a wrapper that sets
/// variables or finds the program.
fn is_start(word: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name
                .chars()
                .all(|next| next.is_ascii_alphanumeric() || next == '_')
    };
    matches!(word, "cross-env" | "env" | "npx")
        || word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// Returns the words of one plain command; `None` if a shell would do more than remove quotes.
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
            (
                None,
                '&' | '|' | ';' | '<' | '>' | '(' | ')' | '{' | '}' | '*' | '?' | '[' | '~' | '#'
                | '!' | '\n',
            ) => {
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

    fn of(script: &str, runner: &str) -> [String; 3] {
        let TestScript {
            environment,
            node,
            options,
            unheeded,
        } = read(script, runner);
        assert_eq!(unheeded, None, "{script}");
        let variables: Vec<String> = environment
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        [variables, node, options].map(|words| words.join(" "))
    }

    #[test]
    fn plain_test_script_is_parsed() {
        assert_eq!(
            of("MODE=full vitest run --typecheck", "vitest"),
            ["MODE=full", "", "--typecheck"]
        );
        assert_eq!(
            of(
                "cross-env NODE_OPTIONS='--a --b' npx jest -c e2e.config.js --env jsdom --ci --reporters x --bail 1",
                "jest"
            ),
            [
                "NODE_OPTIONS=--a --b",
                "",
                "-c e2e.config.js --env jsdom --ci"
            ]
        );
        assert_eq!(
            of(
                "vitest --globals --coverage.enabled --project unit src",
                "vitest"
            )[2],
            "--globals --project unit src"
        );
        for script in [
            "vitest --retry 2 run",
            "vitest dev --retry 2 --run",
            "vitest --retry 2 --watch dev",
        ] {
            assert_eq!(of(script, "vitest"), ["", "", "--retry 2"], "{script}");
        }
        assert_eq!(of("jest run", "jest")[2], "run");
        assert_eq!(of("./node_modules/.bin/jest", "jest"), ["", "", ""]);
        assert_eq!(
            of("node --x node_modules/jest/bin/jest.js --watch", "jest"),
            ["", "--x", ""]
        );
        assert_eq!(
            of(
                "node --inspect-brk --watch --x jest.js --json --outputFile out.json -i",
                "jest"
            ),
            ["", "--x", "-i"]
        );
        assert_eq!(
            of(
                "vitest run --outputFile.junit=a.xml --outputFile=b",
                "vitest"
            )[2],
            ""
        );
    }

    #[test]
    fn runner_in_command_sequence_is_parsed() {
        let found = read("tsc && A=1 jest --ci && echo done", "jest");
        assert_eq!(
            (found.options, found.unheeded),
            (vec!["--ci".to_owned()], Some("tsc && echo done".to_owned()))
        );
    }

    #[test]
    fn complex_test_script_is_not_applied() {
        let nothing = |script: &str| TestScript {
            unheeded: Some(script.to_owned()),
            ..TestScript::default()
        };
        for script in [
            "vitest bench",
            "vitest --run related a.ts",
            "vitest init browser",
        ] {
            assert_eq!(read(script, "vitest"), nothing(script));
        }
        for script in [
            "jest -i -- a",
            "jest && jest",
            "tsc; jest",
            "A=$B jest",
            "mocha",
            "A=\"x jest",
            "A=1",
            "",
        ] {
            assert_eq!(read(script, "jest"), nothing(script));
        }
    }
}
