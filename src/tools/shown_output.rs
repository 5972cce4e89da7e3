//! What a reply shows of what a program wrote, and where the rest is.

use super::Context;
use crate::exec::Captured;
use crate::limits::{FOLDED_LINE_BYTES, SMALL_MESSAGE_BYTES};

/// One output.
#[derive(Debug)]
pub struct ShownOutput {
    pub text: String,
    /// If that is not all.
    pub note: Option<String>,
    /// The URI of all of it, if that was kept.
    pub log: Option<String>,
}

/// One stream folded, and cut in the middle if it is longer than `most` bytes all the same.
pub fn folded(
    context: &Context<'_>,
    tool: &str,
    (name, stream): (&str, &Captured),
    most: usize,
) -> ShownOutput {
    shown(
        context,
        tool,
        (name, stream),
        shorter(context, stream),
        most,
    )
}

/// Standard output folded, and standard error as it is. Together they have at most `most` bytes, of
/// which half is for standard error.
pub fn both(
    context: &Context<'_>,
    tool: &str,
    [stdout, stderr]: [&Captured; 2],
    most: usize,
) -> [ShownOutput; 2] {
    let (output, errors) = (shorter(context, stdout), stderr.text().into_owned());
    let most_errors = errors
        .len()
        .min((most / 2).max(most.saturating_sub(output.len())));
    [
        shown(
            context,
            tool,
            ("stdout", stdout),
            output,
            most - most_errors,
        ),
        shown(context, tool, ("stderr", stderr), errors, most_errors),
    ]
}

/// Folded, or as it is where there is no memory to fold it.
fn shorter(context: &Context<'_>, stream: &Captured) -> String {
    let lines = memchr::memchr_iter(b'\n', &stream.bytes).count();
    let bytes = stream.bytes.len() * 2 + lines * FOLDED_LINE_BYTES;
    match (bytes > SMALL_MESSAGE_BYTES)
        .then(|| context.room().take(bytes))
        .transpose()
    {
        Ok(_held) => stream.folded(),
        Err(_) => stream.text().into_owned(),
    }
}

fn shown(
    context: &Context<'_>,
    tool: &str,
    (name, stream): (&str, &Captured),
    mut text: String,
    most: usize,
) -> ShownOutput {
    // What is put between beginning and end is not of the stream.
    let mut bytes = if stream.truncated {
        text.len().min(stream.bytes.len())
    } else {
        text.len()
    };
    if text.len() > most {
        let cut = Captured::cut(text.as_bytes(), most);
        text = cut.text().into_owned();
        bytes = bytes.min(cut.bytes.len());
    }
    let mut notes = Vec::new();
    let log = (text != stream.text() || stream.file.is_some()).then(|| {
        let uri = context.services.logs.keep(tool, stream.log()).uri.clone();
        notes.push(format!(
            "{name}: {} of {} bytes are shown, read_file has the others in `{uri}`",
            bytes, stream.total_bytes
        ));
        uri
    });
    let lost = stream.lost();
    if lost > 0 {
        notes.push(format!(
            "{name}: {lost} bytes in its middle are not kept; for all of it redirect it to a file"
        ));
    }
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    ShownOutput { text, note, log }
}
