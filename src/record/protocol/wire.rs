//! What a protocol that is no HTTP has to be able to do, without a socket: take a recorded
//! connection apart, and play the server's part of one.
//!
//! Whoever holds the sockets feeds bytes in as they come, in pieces of any size, and does what the
//! steps say, in order.

use std::time::{Duration, SystemTime};

use crate::record::call::{Exchange, Side};

/// What is to be done while a connection is recorded.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordStep {
    /// Send these bytes, as if they came from this side, to the other one.
    Forward(Side, Vec<u8>),
    /// Encryption begins on both sides with the next byte. What comes afterwards is fed in
    /// decrypted. These are the first encrypted bytes, which the client sent together with its
    /// request.
    StartTls(Vec<u8>),
    /// A call is complete.
    Done(Box<Exchange>),
    /// Something was said that no recording holds, and why, such as an answer that is too long.
    Lost(String),
}

/// Takes one connection apart into calls while it is recorded.
pub trait WireRecorder: Send {
    /// Bytes came from this side at this time.
    fn take(&mut self, from: Side, bytes: &[u8], at: SystemTime) -> Vec<RecordStep>;
    /// The connection has ended, by this side first: what was said since the last complete call.
    fn end(&mut self, by: Side, at: SystemTime) -> Vec<RecordStep>;
    /// Bytes that it keeps of what is not complete.
    fn kept(&self) -> usize;
}

/// What is to be done while a server is played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlayStep {
    Send(Vec<u8>),
    /// Encryption begins with the next byte. These are the first ones, which the client sent
    /// together with its request.
    StartTls(Vec<u8>),
    /// Say nothing more, whatever comes, until the program leaves: when this was recorded, it did
    /// not wait any longer.
    Hold,
    /// Say nothing until the program says something more, for so long at most: when this was
    /// recorded, it had gone on before it was answered.
    UntilMore(Duration),
    /// Close the connection after what was sent.
    Close,
}

/// Plays the server's part of one connection from recordings. Calls that no recording answers are
/// counted by the script it plays from, and answered with an error of the protocol.
pub trait WirePlayer: Send {
    /// The program has connected: what a server that speaks first says.
    fn open(&mut self) -> Vec<PlayStep>;
    /// Bytes came from the program.
    fn take(&mut self, bytes: &[u8]) -> Vec<PlayStep>;
    /// Whether it has something to say that was said unasked when it was recorded.
    fn waits(&self) -> bool;
    /// The program says nothing: what is said to it unasked.
    fn pause(&mut self) -> Vec<PlayStep>;
    /// The program says nothing more: what has come is all that it meant.
    fn finish(&mut self) -> Vec<PlayStep> {
        Vec::new()
    }
    /// Bytes that it keeps of what is not answered.
    fn kept(&self) -> usize;
}
