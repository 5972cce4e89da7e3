//! Handle of a command: sends orders to its supervisor from any thread.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::wire::{KILL, PORTS, send_order};

/// Cloneable handle that ends a command from any thread.
#[derive(Clone, Debug)]
pub(super) struct Control(pub(super) Arc<OwnedFd>);

impl Control {
    pub(super) fn send(&self, words: &[u8]) -> Result<(), Errno> {
        send(&*self.0, words, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).map(drop)
    }

    /// Asks which of these sockets the command holds. The answer comes on the other end of `reply`.
    pub(super) fn send_ports(&self, inodes: &[u64], reply: BorrowedFd<'_>) -> io::Result<()> {
        let mut order = vec![PORTS];
        order.extend(inodes.iter().flat_map(|inode| inode.to_le_bytes()));
        send_order(&*self.0, &order, reply)
    }

    /// Sends SIGKILL to all processes of the command.
    pub(super) fn kill(&self) {
        // Sending fails only if the supervisor is gone, and its command with it.
        let _ = self.send(&[KILL]);
    }
}
