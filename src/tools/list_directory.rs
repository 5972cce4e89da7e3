//! `list_directory`: lists the entries of one directory.

use std::os::unix::ffi::OsStrExt;

use replay_base::text::escape::{show, show_path};
use replay_files::fs::{self, DirEntry};
use replay_files::policy::{Checked, FileKind, Policy, Read};
use replay_mcp::protocol::Content;
use replay_mcp::sessions::Weight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::status_line::Status;
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Directories up to this size, as stat(2) has it, are listed by a thread that others wait for, in
/// bytes.
const QUICK_LIST_BYTES: u64 = 4096;

/// Lists a directory, sorted by name.
pub(super) struct ListDirectory;

/// Arguments of `list_directory`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Directory
    #[schemars(extend("x-aliases" = ["directory", "dir"]))]
    path: String,
}

/// The entries in the order of their names.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Output {
    entries: Vec<Item>,
    // Not in the schema, which each client pays for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    truncated: bool,
    /// If truncated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    total: Option<usize>,
}

/// One entry; a link that leads inside the allowed directories shows as what it leads to.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Item {
    name: String,
    #[serde(rename = "type")]
    kind: ItemKind,
    /// In bytes; files only.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

/// Kind of an entry.
#[derive(Clone, Copy, Debug, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum ItemKind {
    File,
    Directory,
    // A symlink that is broken, or leads out of the allowed directories.
    Link,
    // A named pipe, a socket or a device.
    Other,
}

impl ItemKind {
    /// The name on the wire.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Link => "link",
            Self::Other => "other",
        }
    }
}

impl ItemKind {
    /// The sign behind a name, as `ls -F` has it: none for a file.
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::File => "",
            Self::Directory => "/",
            Self::Link => "@",
            Self::Other => "=",
        }
    }
}

impl From<FileKind> for ItemKind {
    fn from(kind: FileKind) -> Self {
        match kind {
            FileKind::File => Self::File,
            FileKind::Directory => Self::Directory,
            FileKind::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

impl Tool for ListDirectory {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "list_directory";
    const TITLE: &'static str = "List a directory";
    const DESCRIPTION: &'static str = "List a directory, sorted, one entry a line; links that lead out or nowhere are marked as links.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Quick;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        let policy = &context.services.policy;
        let directory = open_directory(policy, &params.path)?;
        if directory.size() > QUICK_LIST_BYTES {
            return context.at_length(|| list(context, &directory, &fs::entries(&directory)?));
        }
        let entries = fs::entries(&directory)?;
        // Resolving a symlink may be slow.
        if entries.iter().any(|entry| entry.kind == FileKind::Symlink) {
            return context.at_length(|| list(context, &directory, &entries));
        }
        list(context, &directory, &entries)
    }
}

fn list(
    context: &Context<'_>,
    directory: &Checked<Read>,
    entries: &[DirEntry],
) -> Result<Reply<Output>, Error> {
    let policy = &context.services.policy;
    let mut items = Vec::with_capacity(entries.len());
    for entry in entries {
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        items.push(item(policy, directory, entry));
    }
    if context.is_lean() {
        return Ok(lean_list(context, &items));
    }
    let lines: Vec<String> = items
        .iter()
        .map(|entry| {
            let kind = match entry.kind {
                ItemKind::File => "[FILE]",
                ItemKind::Directory => "[DIR]",
                ItemKind::Link => "[LINK]",
                ItemKind::Other => "[OTHER]",
            };
            format!("{kind} {}", entry.name)
        })
        .collect();
    let (mut text, limit) = (lines.join("\n"), context.limit());
    let mut note = None;
    if text.is_empty() {
        "(empty)".clone_into(&mut text);
    } else if !limit.holds(&text) {
        text.truncate(limit.lines_of(&text));
        items.truncate(text.lines().count());
        note = Some(Content::note(format_args!(
            "{} of {} entries are listed, since the reply is full; glob_search and search_files find the others by name",
            items.len(),
            lines.len()
        )));
    }
    let content = std::iter::once(Content::Text(text)).chain(note).collect();
    let total = Some(lines.len()).filter(|total| *total > items.len());
    Ok(Reply::content(content).with_structured(Output {
        entries: items,
        truncated: total.is_some(),
        total,
    }))
}

/// Returns the reply for a model: names alone, with a sign behind all that are no files.
fn lean_list(context: &Context<'_>, items: &[Item]) -> Reply<Output> {
    let (mut text, mut limit, mut shown) = (String::new(), context.limit(), 0);
    for item in items {
        let line = format!("{}{}\n", item.name, item.kind.sign());
        if !limit.take(&line) && shown > 0 {
            break;
        }
        text.push_str(&line);
        shown += 1;
    }
    let mut status = Status::default();
    if shown < items.len() {
        status.add(format!(
            "the first {shown} of {} entries: find others with glob_search{}",
            items.len(),
            limit.or_raise()
        ));
    } else if items.is_empty() {
        status.add("empty");
    }
    status.reply(text, Vec::new())
}

/// Opens a directory; for a file, the error names the right tool.
pub(super) fn open_directory(policy: &Policy, path: &str) -> Result<Checked<Read>, Error> {
    as_directory(policy.read(path)?)
}

/// Checks that an opened path is a directory.
pub(super) fn as_directory(directory: Checked<Read>) -> Result<Checked<Read>, Error> {
    if directory.kind() != FileKind::Directory {
        return Err(Error::Unsuitable {
            message: format!(
                "`{}` is a file, not a directory",
                show_path(directory.display_path())
            ),
            hint: "use read_file or get_file_info, or name its directory".into(),
        });
    }
    Ok(directory)
}

fn item(policy: &Policy, directory: &Checked<Read>, entry: &DirEntry) -> Item {
    let name = show(entry.name.as_bytes()).into_owned();
    // An entry that vanishes meanwhile is listed without a size.
    let (kind, size) = if entry.kind == FileKind::Symlink {
        let target = policy.leads_to(directory.display_path().join(&entry.name));
        let info = target.and_then(|target| fs::info(&target).ok());
        info.map_or((FileKind::Symlink, None), |info| {
            (info.kind, Some(info.size))
        })
    } else if entry.kind == FileKind::File {
        (
            entry.kind,
            fs::entry_info(directory, &entry.name)
                .ok()
                .map(|info| info.size),
        )
    } else {
        (entry.kind, None)
    };
    Item {
        name,
        kind: kind.into(),
        size: size.filter(|_| kind == FileKind::File),
    }
}
