//! Slots of running commands: their limit, the queue of waiting calls, and a way to end all
//! commands.

use std::collections::{HashMap, VecDeque};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use replay_base::cancel::CancelToken;
use replay_base::limits::MAX_COMMANDS;

use super::control::Control;
use super::poll::{Bell, readable};
use super::{ExecError, Job};

/// Shared by the server, which can end all commands, and by every call that runs a command.
#[derive(Clone, Debug)]
pub struct Slots(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// Number of taken slots, also of commands that are about to start.
    taken: usize,
    next_id: u64,
    controls: HashMap<u64, Control>,
    /// Waiting calls, in order. Removing one from the queue gives it a slot.
    waiting: VecDeque<(u64, Arc<Bell>)>,
    ended: bool,
}

impl Default for Slots {
    fn default() -> Self {
        Self::new(MAX_COMMANDS)
    }
}

impl Slots {
    /// Creates a table with this number of slots.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Shared {
            most: most.max(1),
            table: Mutex::default(),
        }))
    }

    /// Kills every command and lets no new one start. Returns the number of commands killed.
    pub fn end_all(&self) -> usize {
        let mut table = self.lock();
        table.ended = true;
        for control in table.controls.values() {
            control.kill();
        }
        for (_, bell) in &table.waiting {
            bell.ring();
        }
        table.controls.len()
    }

    /// Returns the number of taken slots.
    pub fn len(&self) -> usize {
        self.lock().taken
    }

    /// Returns true if no command runs now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes a slot if one is free.
    pub(super) fn enter_at_once(&self) -> Result<Slot, ExecError> {
        let mut table = self.lock();
        if table.ended {
            return Err(ExecError::ShuttingDown);
        }
        if table.taken >= self.0.most {
            return Err(ExecError::NoResidentPlace { most: self.0.most });
        }
        table.taken += 1;
        table.next_id += 1;
        Ok(Slot {
            running: self.clone(),
            id: table.next_id - 1,
        })
    }

    /// Waits for a slot until `until` passes or the call is cancelled. Meanwhile `tell` reports the
    /// wait and returns the time of its next call.
    pub(super) fn enter(
        &self,
        cancel: &CancelToken,
        until: Option<Instant>,
        tell: &mut dyn FnMut() -> Instant,
    ) -> Result<Slot, ExecError> {
        let (id, bell) = {
            let mut table = self.lock();
            if table.ended {
                return Err(ExecError::ShuttingDown);
            }
            let id = table.next_id;
            table.next_id += 1;
            if table.taken < self.0.most {
                table.taken += 1;
                return Ok(Slot {
                    running: self.clone(),
                    id,
                });
            }
            let bell = Arc::new(Bell::new().map_err(ExecError::Follow)?);
            table.waiting.push_back((id, Arc::clone(&bell)));
            (id, bell)
        };
        let waiter = Waiter { running: self, id };
        let wake = cancel.wake_fd().map_err(ExecError::follow)?;
        loop {
            let again = tell();
            readable(
                [Some(bell.as_fd()), Some(wake)],
                Some(until.map_or(again, |until| until.min(again))),
            )?;
            if cancel.is_cancelled() {
                return Err(ExecError::Cancelled);
            }
            let table = self.lock();
            if table.ended {
                return Err(ExecError::ShuttingDown);
            }
            if !table.waiting.iter().any(|(waiting, _)| *waiting == id) {
                std::mem::forget(waiter);
                return Ok(Slot {
                    running: self.clone(),
                    id,
                });
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(ExecError::NoPlace { most: self.0.most });
            }
        }
    }

    /// Passes a slot to the first waiting call, or frees it.
    fn leave(&self, id: u64) {
        let mut table = self.lock();
        table.controls.remove(&id);
        match table.waiting.pop_front() {
            Some((_, bell)) => bell.ring(),
            None => table.taken -= 1,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // No code that can panic runs under the lock, and the table is consistent at any point.
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A waiting call. Dropping this removes it from the queue, or passes on the slot that it has
/// received meanwhile.
struct Waiter<'a> {
    running: &'a Slots,
    id: u64,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut table = self.running.lock();
        let before = table.waiting.len();
        table.waiting.retain(|(waiting, _)| *waiting != self.id);
        if table.waiting.len() == before {
            drop(table);
            self.running.leave(self.id);
        }
    }
}

/// A slot of a running command. Dropping this frees it.
#[derive(Debug)]
pub(super) struct Slot {
    running: Slots,
    id: u64,
}

impl Slot {
    /// Registers the command that runs in this slot. Fails if all commands were ended meanwhile.
    pub(super) fn attach(&self, job: &Job) -> Result<(), ExecError> {
        let mut table = self.running.lock();
        if table.ended {
            return Err(ExecError::ShuttingDown);
        }
        table.controls.insert(self.id, job.control());
        Ok(())
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.running.leave(self.id);
    }
}
