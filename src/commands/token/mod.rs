//! `replay token`: creates, lists, rotates and revokes tokens.

mod lines;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::ValueEnum as _;
use replay_base::text::columns::columns;
use replay_base::text::escape::show_path;
use rustix::rand::{GetRandomFlags, getrandom};

use super::process::tell;
use crate::cli::{NamedToken, NewToken, TokenAction, TokenFile, ToolsetArg};
use crate::config::{TokenEntry, access_of, own_directory};
use lines::TokenLines;

/// Next step after a change of the token file.
const APPLY: &str = "send SIGHUP to a running server to apply it";

/// Runs `replay token` and returns the text to print. Notes go to stderr.
pub(super) fn act(action: &TokenAction) -> Result<String> {
    match action {
        TokenAction::New(asked) => new_token(asked),
        TokenAction::List(TokenFile { file }) => {
            with_file_name(file, TokenLines::read(file).map(|lines| list(&lines)))
        }
        TokenAction::Revoke(NamedToken {
            name,
            file: TokenFile { file },
        }) => {
            with_file_name(
                file,
                TokenLines::lock(file).and_then(|lines| lines.revoke(name)),
            )?;
            Ok(format!("the token of `{name}` was removed; {APPLY}\n"))
        }
        TokenAction::Rotate(NamedToken {
            name,
            file: TokenFile { file },
        }) => {
            let token = random_token()?;
            let next = TokenEntry {
                made: Some(now()),
                ..TokenEntry::of(name, &token)
            };
            with_file_name(
                file,
                TokenLines::lock(file).and_then(|lines| lines.rotate(&next)),
            )?;
            tell(format!("replay: the old token is replaced; {APPLY}"));
            Ok(format!("{token}\n"))
        }
    }
}

fn with_file_name<T>(file: &Path, done: Result<T>) -> Result<T> {
    done.with_context(|| format!("`{}`", file.display()))
}

fn random_token() -> Result<String> {
    let mut random = [0; 32];
    let got = getrandom(&mut random, GetRandomFlags::empty())
        .context("the system has no random numbers")?;
    if got != random.len() {
        bail!("the system has too few random numbers");
    }
    Ok(format!("rpl_{}", URL_SAFE_NO_PAD.encode(random)))
}

/// The current time as in `made`, always with the same length.
fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Creates a token. The text contains its line for the file, unless the line was appended to the
/// file.
fn new_token(asked: &NewToken) -> Result<String> {
    let token = random_token()?;
    let own = asked
        .own
        .iter()
        .map(|own| own_directory("--own", own))
        .collect::<Result<Vec<_>>>()?;
    let names = asked
        .own_tools
        .iter()
        .filter_map(ToolsetArg::to_possible_value);
    let entry = TokenEntry {
        made: Some(now()),
        allow: Some(own.clone()).filter(|own| !own.is_empty()),
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
    for own in &own {
        // The directory may be created before the server starts.
        let (dir, _) = access_of(own);
        if !dir.is_dir() {
            tell(format!(
                "replay: `{}` is not a directory yet; create it, or the server will not start",
                dir.display()
            ));
        }
    }
    match &asked.file {
        None => {
            tell(format!(
                "replay: the token (shown once), then its line for --token-file; {APPLY}"
            ));
            Ok(format!("{token}\n{}\n", serde_json::to_string(&entry)?))
        }
        Some(file) => {
            with_file_name(
                file,
                TokenLines::lock_or_make(file).and_then(|lines| lines.add(&entry)),
            )?;
            tell(format!("replay: the token (shown once); {APPLY}"));
            Ok(format!("{token}\n"))
        }
    }
}

/// Table of all entries, without tokens and their hashes.
fn list(lines: &TokenLines) -> String {
    let head = ["NAME", "MADE", "TOOLS", "DIRECTORIES", "ELSE"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(head)
        .chain(lines.entries().map(row))
        .collect();
    columns(&rows, &(0..0))
}

fn row(entry: &TokenEntry) -> [String; 5] {
    let of_server = || "the server's".to_owned();
    let limits = [
        ("rate_limit", entry.rate_limit),
        ("rate_burst", entry.rate_burst),
        ("max_calls", entry.max_calls),
        ("max_sessions", entry.max_sessions),
        ("max_connections", entry.max_connections),
    ];
    let limits = limits
        .into_iter()
        .filter_map(|(name, limit)| limit.map(|limit| format!("{name}={limit}")));
    let more: Vec<String> = entry
        .operator
        .then(|| "operator".to_owned())
        .into_iter()
        .chain(limits)
        .collect();
    let directories = |own: &Vec<PathBuf>| {
        own.iter()
            .map(|own| show_path(own))
            .collect::<Vec<_>>()
            .join(" ")
    };
    [
        entry.name.clone(),
        entry.made.clone().unwrap_or_else(|| "-".to_owned()),
        entry
            .tools
            .as_ref()
            .map_or_else(of_server, |tools| tools.join(",")),
        entry.allow.as_ref().map_or_else(of_server, directories),
        more.join(" "),
    ]
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes its own files")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::config::entries;

    fn token_of(name: &str, path: &Path) -> NewToken {
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
    fn new_token_appends_line_and_prints_token() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens");
        let first = new_token(&token_of("alice", &path)).unwrap();
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap().trim_end()).unwrap();
        let second = new_token(&token_of("bob", &path)).unwrap();
        let of = |name: &str, text: &str, made: Option<String>| TokenEntry {
            made,
            rate_limit: Some(0),
            max_calls: Some(2),
            max_connections: Some(3),
            ..TokenEntry::of(name, text.trim_end())
        };
        let read = || entries(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let made = read()
            .into_iter()
            .map(|entry| entry.made)
            .collect::<Vec<_>>();
        assert_eq!(
            read(),
            [
                of("alice", &first, made[0].clone()),
                of("bob", &second, made[1].clone())
            ]
        );
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let file = || TokenFile { file: path.clone() };
        let named = |name: &str| NamedToken {
            name: name.to_owned(),
            file: file(),
        };
        let third = act(&TokenAction::Rotate(named("bob"))).unwrap();
        let after = read();
        assert_eq!(
            after,
            [
                of("alice", &first, made[0].clone()),
                of("bob", &third, after[1].made.clone())
            ]
        );
        let said = act(&TokenAction::Revoke(named("alice"))).unwrap();
        assert_eq!(
            said,
            "the token of `alice` was removed; send SIGHUP to a running server to apply it\n"
        );
        assert_eq!(read(), &after[1..]);
    }

    #[test]
    fn list_shows_rights_of_each_token() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens");
        let alice = TokenEntry {
            made: Some("2026-01-02T03:04:05Z".to_owned()),
            allow: Some(vec!["/src/a:rw".into(), "/src/b".into()]),
            tools: Some(vec!["files".to_owned(), "command".to_owned()]),
            operator: true,
            max_calls: Some(2),
            ..TokenEntry::of("alice", "a")
        };
        let lines =
            [alice, TokenEntry::of("bob", "b")].map(|entry| serde_json::to_string(&entry).unwrap());
        std::fs::write(&path, lines.join("\n")).unwrap();
        let expected = "\
            NAME   MADE                  TOOLS          DIRECTORIES       ELSE\n\
            alice  2026-01-02T03:04:05Z  files,command  /src/a:rw /src/b  operator max_calls=2\n\
            bob    -                     the server's   the server's\n";
        assert_eq!(
            act(&TokenAction::List(TokenFile { file: path })).unwrap(),
            expected
        );
    }

    #[test]
    fn special_file_is_refused_without_blocking() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        for path in [&*pipe, dir.path(), Path::new("/dev/null")] {
            let said = format!("{:#}", new_token(&token_of("alice", path)).unwrap_err());
            let why = "it is not a regular file; name one, or leave out --file and store the \
                printed line yourself";
            assert_eq!(said, format!("`{}`: {why}", path.display()));
        }
    }
}
