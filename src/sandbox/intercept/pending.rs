//! Calls that have no answer yet: until the server has decided about them, or their socket is
//! ready.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use replay_base::limits::UPSTREAM_CONNECT_MS;
use replay_sys::seccomp::{Notification, still_valid};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, socket_timeout};
use rustix::time::{Itimerspec, TimerfdTimerFlags, timerfd_settime};

use super::Interceptor;
use super::answer::{Deed, Pending};
use super::descriptor::CallerDescriptor;
use super::messages::Mark;
use super::transfer::is_impatient;

/// Timeout for a connection until the server has received the request, in milliseconds.
const SERVER_HEARS_MS: u64 = 5_000;
/// Longest hold of a non-blocking connection until its server answers, in milliseconds. It is long
/// enough for a nearby server, and short for an event loop that stands still meanwhile.
const CONNECT_HELD_MS: u64 = 100;

impl Interceptor {
    /// Keeps a call until its socket is ready, or the server has decided about it.
    pub(super) fn wait(
        &mut self,
        asked: Notification,
        socket: CallerDescriptor,
        deed: Deed,
    ) -> Result<(), Errno> {
        self.last_token += 1;
        let token = self.last_token;
        let once_ready = |flags, timeout| {
            epoll::add(
                &self.epoll,
                &socket,
                epoll::EventData::new_u64(token),
                flags,
            )?;
            socket_timeout(&socket, timeout)
        };
        let until = match &deed {
            Deed::Ask {
                mark,
                does_not_wait,
                ..
            } => Some(self.server_decides(&socket, *mark, *does_not_wait, token)?),
            // EAGAIN is what it is told then.
            Deed::Begin { call, .. } => Some(if is_impatient(&socket, call.flags())? {
                Duration::from_millis(CONNECT_HELD_MS)
            } else {
                Duration::from_millis(UPSTREAM_CONNECT_MS + SERVER_HEARS_MS)
            }),
            Deed::Receive(_) => once_ready(epoll::EventFlags::IN, Timeout::Recv)?,
            Deed::Connect(_) | Deed::Send(_) => once_ready(epoll::EventFlags::OUT, Timeout::Send)?,
        };
        let until = until.and_then(|until| Instant::now().checked_add(until));
        self.waiting.insert(
            token,
            Pending {
                asked,
                socket,
                deed,
                until,
            },
        );
        Ok(())
    }

    /// Returns the maximum time that a call waits for the server.
    fn server_decides(
        &mut self,
        socket: &OwnedFd,
        mark: Mark,
        does_not_wait: bool,
        token: u64,
    ) -> Result<Duration, Errno> {
        self.undecided.insert(mark, token);
        if does_not_wait {
            let held = Duration::from_millis(CONNECT_HELD_MS);
            if !self.is_timed {
                // Another one that is held was so before, and all are as long.
                self.wake_after(held)?;
            }
            return Ok(held);
        }
        let own = socket_timeout(socket, Timeout::Send)?;
        let most = Duration::from_millis(UPSTREAM_CONNECT_MS + SERVER_HEARS_MS);
        Ok(own.map_or(most, |own| own.min(most)))
    }

    /// Sets the timer for the next call that is held only for a while, if there is one.
    pub(super) fn set_patience(&mut self) -> Result<(), Errno> {
        let held = self
            .undecided
            .values()
            .filter_map(|token| self.waiting.get(token));
        let next = held.filter(|waiting| {
            matches!(
                waiting.deed,
                Deed::Ask {
                    does_not_wait: true,
                    ..
                }
            )
        });
        let next = next.filter_map(|waiting| waiting.until).min();
        self.is_timed = false;
        // It has rung, and would go on.
        let _ = rustix::io::read(&self.patience, &mut [0; 8]);
        next.map_or(Ok(()), |next| {
            self.wake_after(next.saturating_duration_since(Instant::now()))
        })
    }

    fn wake_after(&mut self, pause: Duration) -> Result<(), Errno> {
        // Zero would be never (timerfd_settime(2)).
        let it_value =
            Timespec::try_from(pause.max(Duration::from_nanos(1))).map_err(|_| Errno::INVAL)?;
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value,
        };
        timerfd_settime(&self.patience, TimerfdTimerFlags::empty(), &once)?;
        self.is_timed = true;
        Ok(())
    }

    /// The server has decided about a connection.
    pub(super) fn decide(
        &mut self,
        listener: &OwnedFd,
        mark: Mark,
        errno: Option<i32>,
    ) -> io::Result<()> {
        let errno = errno.map(Errno::from_raw_os_error);
        let Some(token) = self.undecided.get(&mark).copied() else {
            self.arrive(mark, errno);
            return Ok(());
        };
        let Some(Pending {
            asked,
            socket,
            deed,
            ..
        }) = self.forget(token)
        else {
            return Ok(());
        };
        let Deed::Ask {
            via, does_not_wait, ..
        } = deed
        else {
            return Ok(());
        };
        if !still_valid(listener, asked.id) {
            self.destinations.forget(&socket);
            return Ok(());
        }
        let answer = match errno {
            None => self.connect_to(socket, via),
            // A nonblocking caller keeps its own timeout.
            Some(Errno::TIMEDOUT) if does_not_wait => self.leave_on_its_way(socket, via, mark),
            Some(Errno::CONNREFUSED) => self.connect_to_nobody(socket, via),
            Some(errno) => {
                self.destinations.forget(&socket);
                Err(errno)
            }
        };
        self.give(listener, asked, answer)
    }

    /// Takes a call out of those that wait. The kernel would wait on for a socket that the caller
    /// has open as well.
    pub(super) fn forget(&mut self, token: u64) -> Option<Pending> {
        let waiting = self.waiting.remove(&token)?;
        match waiting.deed {
            Deed::Ask { mark, .. } => {
                self.undecided.remove(&mark);
            }
            _ => {
                let _ = epoll::delete(&self.epoll, &waiting.socket);
            }
        }
        Some(waiting)
    }

    /// Goes on with a call that waited.
    pub(super) fn go_on(&mut self, listener: &OwnedFd, token: u64) -> io::Result<()> {
        let Some(Pending {
            asked,
            socket,
            deed,
            ..
        }) = self.forget(token)
        else {
            return Ok(());
        };
        if !still_valid(listener, asked.id) {
            return Ok(());
        }
        let answer = match deed {
            // It waits for no socket.
            Deed::Begin { .. } => return Ok(()),
            Deed::Connect(via) | Deed::Ask { via, .. } => self.connect_to(socket, via),
            Deed::Receive(incoming) => self.receive_now(socket, incoming),
            Deed::Send(outgoing) => self.send_now(socket, outgoing),
        };
        self.give(listener, asked, answer)
    }
}
