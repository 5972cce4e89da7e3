//! Shortens a program's output for a reply, and stores the full output as a log.

use replay_base::limits::SMALL_MESSAGE_BYTES;
use replay_sandbox::exec::Captured;

use crate::tools::Context;

/// Memory for each line while an output is folded, in bytes, besides its text.
const FOLDED_LINE_BYTES: usize = 64;

/// Shortened output of one stream.
#[derive(Debug)]
pub(crate) struct ShownOutput {
    pub text: String,
    /// Note about the omitted part, if any.
    pub note: Option<String>,
    /// URI of the full output, if it was stored.
    pub log: Option<String>,
}

/// Output of a program, with the name of its stream in notes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedStream<'a> {
    pub name: &'a str,
    pub captured: &'a Captured,
}

/// Folds one stream, and cuts it in the middle if it is still longer than `most` bytes.
pub(crate) fn shorten_stream(
    context: &Context<'_>,
    tool: &str,
    stream: NamedStream<'_>,
    most: usize,
) -> ShownOutput {
    let text = fold(context, stream.captured);
    shorten(context, tool, stream, text, most)
}

/// Folds standard output; standard error stays unfolded. Together they have at most `most` bytes,
/// half of them for standard error.
pub(crate) fn shorten_streams(
    context: &Context<'_>,
    tool: &str,
    [stdout, stderr]: [&Captured; 2],
    most: usize,
) -> [ShownOutput; 2] {
    let (output, errors) = (fold(context, stdout), stderr.text().into_owned());
    let most_errors = errors
        .len()
        .min((most / 2).max(most.saturating_sub(output.len())));
    let named = |name, captured| NamedStream { name, captured };
    [
        shorten(
            context,
            tool,
            named("stdout", stdout),
            output,
            most - most_errors,
        ),
        shorten(context, tool, named("stderr", stderr), errors, most_errors),
    ]
}

/// Folds the output, unless there is no memory for that.
fn fold(context: &Context<'_>, stream: &Captured) -> String {
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

fn shorten(
    context: &Context<'_>,
    tool: &str,
    NamedStream {
        name,
        captured: stream,
    }: NamedStream<'_>,
    mut text: String,
    most: usize,
) -> ShownOutput {
    // The marker between start and end is not part of the stream.
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
            "{name}: {} of {} bytes are shown; read_file with path `{uri}` has all of them",
            bytes, stream.total_bytes
        ));
        uri
    });
    let lost = stream.missing_bytes();
    if lost > 0 {
        notes.push(format!(
            "{name}: {lost} bytes in the middle were dropped; redirect {name} to a file to get \
             all of it"
        ));
    }
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    ShownOutput { text, note, log }
}
