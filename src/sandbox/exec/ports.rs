//! TCP ports on which the commands of a server listen, and sockets that reach them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};

use super::control::Control;
use super::poll::readable;
use crate::port_sockets::{HeldSocket, MAX_ASKED_SOCKETS, receive_sockets, request_sockets};
use crate::wire::receive_held;

pub use crate::port_sockets::IpVersion;

/// Time that supervisors have to report which sockets their commands hold, in milliseconds.
const HOLDERS_MS: u64 = 500;
/// Buffer for a part of the list of listening sockets, in bytes.
const DUMP_BYTES: usize = 64 * 1024;
/// `TCP_LISTEN` of the kernel, as a bit of `idiag_states`.
const LISTEN_STATE: u32 = 1 << 10;
/// Type of requests and messages (`sock_diag(7)`).
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP` (netlink(7)).
const REQUEST_DUMP: u16 = 0x301;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// Size of `struct nlmsghdr`.
const HEADER_BYTES: usize = 16;
/// Size of `struct inet_diag_msg`.
const MESSAGE_BYTES: usize = 72;

/// The ports of a launcher whose commands have a loopback of their own.
pub struct Ports {
    /// Netlink socket of the commands' network, with the number of the last request.
    diagnosis: Mutex<(OwnedFd, u32)>,
    /// Channel to the launcher; nonblocking.
    channel: OwnedFd,
    jobs: Mutex<Vec<Weak<PortJob>>>,
    /// Holders of the listening sockets, by inode number. `None` if no command holds the socket, such
    /// as one of a supervisor.
    holders: Mutex<HashMap<u64, Option<Holder>>>,
    /// Called when a command starts.
    on_start: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

/// A running command that may listen.
#[derive(Debug)]
pub(super) struct PortJob {
    control: Control,
    /// Id of the background command, once it is one.
    id: OnceLock<String>,
    /// `true` if it outlives the call that started it.
    is_resident: bool,
}

impl PortJob {
    /// Sets the id of the background command.
    pub(super) fn goes_on_as(&self, id: &str) {
        // A command becomes one background command.
        let _ = self.id.set(id.to_owned());
    }
}

#[derive(Clone, Debug)]
struct Holder {
    program: String,
    job: Weak<PortJob>,
}

/// A TCP port on which a command listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListeningPort {
    pub port: u16,
    /// Addresses of its sockets, in order.
    pub addresses: Vec<IpAddr>,
    /// Name of the program that listens.
    pub program: String,
    /// Id of the background command that listens, if it is one.
    pub command: Option<String>,
    /// `true` if its command outlives the call that started it.
    pub is_lasting: bool,
}

impl ListeningPort {
    /// Returns true if a connection to 127.0.0.1 or `::1` reaches the port.
    pub fn is_on_loopback(&self) -> bool {
        self.addresses.iter().any(|address| match address {
            IpAddr::V4(address) => address.is_unspecified() || *address == Ipv4Addr::LOCALHOST,
            IpAddr::V6(address) => {
                address.is_unspecified()
                    || address.is_loopback()
                    || address.to_ipv4_mapped() == Some(Ipv4Addr::LOCALHOST)
            }
        })
    }
}

/// A listening socket, as the kernel lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ListeningSocket {
    address: IpAddr,
    port: u16,
    inode: u64,
}

impl fmt::Debug for Ports {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Ports").finish_non_exhaustive()
    }
}

impl Ports {
    /// Takes the descriptors of the launcher's answer.
    pub(super) fn new([diagnosis, channel]: [OwnedFd; 2]) -> Self {
        Self {
            diagnosis: Mutex::new((diagnosis, 0)),
            channel,
            jobs: Mutex::default(),
            holders: Mutex::default(),
            on_start: OnceLock::new(),
        }
    }

    /// Sets the callback for started commands. Only the first call has an effect.
    pub fn on_start(&self, callback: impl Fn() + Send + Sync + 'static) {
        // One publisher sets it.
        let _ = self.on_start.set(Box::new(callback));
    }

    /// Adds a command, which counts until the returned value is dropped.
    pub(super) fn add(&self, control: Control, is_resident: bool) -> Arc<PortJob> {
        let job = Arc::new(PortJob {
            control,
            id: OnceLock::new(),
            is_resident,
        });
        {
            let mut jobs = lock(&self.jobs);
            jobs.retain(|job| job.strong_count() > 0);
            jobs.push(Arc::downgrade(&job));
        }
        if let Some(on_start) = self.on_start.get() {
            on_start();
        }
        job
    }

    fn running(&self) -> Vec<Arc<PortJob>> {
        lock(&self.jobs).iter().filter_map(Weak::upgrade).collect()
    }

    /// Returns true if a command runs.
    pub fn has_commands(&self) -> bool {
        lock(&self.jobs).iter().any(|job| job.strong_count() > 0)
    }

    /// Returns true if a command runs that outlives the call that started it.
    pub fn has_lasting_commands(&self) -> bool {
        self.running()
            .iter()
            .any(|job| job.is_resident || job.id.get().is_some())
    }

    /// Lists the ports on which commands listen, in order. Waits for supervisors only if there are new
    /// sockets.
    pub fn listening(&self) -> io::Result<Vec<ListeningPort>> {
        let sockets = self.sockets()?;
        let open: HashSet<u64> = sockets.iter().map(|socket| socket.inode).collect();
        let unknown: Vec<u64> = {
            let mut holders = lock(&self.holders);
            // A socket may pass to another command, which holds it from then on.
            let is_held = |holder: &Option<Holder>| {
                holder
                    .as_ref()
                    .is_none_or(|holder| holder.job.strong_count() > 0)
            };
            holders.retain(|inode, holder| open.contains(inode) && is_held(holder));
            let mut unknown: Vec<u64> = open
                .iter()
                .filter(|inode| !holders.contains_key(inode))
                .copied()
                .collect();
            unknown.sort_unstable();
            unknown.truncate(MAX_ASKED_SOCKETS);
            unknown
        };
        if !unknown.is_empty() {
            self.ask(&unknown);
        }

        let holders = lock(&self.holders);
        let mut ports: BTreeMap<u16, ListeningPort> = BTreeMap::new();
        for socket in sockets {
            let Some(Some(holder)) = holders.get(&socket.inode) else {
                continue;
            };
            let Some(job) = holder.job.upgrade() else {
                continue;
            };
            let port = ports.entry(socket.port).or_insert_with(|| ListeningPort {
                port: socket.port,
                addresses: Vec::new(),
                program: holder.program.clone(),
                command: job.id.get().cloned(),
                is_lasting: job.is_resident || job.id.get().is_some(),
            });
            if !port.addresses.contains(&socket.address) {
                port.addresses.push(socket.address);
            }
        }
        Ok(ports
            .into_values()
            .map(|mut port| {
                port.addresses.sort();
                port
            })
            .collect())
    }

    /// Asks the supervisors which of these sockets their commands hold.
    fn ask(&self, inodes: &[u64]) {
        let until = Instant::now() + Duration::from_millis(HOLDERS_MS);
        let jobs = self.running();
        let asked: Vec<_> = jobs
            .iter()
            .map(|job| (job, job.control.ask_for_ports(inodes)))
            .collect();
        let (mut found, mut have_all_answered) = (HashMap::new(), true);
        for (job, reply) in asked {
            // A supervisor that is gone has no command.
            let Ok(reply) = reply else { continue };
            match answer(&reply, until) {
                Ok(held) => found.extend(held.into_iter().flatten().map(|socket| {
                    let program = socket.program;
                    let job = Arc::downgrade(job);
                    (socket.inode, Some(Holder { program, job }))
                })),
                Err(_) => have_all_answered = false,
            }
        }
        if have_all_answered {
            for inode in inodes {
                found.entry(*inode).or_insert(None);
            }
        }
        lock(&self.holders).extend(found);
    }

    /// Lists the listening sockets of the commands' network.
    fn sockets(&self) -> io::Result<Vec<ListeningSocket>> {
        let mut diagnosis = lock(&self.diagnosis);
        let (socket, number) = &mut *diagnosis;
        let mut found = Vec::new();
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            *number = number.wrapping_add(1);
            send(&*socket, &request(family, *number), SendFlags::DONTWAIT)?;
            while read_part(socket.as_fd(), *number, &mut found)? {}
        }
        Ok(found)
    }

    /// Requests sockets of the commands' network from the launcher. [`Ports::receive_sockets`] returns
    /// them once the descriptor is readable. One caller at a time.
    pub fn request_sockets(&self, version: IpVersion) -> io::Result<()> {
        request_sockets(self.channel.as_fd(), version)
    }

    /// Receives the requested sockets, which are nonblocking and unconnected; none if the kernel has
    /// not this version of the protocol. Fails with [`io::ErrorKind::WouldBlock`] before the answer.
    pub fn receive_sockets(&self) -> io::Result<Vec<OwnedFd>> {
        receive_sockets(self.channel.as_fd())
    }
}

/// Readable when the launcher has answered [`Ports::request_sockets`], or is gone.
impl AsFd for Ports {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

impl Control {
    /// Asks the supervisor which of these sockets its command holds. Returns the socket for the answer.
    fn ask_for_ports(&self, inodes: &[u64]) -> io::Result<OwnedFd> {
        let (here, there) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        self.send_ports(inodes, there.as_fd())?;
        Ok(here)
    }
}

/// Waits for the answer of a supervisor; `None` if it is gone.
fn answer(reply: &OwnedFd, until: Instant) -> io::Result<Option<Vec<HeldSocket>>> {
    loop {
        let [is_here] = readable([Some(reply.as_fd())], Some(until)).map_err(io::Error::other)?;
        if is_here {
            return receive_held(reply);
        }
        if Instant::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

/// Returns the request for the listening sockets of a family: `struct nlmsghdr` and `struct
/// inet_diag_req_v2` (`sock_diag(7)`).
fn request(family: AddressFamily, number: u32) -> [u8; MESSAGE_BYTES] {
    let mut request = [0; MESSAGE_BYTES];
    request[0..4].copy_from_slice(&(MESSAGE_BYTES as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request[6..8].copy_from_slice(&REQUEST_DUMP.to_ne_bytes());
    request[8..12].copy_from_slice(&number.to_ne_bytes());
    request[HEADER_BYTES] = family.as_raw() as u8;
    request[HEADER_BYTES + 1] = 6; // TCP
    request[HEADER_BYTES + 4..HEADER_BYTES + 8].copy_from_slice(&LISTEN_STATE.to_ne_bytes());
    request
}

/// Reads one part of the list. Returns false after the last one.
fn read_part(
    socket: BorrowedFd<'_>,
    number: u32,
    found: &mut Vec<ListeningSocket>,
) -> io::Result<bool> {
    let mut buffer = vec![0; DUMP_BYTES];
    // The kernel makes each part before the previous call returns.
    let (got, _) = recv(socket, &mut buffer, RecvFlags::DONTWAIT)?;
    parse(&buffer[..got], number, found)
}

/// Reads the messages of one datagram. Returns false if the list is complete.
fn parse(mut messages: &[u8], number: u32, found: &mut Vec<ListeningSocket>) -> io::Result<bool> {
    while let Some(header) = messages.first_chunk::<HEADER_BYTES>() {
        let length = u32_at(header, 0) as usize;
        let kind = u16::from_ne_bytes([header[4], header[5]]);
        let is_own = u32_at(header, 8) == number;
        let Some(body) = messages.get(HEADER_BYTES..length) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        match kind {
            NLMSG_DONE if is_own => return Ok(false),
            NLMSG_ERROR if is_own && body.len() >= 4 => {
                let errno = u32_at(body, 0).cast_signed().wrapping_neg();
                return Err(Errno::from_raw_os_error(errno).into());
            }
            SOCK_DIAG_BY_FAMILY if is_own => found.extend(listening_socket(body)),
            _ => {}
        }
        messages = messages
            .get(length.next_multiple_of(4)..)
            .unwrap_or_default();
    }
    Ok(true)
}

/// Reads `struct inet_diag_msg`.
fn listening_socket(message: &[u8]) -> Option<ListeningSocket> {
    let message = message.first_chunk::<MESSAGE_BYTES>()?;
    let address = match AddressFamily::from_raw(u16::from(message[0])) {
        AddressFamily::INET => {
            let octets: [u8; 4] = message[8..12].try_into().ok()?;
            IpAddr::V4(Ipv4Addr::from(octets))
        }
        AddressFamily::INET6 => {
            let octets: [u8; 16] = message[8..24].try_into().ok()?;
            IpAddr::V6(Ipv6Addr::from(octets))
        }
        _ => return None,
    };
    Some(ListeningSocket {
        address,
        port: u16::from_be_bytes([message[4], message[5]]),
        inode: u64::from(u32_at(message, 68)),
    })
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..]
        .first_chunk()
        .map_or(0, |bytes| u32::from_ne_bytes(*bytes))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The protected values are consistent at any point, also after a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::port_sockets::PortSockets;

    fn port(addresses: &[&str]) -> ListeningPort {
        ListeningPort {
            port: 1,
            addresses: addresses.iter().map(|it| it.parse().unwrap()).collect(),
            program: String::new(),
            command: None,
            is_lasting: false,
        }
    }

    #[test]
    fn loopback_is_reached_at_its_addresses_and_wildcards() {
        for address in ["0.0.0.0", "127.0.0.1", "::", "::1", "::ffff:127.0.0.1"] {
            assert!(port(&[address]).is_on_loopback(), "{address}");
        }
        assert!(port(&["127.0.0.2", "::1"]).is_on_loopback());
        for address in ["127.0.0.2", "10.0.0.1", "fe80::1", "::ffff:127.0.0.2"] {
            assert!(!port(&[address]).is_on_loopback(), "{address}");
        }
    }

    #[test]
    fn listening_sockets_are_listed() {
        let (_launcher, descriptors) = PortSockets::open().unwrap();
        let ports = Ports::new(descriptors);
        let four = TcpListener::bind("127.0.0.1:0").unwrap();
        let six = TcpListener::bind("[::1]:0").ok();
        let is_listed = |listener: &TcpListener| {
            let at = listener.local_addr().unwrap();
            let expected = ListeningSocket {
                address: at.ip(),
                port: at.port(),
                inode: rustix::fs::fstat(listener).unwrap().st_ino,
            };
            ports.sockets().unwrap().contains(&expected)
        };
        for _ in 0..3 {
            assert!(is_listed(&four));
            assert!(six.as_ref().is_none_or(is_listed));
        }
        let at = four.local_addr().unwrap().port();
        drop(four);
        let sockets = ports.sockets().unwrap();
        assert!(sockets.iter().all(|socket| socket.port != at));
    }

    #[test]
    fn socket_of_no_command_is_left_out() {
        let (_launcher, descriptors) = PortSockets::open().unwrap();
        let ports = Ports::new(descriptors);
        let _listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(ports.listening().unwrap(), []);
        assert!(!ports.has_commands());
    }

    #[test]
    fn truncated_or_foreign_messages_are_refused() {
        let mut found = Vec::new();
        let mut message = request(AddressFamily::INET, 7).to_vec();
        assert!(parse(&message, 8, &mut found).unwrap());
        assert_eq!(found, []);
        message.truncate(40);
        let error = parse(&message, 7, &mut found).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        message[0..4].copy_from_slice(&40_u32.to_ne_bytes());
        assert!(parse(&message, 7, &mut found).unwrap());
        message[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
        message[16..20].copy_from_slice(&(-libc::ENOENT).to_ne_bytes());
        let error = parse(&message, 7, &mut found).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        message[4..6].copy_from_slice(&NLMSG_DONE.to_ne_bytes());
        assert!(!parse(&message, 7, &mut found).unwrap());
        assert_eq!(found, []);
    }
}
