//! HTTP answers: status, headers and body, parsed from bytes (RFC 9112, 6).

use std::time::Duration;

use httparse::{EMPTY_HEADER, Response, Status};

/// Longest answer to a request of this program's own, in bytes.
const MAX_OUTBOUND_ANSWER_BYTES: usize = 256 * 1024;
/// Most headers of an answer to a request of this program's own.
const MAX_OUTBOUND_HEADERS: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    pub status: u16,
    /// `Retry-After`, if it is a number of seconds.
    pub retry_after: Option<Duration>,
    pub body: Vec<u8>,
}

/// Framing of a body.
enum Length {
    Bytes(usize),
    Chunks,
    UntilTheEnd,
}

struct Head {
    status: u16,
    retry_after: Option<Duration>,
    length: Length,
    /// Offset of the body.
    at: usize,
}

impl HttpResponse {
    /// Returns true if the answer is complete, or longer than the limit.
    pub fn is_whole(bytes: &[u8]) -> bool {
        if bytes.len() >= MAX_OUTBOUND_ANSWER_BYTES {
            return true;
        }
        match head(bytes) {
            Ok(Some(head)) => match head.length {
                Length::Bytes(length) => bytes.len() - head.at >= length,
                Length::Chunks => matches!(chunks(&bytes[head.at..]), Ok((_, true)) | Err(_)),
                Length::UntilTheEnd => false,
            },
            Ok(None) => false,
            Err(_) => true,
        }
    }

    /// Parses an answer. Fails with the fault.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let Head {
            status,
            retry_after,
            length,
            at,
        } = head(bytes)?
            .ok_or_else(|| format!("it ends after {} bytes, in its header", bytes.len()))?;
        let rest = &bytes[at..];
        let body = match length {
            Length::Bytes(length) if length > rest.len() => {
                return Err(format!(
                    "its body ends after {} of {length} bytes",
                    rest.len()
                ));
            }
            Length::Bytes(length) => rest[..length].to_vec(),
            Length::Chunks => match chunks(rest)? {
                (body, true) => body,
                (_, false) => return Err("its body ends within a chunk".to_owned()),
            },
            Length::UntilTheEnd => rest.to_vec(),
        };
        Ok(Self {
            status,
            retry_after,
            body,
        })
    }
}

/// The head, once it is there; heads of status 1xx before it are passed over.
fn head(bytes: &[u8]) -> Result<Option<Head>, String> {
    let mut at = 0;
    loop {
        let mut headers = [EMPTY_HEADER; MAX_OUTBOUND_HEADERS];
        let mut response = Response::new(&mut headers);
        let Status::Complete(length) = response
            .parse(&bytes[at..])
            .map_err(|error| error.to_string())?
        else {
            return Ok(None);
        };
        at += length;
        let status = response.code.unwrap_or_default();
        if (100..200).contains(&status) {
            continue;
        }
        let value = |name: &str| {
            let found = response
                .headers
                .iter()
                .find(|header| header.name.eq_ignore_ascii_case(name));
            found
                .and_then(|header| std::str::from_utf8(header.value).ok())
                .map(str::trim)
        };
        let length = match (value("transfer-encoding"), value("content-length")) {
            _ if matches!(status, 204 | 304) => Length::Bytes(0),
            (Some(coding), _) if coding.eq_ignore_ascii_case("chunked") => Length::Chunks,
            (Some(coding), _) => {
                return Err(format!(
                    "its body has the unsupported coding `{}`",
                    coding.escape_default()
                ));
            }
            (None, Some(length)) => Length::Bytes(
                length
                    .parse()
                    .map_err(|_| "its length is not a number".to_owned())?,
            ),
            (None, None) => Length::UntilTheEnd,
        };
        let retry_after = value("retry-after")
            .and_then(|seconds| seconds.parse().ok())
            .map(Duration::from_secs);
        return Ok(Some(Head {
            status,
            retry_after,
            length,
            at,
        }));
    }
}

/// The data of the chunks that are there, and whether the last one is among them.
fn chunks(mut bytes: &[u8]) -> Result<(Vec<u8>, bool), String> {
    let mut body = Vec::new();
    loop {
        let parsed =
            httparse::parse_chunk_size(bytes).map_err(|_| "a chunk has no length".to_owned())?;
        let Status::Complete((at, length)) = parsed else {
            return Ok((body, false));
        };
        if length == 0 {
            return Ok((body, true));
        }
        let length = usize::try_from(length).map_err(|_| "a chunk is too long".to_owned())?;
        let end = at.checked_add(length).ok_or("a chunk is too long")?;
        let Some(data) = bytes.get(at..end) else {
            return Ok((body, false));
        };
        body.extend_from_slice(data);
        let Some(rest) = bytes.get(end + 2..) else {
            return Ok((body, false));
        };
        bytes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (bool, Result<(u16, String), String>) {
        let answer = HttpResponse::read(text.as_bytes());
        let shown = answer.map(|answer| (answer.status, String::from_utf8(answer.body).unwrap()));
        (HttpResponse::is_whole(text.as_bytes()), shown)
    }

    fn good(is_whole: bool, body: &str) -> (bool, Result<(u16, String), String>) {
        (is_whole, Ok((200, body.to_owned())))
    }

    #[test]
    fn body_length_follows_head() {
        assert_eq!(
            read("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"),
            good(true, "ab")
        );
        assert_eq!(read("HTTP/1.1 200 OK\r\n\r\nab"), good(false, "ab"));
        assert_eq!(
            read("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n"),
            (true, Ok((204, String::new())))
        );
        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
        assert_eq!(read(chunked), good(true, "abc"));
        for end in 0..chunked.len() - 5 {
            let (is_whole, answer) = read(&chunked[..end]);
            assert!(!is_whole && answer.is_err(), "{end}");
        }
        let short = "its body ends after 1 of 2 bytes".to_owned();
        assert_eq!(
            read("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na"),
            (false, Err(short))
        );
    }

    #[test]
    fn non_http_answer_fails_immediately() {
        assert!(read("SSH-2.0-x\r\n\r\n").0);
        assert_eq!(
            read("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n").1,
            Err("its body has the unsupported coding `gzip`".to_owned())
        );
        assert!(
            read("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n")
                .1
                .is_err()
        );
        assert!(
            read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n")
                .1
                .is_err()
        );
        assert!(HttpResponse::is_whole(&vec![
            b' ';
            MAX_OUTBOUND_ANSWER_BYTES
        ]));
    }

    #[test]
    fn retry_after_is_read_in_seconds_only() {
        let pause = |value: &str| {
            let text =
                format!("HTTP/1.1 503 x\r\nRetry-After: {value}\r\nContent-Length: 0\r\n\r\n");
            HttpResponse::read(text.as_bytes()).unwrap().retry_after
        };
        assert_eq!(pause("7"), Some(Duration::from_secs(7)));
        assert_eq!(pause("Fri, 31 Dec 1999 23:59:59 GMT"), None);
    }
}
