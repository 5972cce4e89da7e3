//! Recorder and player interfaces of protocols other than HTTP, without sockets.
//!
//! The owner of the sockets feeds bytes in pieces of any size, and carries out the returned steps
//! in order.

use std::time::{Duration, SystemTime};

use crate::call::{Exchange, Side};
use crate::protocol::script::Push;

/// Action of the proxy while it records a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordStep {
    /// Send these bytes from this side to the other side.
    Forward(Side, Vec<u8>),
    /// Encryption begins on both sides with the next byte; later input is decrypted. The bytes are
    /// the first encrypted ones, which the client sent with its request.
    StartTls(Vec<u8>),
    /// A call is complete.
    Done(Box<Exchange>),
    /// Data that cannot be recorded, with the reason, such as an answer that is too long.
    Lost(String),
}

/// Splits one connection into calls while it is recorded.
pub trait WireRecorder: Send {
    /// Processes bytes from this side.
    fn take(&mut self, from: Side, bytes: &[u8], at: SystemTime) -> Vec<RecordStep>;
    /// Ends the connection, which this side closed first, and returns the unfinished calls.
    fn end(&mut self, by: Side, at: SystemTime) -> Vec<RecordStep>;
    /// Returns true if clients may prove to an encrypted server that they see its certificate.
    fn binds_channel(&self) -> bool {
        false
    }
    /// Returns the number of buffered bytes of incomplete calls.
    fn buffered_bytes(&self) -> usize;
}

/// Action of the proxy while it plays a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlayStep {
    Send(Vec<u8>),
    /// Send this message once it is due, and nothing before it.
    Push(Push),
    /// Encryption begins with the next byte. The bytes are the first encrypted ones, which the
    /// client sent with its request.
    StartTls(Vec<u8>),
    /// Send nothing more until the program closes the connection: in the recording it stopped
    /// waiting here.
    Hold,
    /// Send nothing until the program sends more, at most for this time: in the recording it went
    /// on before the answer.
    UntilMore(Duration),
    /// Close the connection after sending.
    Close,
    /// Close the connection after this time.
    CloseAfter(Duration),
}

impl PlayStep {
    /// Returns the number of bytes that it holds.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Send(bytes) | Self::Push(Push { bytes, .. }) => bytes.len(),
            _ => 0,
        }
    }

    pub(crate) fn closes(&self) -> bool {
        matches!(self, Self::Close | Self::CloseAfter(_))
    }

    /// Returns the step of a recorded message; an empty one closes the connection.
    pub(crate) fn of_message(bytes: Vec<u8>) -> Self {
        if bytes.is_empty() {
            Self::Close
        } else {
            Self::Send(bytes)
        }
    }
}

/// Plays the server's side of one connection from recordings. The script counts calls without a
/// recording; they are answered with an error of the protocol.
pub trait WirePlayer: Send {
    /// Returns the greeting after the program has connected.
    fn open(&mut self) -> Vec<PlayStep>;
    /// Processes bytes from the program.
    fn take(&mut self, bytes: &[u8]) -> Vec<PlayStep>;
    /// Returns true if a pause of the program changes how its pending bytes are understood.
    fn waits(&self) -> bool {
        false
    }
    /// Processes a pause of the program.
    fn pause(&mut self) -> Vec<PlayStep> {
        Vec::new()
    }
    /// Returns the next message to send unasked, without taking it.
    fn next_push(&self) -> Option<&Push>;
    /// Takes the next message to send unasked.
    fn take_push(&mut self) -> Option<Push>;
    /// Processes the end of the program's input: the pending bytes are complete.
    fn finish(&mut self) -> Vec<PlayStep> {
        Vec::new()
    }
    /// Returns the number of buffered bytes of unanswered requests.
    fn buffered_bytes(&self) -> usize;
}
