//! New tokens, and their lines in the file of tokens.
#![expect(clippy::disallowed_methods, reason = "the file of tokens is the operator's, named on the command line")]

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::ValueEnum as _;
use rustix::fs::{FlockOperation, flock};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::cli::{NewToken, ToolsetArg};
use crate::config::{TokenEntry, access_of, entries};

/// A new token, and the line for the file below it, unless that is in the file already.
pub fn new_token(asked: &NewToken) -> Result<String> {
    let mut random = [0; 32];
    let got = getrandom(&mut random, GetRandomFlags::empty()).context("the system has no random numbers")?;
    if got != random.len() {
        bail!("the system has too few random numbers");
    }
    let token = format!("rpl_{}", URL_SAFE_NO_PAD.encode(random));
    let names = asked.own_tools.iter().filter_map(ToolsetArg::to_possible_value);
    let entry = TokenEntry {
        allow: Some(asked.own.clone()).filter(|own| !own.is_empty()),
        tools: Some(names.map(|value| value.get_name().to_owned()).collect())
            .filter(|tools: &Vec<_>| !tools.is_empty()),
        operator: asked.operator,
        rate_limit: asked.rate_limit,
        rate_burst: asked.rate_burst,
        max_calls: asked.max_calls,
        max_sessions: asked.max_sessions,
        max_connections: asked.max_connections,
        ..TokenEntry::of(&asked.name, &token)
    };
    entry.check()?;
    for own in &asked.own {
        // A directory may be made before the server starts.
        let (dir, _) = access_of(own);
        if !dir.is_dir() {
            // Writing to stderr may fail; the token is what counts.
            let _ = writeln!(
                std::io::stderr(),
                "replay: `{}` is no directory yet; the server starts only with it",
                dir.display()
            );
        }
    }
    let line = serde_json::to_string(&entry)?;
    match &asked.file {
        None => Ok(format!("{token}\n{line}\n")),
        Some(path) => {
            append(path, &line).with_context(|| format!("`{}`", path.display()))?;
            Ok(format!("{token}\n"))
        }
    }
}

/// Adds a line, if the file is a good one with it.
fn append(path: &Path, line: &str) -> Result<()> {
    // Opening a device may do something already, and a pipe would be waited for.
    if std::fs::metadata(path).is_ok_and(|known| !known.is_file()) {
        bail!("it is no regular file; name one, or leave out --file and keep the line that is printed");
    }
    let mut options = OpenOptions::new();
    // Nobody else has to read it, and nobody else may write it.
    let mut file =
        options.read(true).append(true).create(true).mode(0o600).open(path).context("it cannot be opened")?;
    // Two that are added at once may have one name.
    flock(&file, FlockOperation::LockExclusive).context("it cannot be locked")?;
    let mut text = String::new();
    file.read_to_string(&mut text).context("it cannot be read")?;
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let more = format!("{gap}{line}\n");
    let others = if text.trim().is_empty() { Vec::new() } else { entries(&text)? };
    let new: TokenEntry = serde_json::from_str(line)?;
    if let Some(known) = others.iter().find(|other| other.name == new.name) {
        let number =
            text.lines().position(|line| serde_json::from_str::<TokenEntry>(line).is_ok_and(|at| at == *known));
        let number = number.map(|index| format!("line {} ", index + 1)).unwrap_or_default();
        bail!("{number}is that of `{}` already; take it away first, or choose another name", new.name);
    }
    entries(&(text + &more))?;
    file.write_all(more.as_bytes()).context("it cannot be written")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use pretty_assertions::assert_eq;

    use super::*;

    fn asked(name: &str, path: &Path) -> NewToken {
        NewToken {
            name: name.to_owned(),
            file: Some(path.to_owned()),
            own: Vec::new(),
            own_tools: Vec::new(),
            operator: false,
            rate_limit: Some(0),
            rate_burst: None,
            max_calls: Some(2),
            max_sessions: None,
            max_connections: Some(3),
        }
    }

    #[test]
    fn the_file_gets_the_line_and_the_operator_the_token() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens");
        let first = new_token(&asked("alice", &path)).unwrap();
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap().trim_end()).unwrap();
        let second = new_token(&asked("bob", &path)).unwrap();
        let of = |name: &str, text: &str| TokenEntry {
            rate_limit: Some(0),
            max_calls: Some(2),
            max_connections: Some(3),
            ..TokenEntry::of(name, text.trim_end())
        };
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(entries(&text).unwrap(), [of("alice", &first), of("bob", &second)]);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let fault = format!("{:#}", new_token(&asked("alice", &path)).unwrap_err());
        assert!(
            fault.ends_with("line 1 is that of `alice` already; take it away first, or choose another name"),
            "{fault}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for path in [&*pipe, dir.path(), Path::new("/dev/null")] {
            let said = format!("{:#}", new_token(&asked("alice", path)).unwrap_err());
            let why = "it is no regular file; name one, or leave out --file and keep the line that is printed";
            assert_eq!(said, format!("`{}`: {why}", path.display()));
        }
    }
}
