//! One connection to a played server: lookups in the book with the state of the connection.

use std::sync::Arc;
use std::time::Duration;

use super::Recordings;
use super::history::{ConnectionState, History};
use crate::call::{Exchange, Protocol, Target};
use crate::protocol::script::{Identity, Push, Script};

pub struct Connection {
    book: Arc<Recordings>,
    history: History,
    /// See [`ConnectionState::transaction`].
    transaction: u64,
    /// See [`ConnectionState::peer`].
    peer: Option<u64>,
}

impl Connection {
    /// Creates a new connection to a server that the book plays.
    pub fn on(book: &Arc<Recordings>) -> Box<dyn Script> {
        Box::new(Self {
            book: Arc::clone(book),
            history: History::default(),
            transaction: 0,
            peer: None,
        })
    }

    fn before(&self) -> ConnectionState {
        let transaction = if self.history.is_inside() {
            self.transaction
        } else {
            0
        };
        ConnectionState {
            transaction,
            peer: self.peer,
            ..self.history.before.clone()
        }
    }
}

impl Script for Connection {
    fn ask(
        &mut self,
        asked: Exchange,
        plain: &dyn Fn(bool) -> Option<Vec<Vec<u8>>>,
    ) -> Result<Arc<Exchange>, String> {
        let (before, is_inside) = (self.before(), self.history.is_inside());
        self.transaction = before.transaction;
        match self.book.find_in(&asked, &before, || plain(is_inside)) {
            Ok((found, transaction)) => {
                if is_inside && transaction != 0 {
                    self.transaction = transaction;
                }
                if asked.content.protocol().is_in_turns() && found.connection != 0 {
                    self.peer = Some(found.connection);
                }
                // The recording determines the new state, whatever values differ.
                self.history.apply_answered(&found);
                Ok(found)
            }
            Err(miss) => {
                self.history.apply_missed(&asked);
                Err(miss.asked)
            }
        }
    }

    fn peek(&self, asked: &Exchange) -> Option<Arc<Exchange>> {
        self.book.peek(asked, &self.before())
    }

    fn opened(&mut self, who: &Identity) {
        self.history.open(who);
    }

    fn synchronised(&mut self) {
        self.history.synchronise();
    }

    fn sessions(&self, target: &Target, protocol: Protocol) -> Vec<Arc<Exchange>> {
        self.book.sessions(target, protocol)
    }

    fn logins(&self, protocol: Protocol) -> Vec<Arc<Exchange>> {
        self.book.logins(protocol)
    }

    fn logged_in(&self) {
        self.book.logged_in();
    }

    fn repeated(&self) {
        self.book.repeated();
    }

    fn missed_because(&self, target: &Target, what: &str) {
        self.book.missed_because(target, what);
    }

    fn missed(&self, target: &Target, what: &str) {
        self.book.missed(target, what);
    }

    fn overtaken(&self, found: &Exchange) -> Option<Duration> {
        self.book
            .overtaken_here(found)
            .map(|overtaken| overtaken.patience)
    }

    fn pushes(&self, found: &Exchange) -> Vec<Push> {
        self.book.pushes(found)
    }

    fn buffered_bytes(&self) -> usize {
        self.history.size()
    }
}
