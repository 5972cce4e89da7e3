//! Registry of the supported protocols other than HTTP. Each is declared in its folder and listed here.

use crate::call::{Link, Protocol};
use crate::protocol::database::{Conversation, Database};
use crate::protocol::dialogue::DialogueRecorder;
use crate::protocol::frames::FrameResponder;
use crate::protocol::responder::{Prompter, Responder, ResponderPlayer};
use crate::protocol::script::Script;
use crate::protocol::wire::{WirePlayer, WireRecorder};
use crate::protocol::{frames, mongo, mysql, postgres, redis};

const DATABASES: [&Database; 4] = [
    &postgres::DATABASE,
    &mysql::DATABASE,
    &redis::DATABASE,
    &mongo::DATABASE,
];

fn all() -> impl Iterator<Item = &'static Database> {
    DATABASES.into_iter().chain(frames::ALL)
}

/// Returns the database of a protocol; `None` for HTTP, gRPC, DNS and Generic.
pub(crate) fn of(protocol: Protocol) -> Option<&'static Database> {
    all().find(|known| known.protocol == protocol)
}

pub(crate) fn on_port(port: u16) -> Option<Protocol> {
    all()
        .find(|known| known.port == port)
        .map(|known| known.protocol)
}

pub(crate) fn of_kind(kind: &str) -> Option<Protocol> {
    all()
        .find(|known| known.kind == kind)
        .map(|known| known.protocol)
}

/// Creates a recorder for a connection; `None` if the protocol has no database here.
/// Encryption that the client requests inside the protocol is relayed by a step.
pub fn recorder(protocol: Protocol, link: &Link) -> Option<Box<dyn WireRecorder>> {
    let Conversation::Own { recorder, .. } = &of(protocol)?.conversation else {
        return None;
    };
    let dialogue = recorder();
    Some(Box::new(DialogueRecorder::new(dialogue, protocol, link)))
}

/// Creates a player for a connection; `None` if the protocol has no database here. Encryption is
/// offered if it was recorded.
pub fn player(
    protocol: Protocol,
    link: &Link,
    script: Box<dyn Script>,
) -> Option<Box<dyn WirePlayer>> {
    let prompter = Prompter::new(link.clone(), protocol, script);
    let responder = responder(protocol)?;
    Some(Box::new(ResponderPlayer::new(responder, prompter)))
}

/// Creates the played server of a protocol; `None` if it has no database here.
pub(crate) fn responder(protocol: Protocol) -> Option<Box<dyn Responder>> {
    if let Some(format) = frames::of(protocol) {
        return Some(Box::new(FrameResponder::new(format)));
    }
    match &of(protocol)?.conversation {
        Conversation::Own { player, .. } => Some(player()),
        Conversation::InFrames(_) => None,
    }
}
