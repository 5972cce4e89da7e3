//! `replay setup`: prints or writes the entry that makes a client start this server.

pub(super) mod clients;
pub(super) mod entry;
pub(super) mod file;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Parser as _;
use replay_base::text::diff::unified;
use replay_base::text::escape::show_path;
use serde_json::Value;

use super::process::{print_content, quoted};
use crate::cli::{Cli, SetupArgs, with_new_names};
use crate::compose::alone;
use crate::config::{Config, own_directory};
use clients::{KnownClient, own_program, text};
use file::ClientFile;

/// Prints or writes the entry. Builds the server first, so that a broken entry is never written.
pub(super) fn run(asked: &SetupArgs) -> Result<ExitCode> {
    let known = KnownClient::of(asked.client);
    let (base, path) = known
        .paths()
        .next()
        .context("the client has no configuration file")??;
    let (program, args) = (
        own_program()?,
        arguments(&asked.allow, &with_new_names(asked.flags.clone()))?,
    );
    let server = alone(&Config::for_server(&parse_flags(&args)?.server.options)?)?;
    let services = server.services();
    let args = args
        .iter()
        .map(|arg| text(Path::new(arg)).map(Value::from))
        .collect::<Result<Vec<_>>>()?;
    let kind = known.kind.map(|kind| ("type", kind.into()));
    let own = [("command", text(&program)?.into()), ("args", args.into())];
    let entry: Vec<(&str, Value)> = kind.into_iter().chain(own).collect();
    let put = |before: &str| {
        let put = entry::put(known.format, before, known.servers, &entry);
        put.with_context(|| format!("`{}`", show_path(&path)))
    };
    let shown = show_path(&path);
    if !asked.write {
        print_content(put("")?)?;
        print_note(&format!(
            "this belongs into {shown}; add --write to write it\n"
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let file = ClientFile::open(&base, &path)?;
    let before = file.text()?;
    let after = put(before)?;
    if after == before {
        print_note(&format!("{shown} has this entry already\n"));
    } else {
        if entry::get(known.format, before, known.servers)?.is_some() && !asked.force {
            print_content(unified(&shown, before, &after, None))?;
            bail!(
                "`{shown}` has another entry `{}`; add --force to replace it",
                entry::NAME
            );
        }
        file.replace(&after)?;
        print_note(&format!("wrote {shown}\n"));
    }
    if services.policy.try_write(&path).is_ok() {
        print_note(&format!(
            "agents can change this file, and so remove their walls; protect it: -- --protect {}\n",
            quoted(&shown)
        ));
    }
    print_note(&format!(
        "walls: {}\nnext: {}\n",
        services.commands.standing.word(),
        known.next
    ));
    Ok(ExitCode::SUCCESS)
}

/// Writes a message for the user to stderr and ignores failures.
fn print_note(words: &str) {
    let _ = write!(std::io::stderr(), "{words}");
}

/// Command line of the server, with absolute directories. The default is the working directory.
fn arguments(allow: &[PathBuf], flags: &[OsString]) -> Result<Vec<OsString>> {
    let own = [OsString::from("--mcp-server")];
    let options = parse_flags(&[&own, flags].concat())?.server.options;
    let here = [PathBuf::from(".:rw")];
    let named = [
        &options.directories.allow,
        &options.directories.allow_read,
        &options.directories.allow_write,
    ]
    .iter()
    .any(|dirs| !dirs.is_empty());
    let none = allow.is_empty() && !named && options.directories.sandbox_profile.is_none();
    let mut words = own.to_vec();
    for dir in if none { &here } else { allow } {
        words.extend(["--allow".into(), own_directory("--allow", dir)?.into()]);
    }
    words.extend_from_slice(flags);
    Ok(words)
}

fn parse_flags(words: &[OsString]) -> Result<Cli> {
    let line = std::iter::once(OsString::from(env!("CARGO_PKG_NAME"))).chain(words.iter().cloned());
    let cli = Cli::try_parse_from(line).map_err(|error| {
        let said = error.to_string();
        anyhow!(
            "the flags after `--`: {}",
            said.trim_start_matches("error: ")
                .split("\n\n")
                .next()
                .unwrap_or_default()
        )
    })?;
    if cli.server.http.http.is_some() || cli.command.is_some() {
        bail!(
            "a client starts its own server and uses stdin and stdout; leave out --http and \
             subcommands"
        );
    }
    Ok(cli)
}
