//! Explicit proxy without redirection: the command knows the server's socket and may use it.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll;

use super::channel::Channel;
use super::listeners::{self, Listeners};
use super::messages::{SupervisorMessage, SupervisorRequest};
use crate::fault::{Fault, StepContext};
use crate::wire::Dial;

/// Makes connections for the server from where the command is.
#[derive(Debug)]
pub struct ProxySocket {
    epoll: OwnedFd,
    channel: Channel,
    listeners: Listeners,
    dial: Dial,
}

impl ProxySocket {
    /// Makes the sockets and hands them to the server at the other end of `channel`. They belong to
    /// the network of this process, which has to be the command's.
    pub fn begin(channel: OwnedFd, dial: Dial) -> Result<Self, Fault> {
        let step = "listen as a proxy";
        let (listeners, sockets) = listeners::open(Ipv4Addr::LOCALHOST, None)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).step(step)?;
        let channel = Channel::new(channel, &epoll).step(step)?;
        let sockets: Vec<BorrowedFd<'_>> = sockets.iter().map(AsFd::as_fd).collect();
        channel
            .send(
                &SupervisorMessage::Ready {
                    version_6: listeners.tcp_6.is_some(),
                },
                &sockets,
            )
            .step(step)?;
        Ok(Self {
            epoll,
            channel,
            listeners,
            dial,
        })
    }

    /// The port of the proxy on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.listeners.tcp_4
    }

    /// Does what the server wants. Does not block.
    pub fn serve(&mut self) {
        self.channel.flush(&self.epoll);
        while let Some(wanted) = self.channel.hear(&self.epoll) {
            // No connection waits here for what the server decides.
            let SupervisorRequest::Dial { token, to } = wanted else {
                continue;
            };
            let dialed = self.dial(to);
            let errno = dialed.as_ref().err().map(|errno| errno.raw_os_error());
            let _ = self.channel.say(
                &self.epoll,
                SupervisorMessage::Dialed { token, errno },
                dialed.ok(),
            );
        }
    }

    fn dial(&self, to: SocketAddr) -> Result<OwnedFd, rustix::io::Errno> {
        if self.dial == Dial::Never {
            Err(rustix::io::Errno::ACCESS)
        } else {
            self.listeners.dial(to)
        }
    }
}

impl AsFd for ProxySocket {
    /// Readable when there is something to serve.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
