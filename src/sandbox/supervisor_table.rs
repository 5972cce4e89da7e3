//! Table of running commands, and the socket between each supervisor and the launcher. On this
//! socket a supervisor receives its command and orders to end it, reports its end, and asks for an
//! account.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, socketpair};
use serde::{Deserialize, Serialize};

use super::denied::Denied;
use super::fault::{Fault, StepContext};
use super::raw_string::RawString;
use super::wire::{Request, receive, send};

/// Timeout for sending an order to a supervisor, in milliseconds.
const SUPERVISOR_SEND_MS: u64 = 2_000;

/// First message to a supervisor. File descriptors are attached.
#[derive(Debug, Serialize, Deserialize)]
pub struct CommandOrder {
    pub request: Request,
    /// Protected paths of this command.
    pub places: Vec<RawString>,
    /// OOM kill count of the kernel.
    pub kernel_kills: Option<u64>,
    /// Network counters, if no command runs that could change them.
    pub refused: Option<u64>,
}

/// Message of the launcher.
#[derive(Debug, Serialize, Deserialize)]
enum LauncherMessage {
    /// Order to end the command.
    End(Denied),
    Account(Account),
    /// Result of the removal of a directory: `None`, or a number of errno(3).
    Removed(Option<i32>),
}

/// Account of a finished command, or of the time since its previous account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// `true` if no other command ran at any time, except resident ones. Only then the kernel's
    /// global counters can be attributed to it.
    pub was_alone: bool,
    /// Protected paths with an appearance while it ran.
    pub appeared: Vec<RawString>,
}

/// First byte of a supervisor's message: request for an [`Account`] of a running command, of a
/// finished command, or a path to remove.
const GOES_ON: u8 = b'a';
const IS_OVER: u8 = b'x';
const REMOVE: u8 = b'r';

/// The supervisor's end of the socket.
#[derive(Debug)]
pub struct SupervisorLine {
    socket: OwnedFd,
    /// Order to end that arrived before the answer to a request.
    end: RefCell<Option<Denied>>,
}

impl SupervisorLine {
    /// Creates both ends; the second one is the launcher's.
    pub fn new() -> Result<(Self, OwnedFd), Fault> {
        let pair = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        );
        let (here, there) = pair.step("socketpair")?;
        // The supervisor may be stopped, and the launcher has other supervisors to serve.
        let most = Some(Duration::from_millis(SUPERVISOR_SEND_MS));
        set_socket_timeout(&there, Timeout::Send, most).step("SO_SNDTIMEO")?;
        Ok((
            Self {
                socket: here,
                end: RefCell::new(None),
            },
            there,
        ))
    }

    /// Waits for the command and its descriptors. `None` if the launcher closed the socket.
    pub fn order(&self) -> Option<(CommandOrder, Vec<OwnedFd>)> {
        receive(&self.socket).ok().flatten()
    }

    /// Reports the end of the command and returns its account; an empty one if the launcher is
    /// gone.
    pub fn report_end(&self) -> Account {
        self.ask(IS_OVER)
    }

    /// Requests the account of a running command since the previous request.
    pub fn account(&self) -> Account {
        self.ask(GOES_ON)
    }

    fn ask(&self, word: u8) -> Account {
        let _ = rustix::net::send(&self.socket, &[word], SendFlags::NOSIGNAL);
        loop {
            match receive(&self.socket) {
                Ok(Some((LauncherMessage::Account(account), _))) => return account,
                Ok(Some((LauncherMessage::End(why), _))) => drop(self.end.replace(Some(why))),
                Ok(Some((LauncherMessage::Removed(_), _))) => {}
                Ok(None) | Err(_) => return Account::default(),
            }
        }
    }

    /// Takes the order to end the command, if it arrived while [`SupervisorLine::account`] waited.
    pub fn take_order_to_end(&self) -> Option<Denied> {
        self.end.take()
    }

    /// Receives the reason to end the command.
    pub fn hear(&self) -> Denied {
        if let Some(why) = self.end.take() {
            return why;
        }
        match receive(&self.socket) {
            Ok(Some((LauncherMessage::End(why), _))) => why,
            Ok(_) | Err(_) => Denied::Unwatched("the launcher of commands has ended".into()),
        }
    }
}

impl SupervisorLine {
    /// Returns true if [`SupervisorLine::hear`] can return without reading the socket.
    pub fn has_to_end(&self) -> bool {
        self.end.borrow().is_some()
    }

    /// Asks the launcher to remove a directory in which only protected paths of a repository are
    /// left.
    pub fn remove(&self, path: &Path) -> Result<(), Errno> {
        rustix::net::send(&self.socket, &[REMOVE], SendFlags::NOSIGNAL)?;
        let lost = |_| Errno::IO;
        send(&self.socket, &RawString::from(path), &[]).map_err(lost)?;
        loop {
            match receive(&self.socket).map_err(lost)? {
                Some((LauncherMessage::Removed(None), _)) => return Ok(()),
                Some((LauncherMessage::Removed(Some(number)), _)) => {
                    return Err(Errno::from_raw_os_error(number));
                }
                Some((LauncherMessage::End(why), _)) => _ = self.end.replace(Some(why)),
                Some((LauncherMessage::Account(_), _)) => {}
                None => return Err(Errno::IO),
            }
        }
    }
}

/// Readable when an order to end arrives.
impl AsFd for SupervisorLine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Running commands of one launcher.
#[derive(Debug, Default)]
pub(crate) struct SupervisorTable {
    /// Entries by process number of the supervisor.
    running: HashMap<i32, RunningCommand>,
    /// Number of commands begun, without resident ones.
    begun: u64,
}

#[derive(Debug)]
struct RunningCommand {
    /// The launcher's end; `None` after the other end is closed.
    line: Option<OwnedFd>,
    stays: bool,
    /// `true` if no command ran at its start, or at its last account.
    began_alone: bool,
    /// Number of commands begun at that time, including this one.
    begun: u64,
    /// Number of appearances at protected paths at that time.
    appearances: u64,
}

impl SupervisorTable {
    /// Registers a supervisor that received a command.
    pub(crate) fn begin(&mut self, supervisor: i32, line: OwnedFd, stays: bool, appearances: u64) {
        let began_alone = self.running.values().all(|entry| entry.stays);
        self.begun += u64::from(!stays);
        let begun = self.begun;
        self.running.insert(
            supervisor,
            RunningCommand {
                line: Some(line),
                stays,
                began_alone,
                begun,
                appearances,
            },
        );
    }

    /// Returns true if no command runs.
    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Sockets to poll, with the supervisor of each.
    pub(crate) fn lines(&self) -> (Vec<i32>, Vec<BorrowedFd<'_>>) {
        self.running
            .iter()
            .filter_map(|(supervisor, entry)| Some((*supervisor, entry.line.as_ref()?.as_fd())))
            .unzip()
    }

    /// Reads a message of a supervisor:
    ///
    /// - For an account, answers with it.
    /// - For a removal, returns the path; the supervisor waits for [`SupervisorTable::removed`].
    /// - At end of stream, forgets the socket. The command may still be running.
    pub(crate) fn hear(
        &mut self,
        supervisor: i32,
        appearances: u64,
        appeared_since: impl FnOnce(u64) -> Vec<RawString>,
    ) -> Option<RawString> {
        let runs_alone = self.running.values().all(|entry| entry.stays);
        let entry = self.running.get_mut(&supervisor)?;
        let line = entry.line.take()?;
        let mut word = [0];
        let Ok(1) = rustix::io::read(&line, &mut word) else {
            return None;
        };
        if word == [REMOVE] {
            // The path follows immediately.
            rustix::io::ioctl_fionbio(&line, false).ok()?;
            let (path, _) = receive(&line).ok()??;
            entry.line = Some(line);
            return Some(path);
        }
        let was_alone = entry.began_alone && entry.begun == self.begun;
        let account = Account {
            was_alone,
            appeared: appeared_since(entry.appearances),
        };
        // It fails only if the supervisor is gone.
        let _ = send(&line, &LauncherMessage::Account(account), &[]);
        if word == [GOES_ON] {
            let (stays, line, begun) = (entry.stays, Some(line), self.begun);
            *entry = RunningCommand {
                line,
                stays,
                began_alone: runs_alone,
                begun,
                appearances,
            };
        } else {
            self.running.remove(&supervisor);
        }
        None
    }

    /// Reports the result of a removal to a supervisor.
    pub(crate) fn removed(&self, supervisor: i32, result: Result<(), Errno>) {
        if let Some(line) = self
            .running
            .get(&supervisor)
            .and_then(|entry| entry.line.as_ref())
        {
            // It fails only if the supervisor is gone.
            let _ = send(
                line,
                &LauncherMessage::Removed(result.err().map(Errno::raw_os_error)),
                &[],
            );
        }
    }

    /// Orders all supervisors to end their commands.
    pub(crate) fn end_all(&self, why: &Denied) {
        for line in self
            .running
            .values()
            .filter_map(|entry| entry.line.as_ref())
        {
            // It fails if the supervisor is gone, or has not read an earlier order.
            let _ = rustix::io::ioctl_fionbio(line, true)
                .map(|()| send(line, &LauncherMessage::End(why.clone()), &[]));
        }
    }

    /// Forgets commands whose supervisors are not in `supervisors`.
    pub(crate) fn retain(&mut self, supervisors: &HashSet<i32>) {
        self.running
            .retain(|supervisor, _| supervisors.contains(supervisor));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn begin(supervisors: &mut SupervisorTable, supervisor: i32, stays: bool) -> SupervisorLine {
        let (line, launcher) = SupervisorLine::new().unwrap();
        supervisors.begin(
            supervisor,
            launcher,
            stays,
            u64::from(supervisor.cast_unsigned()),
        );
        line
    }

    /// Ends a command and returns true if it was alone.
    fn end(supervisors: &mut SupervisorTable, supervisor: i32, line: &SupervisorLine) -> bool {
        rustix::io::write(&line.socket, &[IS_OVER]).unwrap();
        supervisors.hear(supervisor, 0, |since| {
            vec![since.to_string().as_str().into()]
        });
        let account = line.report_end();
        assert_eq!(account.appeared, [supervisor.to_string().as_str().into()]);
        account.was_alone
    }

    /// Requests an account of a running command after `appearances`. Returns if it was alone, and
    /// the first appearance of the account.
    fn ask(
        supervisors: &mut SupervisorTable,
        supervisor: i32,
        line: &SupervisorLine,
        appearances: u64,
    ) -> (bool, String) {
        rustix::io::write(&line.socket, &[GOES_ON]).unwrap();
        supervisors.hear(supervisor, appearances, |since| {
            vec![since.to_string().as_str().into()]
        });
        let Ok(Some((LauncherMessage::Account(account), _))) = receive(&line.socket) else {
            panic!("no account")
        };
        (
            account.was_alone,
            account.appeared[0].as_path().display().to_string(),
        )
    }

    #[test]
    fn resident_account_starts_at_previous_account() {
        let mut supervisors = SupervisorTable::default();
        let resident = begin(&mut supervisors, 9, true);
        assert_eq!(
            ask(&mut supervisors, 9, &resident, 20),
            (true, "9".to_owned())
        );
        let command = begin(&mut supervisors, 10, false);
        assert_eq!(
            ask(&mut supervisors, 9, &resident, 21),
            (false, "20".to_owned())
        );
        end(&mut supervisors, 10, &command);
        // It began while a command ran.
        assert_eq!(
            ask(&mut supervisors, 9, &resident, 22),
            (false, "21".to_owned())
        );
        assert_eq!(
            ask(&mut supervisors, 9, &resident, 23),
            (true, "22".to_owned())
        );
        supervisors.end_all(&Denied::Repeated);
        rustix::io::write(&resident.socket, &[GOES_ON]).unwrap();
        supervisors.hear(9, 23, |_| Vec::new());
        assert_eq!(
            resident.account(),
            Account {
                was_alone: true,
                appeared: Vec::new()
            }
        );
        assert_eq!(resident.take_order_to_end(), Some(Denied::Repeated));
    }

    #[test]
    fn command_alone_throughout_has_sole_account() {
        let mut supervisors = SupervisorTable::default();
        let resident = begin(&mut supervisors, 9, true);
        let first = begin(&mut supervisors, 10, false);
        assert!(end(&mut supervisors, 10, &first));
        let (second, third) = (
            begin(&mut supervisors, 11, false),
            begin(&mut supervisors, 12, false),
        );
        assert_eq!(
            [
                end(&mut supervisors, 11, &second),
                end(&mut supervisors, 12, &third)
            ],
            [false, false]
        );
        // The process number was reused.
        let (fourth, fifth) = (
            begin(&mut supervisors, 10, false),
            begin(&mut supervisors, 11, false),
        );
        assert_eq!(
            [
                end(&mut supervisors, 11, &fifth),
                end(&mut supervisors, 10, &fourth)
            ],
            [false, false]
        );
        let sixth = begin(&mut supervisors, 13, false);
        assert!(
            end(&mut supervisors, 13, &sixth)
                && !end(&mut supervisors, 9, &resident)
                && supervisors.is_empty()
        );
    }

    #[test]
    fn removal_is_answered_while_command_has_to_end() {
        let mut supervisors = SupervisorTable::default();
        let line = begin(&mut supervisors, 10, false);
        supervisors.end_all(&Denied::Repeated);
        let asks = std::thread::spawn(move || (line.remove(Path::new("/w/lib/.git")), line));
        let socket = supervisors.lines().1[0].try_clone_to_owned().unwrap();
        let wait = rustix::event::Timespec {
            tv_sec: 30,
            tv_nsec: 0,
        };
        let mut readable = [rustix::event::PollFd::new(
            &socket,
            rustix::event::PollFlags::IN,
        )];
        assert_eq!(rustix::event::poll(&mut readable, Some(&wait)), Ok(1));
        assert_eq!(
            supervisors.hear(10, 0, |_| Vec::new()),
            Some("/w/lib/.git".into())
        );
        supervisors.removed(10, Err(Errno::NOTEMPTY));
        let (removed, line) = asks.join().unwrap();
        assert_eq!((removed, line.has_to_end()), (Err(Errno::NOTEMPTY), true));
        assert_eq!((line.hear(), line.has_to_end()), (Denied::Repeated, false));
        assert!(end(&mut supervisors, 10, &line));
    }

    #[test]
    fn ended_supervisor_stays_until_reaped() {
        let mut supervisors = SupervisorTable::default();
        let (first, second) = (
            begin(&mut supervisors, 10, false),
            begin(&mut supervisors, 11, false),
        );
        supervisors.end_all(&Denied::Repeated);
        assert_eq!(first.hear(), Denied::Repeated);
        // A repeated order, to a supervisor that is about to end.
        supervisors.end_all(&Denied::Repeated);
        assert!(!end(&mut supervisors, 10, &first));
        drop(second);
        supervisors.hear(11, 0, |_| Vec::new());
        assert_eq!(
            (supervisors.lines().0, supervisors.is_empty()),
            (vec![], false)
        );
        supervisors.retain(&HashSet::new());
        assert!(supervisors.is_empty());
        let third = begin(&mut supervisors, 12, false);
        drop(supervisors);
        assert_eq!(
            third.hear(),
            Denied::Unwatched("the launcher of commands has ended".into())
        );
        assert_eq!(third.report_end(), Account::default());
    }
}
