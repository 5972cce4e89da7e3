//! What a played database waits for before it answers: that the program does what it did when that was recorded.

use std::io;
use std::time::Duration;

use super::context::Context;
use super::stream::Stream;

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
        read = client.more(later) => read.map(|count| count > 0),
        () = tokio::time::sleep(patience) => Ok(true),
        () = context.stopped() => Ok(false),
    }
}
