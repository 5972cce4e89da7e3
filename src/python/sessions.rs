//! The sessions of a server, by name.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::error::PythonError;
use super::host::Host;
use super::session::{Session, Settings};
use super::spare::Spare;
use crate::limits::{
    DEFAULT_PYTHON, MAX_SESSION_NAME_CHARS, MAX_SESSIONS_TOLD, MAX_STORED_SESSIONS,
};

/// The session that is always there.
pub const DEFAULT_SESSION: &str = "default";

/// The sessions of a server. Dropping it ends them.
#[derive(Debug)]
pub struct Sessions {
    most: usize,
    idle: Duration,
    directory: PathBuf,
    spare: Arc<Spare>,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    last_number: u64,
    /// In the order in which they were made.
    all: Vec<Arc<Session>>,
    /// The name of the one that is meant when none is named.
    active: String,
}

impl Sessions {
    /// At most `most` with an interpreter at a time; one that nobody uses for `idle` is ended. The
    /// default one runs in `directory`.
    pub fn new(most: usize, idle: Duration, directory: PathBuf) -> Self {
        let table = Table {
            active: DEFAULT_SESSION.to_owned(),
            ..Table::default()
        };
        let spare = Arc::new(Spare::new(directory.clone(), idle));
        let sessions = Self {
            most: most.max(1),
            idle,
            directory,
            spare,
            table: Mutex::new(table),
        };
        sessions.add_default(&mut sessions.lock());
        sessions
    }

    /// The same, with interpreters that are started when they are needed.
    #[must_use]
    pub fn without_spare(self) -> Self {
        self.spare.forbid();
        self
    }

    fn add_default(&self, table: &mut Table) {
        let (python, directory) = (DEFAULT_PYTHON.to_owned(), self.directory.clone());
        let settings = Settings {
            python,
            directory,
            ..Settings::default()
        };
        self.add(table, DEFAULT_SESSION.to_owned(), settings);
    }

    fn add(&self, table: &mut Table, name: String, settings: Settings) -> Arc<Session> {
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

    /// Somebody has come who may make sessions: from now on [`Sessions::prepare`] has one
    /// interpreter more be there than sessions use.
    pub fn expect_use(&self, host: &Host<'_>) {
        self.spare.want();
        self.prepare(host);
    }

    /// Begins to start the interpreter for the next session, where one is expected and may be made.
    pub fn prepare(&self, host: &Host<'_>) {
        let alive = self
            .list()
            .0
            .iter()
            .filter(|session| session.is_alive())
            .count();
        self.spare.prepare(host, alive < self.most);
    }

    /// Where sessions run that are not told where.
    pub fn default_directory(&self) -> PathBuf {
        self.directory.clone()
    }

    /// The session of this name, or the active one.
    pub fn find(&self, name: Option<&str>) -> Result<Arc<Session>, PythonError> {
        let table = self.lock();
        let name = name.unwrap_or(&table.active);
        table.find(name).ok_or_else(|| table.unknown(name))
    }

    /// The same, for somebody who is about to start its interpreter: refused when as many run as
    /// may.
    pub fn find_to_start(&self, name: Option<&str>) -> Result<Arc<Session>, PythonError> {
        let session = self.find(name)?;
        if !session.is_alive() {
            self.make_room()?;
        }
        Ok(session)
    }

    /// Refuses when as many interpreters run as may: each holds variables that somebody may still
    /// want.
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

    /// Makes a session; its interpreter is started when it is needed.
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
        // Those without an interpreter cost only their names.
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

    /// Has this one be meant when none is named. Returns the name of the one before.
    pub fn switch(&self, name: &str) -> Result<String, PythonError> {
        let mut table = self.lock();
        if table.find(name).is_none() {
            return Err(table.unknown(name));
        }
        Ok(std::mem::replace(&mut table.active, name.to_owned()))
    }

    /// All of them, in the order in which they were made, and the name of the active one.
    pub fn list(&self) -> (Vec<Arc<Session>>, String) {
        let table = self.lock();
        (table.all.clone(), table.active.clone())
    }

    /// Ends a session and forgets it; the default one is then there again, empty. Returns the name
    /// of the active one.
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
        // Which may take a while.
        session.delete();
        Ok(active)
    }

    /// Ends all of them and the interpreter that waits, and forgets them: what is there then is as
    /// it was at the start.
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

    fn lock(&self) -> MutexGuard<'_, Table> {
        // The table is whole at any point.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
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
    fn the_default_session_is_always_there() {
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
    fn switching_says_what_was_before_and_deleting_goes_back() {
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
    fn names_are_names_and_there_is_one_of_each() {
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
