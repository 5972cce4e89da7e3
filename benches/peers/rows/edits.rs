//! Edits of one line in a large file, and of a thousand small files.
//!
//! Every contender has its own files and toggles a line between two states, so that no round needs
//! a restore. The files are compared with the expected contents after each round.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use memchr::memmem;
use serde_json::{Value, json};

use crate::args::Args;
use crate::client::{Client, text_of};
use crate::peers::{NPM, REPLAY, Server, on_path};
use crate::samples::{Contender, Goal, Row, Spec, Trial, Unit, rounds};
use crate::trees::{self, STATES, editable};

const SED: &str = "sed -i";
const BARE: &str = "bare, no fsync";
const BARE_SYNCED: &str = "bare, fsync";
const SED_HOW: &str = "LC_ALL=C sed -i 's/OLD/NEW/' FILES";
const BARE_HOW: &str = "in process: read, find twice, temporary file beside it, rename";
const NOTE: &str = "replay flushes every file to the disk before it renames, as \"bare, fsync\" does; sed and the npm server \
    do not. Flushes depend on what else the disk has to do: expect noise.";
const LARGE_BYTES: usize = 50_000_000;
const FILES: usize = 1000;
const FILE_BYTES: usize = 4096;

/// Equal files of one contender, and their current state.
struct Files {
    paths: Vec<PathBuf>,
    contents: [String; 2],
    state: usize,
}

impl Files {
    /// Creates `count` files below a fresh directory, a hundred per subdirectory.
    fn new(name: &str, count: usize, bytes: usize) -> Result<Self> {
        let dir = trees::fresh(name)?;
        let contents = [editable(bytes, 0), editable(bytes, 1)];
        let mut paths = Vec::new();
        for index in 0..count {
            let folder = dir.join(format!("{:02}", index / 100));
            fs::create_dir_all(&folder)?;
            let path = folder.join(format!("file{index:04}.c"));
            fs::write(&path, &contents[0])?;
            paths.push(path);
        }
        Ok(Self {
            paths,
            contents,
            state: 0,
        })
    }

    fn old_new(&self) -> (&'static str, &'static str) {
        (STATES[self.state], STATES[1 - self.state])
    }

    /// Times `work`, then compares every byte with the expected contents.
    fn turn(&mut self, work: impl FnOnce(&Self) -> Result<()>) -> Result<Trial> {
        let begin = Instant::now();
        work(self)?;
        let time = begin.elapsed().as_secs_f64();
        self.state = 1 - self.state;
        let expected = self.contents[self.state].as_bytes();
        for path in &self.paths {
            ensure!(
                fs::read(path)? == expected,
                "the bytes on disk are not what they should be"
            );
        }
        // The two states differ in length: count the larger one.
        let bytes = self.contents[1].len() * self.paths.len();
        Ok(Trial::of(time, self.paths.len() as u64, bytes as u64))
    }
}

pub fn large(args: &Args) -> Result<Vec<Row>> {
    let spec = Spec {
        name: "edit50",
        title: "edit_file, one line of 50 MB".to_owned(),
        unit: Unit::Seconds,
        counted: "files changed and compared",
        base: None,
        goals: vec![
            Goal::Ratio {
                of: SED,
                must: 1.0,
                excellent: 0.5,
            },
            Goal::Ratio {
                of: BARE_SYNCED,
                must: 1.3,
                excellent: 1.0,
            },
        ],
        note: NOTE,
    };
    let files = |name: &str| Files::new(&format!("edit50-{name}"), 1, LARGE_BYTES);
    let mut contenders = vec![server(
        Server::replay(&trees::home().canonicalize()?),
        files("replay")?,
    )];
    contenders.extend(other_contenders(&files, args.rounds)?);
    contenders.push(match Server::npm(&trees::home().canonicalize()?) {
        Ok(npm) => server(npm, files("npm")?).at_most(3),
        Err(reason) => Contender::missing(NPM, reason),
    });
    rounds(vec![spec], contenders, args.rounds)
}

pub fn many(args: &Args) -> Result<Vec<Row>> {
    let spec = Spec {
        name: "edit1000",
        title: "edit 1,000 files of 4 KB (edit_files, one call)".to_owned(),
        unit: Unit::Seconds,
        counted: "files changed and compared",
        base: None,
        goals: vec![Goal::Ratio {
            of: SED,
            must: 1.0,
            excellent: 0.75,
        }],
        note: NOTE,
    };
    let files = |name: &str| Files::new(&format!("edit1000-{name}"), FILES, FILE_BYTES);
    let mut contenders = vec![all_at_once(files("replay")?)?];
    contenders.extend(other_contenders(&files, args.rounds)?);
    contenders.push(match Server::npm(&trees::home().canonicalize()?) {
        Ok(npm) => server(npm, files("npm")?).at_most(5),
        Err(reason) => Contender::missing(NPM, reason),
    });
    rounds(vec![spec], contenders, args.rounds)
}

/// Returns the contenders other than MCP servers.
fn other_contenders(
    files: &impl Fn(&str) -> Result<Files>,
    at_most: usize,
) -> Result<Vec<Contender<'static>>> {
    let mut contenders = Vec::new();
    contenders.push(if let Some(program) = on_path("sed") {
        let mut files = files("sed")?;
        Contender::new(SED, SED_HOW, move || {
            files.turn(|files| sed(&program, files))
        })
    } else {
        Contender::missing(SED, "sed is not installed")
    });
    for (name, how, synced) in [
        (BARE, BARE_HOW.to_owned(), false),
        (BARE_SYNCED, format!("{BARE_HOW}, fsync before it"), true),
    ] {
        let mut files = files(if synced { "synced" } else { "bare" })?;
        let work = move || {
            files.turn(|files| {
                let (old, new) = files.old_new();
                files
                    .paths
                    .iter()
                    .try_for_each(|path| bare(path, old, new, synced))
            })
        };
        contenders.push(Contender::new(name, how, work).at_most(at_most));
    }
    Ok(contenders)
}

fn sed(program: &Path, files: &Files) -> Result<()> {
    let (old, new) = files.old_new();
    let status = Command::new(program)
        .env("LC_ALL", "C")
        .args(["-i", &format!("s/{old}/{new}/")])
        .args(&files.paths)
        .status()?;
    ensure!(status.success(), "sed: {status}");
    Ok(())
}

/// Replaces a file with a rename, with no lock, encoding, mode or attributes: the minimum work.
fn bare(path: &Path, old: &str, new: &str, synced: bool) -> Result<()> {
    let text = fs::read(path)?;
    let finder = memmem::Finder::new(old);
    let at = finder.find(&text).context("not found")?;
    ensure!(finder.find(&text[at + 1..]).is_none(), "found twice");
    let beside = path.with_extension("tmp");
    let mut file = File::create(&beside)?;
    let mut changed = Vec::with_capacity(text.len() + new.len());
    changed.extend_from_slice(&text[..at]);
    changed.extend_from_slice(new.as_bytes());
    changed.extend_from_slice(&text[at + old.len()..]);
    file.write_all(&changed)?;
    if synced {
        file.sync_data()?;
    }
    Ok(fs::rename(&beside, path)?)
}

/// Returns a server contender that sends one `edit_file` call per file, each after the previous
/// reply.
fn server(server: Server, mut files: Files) -> Contender<'static> {
    let mut session = None;
    let how = match files.paths.len() {
        1 => server.how.clone(),
        count => format!("{}, {count} edit_file calls", server.how),
    };
    Contender::new(server.name, how, move || {
        let client = match &mut session {
            Some(client) => client,
            none => none.insert(Client::start(&server)?),
        };
        files.turn(|files| {
            let (old, new) = files.old_new();
            for path in &files.paths {
                let edits = json!([{"oldText": old, "newText": new}]);
                let line = client.call("edit_file", &json!({"path": path, "edits": edits}));
                text_of(client.ask(&line)?)?;
            }
            Ok(())
        })
    })
}

fn all_at_once(mut files: Files) -> Result<Contender<'static>> {
    let folder = files
        .paths
        .first()
        .and_then(|path| path.parent()?.parent())
        .context("no files")?
        .to_path_buf();
    let server = Server::replay(&folder);
    let how = format!("{}, one edit_files call with a glob", server.how);
    let mut client = Client::start(&server)?;
    Ok(Contender::new(REPLAY, how, move || {
        files.turn(|files| {
            let (old, new) = files.old_new();
            let edits = json!([{"oldText": old, "newText": new}]);
            let arguments = json!({"paths": [folder.join("**/*.c")], "edits": edits});
            let line = client.call("edit_files", &arguments);
            let reply: Value = serde_json::from_slice(client.ask(&line)?)?;
            let items = reply["result"]["content"].as_array().map_or(0, Vec::len);
            ensure!(
                items >= files.paths.len(),
                "{items} items in the reply: {}",
                reply["error"]
            );
            Ok(())
        })
    }))
}
