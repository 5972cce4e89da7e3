//! Messages of the Go compiler and of `go vet`.

/// Splits `vet: ./path.go:3:2: message`.
pub(crate) fn line(line: &str) -> Option<(&str, u32, Option<u32>, &str)> {
    let line = line.strip_prefix("vet: ").unwrap_or(line);
    let at = line.find(".go:")? + ".go".len();
    let (file, rest) = line.split_at(at);
    if file.contains(' ') || file.contains('\t') {
        return None;
    }
    let (place, message) = rest[1..].split_once(": ")?;
    let (number, column) = match place.split_once(':') {
        Some((line, column)) => (line.parse().ok()?, Some(column.parse().ok()?)),
        None => (place.parse().ok()?, None),
    };
    Some((
        file.strip_prefix("./").unwrap_or(file),
        number,
        column,
        message,
    ))
}
