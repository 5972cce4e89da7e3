//! Conversion of calls in format 3, whose metadata was in their statements and header fields.

use super::http::BODY_ENDS;
use crate::call::{Content, HttpResponse, Protocol};
use crate::matching::Recording;
use crate::protocol::postgres::{self, PortalDigests};

/// Header field that described the body of a response.
const BODY_NOTE: &str = "X-Replay-Body";

pub(super) fn convert(recordings: &mut [Recording]) {
    let mut portals = PortalDigests::new();
    for recording in recordings {
        match &mut recording.exchange.content {
            Content::Wire(Protocol::Postgres, wire) => postgres::move_metadata(wire, &mut portals),
            Content::Http(http) | Content::Grpc(http) => {
                http.response.iter_mut().for_each(move_body_notes);
            }
            Content::Wire(..) | Content::Dns(_) => {}
        }
    }
}

fn move_body_notes(response: &mut HttpResponse) {
    let notes = response
        .headers
        .extract_if(.., |(name, _)| name.eq_ignore_ascii_case(BODY_NOTE));
    for (_, note) in notes {
        let end = BODY_ENDS.iter().find(|(word, _)| word.as_bytes() == note);
        response.body_end = end.map_or(response.body_end, |(_, end)| *end);
        response.is_coded |= note == b"coded";
    }
}
