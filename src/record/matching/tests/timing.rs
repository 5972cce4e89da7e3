//! Answers that came after another request of the program.

use std::time::Duration;

use pretty_assertions::assert_eq;

use super::*;
use crate::call::HttpVersion;

/// Returns an HTTP/2 call with these times in milliseconds, and a field in its answer.
fn timed(path: &str, asked: u64, came: u64, field: (&str, &str)) -> Exchange {
    let mut call = answered(get(path), path);
    let response = http(&mut call).response.as_mut().unwrap();
    response.version = HttpVersion::Http2;
    response
        .headers
        .push((field.0.to_owned(), field.1.as_bytes().to_vec()));
    let [sent_at, answered_at] =
        [asked, came].map(|ms| std::time::UNIX_EPOCH + Duration::from_millis(ms));
    Exchange {
        sent_at,
        answered_at,
        ..call
    }
}

#[test]
fn unstreamed_http2_response_waits_for_next_request() {
    let patience = |first: Exchange, next: u64| {
        let book = Recordings::new(
            vec![first.clone(), timed("/next", next, next + 1, ("Date", "x"))],
            Noise::default(),
        );
        book.overtaken(&first)
            .map(|overtaken| overtaken.patience.as_millis())
    };
    let json = ("content-type", "application/json; charset=utf-8");
    let slow = |field| timed("/slow", 1000, 3000, field);
    for field in [
        json,
        ("Content-Length", "5"),
        ("content-type", "application/problem+json"),
    ] {
        assert_eq!(patience(slow(field), 2000), Some(3000), "{field:?}");
    }
    // Streamed responses, and responses that may be streamed.
    for field in [
        ("content-type", "text/event-stream"),
        ("content-type", "application/stream+json"),
        ("date", "x"),
    ] {
        assert_eq!(patience(slow(field), 2000), None, "{field:?}");
    }
    // At the same time, or afterwards.
    assert_eq!(
        [1050, 3000, 500].map(|next| patience(slow(json), next)),
        [None; 3]
    );
    let mut first = slow(json);
    http(&mut first).response.as_mut().unwrap().version = HttpVersion::Http11;
    assert_eq!(patience(first, 2000), None);
}
