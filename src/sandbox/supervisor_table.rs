//! Which commands run, and the line that each of their supervisors has to the launcher: where it is
//! told its command, says that this is over, hears what was seen meanwhile, and is told to end it.

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
use super::fault::{Fault, Step};
use super::raw_string::RawString;
use super::wire::{Request, receive, send};
use crate::limits::SUPERVISOR_SEND_MS;

/// What a supervisor is told first. With it go descriptors.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    pub request: Request,
    /// The protected paths that it has to hold.
    pub places: Vec<RawString>,
    /// How many processes the kernel has ended for want of memory.
    pub kernel_kills: Option<u64>,
    /// How far the counters of the network are, if no command runs that could move them.
    pub refused: Option<u64>,
}

/// What the launcher says.
#[derive(Debug, Serialize, Deserialize)]
enum Word {
    /// The command has to end.
    End(Denied),
    Account(Account),
    /// A directory was removed, or this number of errno(3) says why not.
    Removed(Option<i32>),
}

/// Account of a command that is over, or since the last question about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// No other ran at any time, but for those that stay. Only then does what the kernel counts for
    /// all of them say something about it.
    pub was_alone: bool,
    /// Protected paths at which something appeared while it ran.
    pub appeared: Vec<RawString>,
}

/// First byte of what a supervisor says. It asks for an [`Account`] of a command that goes on, or
/// of one that is over. Or a path follows that is to be removed.
const GOES_ON: u8 = b'a';
const IS_OVER: u8 = b'x';
const REMOVE: u8 = b'r';

/// A supervisor's end of its line.
#[derive(Debug)]
pub struct SupervisorLine {
    socket: OwnedFd,
    /// The order to end that came before the answer to a question.
    end: RefCell<Option<Denied>>,
}

impl SupervisorLine {
    /// Both ends; the second one is the launcher's.
    pub fn new() -> Result<(Self, OwnedFd), Fault> {
        let pair = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        );
        let (here, there) = pair.step("socketpair")?;
        // Somebody may have stopped the supervisor, and the launcher has others to see to.
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

    /// Waits for the command, and what comes with it. `None` if there will be none.
    pub fn order(&self) -> Option<(Order, Vec<OwnedFd>)> {
        receive(&self.socket).ok().flatten()
    }

    /// Nothing of the command is left. What is known of it: nothing, if the launcher has gone.
    pub fn over(&self) -> Account {
        self.ask(IS_OVER)
    }

    /// Asks for the account of a command that goes on, since the last question.
    pub fn account(&self) -> Account {
        self.ask(GOES_ON)
    }

    fn ask(&self, word: u8) -> Account {
        let _ = rustix::net::send(&self.socket, &[word], SendFlags::NOSIGNAL);
        loop {
            match receive(&self.socket) {
                Ok(Some((Word::Account(account), _))) => return account,
                Ok(Some((Word::End(why), _))) => drop(self.end.replace(Some(why))),
                Ok(Some((Word::Removed(_), _))) => {}
                Ok(None) | Err(_) => return Account::default(),
            }
        }
    }

    /// The order to end the command, if one came while [`SupervisorLine::account`] waited.
    pub fn take_order_to_end(&self) -> Option<Denied> {
        self.end.take()
    }

    /// Why the command has to end.
    pub fn hear(&self) -> Denied {
        if let Some(why) = self.end.take() {
            return why;
        }
        match receive(&self.socket) {
            Ok(Some((Word::End(why), _))) => why,
            Ok(_) | Err(_) => Denied::Unwatched("the launcher of commands has ended".into()),
        }
    }
}

impl SupervisorLine {
    /// Returns true if [`SupervisorLine::hear`] has something to say, although nothing more came.
    pub fn has_to_end(&self) -> bool {
        self.end.borrow().is_some()
    }

    /// Has the launcher remove a directory in which nothing but protected paths of a repository is
    /// left.
    pub fn remove(&self, path: &Path) -> Result<(), Errno> {
        rustix::net::send(&self.socket, &[REMOVE], SendFlags::NOSIGNAL)?;
        let lost = |_| Errno::IO;
        send(&self.socket, &RawString::from(path), &[]).map_err(lost)?;
        loop {
            match receive(&self.socket).map_err(lost)? {
                Some((Word::Removed(None), _)) => return Ok(()),
                Some((Word::Removed(Some(number)), _)) => {
                    return Err(Errno::from_raw_os_error(number));
                }
                Some((Word::End(why), _)) => _ = self.end.replace(Some(why)),
                Some((Word::Account(_), _)) => {}
                None => return Err(Errno::IO),
            }
        }
    }
}

/// Readable when [`SupervisorLine::hear`] has something to say.
impl AsFd for SupervisorLine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The commands of one launcher.
#[derive(Debug, Default)]
pub struct SupervisorTable {
    /// By the number of the supervisor.
    running: HashMap<i32, Entry>,
    /// Without those that stay.
    begun: u64,
}

#[derive(Debug)]
struct Entry {
    /// The launcher's end; `None` when the other one is closed.
    line: Option<OwnedFd>,
    stays: bool,
    /// No command ran when it began, or was asked about.
    began_alone: bool,
    /// Number of commands that had begun by then, this one included.
    begun: u64,
    /// Number of appearances at protected paths by then.
    appearances: u64,
}

impl SupervisorTable {
    /// This supervisor has a command, and the other end of the line.
    pub fn begin(&mut self, supervisor: i32, line: OwnedFd, stays: bool, appearances: u64) {
        let began_alone = self.running.values().all(|entry| entry.stays);
        self.begun += u64::from(!stays);
        let begun = self.begun;
        self.running.insert(
            supervisor,
            Entry {
                line: Some(line),
                stays,
                began_alone,
                begun,
                appearances,
            },
        );
    }

    /// Whether no command runs.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// What to wait for, with whose it is.
    pub fn lines(&self) -> (Vec<i32>, Vec<BorrowedFd<'_>>) {
        self.running
            .iter()
            .filter_map(|(supervisor, entry)| Some((*supervisor, entry.line.as_ref()?.as_fd())))
            .unzip()
    }

    /// Hears a supervisor. If it asks for an account it is told what was seen. If it wants a
    /// directory removed, that is returned, and it waits for [`SupervisorTable::removed`]. Else it
    /// has gone, and its command may not be at its end yet.
    pub fn hear(
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
            // The rest comes at once.
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
        // It fails only where nobody hears it.
        let _ = send(&line, &Word::Account(account), &[]);
        if word == [GOES_ON] {
            let (stays, line, begun) = (entry.stays, Some(line), self.begun);
            *entry = Entry {
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

    /// Tells a supervisor how a removal went.
    pub fn removed(&self, supervisor: i32, result: Result<(), Errno>) {
        if let Some(line) = self
            .running
            .get(&supervisor)
            .and_then(|entry| entry.line.as_ref())
        {
            // It fails only where nobody hears it.
            let _ = send(
                line,
                &Word::Removed(result.err().map(Errno::raw_os_error)),
                &[],
            );
        }
    }

    /// Has all commands ended.
    pub fn end_all(&self, why: &Denied) {
        for line in self
            .running
            .values()
            .filter_map(|entry| entry.line.as_ref())
        {
            // It fails where nobody hears it, or where it was said before and not yet heard.
            let _ = rustix::io::ioctl_fionbio(line, true)
                .map(|()| send(line, &Word::End(why.clone()), &[]));
        }
    }

    /// Forgets commands whose supervisors are not among these any more.
    pub fn retain(&mut self, supervisors: &HashSet<i32>) {
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

    /// Whether it was alone.
    fn end(supervisors: &mut SupervisorTable, supervisor: i32, line: &SupervisorLine) -> bool {
        rustix::io::write(&line.socket, &[IS_OVER]).unwrap();
        supervisors.hear(supervisor, 0, |since| {
            vec![since.to_string().as_str().into()]
        });
        let account = line.over();
        assert_eq!(account.appeared, [supervisor.to_string().as_str().into()]);
        account.was_alone
    }

    /// Asks about one that goes on, when so much has appeared: whether it was alone, and since
    /// which appearance it was told.
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
        let Ok(Some((Word::Account(account), _))) = receive(&line.socket) else {
            panic!("no account")
        };
        (
            account.was_alone,
            account.appeared[0].as_path().display().to_string(),
        )
    }

    #[test]
    fn account_of_resident_covers_time_since_last_one() {
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
    fn only_who_was_alone_from_its_beginning_to_its_end_was_alone() {
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
        // Its number was given away again.
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
    fn who_has_to_end_is_told_and_who_has_gone_is_kept_until_it_was_reaped() {
        let mut supervisors = SupervisorTable::default();
        let (first, second) = (
            begin(&mut supervisors, 10, false),
            begin(&mut supervisors, 11, false),
        );
        supervisors.end_all(&Denied::Repeated);
        assert_eq!(first.hear(), Denied::Repeated);
        // Said again, to who is at its end by now.
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
        assert_eq!(third.over(), Account::default());
    }
}
