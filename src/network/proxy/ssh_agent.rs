//! Proxy of the operator's ssh-agent for commands. Commands can list its keys and have it sign data
//! of git. Such a signature cannot be used for a login, since ssh signs other data to log in.
//!
//! Messages follow draft-ietf-sshm-ssh-agent; signed data follows `PROTOCOL.sshsig` of OpenSSH.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use replay_sandbox::{CanonicalPath, Scratch};
use rustix::fs::{AtFlags, statat};
use rustix::net::{Shutdown, shutdown};

/// Longest message of an ssh-agent that is passed on, in bytes: `AGENT_MAX_LEN` of OpenSSH.
const MAX_SSH_AGENT_BYTES: usize = 256 * 1024;
/// Connections of commands to the ssh-agent at the same time.
const MAX_SSH_AGENT_CONNECTIONS: usize = 16;
/// Time for which a connection above the limit waits for the end of another one. Those of an ended
/// command are about to end.
const SSH_AGENT_PATIENCE: Duration = Duration::from_secs(1);
/// Timeout for the next message, in seconds: a person may have to touch a key.
const SSH_AGENT_TIMEOUT_SECS: u64 = 120;

/// Directory of the socket below the commands' private HOME.
const DIRECTORY: &str = ".ssh-agent";
const SOCKET: &str = "socket";

const REQUEST_IDENTITIES: u8 = 11;
const SIGN_REQUEST: u8 = 13;
/// `SSH_AGENT_FAILURE`, as a whole message.
const FAILURE: [u8; 5] = [0, 0, 0, 1, 5];

/// Prefix of the namespace in data that `ssh-keygen -Y sign` signs.
const SIGNED_DATA: &[u8] = b"SSHSIG";
const NAMESPACE: &[u8] = b"git";

/// git settings that make `git commit -S` sign with the agent's first key (git-config(1)).
pub const GIT_SIGNS: [(&str, &str); 2] = [
    ("gpg.format", "ssh"),
    (
        "gpg.ssh.defaultKeyCommand",
        "sh -c 'printf key:: && ssh-add -L'",
    ),
];

/// Answers commands until it is dropped.
#[derive(Debug)]
pub struct SshAgent {
    listening: OwnedFd,
    /// The file of its socket.
    pub file: CanonicalPath,
}

impl SshAgent {
    /// Listens in the private directory and forwards allowed messages to the agent's socket
    /// `agent`. Its threads inherit the restrictions of the calling thread.
    pub fn start(scratch: &Scratch, agent: PathBuf) -> io::Result<Self> {
        UnixStream::connect(&agent)?;
        let directory = scratch.make_in_home(DIRECTORY)?;
        // An address is shorter than a path can be (unix(7)).
        let listener =
            UnixListener::bind(format!("/proc/self/fd/{}/{SOCKET}", directory.as_raw_fd()))?;
        let listening = listener.as_fd().try_clone_to_owned()?;
        let stat = statat(&directory, SOCKET, AtFlags::SYMLINK_NOFOLLOW)?;
        let path = scratch.path().join("home").join(DIRECTORY).join(SOCKET);
        let file = CanonicalPath {
            path: (&path).into(),
            dev: stat.st_dev,
            ino: stat.st_ino,
        };
        std::thread::Builder::new()
            .name("ssh-agent".to_owned())
            .spawn(move || serve(&listener, &agent.into()))?;
        Ok(Self { listening, file })
    }

    /// Returns the variable with the socket's path, where the private HOME is `home`.
    pub fn variable(home: &Path) -> (OsString, OsString) {
        (
            "SSH_AUTH_SOCK".into(),
            home.join(DIRECTORY).join(SOCKET).into(),
        )
    }
}

impl Drop for SshAgent {
    fn drop(&mut self) {
        // Ends the thread's accept(2); nothing else can fail here.
        let _ = shutdown(&self.listening, Shutdown::Both);
    }
}

/// Counter of the served connections, at most [`MAX_SSH_AGENT_CONNECTIONS`].
#[derive(Debug, Default)]
struct Connections {
    count: Mutex<usize>,
    one_ended: Condvar,
}

/// Place of a served connection. Dropping this frees it.
struct ConnectionPlace(Arc<Connections>);

impl Connections {
    /// Takes a place. Waits until one is free or the time is over.
    fn begin(self: &Arc<Self>, patience: Duration) -> Option<ConnectionPlace> {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |count: &mut usize| *count >= MAX_SSH_AGENT_CONNECTIONS;
        let waited = self.one_ended.wait_timeout_while(count, patience, is_full);
        let (mut count, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            return None;
        }
        *count += 1;
        Some(ConnectionPlace(Arc::clone(self)))
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let count = &self.0.count;
        *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.one_ended.notify_one();
    }
}

fn serve(listener: &UnixListener, agent: &Arc<Path>) {
    let connections = Arc::<Connections>::default();
    let mut patience = SSH_AGENT_PATIENCE;
    while let Ok((command, _)) = listener.accept() {
        let place = connections.begin(patience);
        // A flood delays others only once.
        patience = if place.is_some() {
            SSH_AGENT_PATIENCE
        } else {
            Duration::ZERO
        };
        let Some(place) = place else { continue };
        let agent = Arc::clone(agent);
        let serve_one = move || {
            let _place = place;
            pass_on(command, &agent)
        };
        let _ = std::thread::Builder::new()
            .name("ssh-agent".to_owned())
            .spawn(serve_one);
    }
}

/// Serves one connection until either side ends it, a timeout passes, or a message is malformed.
fn pass_on(mut command: UnixStream, agent: &Path) -> io::Result<()> {
    let timeout = Some(Duration::from_secs(SSH_AGENT_TIMEOUT_SECS));
    let mut agent = UnixStream::connect(agent)?;
    for stream in [&command, &agent] {
        stream.set_read_timeout(timeout)?;
        stream.set_write_timeout(timeout)?;
    }
    loop {
        let asked = message(&mut command)?;
        if !may_be_asked(&asked[4..]) {
            command.write_all(&FAILURE)?;
            continue;
        }
        agent.write_all(&asked)?;
        command.write_all(&message(&mut agent)?)?;
    }
}

/// Reads the next message, with its length prefix.
fn message(from: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut whole = vec![0; 4];
    from.read_exact(&mut whole)?;
    let length = u32::from_be_bytes([whole[0], whole[1], whole[2], whole[3]]) as usize;
    if length > MAX_SSH_AGENT_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    whole.resize(4 + length, 0);
    from.read_exact(&mut whole[4..])?;
    Ok(whole)
}

fn may_be_asked(message: &[u8]) -> bool {
    match message.split_first() {
        Some((&REQUEST_IDENTITIES, [])) => true,
        Some((&SIGN_REQUEST, request)) => to_be_signed(request).is_some_and(is_of_git),
        _ => false,
    }
}

/// Returns the data of a sign request, which is a key, the data, and flags.
fn to_be_signed(request: &[u8]) -> Option<&[u8]> {
    let (_key, rest) = string(request)?;
    let (data, flags) = string(rest)?;
    (flags.len() == 4).then_some(data)
}

fn is_of_git(data: &[u8]) -> bool {
    data.strip_prefix(SIGNED_DATA)
        .and_then(string)
        .is_some_and(|(namespace, _)| namespace == NAMESPACE)
}

/// Splits off a `string` of RFC 4251, section 5. Returns it and the rest.
fn string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(text: &[u8]) -> Vec<u8> {
        [&(text.len() as u32).to_be_bytes(), text].concat()
    }

    fn signing(data: &[u8], flags: &[u8]) -> Vec<u8> {
        [&[SIGN_REQUEST], &*framed(b"key"), &framed(data), flags].concat()
    }

    #[test]
    fn connection_above_limit_waits_for_end_of_another() {
        let connections = Arc::<Connections>::default();
        let fill = || connections.begin(Duration::ZERO).unwrap();
        let mut served: Vec<_> = (0..MAX_SSH_AGENT_CONNECTIONS).map(|_| fill()).collect();
        assert!(connections.begin(Duration::ZERO).is_none());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| connections.begin(Duration::from_mins(1)).is_some());
            drop(served.pop());
            assert!(waiting.join().unwrap());
        });
    }

    #[test]
    fn agent_proxy_lists_keys_and_signs_only_for_git() {
        let data = |namespace: &[u8]| {
            [
                SIGNED_DATA,
                &framed(namespace),
                &framed(b""),
                &framed(b"sha512"),
            ]
            .concat()
        };
        // The data that ssh signs for a login begins with the session identifier: RFC 4252, section
        // 7.
        let login = [&*framed(&[7; 32]), &[50], &framed(b"me")].concat();
        let cases: &[(&[u8], bool)] = &[
            (&[REQUEST_IDENTITIES], true),
            (&signing(&data(b"git"), &[0; 4]), true),
            (&[REQUEST_IDENTITIES, 0], false),
            (&signing(&data(b"file"), &[0; 4]), false),
            (&signing(&data(b"git"), &[0; 3]), false),
            (&signing(&data(b"git"), &[0; 5]), false),
            (&signing(&login, &[0; 4]), false),
            (&signing(b"SSHSIG", &[0; 4]), false),
            (
                &signing(&[SIGNED_DATA, &[0, 0, 0, 9], b"git"].concat(), &[0; 4]),
                false,
            ),
            // Lock, remove all, add a key, an extension.
            (&[22, 0, 0, 0, 0], false),
            (&[19], false),
            (&[17], false),
            (&[27], false),
            (&[], false),
        ];
        for (message, expected) in cases {
            assert_eq!(may_be_asked(message), *expected, "{message:?}");
        }
    }
}
