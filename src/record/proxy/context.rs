//! One connection of the program.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::net::TcpStream;

use super::hub::Hub;
use super::stream::Stream;
use super::{Mode, Note, pass};
use crate::limits::MAX_RECORDED_BODY_BYTES;
use crate::record::call::{Exchange, Link, Refusal, Target};
use crate::record::matching::describe;
use crate::sandbox::intercept::ProgramName;

/// As [`MAX_RECORDED_BODY_BYTES`] has it.
pub const TOO_LONG: &str = "a body is longer than 128 MiB, or than --memory-mib leaves room for";
const _: () = assert!(MAX_RECORDED_BODY_BYTES == 128 << 20);

#[derive(Clone)]
pub struct Context {
    pub shared: Arc<Hub>,
    pub link: Link,
    pub keep: bool,
    /// Which connection to its target it is, from 1.
    pub nth: u64,
    /// Who made it.
    pub by: ProgramName,
}

impl Context {
    /// Keeps what was said, if anything is to be kept of this connection.
    pub fn keep(&self, exchanges: impl IntoIterator<Item = Exchange>) {
        for exchange in exchanges {
            if self.keep {
                self.shared.keep(exchange);
            } else if !exchange.is_silent() {
                self.shared.count(|counts| counts.passed += 1);
            }
        }
    }

    /// A call is not kept, since a body of it is too long.
    pub fn too_long(&self, exchange: &Exchange) {
        self.shared.count(|counts| counts.dropped += 1);
        self.shared.note(Note::Lost { what: format!("{}: {TOO_LONG}", describe(exchange)) });
    }

    /// The real server, if the program may go there; `EACCES` if not.
    pub async fn dial(&self) -> io::Result<Stream> {
        let target = &self.link.target;
        let Some(door) = self.shared.wires.door() else {
            return self.shared.dial(target, |_| true).await.map(Stream::new);
        };
        if !door.admits(target, self.by) {
            return Err(io::Error::from_raw_os_error(libc::EACCES));
        }
        let server = self.shared.dial(target, |address| door.leads_to(target, address, self.by)).await?;
        let is_judged = target.host.parse::<IpAddr>().is_err() || door.opens(target, self.by).is_some();
        let is_looked_at = !matches!(self.shared.mode, Mode::Pass) && is_judged;
        if is_looked_at { self.behind_door(server) } else { Ok(Stream::new(server)) }
    }

    /// A connection to this server on which is said only what the door lets pass.
    fn behind_door(&self, server: TcpStream) -> io::Result<Stream> {
        // What is used of it every stream socket has.
        let stream = |end: UnixStream| {
            end.set_nonblocking(true)?;
            TcpStream::from_std(OwnedFd::from(end).into()).map(Stream::new)
        };
        let (here, there) = UnixStream::pair()?;
        let (here, there, context) = (stream(here)?, stream(there)?, self.clone());
        tokio::spawn(async move { pass::converse(&context, there, Stream::new(server)).await });
        Ok(here)
    }

    /// The real server was not reached for this reason. That a rule says no is nothing that the server has said, so it is not kept.
    pub fn not_reached(&self, error: &io::Error) -> Refusal {
        let refusal = Refusal::of(error);
        if self.shared.wires.door().is_none() || error.raw_os_error() != Some(libc::EACCES) {
            self.refused(refusal);
        }
        refusal
    }

    /// The real server was not reached, or not trusted.
    pub fn refused(&self, refusal: Refusal) {
        self.shared.kept().refused(refusal, &self.link.target);
        self.keep([self.link.refused(refusal, self.nth, SystemTime::now())]);
    }

    pub fn encrypted(&self) -> Self {
        Self { link: Link { tls: true, ..self.link.clone() }, ..self.clone() }
    }

    /// The same connection, with what goes to the real server kept or not as the operator wants it.
    pub fn forwarded(&self) -> Self {
        Self { keep: self.shared.beyond() == Some(true), ..self.clone() }
    }

    pub fn tunnel(&self, target: Target) -> Self {
        Self { link: Link { target, tls: false, connection: self.link.connection }, ..self.clone() }
    }

    pub async fn stopped(&self) {
        let mut stop = self.shared.stop.clone();
        let _ = stop.wait_for(|stop| *stop).await;
    }
}
