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
use replay_clients::{FileFormat, OnlyOurTools};
use replay_files::policy::{Policy, Root};
use replay_network::rules::SETS;
use serde_json::json;

use super::process::{print_content, quoted};
use crate::cli::{Cli, KnownClient, NetworkArg, Options, SetupArgs, with_new_names};
use crate::compose::alone;
use crate::config::{Config, SandboxConfig, own_directory};
use clients::{FilePlace, own_program, text};
use entry::{Members, WholeMembers};
use file::ClientFile;

/// Name of the flags of the server in an error.
const AFTER: &str = "the flags after `--`";

/// Prints or writes the entry. Builds the server first, so that a broken entry is never written.
pub(super) fn run(asked: &SetupArgs) -> Result<ExitCode> {
    let known = asked.client;
    let only = asked.only.then(|| only_our_tools(known)).transpose()?;
    let args = arguments(asked)?;
    let options = parse_flags(AFTER, &args)?.server.options;
    let config = Config::for_server(&options)?;
    let server = alone(&config)?;
    let services = server.services();
    let is_elsewhere =
        |dir: &&PathBuf| dir.is_relative() && !dir.to_string_lossy().starts_with('.');
    let elsewhere = asked.allow.iter().filter(|_| known.setup.in_project);
    for dir in elsewhere.filter(is_elsewhere) {
        print_note(&format!(
            "`{}` must exist in every project in which {} starts the server\n",
            show_path(dir),
            known.client.title
        ));
    }
    propose(&server.services().policy, &options, &config.sandbox);
    let changes = changes(known, &args, only)?;
    if !asked.write {
        for change in &changes {
            print_content(entry::put(change.format, "", &change.members, &[])?)?;
            let belongs = match &change.place {
                Some(place) => format!("this belongs in {}", show_path(&place.path)),
                None => "this belongs in the configuration of your client".to_owned(),
            };
            let is_only_printed = change.format == FileFormat::Yaml || change.place.is_none();
            let write = if is_only_printed {
                ""
            } else {
                "; add --write to write it"
            };
            print_note(&format!("{belongs}{write}\n"));
        }
        print_own_tools(known, only);
        return Ok(ExitCode::SUCCESS);
    }
    let prepared = changes
        .into_iter()
        .map(|change| change.prepare(asked.force));
    for change in prepared.collect::<Result<Vec<_>>>()? {
        change.write()?;
        let path = &change.path;
        if services.policy.try_write(path).is_ok() {
            let shown = show_path(path);
            print_note(&format!(
                "agents can change this file, and so remove their walls; protect it: -- --protect \
                 {}\n",
                quoted(&shown)
            ));
        }
    }
    print_own_tools(known, only);
    let step = only.and_then(|only| only.step.as_ref());
    print_note(&format!(
        "walls around the server's commands: {}\nnext: {}\n",
        services.commands.standing.word(),
        step.unwrap_or(&known.setup.next)
    ));
    Ok(ExitCode::SUCCESS)
}

/// Members that belong into a file of a client.
struct Change {
    /// `None` if the file is unknown.
    place: Option<FilePlace>,
    format: FileFormat,
    members: Members,
    /// The entry of this server, as `a.b`.
    entry: Option<String>,
    /// Members that are replaced as a whole.
    replaced: &'static [String],
}

/// A change that can be written.
struct PreparedChange {
    path: PathBuf,
    file: ClientFile,
    /// Text of the file with the members.
    after: String,
}

impl Change {
    fn of(pattern: Option<&str>, members: Members) -> Result<Self> {
        let place = pattern.map(FilePlace::of).transpose()?;
        let format = match &place {
            Some(place) => FileFormat::of(&place.path),
            None => FileFormat::Json,
        };
        Ok(Self {
            place,
            format,
            members,
            entry: None,
            replaced: &[],
        })
    }

    /// Opens the file, and refuses a change that replaces something without `force`.
    fn prepare(self, force: bool) -> Result<PreparedChange> {
        let Some(FilePlace { base, path }) = self.place else {
            bail!("the file of this client is unknown; leave out --write");
        };
        let shown = show_path(&path);
        if self.format == FileFormat::Yaml {
            bail!(
                "`{shown}` is YAML, which this command does not change; leave out --write, and add what it prints"
            );
        }
        let file = ClientFile::open(&base, &path)?;
        let (before, context) = (file.text()?, || format!("`{shown}`"));
        let there = entry::read(self.format, before).with_context(context)?;
        let whole = WholeMembers {
            entry: self.entry.as_deref(),
            replaced: self.replaced,
        };
        let (members, lost) = entry::fit(&there, &self.members, whole);
        let after =
            entry::put(self.format, before, &members, self.replaced).with_context(context)?;
        if let Some(name) = lost.filter(|_| !force) {
            print_content(unified(&shown, before, &after, None))?;
            bail!("`{shown}` has another `{name}`; add --force to replace it");
        }
        drop(shown);
        Ok(PreparedChange { path, file, after })
    }
}

impl PreparedChange {
    fn write(&self) -> Result<()> {
        let shown = show_path(&self.path);
        if self.file.text()? == self.after {
            print_note(&format!("{shown} has this entry already\n"));
        } else {
            self.file.replace(&self.after)?;
            print_note(&format!("wrote {shown}\n"));
        }
        Ok(())
    }
}

/// Returns what belongs into the files of a client. The entry comes first.
fn changes(
    known: KnownClient,
    args: &[OsString],
    only: Option<&'static OnlyOurTools>,
) -> Result<Vec<Change>> {
    let setup = known.setup;
    let words = args.iter().map(|arg| Ok(text(Path::new(arg))?.to_owned()));
    let own = setup.entry(text(&own_program()?)?, &words.collect::<Result<Vec<_>>>()?);
    let servers = if setup.is_list {
        json!([own])
    } else {
        json!({entry::NAME: own})
    };
    let first = setup.files.first().map(String::as_str);
    let members = Members::from_iter([(setup.servers.clone(), servers)]);
    let mut entry = Change::of(first, members)?;
    entry.entry = Some(format!("{}.{}", setup.servers, entry::NAME));
    let mut changes = vec![entry];
    if let Some(only) = only.filter(|only| !only.set.is_empty()) {
        if let Some(file) = &only.file {
            changes.push(Change::of(Some(file), only.set.clone())?);
        } else {
            entry::join(&mut changes[0].members, &only.set);
        }
        if let Some(last) = changes.last_mut() {
            last.replaced = &only.replaces;
        }
    }
    Ok(changes)
}

/// Returns how the client's own tools are switched off.
fn only_our_tools(known: KnownClient) -> Result<&'static OnlyOurTools> {
    known.setup.only.as_ref().with_context(|| {
        format!(
            "{} cannot switch its own shell and file tools off, and they work outside the walls; \
             leave out --only",
            known.client.title
        )
    })
}

/// Tells where the client's own tools stand.
fn print_own_tools(known: KnownClient, only: Option<&OnlyOurTools>) {
    let title = &known.client.title;
    let Some(only) = only else {
        let how = match known.setup.only {
            Some(_) => "; --only switches them off",
            None => "",
        };
        print_note(&format!(
            "the walls do not hold the shell and file tools of {title} itself{how}\n"
        ));
        return;
    };
    let note = only.note.iter().map(|note| format!("{note}\n"));
    print_note(&note.collect::<String>());
    print_note(&format!(
        "look at the tools that {title} lists: other settings of yours may allow its own\n"
    ));
}

/// Returns the flags that the projects in the allowed directories need to install packages, if they
/// are not given: for each directory its words and its flags.
pub(super) fn package_flags(
    policy: &Policy,
    options: &Options,
    sandbox: &SandboxConfig,
) -> Vec<(String, String)> {
    if options.network.network == Some(NetworkArg::Host) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for root in policy.roots().iter().map(Root::path) {
        let has = |sign: &&&str| policy.is_there(root.join(sign));
        let needed = SETS.iter().filter_map(|set| {
            let sign = set.signs.iter().find(has)?;
            let is_given = |name: &&str| options.network.allow_hosts.iter().any(|one| one == name);
            (!set.names.iter().any(is_given)).then_some((sign, set.names[0]))
        });
        let (signs, sets): (Vec<&str>, Vec<&str>) = needed.unzip();
        if sets.is_empty() {
            continue;
        }
        let mut flags: Vec<String> = sets
            .iter()
            .map(|set| format!("--allow-hosts {set}"))
            .collect();
        if sandbox.cache.is_none() {
            flags.extend(sandbox.downloads.flag_for(&sets));
        }
        let words = format!(
            "{} has {}, and commands reach no network",
            show_path(root),
            signs.join(", ")
        );
        found.push((words, flags.join(" ")));
    }
    found
}

/// Names the flags that the projects in the allowed directories need, if they are not given.
fn propose(policy: &Policy, options: &Options, sandbox: &SandboxConfig) {
    for (words, flags) in package_flags(policy, options, sandbox) {
        print_note(&format!(
            "{words}; so that they can install packages and keep them: -- {flags}\n"
        ));
    }
}

/// Writes a message for the user to stderr and ignores failures.
fn print_note(words: &str) {
    let _ = write!(std::io::stderr(), "{words}");
}

/// Command line of the server. The default is the working directory. Directories are absolute,
/// unless the client starts the server in each project.
fn arguments(asked: &SetupArgs) -> Result<Vec<OsString>> {
    let flags = with_new_names(asked.flags.clone());
    let own = [OsString::from("--mcp-server")];
    let options = parse_flags(AFTER, &[&own[..], &flags].concat())?
        .server
        .options;
    let here = [PathBuf::from(".:rw")];
    let named = [
        &options.directories.allow,
        &options.directories.allow_read,
        &options.directories.allow_write,
    ]
    .iter()
    .any(|dirs| !dirs.is_empty());
    let none = asked.allow.is_empty() && !named && options.directories.sandbox_profile.is_none();
    let mut words = own.to_vec();
    for dir in if none { &here[..] } else { &asked.allow } {
        let absolute = own_directory("--allow", dir)?;
        let is_kept = asked.client.setup.in_project;
        words.extend([
            "--allow".into(),
            if is_kept { dir.into() } else { absolute.into() },
        ]);
    }
    words.extend(flags);
    Ok(words)
}

/// Checks the flags of an entry, and returns its directories.
pub(super) fn directories_of(args: &[&str]) -> Result<Vec<PathBuf>> {
    let words: Vec<OsString> = args.iter().map(Into::into).collect();
    let directories = parse_flags("its flags", &words)?.server.options.directories;
    let all = [
        directories.allow,
        directories.allow_read,
        directories.allow_write,
    ];
    Ok(all.into_iter().flatten().collect())
}

/// Parses a command line of the server; `what` names it in an error.
fn parse_flags(what: &str, words: &[OsString]) -> Result<Cli> {
    let line = std::iter::once(OsString::from(env!("CARGO_PKG_NAME"))).chain(words.iter().cloned());
    let cli = Cli::try_parse_from(line).map_err(|error| {
        let said = error.to_string();
        let reason = said.trim_start_matches("error: ").split("\n\n").next();
        let words = reason.unwrap_or_default().split_whitespace();
        anyhow!("{what}: {}", words.collect::<Vec<_>>().join(" "))
    })?;
    if cli.server.http.http.is_some() || cli.command.is_some() {
        bail!(
            "a client starts its own server and uses stdin and stdout; leave out --http and \
             subcommands"
        );
    }
    Ok(cli)
}
