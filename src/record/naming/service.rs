//! Service name from a start command: the first part of a set's name.

/// Service name if neither the command nor the folder gives one.
const FALLBACK: &str = "app";
/// Maximum length of a file extension, in characters.
const MAX_SUFFIX_CHARS: usize = 5;
/// Maximum length of one part of a name, in characters.
const MAX_PART_CHARS: usize = 40;

/// Returns the service name: the first project file in the command, else the folder of the run.
pub(super) fn service(command: &str, folder: &str) -> String {
    let file = words(command).iter().find_map(|word| file(word));
    let folder = folder
        .rsplit('/')
        .find(|part| !part.is_empty())
        .and_then(slug);
    file.or(folder).unwrap_or_else(|| FALLBACK.to_owned())
}

/// Returns a word's file name without extension, if the word has a `/` or an extension. Absolute
/// paths, such as interpreters, are not part of the project. Words with spaces are programs or
/// shell code.
fn file(word: &str) -> Option<String> {
    let is_other =
        word.starts_with(['-', '/', '~', '$']) || word.contains(['=', ':', ' ', '\n', '(']);
    let base = word
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .filter(|_| !is_other)?;
    let is_suffix = |suffix: &str| {
        suffix.len() <= MAX_SUFFIX_CHARS
            && suffix.starts_with(|first: char| first.is_ascii_lowercase())
            && suffix
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    match base
        .rsplit_once('.')
        .filter(|(stem, suffix)| !stem.is_empty() && is_suffix(suffix))
    {
        Some((stem, _)) => slug(stem),
        None => slug(base).filter(|_| word.contains('/')),
    }
}

/// Splits a shell line at separators and quotes, without expansion.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ';' | '&' | '|' | ' ' | '\t' | '\n') => words.push(std::mem::take(&mut word)),
            _ => word.push(c),
        }
    }
    words.push(word);
    words
}

/// Returns lower-case letters and digits with one dash in each gap, or `None` if the result is
/// empty.
pub(super) fn slug(text: &str) -> Option<String> {
    let words = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    let cut: String = joined.chars().take(MAX_PART_CHARS).collect();
    let cut = cut.trim_end_matches('-');
    (!cut.is_empty()).then(|| cut.to_owned())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn service_name_is_project_file_or_folder() {
        let cases = [
            ("go run main.go", "main"),
            ("go run -race ./cmd/order-service", "order-service"),
            ("go test ./...", "shop"),
            (
                "java -Xmx1g -jar target/orders-1.2.jar --port 1",
                "orders-1-2",
            ),
            ("java -cp a:b com.example.OrderService", "shop"),
            ("/usr/bin/node --inspect dist/server.js", "server"),
            (
                "python3 -u app/order_service.py --config=etc/a.yaml",
                "order-service",
            ),
            ("python -m uvicorn main:app", "shop"),
            ("python3 -c 'import app.main'", "shop"),
            ("for i in 1 2; do ./bin/shop-worker; done", "shop-worker"),
            ("cd /srv && PORT=1 npm test", "shop"),
            ("sudo -E -u me env -i A=b/c ./bin/payments --x", "payments"),
            ("timeout -k 1 5.5 \"./srv\"", "srv"),
            ("curl http://127.0.0.1/a.html", "shop"),
            ("cargo run --bin gateway", "shop"),
            ("", "shop"),
        ];
        for (command, expected) in cases {
            assert_eq!(service(command, "/home/me/Shop/"), expected, "{command}");
        }
        assert_eq!(service("npm start", "/"), "app");
    }
}
