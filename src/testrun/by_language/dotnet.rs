//! Shared code of `dotnet test` and `dotnet build`: projects, and the lines of `MSBuild`.

use crate::project::signs::{ProjectLevel, Sign, SignWeight, named};

/// Options that keep servers of a build from outliving it.
pub(crate) const NO_SERVERS: [&str; 2] = ["-nodeReuse:false", "-p:UseSharedCompilation=false"];

/// Returns true for a file that `dotnet` builds.
pub(crate) fn is_build_file(name: &str) -> bool {
    is_solution(name)
        || ["csproj", "fsproj", "vbproj"]
            .iter()
            .any(|kind| has_kind(name, kind))
}

fn is_solution(name: &str) -> bool {
    ["sln", "slnx"].iter().any(|kind| has_kind(name, kind))
}

fn has_kind(name: &str, kind: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, own)| own == kind)
}

/// Returns the sign of a solution, or of a project that may be part of one above.
pub(crate) fn sign(level: &ProjectLevel<'_>) -> Sign {
    let find = |is: fn(&str) -> bool| level.names.iter().find(|name| is(name)).cloned();
    let solution = find(is_solution).map(named);
    solution.or_else(|| find(is_build_file).map(|name| (SignWeight::Habit, name)))
}

/// An error or a warning of a build.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BuildLine<'a> {
    pub is_error: bool,
    /// Source or project; `None` for the command itself.
    pub file: Option<&'a str>,
    pub line: Option<u32>,
    pub column: Option<u32>,
    pub code: &'a str,
    pub message: &'a str,
}

/// Parses `/p/A.cs(3,9): error CS1002: ; expected [/p/A.csproj]`, `/p/A.csproj : error NU1101: x` and
/// `MSBUILD : error MSB1003: x`
/// (<https://learn.microsoft.com/visualstudio/msbuild/msbuild-diagnostic-format-for-tasks>).
pub(crate) fn build_line(line: &str) -> Option<BuildLine<'_>> {
    let line = line.trim_start();
    let marks = [(": error ", true), (": warning ", false)];
    let (at, mark, is_error) = marks
        .into_iter()
        .filter_map(|(mark, is_error)| Some((line.find(mark)?, mark, is_error)))
        .min()?;
    let (code, message) = line[at + mark.len()..].split_once(": ")?;
    if code.contains(' ') {
        return None;
    }
    let message = match message.rsplit_once(" [") {
        Some((text, project)) if project.ends_with(']') => text,
        _ => message,
    };
    let origin = line[..at].trim_end();
    let (file, place) = match origin
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once('('))
    {
        Some((file, place)) => (file, place),
        None => (origin, ""),
    };
    let mut numbers = place.split(',').map(|number| number.parse().ok());
    Some(BuildLine {
        is_error,
        file: file.contains('.').then_some(file),
        line: numbers.next().flatten(),
        column: numbers.next().flatten(),
        code,
        message,
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn build_lines_are_parsed() {
        let expected = BuildLine {
            is_error: true,
            file: Some("/p/A.cs"),
            line: Some(3),
            column: Some(9),
            code: "CS1002",
            message: "; expected",
        };
        let line = "/p/A.cs(3,9): error CS1002: ; expected [/p/A.csproj]";
        assert_eq!(build_line(line), Some(expected));
        let expected = BuildLine {
            is_error: true,
            file: None,
            line: None,
            column: None,
            code: "MSB1003",
            message: "Specify a project.",
        };
        let line = "MSBUILD : error MSB1003: Specify a project.";
        assert_eq!(build_line(line), Some(expected));
        let expected = BuildLine {
            is_error: false,
            file: Some("/p/A.csproj"),
            line: None,
            column: None,
            code: "NU1701",
            message: "old [a]b",
        };
        let line = "/p/A.csproj : warning NU1701: old [a]b [/p/A.sln]";
        assert_eq!(build_line(line), Some(expected));
        assert_eq!(build_line("  x: error while loading: y"), None);
    }
}
