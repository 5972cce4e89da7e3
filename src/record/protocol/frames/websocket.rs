//! `WebSocket` (RFC 6455), without compression. Frames of clients have zero masks here.

use super::player::FrameResponder;
use super::{FrameFormat, FrameLength, payload};
use crate::call::{Link, Protocol, Side};
use crate::http::websocket::Unmask;
use crate::protocol::database::Database;
use crate::protocol::heartbeat::Heartbeats;
use crate::protocol::part_list::PartList;
use crate::protocol::responder::{Prompter, ResponderPlayer};
use crate::protocol::script::{Push, Script};
use crate::protocol::wire::{PlayStep, WirePlayer};

pub(super) static DATABASE: Database =
    Database::in_frames(Protocol::WebSocket, "WebSocket", 0, parts, &FORMAT);

static FORMAT: FrameFormat = FrameFormat {
    is_opening,
    length,
    // No answer has a mark, so `answered` finds none.
    heartbeats: Heartbeats::WebSocket,
    ..FrameFormat::PLAIN
};

/// Reserved bits and the one of control frames without a meaning (5.2).
const UNUSED_BITS: u8 = 0x74;
const HAS_MASK: u8 = 0x80;

fn is_opening(client: &[u8], server: &[u8]) -> bool {
    let is_frame = |side, bytes: &[u8]| bytes.is_empty() || length(side, bytes, &[]).is_ok();
    let mask = data_at(client).and_then(|at| client.get(at.checked_sub(4)?..at));
    mask == Some(&[0; 4]) && is_frame(Side::Client, client) && is_frame(Side::Server, server)
}

/// Returns the place of the payload and its length; `None` while the header is incomplete.
fn payload_place(frame: &[u8]) -> Option<(usize, usize)> {
    let second = *frame.get(1)?;
    let (mut at, length) = match second & !HAS_MASK {
        126 => (
            4,
            u64::from(u16::from_be_bytes(*frame.get(2..)?.first_chunk()?)),
        ),
        127 => (10, u64::from_be_bytes(*frame.get(2..)?.first_chunk()?)),
        length => (2, u64::from(length)),
    };
    if second & HAS_MASK != 0 {
        at += 4;
    }
    Some((at, usize::try_from(length).ok()?))
}

fn data_at(frame: &[u8]) -> Option<usize> {
    payload_place(frame)
        .map(|(at, _)| at)
        .filter(|at| *at <= frame.len())
}

fn length(from: Side, bytes: &[u8], _: &[u8]) -> FrameLength {
    let is_masked = bytes
        .get(1)
        .is_none_or(|second| (second & HAS_MASK != 0) == (from == Side::Client));
    if bytes.first().is_some_and(|first| first & UNUSED_BITS != 0) || !is_masked {
        return Err("bytes that are no frame of WebSocket");
    }
    Ok(payload_place(bytes).map(|(at, length)| at.saturating_add(length)))
}

/// Player of the frames after an upgrade, which removes the masks of the client.
pub(crate) struct WebSocketPlayer {
    unmask: Unmask,
    player: ResponderPlayer,
}

impl WebSocketPlayer {
    pub(crate) fn new(link: &Link, script: Box<dyn Script>) -> Self {
        let prompter = Prompter::new(link.clone(), Protocol::WebSocket, script);
        Self {
            unmask: Unmask::default(),
            player: ResponderPlayer::new(Box::new(FrameResponder::new(FORMAT)), prompter),
        }
    }
}

impl WirePlayer for WebSocketPlayer {
    fn open(&mut self) -> Vec<PlayStep> {
        self.player.open()
    }

    fn take(&mut self, bytes: &[u8]) -> Vec<PlayStep> {
        let plain = self.unmask.take(bytes);
        self.player.take(&plain)
    }

    fn next_push(&self) -> Option<&Push> {
        self.player.next_push()
    }

    fn take_push(&mut self) -> Option<Push> {
        self.player.take_push()
    }

    fn buffered_bytes(&self) -> usize {
        self.player.buffered_bytes()
    }
}

fn parts(frame: &[u8], taken: &mut PartList) -> Option<()> {
    const TEXT: u8 = 0x81;
    let first = frame.get(..1)?;
    taken.text(if first == [TEXT] { b"text" } else { b"frame" });
    taken.head(first);
    payload(frame.get(data_at(frame)?..)?, taken);
    Some(())
}
