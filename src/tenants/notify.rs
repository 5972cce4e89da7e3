//! Reports the state of the server to a service manager, such as systemd, by `sd_notify(3)`
//! datagrams.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A connection to the service manager; `None` if no manager asked for it.
#[derive(Debug)]
pub(super) struct Notifier(Option<UnixDatagram>);

impl Notifier {
    /// Connects to the socket that `NOTIFY_SOCKET` names: a path, or `@` and an abstract name.
    /// Connects at once, since the server's own domain forbids it later. Fails if no process
    /// listens.
    pub(super) fn connect(name: Option<&OsStr>) -> io::Result<Self> {
        let Some(name) = name else {
            return Ok(Self::nobody());
        };
        let address = match name.as_bytes().strip_prefix(b"@") {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(name)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        // A manager that reads nothing must not block the server.
        socket.set_nonblocking(true)?;
        Ok(Self(Some(socket)))
    }

    pub(super) fn nobody() -> Self {
        Self(None)
    }

    pub(super) fn ready(&self) {
        self.send("READY=1");
    }

    /// Reports that the server shuts down, and finishes running requests.
    pub(super) fn stopping(&self) {
        self.send("STOPPING=1");
    }

    fn send(&self, state: &str) {
        if let Some(socket) = &self.0
            && let Err(error) = socket.send(state.as_bytes())
        {
            tracing::warn!("the service manager did not receive `{state}`: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(name: &OsStr, manager: &UnixDatagram) -> [String; 2] {
        let notifier = Notifier::connect(Some(name)).unwrap();
        notifier.ready();
        notifier.stopping();
        let mut piece = [0; 64];
        [(); 2].map(|()| {
            let count = manager.recv(&mut piece).unwrap();
            String::from_utf8(piece[..count].to_vec()).unwrap()
        })
    }

    #[test]
    fn manager_is_notified_of_start_and_stop() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        let said = ["READY=1", "STOPPING=1"].map(str::to_owned);
        assert_eq!(received(path.as_os_str(), &manager), said);
        let name = format!("replay-notify-{}", std::process::id());
        let manager =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        assert_eq!(received(OsStr::new(&format!("@{name}")), &manager), said);
    }

    #[test]
    fn notify_without_socket_is_silent() {
        Notifier::connect(None).unwrap().ready();
        assert!(Notifier::connect(Some(OsStr::new("/nowhere/notify"))).is_err());
    }
}
