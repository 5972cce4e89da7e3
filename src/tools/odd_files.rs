//! Files in 8-bit encodings, in which `grep_files` finds no letters beyond ASCII although
//! `read_file` decodes them.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use replay_base::text::encoding::{detect_and_decode, is_binary, is_utf16};
use replay_base::text::escape::show_path;
use replay_files::fs::Reader;
use replay_files::policy::{AccessRecord, Checked, FileKind, Read};
use replay_search::{Scope, names};

use super::Context;
use super::selection::call;
use crate::error::Error;

/// Maximum number of files checked, each only at its start.
const MAX_LOOKED: usize = 1000;
const LOOKED_BYTES: usize = 64 * 1024;
/// Maximum length of a multi-byte character that is cut at the end of the checked part.
const MAX_CUT_BYTES: usize = 4;

/// Returns a note on such files in a scope.
pub(super) fn note_of(context: &Context<'_>, scope: &Scope) -> Result<Option<String>, Error> {
    let found = names(call(context, &|_| {}), scope, MAX_LOOKED, &|_, kind| {
        kind == FileKind::File
    })?;
    // The search has reported these files to the audit log already.
    let aside = AccessRecord::default();
    let _aside = aside.enter();
    let paths = found
        .paths
        .iter()
        .map(|path| PathBuf::from(OsStr::from_bytes(path)));
    let files = paths.filter_map(|path| context.services.policy.read(path).ok());
    Ok(note(context, files))
}

/// Returns a note on such files among `files`.
pub(super) fn note(
    context: &Context<'_>,
    files: impl Iterator<Item = Checked<Read>>,
) -> Option<String> {
    let (mut count, mut first) = (0_usize, None);
    for file in files.take_while(|_| !context.cancel.is_cancelled()) {
        let mut head = vec![0; LOOKED_BYTES];
        let Ok(read) = Reader::new(&file, 0).read(&mut head) else {
            continue;
        };
        head.truncate(read);
        let is_coded = std::str::from_utf8(&head).is_err_and(|error| error.error_len().is_some());
        if is_coded && !is_binary(&head) && !is_utf16(&head) {
            count += 1;
            first.get_or_insert_with(|| {
                (show_path(file.display_path()).into_owned(), encoding(&head))
            });
        }
    }
    let (path, encoding) = first?;
    let more = if count > 1 {
        format!(" and {} more", count - 1)
    } else {
        String::new()
    };
    Some(format!(
        "`{path}`{more} not searched for letters beyond ASCII: the encoding is {encoding}, and bytes are compared as UTF-8; read_file \
         decodes it"
    ))
}

/// Returns the name of an 8-bit encoding, detected as in `read_file`.
fn encoding(head: &[u8]) -> String {
    let decoded = (0..MAX_CUT_BYTES).find_map(|cut| {
        detect_and_decode(head[..head.len() - cut.min(head.len())].to_vec(), None).ok()
    });
    decoded.map_or_else(
        || "not UTF-8".to_owned(),
        |decoded| decoded.encoding.name().to_owned(),
    )
}
