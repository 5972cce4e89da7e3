//! Names of sets of calls: `<service>-<hosts>-<databases>`, the same for the same run.

use std::collections::BTreeSet;

use super::exchange::{Exchange, Protocol};
use super::outline::is_no_call;
use super::summary::Summary;
use crate::limits::MAX_SET_NAME_BYTES;

/// Most hosts that a name tells.
const MAX_HOSTS: usize = 3;
/// Longest part of a name, in characters.
const MAX_PART_CHARS: usize = 40;
/// Directories beside sets that other programs keep things in and no list shows.
const RESERVED: [&str; 4] = ["reports", "testReports", "schema", "api-tests"];
/// What a set is called that nothing in the command gives a name to.
const FALLBACK: &str = "app";

/// Why a name cannot be one of a set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is empty.
    #[error("`mockName` is empty")]
    Empty,
    /// It would lead elsewhere.
    #[error("`mockName` is `{0}`; it may not hold `/` or `\\`, nor be `.` or `..`")]
    Path(String),
    /// It has characters that are not shown.
    #[error("`mockName` holds a control character")]
    Control,
    /// It is longer than a file's name may be.
    #[error("`mockName` is {0} bytes; at most {MAX_SET_NAME_BYTES} are allowed")]
    TooLong(usize),
    /// No list would show it.
    #[error("`mockName` is `{0}`, a directory that is kept for other things")]
    Reserved(String),
}

impl NameError {
    /// The next step.
    pub fn hint(&self) -> &'static str {
        "give the name of a set as keploy_list_mocks shows it, such as `order-service-stripe-postgres`"
    }
}

/// Whether a name that somebody gave can be one of a set.
pub fn check(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.chars().any(char::is_control) {
        return Err(NameError::Control);
    }
    if name.len() > MAX_SET_NAME_BYTES {
        return Err(NameError::TooLong(name.len()));
    }
    if name.contains(['/', '\\']) || name == "." || name == ".." {
        return Err(NameError::Path(name.to_owned()));
    }
    if RESERVED.contains(&name) {
        return Err(NameError::Reserved(name.to_owned()));
    }
    Ok(())
}

/// The name of a set: by the command and the folder that it ran in, what it called, and the time in seconds since 1970
/// for a set in which no call was answered. `is_taken` says which names there are already.
pub fn choose(command: &str, folder: &str, calls: &[Exchange], now: u64, is_taken: impl Fn(&str) -> bool) -> String {
    let name = if Summary::of(calls).is_nothing {
        format!("mock-{now}")
    } else {
        let parts = [vec![service(command, folder)], called(calls)].concat();
        parts.join("-")
    };
    if !is_taken(&name) {
        return name;
    }
    let mut number = 2_u64;
    while is_taken(&format!("{name}-{number}")) {
        number += 1;
    }
    format!("{name}-{number}")
}

/// Hosts and databases that were called. In alphabetical order: which comes first changes from run to run.
fn called(calls: &[Exchange]) -> Vec<String> {
    let (mut hosts, mut others, mut databases) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for call in calls {
        let mut host = |word: &'static str| match label(&call.target.host) {
            Some(label) => drop(hosts.insert(label)),
            None => drop(others.insert(word)),
        };
        match call.content.protocol() {
            Protocol::Http => host("http"),
            Protocol::Grpc => host("grpc"),
            Protocol::Generic if is_no_call(call) => hosts.extend(label(&call.target.host)),
            Protocol::Generic => host("tcp"),
            Protocol::Dns => {}
            Protocol::Postgres => drop(databases.insert("postgres")),
            Protocol::MySql => drop(databases.insert("mysql")),
            Protocol::Redis => drop(databases.insert("redis")),
            Protocol::Mongo => drop(databases.insert("mongo")),
        }
    }
    // A host without a name is worth telling if nothing else is.
    let others = others.into_iter().filter(|_| hosts.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let mut parts: Vec<String> = hosts.into_iter().take(MAX_HOSTS).chain(others).collect();
    parts.extend(databases.into_iter().map(str::to_owned));
    if parts.is_empty() {
        parts.push("dns".to_owned());
    }
    parts
}

/// The word of a host that its owner goes by: `stripe` of `api.stripe.com`. `None` for addresses and this machine.
fn label(host: &str) -> Option<String> {
    // Second levels under which countries register names.
    const SECOND: [&str; 8] = ["co", "com", "org", "net", "gov", "ac", "edu", "or"];
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    if host.is_empty() || is_address || host == "localhost" || host.ends_with(".localhost") {
        return None;
    }
    let labels: Vec<&str> = host.split('.').filter(|label| !label.is_empty()).collect();
    let chosen = match labels.as_slice() {
        [.., third, second, top] if top.len() == 2 && SECOND.contains(second) => third,
        // Inside a cluster the first word is the service (Kubernetes, "DNS for Services and Pods").
        [first, .., "local" | "internal" | "svc"] => first,
        [.., second, _] => second,
        [only] => only,
        [] => return None,
    };
    slug(chosen)
}

/// Letters and digits in lower case, with one dash for whatever stands between them. `None` if none are left.
fn slug(text: &str) -> Option<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    let cut: String = joined.chars().take(MAX_PART_CHARS).collect();
    let cut = cut.trim_end_matches('-');
    (!cut.is_empty()).then(|| cut.to_owned())
}

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
    use super::*;
    use crate::record::exchange::{Content, Dns, Target, Wire};
    use crate::record::link::Link;
    use pretty_assertions::assert_eq;
    use std::time::SystemTime;

    fn call(host: &str, protocol: Protocol) -> Exchange {
        let dns = Dns { name: String::new(), kind: "A".to_owned(), code: 0, answers: Vec::new() };
        let content =
            if protocol == Protocol::Dns { Content::Dns(dns) } else { Content::Wire(protocol, Wire::default()) };
        let target = Target { host: host.to_owned(), port: 1 };
        let at = SystemTime::UNIX_EPOCH;
        Exchange {
            target,
            tls: false,
            connection: 0,
            sent_at: at,
            answered_at: at,
            abandoned: false,
            cancelled: false,
            content,
        }
    }

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

    #[test]
    fn a_set_is_named_by_what_was_called() {
        let free = |_: &str| false;
        let calls = [call("api.stripe.com", Protocol::Http), call("db", Protocol::Postgres), call("", Protocol::Dns)];
        assert_eq!(choose("./order-service", "/", &calls, 7, free), "order-service-stripe-postgres");
        let mut reversed = calls.to_vec();
        reversed.reverse();
        assert_eq!(choose("./order-service", "/", &reversed, 7, free), "order-service-stripe-postgres");
        assert_eq!(choose("./a", "/", &[call("127.0.0.1", Protocol::Http)], 7, free), "a-http");
        assert_eq!(
            choose("./a", "/", &[call("::1", Protocol::Redis), call("shop.co.uk", Protocol::Grpc)], 7, free),
            "a-shop-redis"
        );
        assert_eq!(choose("./a", "/", &[call("payments.default.svc", Protocol::Http)], 7, free), "a-payments");
        assert_eq!(choose("./a", "/", &[], 1_704_153_600, free), "mock-1704153600");
        let taken = ["a-http", "a-http-2"];
        assert_eq!(
            choose("./a", "/", &[call("localhost", Protocol::Http)], 7, |name| taken.contains(&name)),
            "a-http-3"
        );
    }

    #[test]
    fn refused_connections_and_names_that_there_are_not_give_no_name() {
        let at = SystemTime::UNIX_EPOCH;
        let link = Link { target: Target { host: "db.test".to_owned(), port: 1 }, tls: false, connection: 1 };
        let refused = crate::record::Refusal::Connect(111).exchange(&link, 1, "nobody", at);
        let name = |code| Exchange {
            content: Content::Dns(Dns { name: "db.test".to_owned(), kind: "A".to_owned(), code, answers: Vec::new() }),
            ..refused.clone()
        };
        let chosen = |calls: &[Exchange]| choose("./a", "/", calls, 7, |_| false);
        assert_eq!(chosen(std::slice::from_ref(&refused)), "mock-7");
        assert_eq!(chosen(&[name(3)]), "mock-7");
        // Looked up for what was refused.
        assert_eq!(chosen(&[name(0), refused.clone()]), "mock-7");
        assert_eq!(chosen(&[name(0)]), "a-dns");
        assert_eq!(chosen(&[refused, call("shop.test", Protocol::Http)]), "a-db-shop");
    }

    #[test]
    fn names_that_are_given_are_checked() {
        assert_eq!(check("order-service-stripe"), Ok(()));
        assert_eq!(check("a..b"), Ok(()));
        assert_eq!(check(""), Err(NameError::Empty));
        for name in ["a/b", "a\\b", "..", ".", "/"] {
            assert_eq!(check(name), Err(NameError::Path(name.to_owned())), "{name}");
        }
        assert_eq!(check("a\nb"), Err(NameError::Control));
        assert_eq!(check(&"a".repeat(201)), Err(NameError::TooLong(201)));
        assert_eq!(check("reports"), Err(NameError::Reserved("reports".to_owned())));
    }
}
