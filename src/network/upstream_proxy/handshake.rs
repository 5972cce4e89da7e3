//! Handshake with a proxy, without input and output: CONNECT, or SOCKS5 with the name.

use std::io::{Read, Write};
use std::net::IpAddr;

use httparse::{EMPTY_HEADER, Response, Status};

use super::{ProxyError, ProxyFault, ProxyScheme, ProxyServer};

/// Longest head of an answer to CONNECT, in bytes.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// Most fields of an answer to CONNECT.
const MAX_HEAD_FIELDS: usize = 64;
/// Beginning of every answer to CONNECT.
const HTTP_1: &[u8] = b"HTTP/1.";

/// Next action of a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send these bytes.
    Send(Vec<u8>),
    /// Receive so many bytes. Later bytes belong to the destination.
    Receive(usize),
    /// The connection leads to the destination.
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Begin,
    /// The head of the answer to CONNECT.
    Head,
    /// The method that SOCKS5 chooses.
    Method,
    /// The answer to the login.
    Login,
    /// The reply of SOCKS5 up to the type of its address.
    Reply,
    /// The length of the name in the reply.
    NameLength,
    /// The rest of the reply.
    Rest(usize),
    Done,
}

/// Handshake for one destination.
#[derive(Debug)]
pub struct Handshake<'a> {
    server: &'a ProxyServer,
    host: &'a str,
    port: u16,
    state: State,
    head: Vec<u8>,
}

impl<'a> Handshake<'a> {
    /// Prepares a handshake. An IPv6 address has no brackets.
    pub fn new(server: &'a ProxyServer, host: &'a str, port: u16) -> Self {
        Self {
            server,
            host,
            port,
            state: State::Begin,
            head: Vec::new(),
        }
    }

    /// Performs the handshake on a blocking stream.
    pub fn run(mut self, stream: &mut (impl Read + Write)) -> Result<(), ProxyError> {
        let mut received = Vec::new();
        loop {
            match self.advance(&received)? {
                Step::Send(bytes) => {
                    let sent = stream.write_all(&bytes).and_then(|()| stream.flush());
                    sent.map_err(|error| self.failed(&ProxyFault::of(&error)))?;
                    received.clear();
                }
                Step::Receive(count) => {
                    received.resize(count, 0);
                    let read = stream.read_exact(&mut received);
                    read.map_err(|error| self.failed(&ProxyFault::of(&error)))?;
                }
                Step::Done => return Ok(()),
            }
        }
    }

    /// Returns the next step after these bytes, which are none at the beginning and after a step
    /// that sends.
    pub fn advance(&mut self, received: &[u8]) -> Result<Step, ProxyError> {
        self.next(received).map_err(|fault| self.failed(&fault))
    }

    /// Returns the error of this handshake for a fault.
    pub fn failed(&self, fault: &ProxyFault) -> ProxyError {
        ProxyError::new(self.server, self.target(), fault)
    }

    fn next(&mut self, received: &[u8]) -> Result<Step, ProxyFault> {
        match (self.state, received) {
            (State::Begin, _) => Ok(Step::Send(self.begin())),
            (State::Head, []) => Ok(Step::Receive(1)),
            (State::Head, bytes) => self.head(bytes),
            (State::Method | State::Login, []) => Ok(Step::Receive(2)),
            (State::Method, [5, 0]) | (State::Login, [_, 0]) => self.request(),
            (State::Method, [5, 2]) => self.login(),
            (State::Method, [5, 0xff]) | (State::Login, _) => Err(ProxyFault::Login),
            (State::Reply, []) => Ok(Step::Receive(4)),
            (State::Reply, [5, 0, _, kind]) => self.reply(*kind),
            (State::Reply, [5, code, ..]) => Err(ProxyFault::Reply(*code)),
            (State::NameLength, [length]) => {
                self.state = State::Rest(usize::from(*length) + 2);
                Ok(Step::Receive(usize::from(*length) + 2))
            }
            (State::Rest(length), bytes) if bytes.len() == length => {
                self.state = State::Done;
                Ok(Step::Done)
            }
            (State::Done, _) => Ok(Step::Done),
            (State::Method | State::Reply | State::NameLength | State::Rest(_), _) => {
                Err(ProxyFault::Malformed)
            }
        }
    }

    /// Returns the first message.
    fn begin(&mut self) -> Vec<u8> {
        if self.server.scheme == ProxyScheme::Socks5 {
            self.state = State::Method;
            let greeting: &[u8] = if self.server.login().is_some() {
                &[5, 2, 0, 2]
            } else {
                &[5, 1, 0]
            };
            return greeting.to_vec();
        }
        self.state = State::Head;
        let target = self.target();
        let mut head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").into_bytes();
        if let Some(value) = self.server.basic_authorization() {
            head.extend_from_slice(b"Proxy-Authorization: ");
            head.extend_from_slice(value.as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        head
    }

    /// Reads the head of the answer to CONNECT byte by byte.
    fn head(&mut self, bytes: &[u8]) -> Result<Step, ProxyFault> {
        self.head.extend_from_slice(bytes);
        let begun = self.head.len().min(HTTP_1.len());
        if self.head[..begun] != HTTP_1[..begun] || self.head.len() > MAX_HEAD_BYTES {
            return Err(ProxyFault::Malformed);
        }
        if !self.head.ends_with(b"\n\r\n") && !self.head.ends_with(b"\n\n") {
            return Ok(Step::Receive(1));
        }
        let mut fields = [EMPTY_HEADER; MAX_HEAD_FIELDS];
        let mut answer = Response::new(&mut fields);
        let is_whole = matches!(answer.parse(&self.head), Ok(Status::Complete(_)));
        match answer.code.filter(|_| is_whole) {
            None => Err(ProxyFault::Malformed),
            Some(100..=199) => {
                self.head.clear();
                Ok(Step::Receive(1))
            }
            Some(200..=299) => {
                self.state = State::Done;
                Ok(Step::Done)
            }
            Some(code) => {
                let is_offer = |name: &str| name.eq_ignore_ascii_case("Proxy-Authenticate");
                let offers = answer.headers.iter().filter(|field| is_offer(field.name));
                Err(ProxyFault::Status {
                    code,
                    offers: offers.filter_map(|field| scheme(field.value)).collect(),
                })
            }
        }
    }

    /// Sends user and password (RFC 1929, 2).
    fn login(&mut self) -> Result<Step, ProxyFault> {
        let (user, password) = self.server.login().ok_or(ProxyFault::Malformed)?;
        self.state = State::Login;
        // Both lengths were checked with the setting.
        let lengths = [user.len() as u8, password.len() as u8];
        Ok(Step::Send(
            [
                &[1, lengths[0]],
                user.as_bytes(),
                &[lengths[1]],
                password.as_bytes(),
            ]
            .concat(),
        ))
    }

    /// Asks SOCKS5 for the destination, by name if it has one (RFC 1928, 4).
    fn request(&mut self) -> Result<Step, ProxyFault> {
        self.state = State::Reply;
        let mut request = vec![5, 1, 0];
        match self.host.parse() {
            Ok(IpAddr::V4(address)) => {
                request.push(1);
                request.extend_from_slice(&address.octets());
            }
            Ok(IpAddr::V6(address)) => {
                request.push(4);
                request.extend_from_slice(&address.octets());
            }
            Err(_) => {
                let length = u8::try_from(self.host.len()).map_err(|_| ProxyFault::LongName)?;
                request.extend_from_slice(&[3, length]);
                request.extend_from_slice(self.host.as_bytes());
            }
        }
        request.extend_from_slice(&self.port.to_be_bytes());
        Ok(Step::Send(request))
    }

    /// Returns the step that receives the rest of a reply with this type of address.
    fn reply(&mut self, kind: u8) -> Result<Step, ProxyFault> {
        let length = match kind {
            1 => 4 + 2,
            4 => 16 + 2,
            3 => {
                self.state = State::NameLength;
                return Ok(Step::Receive(1));
            }
            _ => return Err(ProxyFault::Malformed),
        };
        self.state = State::Rest(length);
        Ok(Step::Receive(length))
    }

    /// Returns host and port of the destination.
    fn target(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        }
    }
}

/// Returns the scheme of a challenge (RFC 9110, 11.3), if it is a word.
fn scheme(value: &[u8]) -> Option<String> {
    let word = value.split(|byte| *byte == b' ' || *byte == b',').next()?;
    let is_word =
        !word.is_empty() && word.len() <= 32 && word.iter().all(u8::is_ascii_alphanumeric);
    is_word.then(|| String::from_utf8_lossy(word).into_owned())
}
