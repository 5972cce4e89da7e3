//! Reports in formats that many tools write: `JUnit` XML, trx and TAP, recognized by their content.

use std::borrow::Cow;

use memchr::memmem;
use replay_base::cancel::Bound;

use super::collector::ResultCollector;
use super::results::{Sources, TestResults};
use super::{junit, tap, trx};

/// Reads all report files of a run, or else a report on stdout.
pub(crate) fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
    let mut collector = ResultCollector::new(sources.root);
    collector.results.ended = collect(sources, bound, &mut collector);
    collector.results
}

/// Adds the results of all reports. Returns true if there are any, and they are complete.
pub(crate) fn collect<'a>(
    sources: &Sources<'a>,
    bound: Bound<'_>,
    collector: &mut ResultCollector<'a>,
) -> bool {
    collector.classes = sources.classes;
    let files =
        std::iter::once(sources.report).chain(sources.more_reports.iter().map(Vec::as_slice));
    let mut documents: Vec<&[u8]> = files.filter(|file| !file.is_empty()).collect();
    documents.extend(
        documents
            .is_empty()
            .then(|| report_in(sources.stdout))
            .flatten(),
    );
    let mut is_whole = !documents.is_empty();
    for document in documents {
        let document = &*in_utf8(document);
        let (begun, ended) = if !begins_with_tag(document) {
            tap::collect(document, bound, collector)
        } else if trx::is_trx(document) {
            trx::collect(document, bound, collector)
        } else {
            junit::collect(document, bound, collector)
        };
        if !begun {
            let message = "the report is not JUnit XML, TAP or trx";
            collector.run_error(None, message, Vec::new());
        }
        if begun && !ended && collector.results.run_errors.is_empty() && !bound.is_over() {
            let message = "the report ends in the middle: TAP without a plan, or XML without its \
                           last tags";
            collector.run_error(Some("incomplete report"), message, Vec::new());
        }
        collector.results.begun |= begun;
        is_whole &= ended;
    }
    is_whole
}

/// Converts a document in UTF-16, which a byte order mark announces.
fn in_utf8(document: &[u8]) -> Cow<'_, [u8]> {
    let unit: fn([u8; 2]) -> u16 = match document {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return Cow::Borrowed(document),
    };
    let units = document
        .chunks_exact(2)
        .map(|pair| unit([pair[0], pair[1]]));
    let text: String = char::decode_utf16(units)
        .map(|next| next.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    Cow::Owned(text.into_bytes())
}

/// Returns the report in output, which may have lines of other programs before it; `None` for the
/// text of a program.
fn report_in(output: &[u8]) -> Option<&[u8]> {
    const ROOTS: [&[u8]; 2] = [b"<testsuite", b"<TestRun"];
    let roots = ROOTS.iter().filter_map(|root| memmem::find(output, root));
    let from = roots
        .min()
        .filter(|at| output[..*at].ends_with(b"\n") || *at == 0 || output[..*at].ends_with(b">"));
    match from {
        Some(from) => Some(&output[from..]),
        None => tap::is_tap(output).then_some(output),
    }
}

fn begins_with_tag(document: &[u8]) -> bool {
    const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
    let text = document.strip_prefix(BYTE_ORDER_MARK).unwrap_or(document);
    text.trim_ascii_start().starts_with(b"<")
}
