//! Incremental parser for one direction of an HTTP/1 connection (RFC 9112).

use replay_base::limits::{MAX_HTTP_FIELDS, MAX_HTTP_HEAD_BYTES};

use crate::call::HttpVersion;

use super::{field, has_token};

/// A message after transfer decoding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    pub version: HttpVersion,
    /// Method of a request, as sent; empty for a response.
    pub method: String,
    /// The request target, in any form.
    pub path: String,
    /// Status code of a response; 0 for a request.
    pub status: u16,
    pub reason: String,
    /// Fields in order, names as sent.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body with its content coding, up to the reader's cap.
    pub body: Vec<u8>,
    pub trailers: Vec<(String, Vec<u8>)>,
    pub too_long: bool,
}

/// Request kinds that determine the end of a response (RFC 9112, 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpectedBody {
    /// A request whose response has a body.
    Other,
    /// HEAD: the response has no body, despite its fields.
    Head,
    /// CONNECT: a tunnel follows a 2xx response.
    Connect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Parser state, including the framing of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ParserState {
    Head,
    Sized(u64),
    UntilClose,
    ChunkSize,
    Chunk(u64),
    ChunkEnd,
    Trailers,
}

#[derive(Debug)]
pub(super) struct Reader {
    requests: bool,
    cap: usize,
    stage: ParserState,
    /// Incomplete head, chunk-size line or trailers.
    line: Vec<u8>,
    message: Option<Message>,
}

impl Reader {
    pub(super) fn requests(cap: usize) -> Self {
        Self {
            requests: true,
            cap,
            stage: ParserState::Head,
            line: Vec::new(),
            message: None,
        }
    }

    pub(super) fn responses(cap: usize) -> Self {
        Self {
            requests: false,
            ..Self::requests(cap)
        }
    }

    /// Returns the current message, once its head is complete.
    pub(super) fn head(&self) -> Option<&Message> {
        self.message.as_ref()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.message.is_none() && self.line.is_empty()
    }

    pub(super) fn buffered_bytes(&self) -> usize {
        self.line.len()
            + self
                .message
                .as_ref()
                .map_or(0, |message| message.body.len())
    }

    pub(super) fn discard_body(&mut self) {
        if let Some(message) = &mut self.message {
            message.too_long = true;
            message.body = Vec::new();
        }
    }

    /// Consumes input until a message is complete. `Ok(None)` with an empty input means that more
    /// input is needed. With input left, it means that a head was completed.
    pub(super) fn take(
        &mut self,
        input: &mut &[u8],
        expected: ExpectedBody,
    ) -> Result<Option<Message>, Malformed> {
        loop {
            match self.stage {
                ParserState::Head => {
                    if !self.gather(input, MAX_HTTP_HEAD_BYTES)? {
                        return Ok(None);
                    }
                    self.begin(expected)?;
                    return Ok(if self.stage == ParserState::Head {
                        self.message.take()
                    } else {
                        None
                    });
                }
                _ if input.is_empty() => return Ok(None),
                ParserState::Sized(left) => {
                    let left = left - self.keep(input, left);
                    self.stage = ParserState::Sized(left);
                    if left == 0 {
                        return Ok(self.finish());
                    }
                }
                ParserState::UntilClose => {
                    self.keep(input, u64::MAX);
                }
                ParserState::ChunkSize => {
                    let Some(line) = self.read_line(input)? else {
                        return Ok(None);
                    };
                    let text = std::str::from_utf8(&line).map_err(|_| Malformed)?;
                    let digits = text.split(';').next().unwrap_or_default().trim();
                    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                        return Err(Malformed);
                    }
                    let size = u64::from_str_radix(digits, 16).map_err(|_| Malformed)?;
                    self.stage = if size == 0 {
                        ParserState::Trailers
                    } else {
                        ParserState::Chunk(size)
                    };
                    if size == 0 {
                        // An immediate empty line ends the trailers.
                        self.line.push(b'\n');
                    }
                }
                ParserState::Chunk(left) => {
                    let left = left - self.keep(input, left);
                    self.stage = if left == 0 {
                        ParserState::ChunkEnd
                    } else {
                        ParserState::Chunk(left)
                    };
                }
                ParserState::ChunkEnd => {
                    let Some(line) = self.read_line(input)? else {
                        return Ok(None);
                    };
                    if !line.iter().all(u8::is_ascii_whitespace) {
                        return Err(Malformed);
                    }
                    self.stage = ParserState::ChunkSize;
                }
                ParserState::Trailers => {
                    if !self.gather(input, MAX_HTTP_HEAD_BYTES)? {
                        return Ok(None);
                    }
                    let trailers = fields(&self.line[1..])?;
                    if let Some(message) = &mut self.message {
                        message.trailers = trailers;
                    }
                    return Ok(self.finish());
                }
            }
        }
    }

    /// Returns the unfinished message when the connection ends. The flag is true if that end is its
    /// framing.
    pub(super) fn end(&mut self) -> Option<(Message, bool)> {
        let whole = self.stage == ParserState::UntilClose;
        self.finish().map(|message| (message, whole))
    }

    fn finish(&mut self) -> Option<Message> {
        self.stage = ParserState::Head;
        self.line.clear();
        self.message.take()
    }

    /// Consumes up to `most` bytes as body and returns their number.
    fn keep(&mut self, input: &mut &[u8], most: u64) -> u64 {
        let count = usize::try_from(most).unwrap_or(usize::MAX).min(input.len());
        let (piece, rest) = input.split_at(count);
        *input = rest;
        if let Some(message) = &mut self.message
            && !message.too_long
        {
            if message.body.len() + count > self.cap {
                message.too_long = true;
                message.body = Vec::new();
            } else {
                message.body.extend_from_slice(piece);
            }
        }
        count as u64
    }

    /// Collects bytes up to an empty line; returns true when it is complete.
    fn gather(&mut self, input: &mut &[u8], most: usize) -> Result<bool, Malformed> {
        // A client may send empty lines before a request (RFC 9112, 2.2).
        while self.line.is_empty()
            && self.stage == ParserState::Head
            && matches!(input.first(), Some(b'\r' | b'\n'))
        {
            *input = &input[1..];
        }
        let before = self.line.len();
        let mut from = before.saturating_sub(3);
        let room = most - before.min(most);
        self.line.extend_from_slice(&input[..input.len().min(room)]);
        while let Some(at) = memchr::memchr(b'\n', &self.line[from..]) {
            from += at + 1;
            let rest = &self.line[from..];
            if let Some(empty) = [&b"\n"[..], b"\r\n"]
                .iter()
                .find(|empty| rest.starts_with(empty))
            {
                let end = from + empty.len();
                self.line.truncate(end);
                *input = &input[end - before..];
                return Ok(true);
            }
        }
        if self.line.len() >= most {
            return Err(Malformed);
        }
        *input = &[];
        Ok(false)
    }

    /// Collects one short line and returns it without its line ending when complete.
    fn read_line(&mut self, input: &mut &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
        let end = memchr::memchr(b'\n', input);
        let (piece, rest) = input.split_at(end.unwrap_or(input.len()));
        self.line.extend_from_slice(piece);
        *input = rest.strip_prefix(b"\n").unwrap_or(rest);
        if self.line.len() > MAX_HTTP_HEAD_BYTES {
            return Err(Malformed);
        }
        Ok(end.map(|_| std::mem::take(&mut self.line)))
    }

    /// Parses a complete head and derives the framing of the body.
    fn begin(&mut self, expected: ExpectedBody) -> Result<(), Malformed> {
        let line = std::mem::take(&mut self.line);
        let mut space = vec![httparse::EMPTY_HEADER; MAX_HTTP_FIELDS];
        let whole = |parsed| {
            matches!(parsed, Ok(httparse::Status::Complete(_)))
                .then_some(())
                .ok_or(Malformed)
        };
        let mut message = Message::default();
        let minor = if self.requests {
            let mut request = httparse::Request::new(&mut space);
            whole(request.parse(&line))?;
            request
                .method
                .ok_or(Malformed)?
                .clone_into(&mut message.method);
            request.path.ok_or(Malformed)?.clone_into(&mut message.path);
            message.headers = owned(request.headers);
            request.version
        } else {
            let mut response = httparse::Response::new(&mut space);
            let mut lenient = httparse::ParserConfig::default();
            lenient
                .allow_spaces_after_header_name_in_responses(true)
                .allow_obsolete_multiline_headers_in_responses(true)
                .allow_multiple_spaces_in_response_status_delimiters(true);
            whole(lenient.parse_response(&mut response, &line))?;
            message.status = response.code.ok_or(Malformed)?;
            response
                .reason
                .unwrap_or_default()
                .clone_into(&mut message.reason);
            message.headers = owned(response.headers);
            response.version
        };
        if minor == Some(0) {
            message.version = HttpVersion::Http10;
        }
        self.stage = self.framing(&message, expected)?;
        self.message = Some(message);
        Ok(())
    }

    /// Returns the framing of the body, or [`ParserState::Head`] without a body.
    fn framing(
        &self,
        Message {
            status, headers, ..
        }: &Message,
        expected: ExpectedBody,
    ) -> Result<ParserState, Malformed> {
        let bodiless = matches!(status, 100..=199 | 204 | 304) || expected == ExpectedBody::Head;
        let is_tunnel = expected == ExpectedBody::Connect && (200..300).contains(status);
        if !self.requests && (bodiless || is_tunnel) {
            return Ok(ParserState::Head);
        }
        if field(headers, "transfer-encoding").is_some() {
            let is_chunked = has_token(headers, "transfer-encoding", "chunked");
            let until_close = if self.requests {
                Err(Malformed)
            } else {
                Ok(ParserState::UntilClose)
            };
            return if is_chunked {
                Ok(ParserState::ChunkSize)
            } else {
                until_close
            };
        }
        let mut length = None;
        for (_, value) in headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        {
            for part in std::str::from_utf8(value)
                .map_err(|_| Malformed)?
                .split(',')
                .map(str::trim)
            {
                if part.is_empty() || !part.bytes().all(|digit| digit.is_ascii_digit()) {
                    return Err(Malformed);
                }
                let part: u64 = part.parse().map_err(|_| Malformed)?;
                if length.replace(part).is_some_and(|other| other != part) {
                    return Err(Malformed);
                }
            }
        }
        Ok(match length {
            None if !self.requests => ParserState::UntilClose,
            None | Some(0) => ParserState::Head,
            Some(length) => ParserState::Sized(length),
        })
    }
}

fn owned(headers: &[httparse::Header<'_>]) -> Vec<(String, Vec<u8>)> {
    headers
        .iter()
        .map(|header| (header.name.to_owned(), header.value.to_vec()))
        .collect()
}

fn fields(block: &[u8]) -> Result<Vec<(String, Vec<u8>)>, Malformed> {
    let mut space = vec![httparse::EMPTY_HEADER; MAX_HTTP_FIELDS];
    match httparse::parse_headers(block, &mut space) {
        Ok(httparse::Status::Complete((_, headers))) => Ok(owned(headers)),
        _ => Err(Malformed),
    }
}
