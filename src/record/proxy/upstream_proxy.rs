//! Connections to real servers through the operator's proxy.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use replay_base::budget::Share;
use replay_base::limits::UPSTREAM_CONNECT_MS;
use replay_network::http_client::Trust;
use replay_network::upstream_proxy::{
    Handshake, ProxyError, ProxyFault, ProxyScheme, ProxyServer, Step,
};
use rustls_pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::session::Hub;
use super::stream::Stream;
use crate::call::Target;

/// Way to a target through a proxy.
pub(super) struct Chain {
    pub proxy: Arc<ProxyServer>,
    /// Addresses of the target here; none if its name does not resolve in time.
    pub addresses: Vec<IpAddr>,
    /// Trust anchors for an `https://` proxy.
    trust: Option<Trust>,
}

impl Hub {
    /// Returns the way through the operator's proxy, if one leads to this target. Names of this
    /// machine have none.
    pub(super) async fn chain(self: &Arc<Self>, target: &Target) -> io::Result<Option<Chain>> {
        let Some(upstream) = self.wires.upstream_proxy() else {
            return Ok(None);
        };
        let Some(proxy) = upstream.of(&target.host, target.port) else {
            return Ok(None);
        };
        let addresses = self.resolve_beside_proxy(&target.host).await?;
        let is_own = |address: &IpAddr| address.to_canonical().is_loopback();
        if !addresses.is_empty() && addresses.iter().all(is_own) {
            return Ok(None);
        }
        Ok(Some(Chain {
            proxy: Arc::clone(proxy),
            addresses,
            trust: upstream.trust().cloned(),
        }))
    }

    /// Bridges a connection with layers to a socket, since relays need a socket at the bottom.
    fn bridge(self: &Arc<Self>, mut outer: Stream) -> io::Result<Stream> {
        let descriptors = (self.descriptors(1)?, self.descriptors(1)?);
        let (here, there) = UnixStream::pair()?;
        let (here, mut there) = (
            Stream::of_pair(here, descriptors.0)?,
            Stream::of_pair(there, descriptors.1)?,
        );
        let mut stop = self.stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                copied = copy_bidirectional(&mut there, &mut outer) => {
                    if copied.is_err() {
                        outer.reset();
                    }
                }
                _ = stop.wait_for(|stop| *stop) => {}
            }
        });
        Ok(here)
    }
}

impl Chain {
    /// Connects to the proxy, and through it to the target, in the time for one connection.
    pub(super) async fn dial(
        &self,
        hub: &Arc<Hub>,
        target: &Target,
        descriptor: Share,
    ) -> io::Result<Stream> {
        let mut handshake = Handshake::new(&self.proxy, &target.host, target.port);
        let silent = handshake.failed(&ProxyFault::Silent);
        let dialing = async {
            let socket = self.connect(&handshake).await?;
            let stream = Stream::of(socket, descriptor);
            let mut stream = self.encrypted(stream, &handshake).await?;
            shake_hands(&mut handshake, &mut stream).await?;
            Ok(stream)
        };
        let dialed: Result<Stream, ProxyError> =
            timeout(Duration::from_millis(UPSTREAM_CONNECT_MS), dialing)
                .await
                .unwrap_or(Err(silent));
        let stream = dialed.map_err(io::Error::other)?;
        if self.proxy.scheme == ProxyScheme::Https {
            hub.bridge(stream)
        } else {
            Ok(stream)
        }
    }

    /// Connects to the first address of the proxy that accepts.
    async fn connect(&self, handshake: &Handshake<'_>) -> Result<TcpStream, ProxyError> {
        let proxy = &*self.proxy;
        let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in addresses(proxy).await.map_err(failing(handshake))? {
            match TcpStream::connect(SocketAddr::new(address, proxy.port)).await {
                Ok(socket) => {
                    let _ = socket.set_nodelay(true);
                    return Ok(socket);
                }
                Err(error) => failed = error,
            }
        }
        Err(failing(handshake)(failed))
    }

    /// Performs the TLS handshake with an `https://` proxy.
    async fn encrypted(
        &self,
        stream: Stream,
        handshake: &Handshake<'_>,
    ) -> Result<Stream, ProxyError> {
        if self.proxy.scheme != ProxyScheme::Https {
            return Ok(stream);
        }
        let fault = |reason: String| handshake.failed(&ProxyFault::Tls(reason));
        let trust = self
            .trust
            .as_ref()
            .ok_or_else(|| fault("no certificate authorities are installed".to_owned()))?;
        let name = ServerName::try_from(self.proxy.host.clone())
            .map_err(|error| fault(error.to_string()))?;
        let connected = TlsConnector::from(trust.config())
            .connect(name, stream)
            .await;
        connected.map(Stream::new).map_err(failing(handshake))
    }
}

/// Returns a function that makes the error of a handshake of an error of the system.
fn failing(handshake: &Handshake<'_>) -> impl Fn(io::Error) -> ProxyError {
    |error| handshake.failed(&ProxyFault::of(&error))
}

/// Returns the addresses of a proxy, and remembers them for a while.
async fn addresses(proxy: &ProxyServer) -> io::Result<Vec<IpAddr>> {
    if let Some(known) = proxy.addresses() {
        return Ok(known);
    }
    let found = lookup_host((proxy.host.as_str(), proxy.port)).await?;
    let found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    proxy.set_addresses(found.clone());
    Ok(found)
}

/// Performs the handshake for a destination.
async fn shake_hands(handshake: &mut Handshake<'_>, stream: &mut Stream) -> Result<(), ProxyError> {
    let mut received = Vec::new();
    loop {
        let result = match handshake.advance(&received)? {
            Step::Send(bytes) => {
                received.clear();
                match stream.write_all(&bytes).await {
                    Ok(()) => stream.flush().await,
                    Err(error) => Err(error),
                }
            }
            Step::Receive(count) => {
                received.resize(count, 0);
                stream.read_exact(&mut received).await.map(drop)
            }
            Step::Done => return Ok(()),
        };
        result.map_err(failing(handshake))?;
    }
}
