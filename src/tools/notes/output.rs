//! Shortens a program's output for a reply, and stores the full output as a log.

use replay_base::limits::SMALL_MESSAGE_BYTES;
use replay_base::text::fold::plain;
use replay_sandbox::exec::Captured;

use crate::tools::Context;
use crate::tools::text_limit::TextLimit;

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

/// Folds one stream, and cuts it in the middle if it is still longer than the limit.
pub(crate) fn shorten_stream(
    context: &Context<'_>,
    tool: &str,
    stream: NamedStream<'_>,
    limit: TextLimit,
) -> ShownOutput {
    let text = fold(context, stream.captured);
    shorten(context, tool, stream, text, limit)
}

/// Folds standard output; standard error stays unfolded. Together they are within the limit, half
/// of it for standard error.
pub(crate) fn shorten_streams(
    context: &Context<'_>,
    tool: &str,
    [stdout, stderr]: [&Captured; 2],
    limit: TextLimit,
) -> [ShownOutput; 2] {
    let (output, errors) = (fold(context, stdout), unfolded(context, stderr));
    let named = |name, captured| NamedStream { name, captured };
    let of_errors = limit.after(&output).max(limit.halved());
    let errors = shorten(context, tool, named("stderr", stderr), errors, of_errors);
    let rest = limit.after(&errors.text);
    [
        shorten(context, tool, named("stdout", stdout), output, rest),
        errors,
    ]
}

/// Returns the output, in lean replies without colours.
fn unfolded(context: &Context<'_>, stream: &Captured) -> String {
    let text = stream.text();
    if context.is_lean() {
        String::from_utf8_lossy(&plain(text.as_bytes())).into_owned()
    } else {
        text.into_owned()
    }
}

/// Folds the output, unless there is no memory for that.
fn fold(context: &Context<'_>, stream: &Captured) -> String {
    let lines = memchr::memchr_iter(b'\n', &stream.bytes).count();
    let bytes = stream.bytes.len() * 2 + lines * FOLDED_LINE_BYTES;
    match (bytes > SMALL_MESSAGE_BYTES)
        .then(|| context.room().take(bytes))
        .transpose()
    {
        Ok(_held) if context.is_lean() => {
            let folded = stream.folded();
            String::from_utf8_lossy(&plain(folded.as_bytes())).into_owned()
        }
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
    limit: TextLimit,
) -> ShownOutput {
    // The marker between start and end is not part of the stream.
    let mut bytes = if stream.truncated {
        text.len().min(stream.bytes.len())
    } else {
        text.len()
    };
    if !limit.holds(&text) {
        // The end may have more tokens than as much of the beginning.
        let mut most = limit.bytes_of(&text);
        let (shown, cut) = loop {
            let cut = Captured::cut(text.as_bytes(), most);
            let shown = cut.text().into_owned();
            if most == 0 || limit.is_of_bytes() || limit.holds(&shown) {
                break (shown, cut.bytes.len());
            }
            most -= most / 16 + 1;
        };
        text = shown;
        bytes = bytes.min(cut);
    }
    let whole = stream.text();
    let is_whole = if context.is_lean() {
        text.as_bytes() == plain(whole.as_bytes()).as_ref()
    } else {
        text == whole
    };
    let mut notes = Vec::new();
    let log = (!is_whole || stream.file.is_some()).then(|| {
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
