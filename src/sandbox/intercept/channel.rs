//! The supervisor's end of the socket to the server: nothing here waits for the server.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::ioctl_fionbio;

use super::messages::{Counts, SupervisorMessage, SupervisorRequest};
use crate::wire::{receive_packet, send_packet};

/// Answers to the server that may wait at a supervisor.
const MAX_WAITING_WORDS: usize = 4096;

/// Token of its epoll events.
pub(super) const TOKEN: u64 = 1;

#[derive(Debug)]
pub(super) struct Channel {
    socket: OwnedFd,
    /// Unsent messages.
    queue: VecDeque<Word>,
    counted: Counts,
    is_gone: bool,
}

#[derive(Debug)]
struct Word {
    told: SupervisorMessage,
    socket: Option<OwnedFd>,
}

impl Channel {
    pub(super) fn new(socket: OwnedFd, epoll: &OwnedFd) -> io::Result<Self> {
        ioctl_fionbio(&socket, true)?;
        epoll::add(epoll, &socket, EventData::new_u64(TOKEN), EventFlags::IN)?;
        Ok(Self {
            socket,
            queue: VecDeque::new(),
            counted: Counts::default(),
            is_gone: false,
        })
    }

    pub(super) fn send(
        &self,
        told: &SupervisorMessage,
        sockets: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        send_packet(&self.socket, told, sockets)
    }

    /// Sends this, now or when there is room again. Fails when the server is gone, or has not
    /// listened for very long.
    pub(super) fn say(
        &mut self,
        epoll: &OwnedFd,
        told: SupervisorMessage,
        socket: Option<OwnedFd>,
    ) -> io::Result<()> {
        if self.is_gone {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let now = if self.queue.is_empty() {
            self.send(&told, socket.as_ref().map(AsFd::as_fd).as_slice())
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        };
        match now {
            Ok(()) => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            Err(error) if self.queue.len() >= MAX_WAITING_WORDS => Err(error),
            Err(_) => {
                self.queue.push_back(Word { told, socket });
                self.listen_for(epoll, EventFlags::IN | EventFlags::OUT);
                Ok(())
            }
        }
    }

    /// Sends what there is room for.
    pub(super) fn flush(&mut self, epoll: &OwnedFd) {
        if self.queue.is_empty() {
            return;
        }
        while let Some(word) = self.queue.front() {
            match self.send(&word.told, word.socket.as_ref().map(AsFd::as_fd).as_slice()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // A failed message needs no retry: its caller gets an answer at the timeout.
                Ok(()) | Err(_) => drop(self.queue.pop_front()),
            }
        }
        self.listen_for(epoll, EventFlags::IN);
    }

    /// Receives the server's next request; `None` if there is none.
    pub(super) fn hear(&mut self, epoll: &OwnedFd) -> Option<SupervisorRequest> {
        if self.is_gone {
            return None;
        }
        match receive_packet(&self.socket) {
            Ok(Some((wanted, _))) => Some(wanted),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Ok(None) | Err(_) => {
                // It would be ready for ever.
                let _ = epoll::delete(epoll, &self.socket);
                self.is_gone = true;
                None
            }
        }
    }

    /// Returns true if the server has closed the channel.
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Returns true if these counters have not been reported yet.
    pub(super) fn owes(&self, counts: &Counts) -> bool {
        !self.is_gone && self.counted != *counts
    }

    /// Tells the server these numbers, if there is room now.
    pub(super) fn count(&mut self, counts: Counts) {
        if self.owes(&counts)
            && self.queue.is_empty()
            && self.send(&SupervisorMessage::Counts(counts), &[]).is_ok()
        {
            self.counted = counts;
        }
    }

    fn listen_for(&self, epoll: &OwnedFd, flags: EventFlags) {
        let _ = epoll::modify(epoll, &self.socket, EventData::new_u64(TOKEN), flags);
    }
}
