//! Heartbeats of protocols that are recorded in turns. Their number depends on time alone, so they
//! are not recorded, and a played server answers each at once.

/// A heartbeat of a client, and its answer; empty if it has none.
pub(crate) type Heartbeat = (&'static [u8], &'static [u8]);

/// Test of a client's first bytes, and the heartbeats of that protocol.
type Protocol = (fn(&[u8]) -> bool, &'static [Heartbeat]);

/// Protocols with heartbeats.
const PROTOCOLS: [Protocol; 3] = [
    (is_mqtt, MQTT),
    (|first| first.starts_with(b"AMQP"), AMQP),
    (|first| first.starts_with(b"CONNECT {"), NATS),
];
/// The second one is DISCONNECT, which some programs send only if they have the time.
pub(crate) const MQTT: &[Heartbeat] = &[(b"\xc0\0", b"\xd0\0"), (MQTT_DISCONNECT, b"")];
const MQTT_DISCONNECT: &[u8] = b"\xe0\0";
/// It has no answers, but a client ends a connection without heartbeats of the server.
pub(crate) const AMQP: &[Heartbeat] = &[(b"\x08\0\0\0\0\0\0\xce", b"\x08\0\0\0\0\0\0\xce")];
pub(crate) const NATS: &[Heartbeat] = &[(b"PING\r\n", b"PONG\r\n"), (b"PONG\r\n", b"")];

/// Returns true for a CONNECT packet of MQTT 3.1.1 or 5 (3.1).
pub(crate) fn is_mqtt(first: &[u8]) -> bool {
    // The length of the packet has one to four bytes.
    let name = |at: usize| first.get(at..at + 6) == Some(b"\0\x04MQTT");
    first.first() == Some(&0x10) && (2..=5).any(name)
}

/// Heartbeats of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Heartbeats {
    /// The client has sent nothing.
    Unknown,
    Known(&'static [Heartbeat]),
    /// Frames of a `WebSocket` client, with zero masks.
    WebSocket,
}

impl Heartbeats {
    pub(crate) fn new(websocket: bool) -> Self {
        if websocket {
            Self::WebSocket
        } else {
            Self::Unknown
        }
    }

    /// Detects the protocol by the first bytes of the client.
    pub(crate) fn detect(&mut self, first: &[u8]) {
        if matches!(self, Self::Unknown) {
            let known = PROTOCOLS.iter().find(|(is_opening, _)| is_opening(first));
            *self = Self::Known(known.map_or(&[], |(_, heartbeats)| heartbeats));
        }
    }

    /// Returns true if the server closes the connection after this frame of a client.
    pub(crate) fn ends(&self, frame: &[u8]) -> bool {
        match self {
            Self::Unknown => false,
            Self::Known(_) => self.first(frame).is_some() && frame == MQTT_DISCONNECT,
            Self::WebSocket => frame.first() == Some(&0x88),
        }
    }

    /// Returns the length and the answer of a heartbeat at the start of these bytes.
    pub(crate) fn first(&self, bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
        match self {
            Self::Unknown => None,
            Self::Known(heartbeats) => heartbeats
                .iter()
                .find(|(message, _)| bytes.starts_with(message))
                .map(|(message, answer)| (message.len(), answer.to_vec())),
            Self::WebSocket => first_control_frame(bytes),
        }
    }
}

/// Returns the length of a control frame, and its answer: a PONG or a CLOSE with its payload (RFC
/// 6455, 5.5).
fn first_control_frame(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    let ([kind, length, 0, 0, 0, 0], rest) = bytes.split_first_chunk()? else {
        return None;
    };
    let payload = rest.get(..usize::from(length & 0x7f))?;
    let answer = match kind {
        0x89 => [&[0x8a, length & 0x7f][..], payload].concat(),
        0x88 => [&[0x88, length & 0x7f][..], payload].concat(),
        0x8a => Vec::new(),
        _ => return None,
    };
    Some((6 + payload.len(), answer))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// Heartbeats of a connection that begins so.
    fn heartbeats(first: &[u8]) -> Heartbeats {
        let mut heartbeats = Heartbeats::new(false);
        heartbeats.detect(first);
        heartbeats.detect(b"later");
        heartbeats
    }

    #[test]
    fn heartbeat_is_known_by_first_bytes_of_connection() {
        let mqtt = heartbeats(b"\x10\x0d\0\x04MQTT\x04\x02\0\x3c\0\x01a");
        let long = heartbeats(b"\x10\xff\x01\0\x04MQTT\x05");
        let (amqp, nats) = (
            heartbeats(b"AMQP\0\0\x09\x01"),
            heartbeats(b"CONNECT {}\r\n"),
        );
        let beat: &[u8] = b"\x08\0\0\0\0\0\0\xce";
        let answer = |bytes: &[u8], length| Some((length, bytes.to_vec()));
        for (known, bytes, expected) in [
            (mqtt, &b"\xc0\0"[..], answer(b"\xd0\0", 2)),
            (mqtt, b"\xc0\0\x30\x02", answer(b"\xd0\0", 2)),
            (mqtt, b"\xe0\0", answer(b"", 2)),
            (mqtt, b"\xf0\0", None),
            (mqtt, b"\xc0", None),
            (long, b"\xc0\0", answer(b"\xd0\0", 2)),
            (amqp, beat, answer(beat, 8)),
            (nats, b"PING\r\n", answer(b"PONG\r\n", 6)),
            (nats, b"PONG\r\n", answer(b"", 6)),
            (nats, b"PUB a 1\r\n1\r\n", None),
            (heartbeats(b"other"), b"PING\r\n", None),
            (Heartbeats::new(false), b"PING\r\n", None),
        ] {
            assert_eq!(known.first(bytes), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn websocket_ping_is_answered_with_its_payload() {
        let known = Heartbeats::new(true);
        let answer = |bytes: &[u8], length| Some((length, bytes.to_vec()));
        for (bytes, expected) in [
            (&b"\x89\x82\0\0\0\0abc"[..], answer(b"\x8a\x02ab", 8)),
            (b"\x89\x80\0\0\0\0", answer(b"\x8a\0", 6)),
            (b"\x8a\x81\0\0\0\0a", answer(b"", 7)),
            (b"\x89\x82\0\0\0\0a", None),
            (b"\x81\x81\0\0\0\0a", None),
        ] {
            assert_eq!(known.first(bytes), expected, "{}", bytes.escape_ascii());
        }
    }
}
