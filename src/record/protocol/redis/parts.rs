//! Commands of Redis taken apart.

use super::resp::command;
use crate::record::protocol::parts::Taken;

/// A command and its arguments. The first says which thing is asked for.
pub(in crate::record) fn parts(bytes: &[u8], taken: &mut Taken) -> Option<()> {
    let (words, rest) = command(bytes)?;
    let (command, arguments) = words.split_first().filter(|_| rest.is_empty())?;
    // Of a line it is the first letter.
    taken.head(if bytes.first() == Some(&b'*') { b"*" } else { b"" });
    taken.text(command);
    for (at, argument) in arguments.iter().enumerate() {
        taken.text(b" ");
        taken.argument(at == 0, argument);
    }
    Some(())
}
