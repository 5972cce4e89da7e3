//! What runs, by the command that starts it: the first part of a set's name.

use crate::record::naming::names::slug;

/// What is called so that nothing in the command gives a name to.
const FALLBACK: &str = "app";

/// The name of a service by the command that starts it; by the folder where the command only says how.
pub fn service(command: &str, folder: &str) -> String {
    let folder = folder.rsplit('/').find(|part| !part.is_empty()).and_then(slug);
    of_command(command, 0).and_then(|name| slug(&name)).or(folder).unwrap_or_else(|| FALLBACK.to_owned())
}

/// The word of a command that names what runs. `None` where the folder does.
fn of_command(command: &str, depth: usize) -> Option<String> {
    let commands = split(command);
    // What comes before only prepares: `cd x && npm start`.
    let prepares = |words: &[String]| {
        matches!(
            words.first().map(String::as_str),
            None | Some(
                "cd" | "export"
                    | "source"
                    | "."
                    | "set"
                    | "sleep"
                    | "for"
                    | "while"
                    | "until"
                    | "if"
                    | "case"
                    | "{"
                    | "("
            )
        )
    };
    let words = commands.iter().find(|words| !prepares(words))?;
    let joint = matches!(words.first().map(String::as_str), Some("do" | "then" | "else" | "!"));
    let mut words = without_wrappers(&words[usize::from(joint)..]);
    let program = base(words.first()?).to_owned();
    words = &words[1..];
    let is_shell = matches!(program.as_str(), "sh" | "bash" | "zsh" | "dash" | "ash");
    let is_script =
        matches!(program.as_str(), "node" | "nodejs" | "ruby" | "php" | "perl" | "deno" | "bun" | "tsx" | "ts-node");
    let argument = |skipped: &[&str]| first_argument(words, skipped).map(|word| stem(word).to_owned());
    let python = program.starts_with("python") || program.starts_with("pypy");
    // A program on the command line itself has no name.
    let is_text = |word: &String| matches!(word.as_str(), "-c" | "-e" | "-p" | "--eval" | "--print");
    if (python || is_script) && words.iter().take_while(|word| word.starts_with('-')).any(is_text) {
        return None;
    }
    match program.as_str() {
        _ if is_shell && depth < 4 => {
            let at = words.iter().position(|word| word.starts_with('-') && word.contains('c'));
            match at.and_then(|at| words.get(at + 1)) {
                Some(inner) => of_command(inner, depth + 1),
                None => argument(&[]),
            }
        }
        "go" => match words.first().map(String::as_str) {
            Some("run") => {
                let named = first_argument(&words[1..], &["-tags", "-ldflags", "-gcflags", "-mod", "-exec"])?;
                let path = named.trim_end_matches('/');
                if path.ends_with('.') { None } else { Some(stem(path).to_owned()) }
            }
            _ => None,
        },
        "cargo" => {
            let at = words.iter().position(|word| word == "--bin" || word == "--example");
            at.and_then(|at| words.get(at + 1)).cloned()
        }
        "java" => {
            if let Some(at) = words.iter().position(|word| word == "-jar") {
                return words.get(at + 1).map(|word| stem(word).to_owned());
            }
            let class = first_argument(words, &["-cp", "-classpath", "--class-path", "-p", "--module-path"])?;
            Some(class.rsplit('.').next().unwrap_or(class).to_owned())
        }
        _ if python => match words.iter().position(|word| word == "-m") {
            Some(at) => words.get(at + 1).filter(|module| !is_runner(module)).cloned(),
            None => argument(&["-W", "-X"]),
        },
        _ if is_script => {
            let words =
                if matches!(words.first().map(String::as_str), Some("run" | "test")) { &words[1..] } else { words };
            let file = first_argument(words, &["-r", "--require", "--import", "--loader"])?;
            file.contains(['.', '/']).then(|| stem(file).to_owned())
        }
        _ if is_runner(&program) => None,
        _ => Some(stem(&program).to_owned()),
    }
}

/// Programs that run what a project's own files say.
fn is_runner(program: &str) -> bool {
    const RUNNERS: [&str; 28] = [
        "npm",
        "npx",
        "yarn",
        "pnpm",
        "pnpx",
        "make",
        "just",
        "task",
        "mvn",
        "mvnw",
        "gradle",
        "gradlew",
        "pytest",
        "unittest",
        "tox",
        "nox",
        "jest",
        "vitest",
        "mocha",
        "rake",
        "bundle",
        "rspec",
        "poetry",
        "uv",
        "docker",
        "docker-compose",
        "dotnet",
        "composer",
    ];
    RUNNERS.contains(&program)
}

/// The words after `sudo -u me`, `env -i K=V`, `time`, and assignments.
fn without_wrappers(mut words: &[String]) -> &[String] {
    let is_assignment = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    while let Some(first) = words.first() {
        let with_value: &[&str] = match base(first) {
            "sudo" | "doas" => &["-u", "-g", "-C", "-h", "-p", "-r", "-t", "-D"],
            "env" => &["-u", "-C", "-S"],
            "nice" => &["-n"],
            "timeout" => &["-s", "-k"],
            "time" | "nohup" | "exec" | "command" | "setsid" | "stdbuf" => &[],
            _ if is_assignment(first) => {
                words = &words[1..];
                continue;
            }
            _ => break,
        };
        let is_timeout = base(first) == "timeout";
        words = &words[1..];
        while let Some(option) = words.first().filter(|word| word.starts_with('-')) {
            let count = if with_value.contains(&option.as_str()) { 2 } else { 1 };
            words = words.get(count..).unwrap_or_default();
        }
        if is_timeout {
            words = words.get(1..).unwrap_or_default();
        }
    }
    words
}

/// The first word that is no option, nor the value of one of these.
fn first_argument<'a>(words: &'a [String], with_value: &[&str]) -> Option<&'a str> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if with_value.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
    None
}

fn base(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// The last part of a path without its extension.
fn stem(path: &str) -> &str {
    let base = base(path);
    base.rsplit_once('.').map_or(base, |(stem, _)| if stem.is_empty() { base } else { stem })
}

/// The words of the commands of a line, as far as quotes and separators tell; nothing is expanded.
fn split(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    let end = |word: &mut Option<String>, commands: &mut Vec<Vec<String>>| {
        if let (Some(word), Some(last)) = (word.take(), commands.last_mut()) {
            last.push(word);
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let text = word.get_or_insert_default();
                while let Some(inner) = chars.next().filter(|inner| *inner != c) {
                    let escaped = if c == '"' && inner == '\\' { chars.next() } else { Some(inner) };
                    text.extend(escaped);
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            ';' | '&' | '|' | '\n' => {
                end(&mut word, &mut commands);
                commands.push(Vec::new());
            }
            c if c.is_whitespace() => end(&mut word, &mut commands),
            c => word.get_or_insert_default().push(c),
        }
    }
    end(&mut word, &mut commands);
    commands
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_service_is_named_by_its_command() {
        let cases = [
            ("go run main.go", "main"),
            ("go run -race ./cmd/order-service", "order-service"),
            ("go run .", "shop"),
            ("java -Xmx1g -jar target/orders-1.2.jar --port 1", "orders-1-2"),
            ("java -cp a:b com.example.OrderService", "orderservice"),
            ("node --inspect dist/server.js", "server"),
            ("python3 -u app/order_service.py", "order-service"),
            ("python -m uvicorn main:app", "uvicorn"),
            ("python3 -m pytest -q", "shop"),
            ("python3 -c 'import app.main'", "shop"),
            ("node --no-warnings -e 'x.y()'", "shop"),
            ("for i in 1 2; do ./bin/shop-worker; done", "shop-worker"),
            ("npm start", "shop"),
            ("yarn run test", "shop"),
            ("cd api && PORT=1 npm test", "shop"),
            ("sudo -E -u me env -i A=b ./bin/payments --x", "payments"),
            ("env K=V node a.mjs", "a"),
            ("timeout -k 1 5 ./srv", "srv"),
            ("bash -c 'exec ./my server'", "my"),
            ("\"./a b/My Service.sh\" x", "my-service"),
            ("cargo run --bin gateway", "gateway"),
            ("cargo test", "shop"),
            ("", "shop"),
            ("''", "shop"),
        ];
        for (command, expected) in cases {
            assert_eq!(service(command, "/home/me/Shop/"), expected, "{command}");
        }
        assert_eq!(service("npm start", "/"), "app");
    }
}
