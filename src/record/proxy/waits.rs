//! What a played database waits for before it answers: that the program does what it did when that was recorded.

use std::io;
use std::time::Duration;

use super::Note;
use super::context::Context;
use super::held::Held;
use super::stream::Stream;
use crate::limits::{CUT_OFF_HELD_MS, MAX_RELAY_WAITING_BYTES, RELAY_BUFFER_BYTES};
use crate::record::protocol::wire::Cancellable;

/// Says nothing until another connection asks to cancel this call; what comes meanwhile is appended to `later`. False if the
/// program leaves instead, or all is to end. That the program waits longer than when it was recorded is told.
pub async fn until_cancelled(
    context: &Context,
    client: &mut Stream,
    call: Cancellable,
    later: &mut Vec<u8>,
) -> io::Result<bool> {
    let asked = context.shared.cancels.asked(&call.key, call.seen);
    let patience = call.stayed + Duration::from_millis(CUT_OFF_HELD_MS);
    let held = Held { patience, note: Note::Uncancelled { call: call.call, stayed: call.stayed }, resets: false };
    let overstayed = held.overstayed(context);
    tokio::pin!(asked, overstayed);
    loop {
        let has_room = later.len() < MAX_RELAY_WAITING_BYTES;
        tokio::select! {
            () = &mut asked => return Ok(true),
            read = client.more(later, RELAY_BUFFER_BYTES), if has_room => {
                if read? == 0 {
                    return Ok(false);
                }
            }
            () = &mut overstayed => {}
            () = context.stopped() => return Ok(false),
        }
    }
}

/// Waits until the program says more, which is appended to `later`, or as long as that may take. False if it leaves, or all is
/// to end.
pub async fn until_more(
    context: &Context,
    client: &mut Stream,
    patience: Duration,
    later: &mut Vec<u8>,
) -> io::Result<bool> {
    if !later.is_empty() {
        return Ok(true);
    }
    tokio::select! {
        read = client.more(later, RELAY_BUFFER_BYTES) => read.map(|count| count > 0),
        () = tokio::time::sleep(patience) => Ok(true),
        () = context.stopped() => Ok(false),
    }
}
