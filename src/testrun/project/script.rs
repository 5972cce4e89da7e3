//! Test script of a Node project: the environment and the options that it sets for its runner.

/// A test script of `package.json`, as far as it is a plain command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestScript {
    /// Variables of the script.
    pub environment: Vec<(String, String)>,
    /// Options of Node.
    pub node: Vec<String>,
    /// Options of the runner, and its other arguments if `paths` has none.
    pub options: Vec<String>,
    /// Files, directories and globs, for a runner whose options with values are known.
    pub paths: Vec<ScriptPath>,
    /// Parts of the script that are not applied.
    pub unheeded: Option<String>,
}

/// A file, a directory or a glob in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptPath {
    pub text: String,
    /// `true` for a glob that the shell expands.
    pub is_of_shell: bool,
}

/// Runner whose command is searched for in a script.
#[derive(Clone, Copy)]
pub(crate) struct ScriptRunner<'a> {
    pub name: &'a str,
    /// Options with a value in the next word, if other words of the command are paths.
    pub valued: Option<&'a str>,
}

/// Options that a run sets itself: reporter, no other output, no coverage, a single complete pass.
/// Those with `=` may take a value in the next word.
const RUN_OPTIONS: &str = "--bail= --collectCoverage --coverage --coverage-dir= --coverage-reporter= --debug --dry-run \
    --experimental-test-coverage --fail-fast --headed --json --junit-path= --list \
    --max-failures= --no-coverage --no-run --no-watch --outputFile= --reporter= \
    --reporter-option= --reporter-options= --reporter-outfile= --reporters= --run --test \
    --test-reporter= --test-reporter-destination= --ui --watch --watchAll --watchman -b -O= -R= \
    -w -x";
/// Programs whose tests are a subcommand.
const SUBCOMMANDS: [&str; 3] = ["bun", "deno", "playwright"];
/// Prefixes of Node options that keep a program from starting or from ending.
const BLOCKING_OPTIONS: [&str; 2] = ["--inspect", "--watch"];

const VITEST: &str = "vitest";
/// Vitest subcommands that run tests, which may follow options (<https://vitest.dev/guide/cli>).
const TEST_SUBCOMMANDS: [&str; 3] = ["run", "watch", "dev"];
/// Vitest subcommands for other work.
const OTHER_SUBCOMMANDS: [&str; 4] = ["bench", "init", "list", "related"];

/// Node's own runner, which is an option of `node`.
pub(crate) const NODE: &str = "node";
/// Options of Node with a value in the next word (node(1)).
const NODE_VALUES: &str = "-C -r --conditions --env-file --experimental-loader --import --loader --require \
    --test-concurrency --test-global-setup --test-name-pattern --test-skip-pattern \
    --test-timeout";
/// Programs that measure coverage of the program after their options.
const COVERAGE: [&str; 2] = ["c8", "nyc"];
/// Node with support for TypeScript, and the options of Node for the same.
const TSX: (&str, [&str; 2]) = ("tsx", ["--import", "tsx"]);

/// Returns a script with other scripts in place of the commands that run them (`npm run NAME`).
pub(crate) fn with_scripts<'s>(
    script: &'s str,
    script_of: impl Fn(&str) -> Option<&'s str>,
) -> String {
    let inline = |part: &'s str| match part.split_whitespace().collect::<Vec<_>>()[..] {
        ["npm" | "yarn" | "pnpm", "run", name] | ["yarn" | "pnpm", name] => {
            script_of(name).unwrap_or(part)
        }
        _ => part,
    };
    let parts: Vec<&str> = script.split("&&").map(str::trim).map(inline).collect();
    parts.join(" && ")
}

/// Parses a script for a runner of Node. In a sequence of commands, takes the one that calls the
/// runner.
pub(crate) fn read(script: &str, runner: ScriptRunner<'_>) -> TestScript {
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

fn plain(script: &str, runner: ScriptRunner<'_>) -> Option<TestScript> {
    let mut words = words(script)?.into_iter().peekable();
    let is_expanded = |word: ScriptPath| word.is_of_shell || word.text.contains(['{', '}']);
    if runner.valued.is_none() && words.clone().any(is_expanded) {
        return None;
    }
    let mut found = TestScript::default();
    while let Some(word) = words.next_if(|word| is_start(&word.text)) {
        if let Some((name, value)) = word.text.split_once('=') {
            found.environment.push((name.to_owned(), value.to_owned()));
        }
    }
    let is_program = |word: &ScriptPath, names: &[&str]| {
        let name = word.text.rsplit('/').next().unwrap_or_default();
        let name = name.split('.').next().unwrap_or_default();
        names.contains(&name.trim_start_matches('_'))
    };
    let programs = [runner.name, NODE, TSX.0];
    let mut program = words.next()?;
    if is_program(&program, &COVERAGE) {
        program = words.find(|word| is_program(word, &programs))?;
    }
    if is_program(&program, &[NODE, TSX.0]) {
        if is_program(&program, &[TSX.0]) {
            found.node.extend(TSX.1.map(str::to_owned));
        }
        let mut is_test = false;
        while let Some(option) = words.next_if(|word| word.text.starts_with('-')) {
            let name = option.text.split('=').next().unwrap_or_default();
            is_test |= name == "--test";
            let value = words.next_if(|word| {
                let is_valued = has_word(NODE_VALUES, name) || run_option(name) == Some(true);
                is_valued && !option.text.contains('=') && !word.text.starts_with('-')
            });
            if !BLOCKING_OPTIONS.iter().any(|begin| name.starts_with(begin))
                && run_option(name).is_none()
            {
                found.node.push(option.text);
                found.node.extend(value.map(|word| word.text));
            }
        }
        if runner.name == NODE {
            found.paths = words.collect();
            return is_test.then_some(found);
        }
        program = words.next()?;
    }
    if !is_program(&program, &[runner.name]) {
        return None;
    }
    if SUBCOMMANDS.contains(&runner.name) && words.next()?.text != "test" {
        return None;
    }
    let valued = runner.valued.unwrap_or_default();
    while let Some(word) = words.next() {
        let text = &*word.text;
        // Words after `--` are not options, and options of the run would follow them.
        if text == "--" || runner.name == VITEST && OTHER_SUBCOMMANDS.contains(&text) {
            return None;
        }
        if runner.name == VITEST && TEST_SUBCOMMANDS.contains(&text) {
            continue;
        }
        let (option, value) = text
            .split_once('=')
            .map_or((text, None), |(name, value)| (name, Some(value)));
        let own = run_option(option);
        if own.is_none()
            && !["--coverage.", "--outputFile."]
                .iter()
                .any(|of| option.starts_with(of))
        {
            let next = words.next_if(|_| has_word(valued, text));
            if runner.valued.is_some() && !text.starts_with('-') {
                found.paths.push(word);
            } else {
                found.options.push(word.text);
            }
            found.options.extend(next.map(|word| word.text));
        } else if own == Some(true) && value.is_none() {
            words.next_if(|word| !word.text.starts_with('-'));
        }
    }
    Some(found)
}

/// Returns true for one of the options in [`RUN_OPTIONS`] that may take a value in the next word,
/// false for the others; `None` for an option that the run does not set.
fn run_option(name: &str) -> Option<bool> {
    let rest = |option: &'static str| option.strip_prefix(name);
    let mut rests = RUN_OPTIONS.split(' ').filter_map(rest);
    rests
        .find(|rest| matches!(*rest, "" | "="))
        .map(|rest| rest == "=")
}

/// Returns true if a list separated by blanks has a word.
fn has_word(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
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

/// Returns the words of one plain command; `None` if a shell would do more than remove quotes and
/// expand globs.
fn words(script: &str) -> Option<Vec<ScriptPath>> {
    let mut words = Vec::new();
    let mut word: Option<ScriptPath> = None;
    let mut quote = None;
    let none = || ScriptPath {
        text: String::new(),
        is_of_shell: false,
    };
    for next in script.trim().chars() {
        match (quote, next) {
            (Some(open), _) if next == open => quote = None,
            (None | Some('"'), '$' | '`' | '\\') => return None,
            (None, '"' | '\'') => {
                word.get_or_insert_with(none);
                quote = Some(next);
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, '&' | '|' | ';' | '<' | '>' | '(' | ')' | '~' | '#' | '!' | '\n') => {
                return None;
            }
            (None, '{' | '}') if word.is_none() => return None,
            _ => {
                let word = word.get_or_insert_with(none);
                word.is_of_shell |= quote.is_none() && matches!(next, '*' | '?' | '[');
                word.text.push(next);
            }
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn runner(name: &str) -> ScriptRunner<'_> {
        let valued = [("mocha", "-r --timeout"), ("node", "")];
        ScriptRunner {
            name,
            valued: valued
                .iter()
                .find_map(|(known, valued)| (*known == name).then_some(*valued)),
        }
    }

    fn of(script: &str, name: &str) -> [String; 3] {
        let TestScript {
            environment,
            node,
            options,
            paths,
            unheeded,
        } = read(script, runner(name));
        let of_shell = |path: ScriptPath| format!("{}:{}", path.is_of_shell, path.text);
        let options = options.into_iter().chain(paths.into_iter().map(of_shell));
        let options: Vec<String> = options.collect();
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
    fn script_paths_are_told_from_options() {
        let cases = [
            (
                "nyc --reporter text mocha -r a.js test/*.js 'x/**/*.js' --timeout 5 -R dot --exit",
                "mocha",
                [
                    "",
                    "",
                    "-r a.js --timeout 5 --exit true:test/*.js false:x/**/*.js",
                ],
            ),
            (
                "c8 node node_modules/mocha/bin/_mocha t/{a,b}.js",
                "mocha",
                ["", "", "false:t/{a,b}.js"],
            ),
            (
                "A=1 node --import tsx --test --test-reporter spec --watch test/*.ts lib",
                "node",
                ["A=1", "--import tsx", "true:test/*.ts false:lib"],
            ),
            ("tsx --test", "node", ["", "--import tsx", ""]),
        ];
        for (script, name, expected) in cases {
            assert_eq!(of(script, name), expected, "{script}");
        }
        let plain = read("node test.js && make", runner("node"));
        assert_eq!(plain.unheeded.as_deref(), Some("node test.js && make"));
    }

    #[test]
    fn script_run_by_name_is_inlined() {
        let script_of = |name: &str| (name == "unit").then_some("tsc && mocha --ci");
        let of = |script| with_scripts(script, script_of);
        assert_eq!(of("npm run unit && eslint"), "tsc && mocha --ci && eslint");
        assert_eq!(of("yarn unit"), "tsc && mocha --ci");
        assert_eq!(
            of("npm run unit x && npm run e2e"),
            "npm run unit x && npm run e2e"
        );
    }

    #[test]
    fn runner_in_command_sequence_is_parsed() {
        let found = read("tsc && A=1 jest --ci && echo done", runner("jest"));
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
            assert_eq!(read(script, runner("vitest")), nothing(script));
        }
        for script in [
            "jest -i -- a",
            "jest && jest",
            "tsc; jest",
            "A=$B jest",
            "mocha",
            "jest src/*.js",
            "A=\"x jest",
            "A=1",
            "",
        ] {
            assert_eq!(read(script, runner("jest")), nothing(script), "{script}");
        }
    }
}
