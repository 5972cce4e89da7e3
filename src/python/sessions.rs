//! Table of the server's Python sessions, by name.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use replay_base::limits::{DEFAULT_PYTHON, MAX_SESSION_NAME_CHARS};

use super::error::PythonError;
use super::host::Host;
use super::session::{Session, Settings};
use super::spare::Spare;

/// Python sessions that are remembered, with an interpreter or without.
const MAX_STORED_SESSIONS: usize = 256;
/// Sessions that an error names.
const MAX_SESSIONS_TOLD: usize = 20;

/// Name of the session that always exists.
pub(crate) const DEFAULT_SESSION: &str = "default";

/// Sessions of a server. Ended on drop.
#[derive(Debug)]
pub struct Sessions {
    most: usize,
    idle: Duration,
    directory: Mutex<PathBuf>,
    spare: Arc<Spare>,
    table: Mutex<SessionTable>,
}

#[derive(Debug, Default)]
struct SessionTable {
    last_number: u64,
    /// Sessions in the order of their creation.
    all: Vec<Arc<Session>>,
    /// Name of the default for calls without a session name.
    active: String,
}

impl Sessions {
    /// Creates the table with at most `most` running interpreters. An interpreter is ended after
    /// `idle` without use. The default session runs in `directory`.
    pub fn new(most: usize, idle: Duration, directory: PathBuf) -> Self {
        let table = SessionTable {
            active: DEFAULT_SESSION.to_owned(),
            ..SessionTable::default()
        };
        let spare = Arc::new(Spare::new(directory.clone(), idle));
        let sessions = Self {
            most: most.max(1),
            idle,
            directory: Mutex::new(directory),
            spare,
            table: Mutex::new(table),
        };
        sessions.add_default(&mut sessions.lock());
        sessions
    }

    /// Disables the spare interpreter, so that interpreters are started on demand.
    #[must_use]
    pub fn without_spare(self) -> Self {
        self.spare.disable();
        self
    }

    fn add_default(&self, table: &mut SessionTable) {
        let (python, directory) = (DEFAULT_PYTHON.to_owned(), self.default_directory());
        let settings = Settings {
            python,
            directory,
            ..Settings::default()
        };
        self.add(table, DEFAULT_SESSION.to_owned(), settings);
    }

    fn add(&self, table: &mut SessionTable, name: String, settings: Settings) -> Arc<Session> {
        table.last_number += 1;
        let session = Arc::new(Session::new(
            name,
            table.last_number,
            settings,
            self.idle,
            Arc::clone(&self.spare),
        ));
        table.all.push(Arc::clone(&session));
        session
    }

    /// Enables the spare interpreter when a client arrives that may make sessions. From now on
    /// [`Sessions::prepare`] keeps one interpreter more than sessions use.
    pub fn expect_use(&self, host: &Host<'_>) {
        self.spare.enable();
        self.prepare(host);
    }

    /// Begins to start the spare interpreter, if one is enabled and there is room.
    pub fn prepare(&self, host: &Host<'_>) {
        let alive = self
            .list()
            .0
            .iter()
            .filter(|session| session.is_alive())
            .count();
        self.spare.prepare(host, alive < self.most);
    }

    /// Returns the default working directory of sessions.
    pub fn default_directory(&self) -> PathBuf {
        let directory = self.directory.lock();
        directory.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the default working directory. The default session moves there if it is the only one
    /// and has no interpreter.
    pub fn begin_in(&self, directory: &Path) {
        let mut own = self
            .directory
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        directory.clone_into(&mut own);
        drop(own);
        let mut table = self.lock();
        if table.all.len() == 1 && !table.all[0].is_alive() {
            table.all.clear();
            table.last_number = 0;
            self.add_default(&mut table);
        }
    }

    /// Returns the session of this name, or the active one.
    pub fn find(&self, name: Option<&str>) -> Result<Arc<Session>, PythonError> {
        let table = self.lock();
        let name = name.unwrap_or(&table.active);
        table.find(name).ok_or_else(|| table.unknown(name))
    }

    /// Like [`Sessions::find`], before a start of the interpreter. Fails if the maximum number of
    /// interpreters runs.
    pub fn find_to_start(&self, name: Option<&str>) -> Result<Arc<Session>, PythonError> {
        let session = self.find(name)?;
        if !session.is_alive() {
            self.make_room()?;
        }
        Ok(session)
    }

    /// Fails if the maximum number of interpreters runs: each holds variables that may still be
    /// needed.
    fn make_room(&self) -> Result<(), PythonError> {
        let mut alive: Vec<Arc<Session>> = self
            .lock()
            .all
            .iter()
            .filter(|session| session.is_alive())
            .cloned()
            .collect();
        if alive.len() < self.most {
            return Ok(());
        }
        alive.sort_by_key(|session| session.last_activity());
        let names: Vec<&str> = alive.iter().map(|session| session.name()).collect();
        Err(PythonError::TooMany {
            most: self.most,
            names: names.join(", "),
        })
    }

    /// Creates a session. Its interpreter is started on demand.
    pub fn create(&self, name: &str, settings: Settings) -> Result<Arc<Session>, PythonError> {
        let chars = name.chars().count();
        if !(1..=MAX_SESSION_NAME_CHARS).contains(&chars) || name.chars().any(char::is_control) {
            return Err(PythonError::BadName {
                name: name.chars().take(MAX_SESSION_NAME_CHARS).collect(),
            });
        }
        let exists = || PythonError::Exists {
            name: name.to_owned(),
        };
        if self.lock().find(name).is_some() {
            return Err(exists());
        }
        self.make_room()?;
        let mut table = self.lock();
        if table.find(name).is_some() {
            return Err(exists());
        }
        // Sessions without an interpreter cost only their names.
        if table.all.len() >= MAX_STORED_SESSIONS {
            let names = table
                .all
                .iter()
                .take(self.most)
                .map(|session| session.name())
                .collect::<Vec<_>>()
                .join(", ");
            return Err(PythonError::TooMany {
                most: MAX_STORED_SESSIONS,
                names,
            });
        }
        Ok(self.add(&mut table, name.to_owned(), settings))
    }

    /// Makes a session active. Returns the name of the previous active one.
    pub fn switch(&self, name: &str) -> Result<String, PythonError> {
        let mut table = self.lock();
        if table.find(name).is_none() {
            return Err(table.unknown(name));
        }
        Ok(std::mem::replace(&mut table.active, name.to_owned()))
    }

    /// Returns all sessions in the order of their creation, and the name of the active one.
    pub fn list(&self) -> (Vec<Arc<Session>>, String) {
        let table = self.lock();
        (table.all.clone(), table.active.clone())
    }

    /// Ends and removes a session; the default one is recreated empty. Returns the name of the
    /// active one.
    pub fn delete(&self, name: &str) -> Result<String, PythonError> {
        let (session, active) = {
            let mut table = self.lock();
            let Some(at) = table.all.iter().position(|session| session.name() == name) else {
                return Err(table.unknown(name));
            };
            let session = table.all.remove(at);
            if table.active == name {
                DEFAULT_SESSION.clone_into(&mut table.active);
            }
            if name == DEFAULT_SESSION {
                self.add_default(&mut table);
            }
            (session, table.active.clone())
        };
        // This may take a while.
        session.delete();
        Ok(active)
    }

    /// Ends and removes all sessions and the spare interpreter, as at the start of the server.
    pub fn clear(&self) {
        let all = {
            let mut table = self.lock();
            let all = std::mem::take(&mut table.all);
            DEFAULT_SESSION.clone_into(&mut table.active);
            self.add_default(&mut table);
            all
        };
        self.spare.clear();
        for session in all {
            session.delete();
        }
    }

    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        // A panic leaves the table consistent at any point.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionTable {
    fn find(&self, name: &str) -> Option<Arc<Session>> {
        self.all
            .iter()
            .find(|session| session.name() == name)
            .cloned()
    }

    fn unknown(&self, name: &str) -> PythonError {
        let known = self
            .all
            .iter()
            .take(MAX_SESSIONS_TOLD)
            .map(|session| format!("`{}`", session.name()));
        let known = known.collect::<Vec<_>>().join(", ");
        let more = self.all.len().saturating_sub(MAX_SESSIONS_TOLD);
        let more = if more > 0 {
            format!(" and {more} more (list_sessions)")
        } else {
            String::new()
        };
        PythonError::Unknown {
            name: name.to_owned(),
            known: format!("there are {known}{more}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions() -> Sessions {
        Sessions::new(2, Duration::from_mins(1), PathBuf::from("/w"))
    }

    #[test]
    fn deleted_default_session_is_recreated() {
        let sessions = sessions();
        assert_eq!(sessions.find(None).unwrap().name(), DEFAULT_SESSION);
        let number = sessions.find(None).unwrap().number();
        assert_eq!(sessions.delete(DEFAULT_SESSION).unwrap(), DEFAULT_SESSION);
        let again = sessions.find(None).unwrap();
        assert_eq!(
            (again.name(), again.settings().directory.to_str()),
            (DEFAULT_SESSION, Some("/w"))
        );
        assert_ne!(again.number(), number);
    }

    #[test]
    fn switch_returns_previous_session_name() {
        let sessions = sessions();
        sessions.create("a", Settings::default()).unwrap();
        assert_eq!(sessions.switch("a").unwrap(), DEFAULT_SESSION);
        assert_eq!(
            (
                sessions.find(None).unwrap().name(),
                sessions.list().1.as_str()
            ),
            ("a", "a")
        );
        assert_eq!(
            sessions.find(Some(DEFAULT_SESSION)).unwrap().name(),
            DEFAULT_SESSION
        );
        assert_eq!(sessions.delete("a").unwrap(), DEFAULT_SESSION);
        let unknown = sessions.switch("a").unwrap_err().to_string();
        assert_eq!(unknown, "session `a` not found: there are `default`");
    }

    #[test]
    fn create_refuses_bad_or_duplicate_name() {
        let sessions = sessions();
        for name in ["", "a\nb", &"x".repeat(MAX_SESSION_NAME_CHARS + 1)] {
            assert!(
                matches!(
                    sessions.create(name, Settings::default()),
                    Err(PythonError::BadName { .. })
                ),
                "{name:?}"
            );
        }
        sessions.create("é 1", Settings::default()).unwrap();
        assert!(matches!(
            sessions.create("é 1", Settings::default()),
            Err(PythonError::Exists { .. })
        ));
    }
}
