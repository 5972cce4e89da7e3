//! State of a connection before a call.
//!
//! It selects between several recorded answers to one request. The same code computes it for
//! recorded connections, call by call when a set is loaded, and for replayed connections, from the
//! recordings that answered.
//!
//! The state is the last statement of each shape (its text without values) that was not a plain
//! read. Statements that set session state last: `SET`, `CALL`, `DO`, `EXECUTE`, and a `SELECT`
//! with values but without a table. All others count until the end of their transaction; after that
//! every connection sees them. The function `set_config('name', value, is_local)` counts as the
//! equivalent `SET`.
//!
//! The user and the database in use are the context of the connection: they are part of the key of
//! each call.

mod statement;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::protocol::control::Control;
use statement::{Effect, digest, effects, set};
pub(crate) use statement::{repeats, shapes, writes};

use crate::call::{Content, Exchange, Protocol, Side, Target, Wire};
use crate::protocol::script::Identity;
use crate::protocol::{mysql, postgres, redis};

/// Shapes of statements, each with a digest of its last values.
pub(crate) type EffectDigests = BTreeMap<String, u64>;

#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    chosen: BTreeMap<&'static str, Vec<u8>>,
    /// Settings from the login.
    start: EffectDigests,
    /// Effects outside transactions, then in the open transaction, then after each of its
    /// savepoints.
    frames: Vec<Frame>,
    /// `true` in an implicit transaction: the messages up to `Sync`.
    is_implicit: bool,
    /// State before the next call.
    pub(crate) before: ConnectionState,
}

/// State of a connection before a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionState {
    /// Context of the connection as bytes; empty if unknown.
    pub(crate) context: Arc<Vec<u8>>,
    /// Effects that are in force.
    pub(crate) done: Arc<EffectDigests>,
    /// Number of the recorded connection that answered last, if its protocol is recorded in turns.
    pub(crate) peer: Option<u64>,
    /// Number of the recorded transaction that the call belongs to, or that has answered in its
    /// transaction; from 1, 0 if none.
    pub(crate) transaction: u64,
}

#[derive(Clone, Debug, Default)]
struct Frame {
    savepoint: String,
    /// Lasting effects; `None` for a reset one.
    lasting: BTreeMap<String, Option<u64>>,
    /// Effects until the end of the transaction.
    local: EffectDigests,
}

impl History {
    pub(crate) fn open(&mut self, who: &Identity) {
        let setting = |(name, value): &(String, Vec<u8>)| {
            (set(name), digest([Some(value.as_slice())].into_iter()))
        };
        *self = Self {
            start: who.settings.iter().map(setting).collect(),
            ..Self::default()
        };
        self.set_context("user", &who.user);
        self.set_context("database", &who.database);
        self.update_effects();
    }

    /// Sets a part of the context.
    fn set_context(&mut self, name: &'static str, value: &[u8]) {
        match value {
            b"" => drop(self.chosen.remove(name)),
            _ => drop(self.chosen.insert(name, value.to_vec())),
        }
        let parts = self
            .chosen
            .iter()
            .flat_map(|(name, value)| [name.as_bytes(), b"=", value, b"\0"].concat());
        self.before.context = Arc::new(parts.collect());
    }

    pub(crate) fn size(&self) -> usize {
        let of = |shape: &String| shape.len() + size_of::<(String, u64)>();
        let frames = self
            .frames
            .iter()
            .flat_map(|frame| frame.lasting.keys().chain(frame.local.keys()));
        self.start
            .keys()
            .chain(self.before.done.keys())
            .chain(frames)
            .map(of)
            .sum()
    }

    pub(crate) fn is_inside(&self) -> bool {
        self.frames.len() > 1
    }

    /// Applies a call that was answered as recorded.
    pub(crate) fn apply_answered(&mut self, call: &Exchange) {
        let Content::Wire(protocol, wire) = &call.content else {
            return;
        };
        match protocol {
            Protocol::Postgres => self.apply_postgres(wire),
            Protocol::MySql => self.apply_mysql(wire),
            Protocol::Redis => self.choose(wire),
            _ => {}
        }
    }

    /// Applies a missed call: its effects lead to a state that no recording has.
    pub(crate) fn apply_missed(&mut self, call: &Exchange) {
        let Content::Wire(protocol, wire) = &call.content else {
            return;
        };
        if *protocol == Protocol::Redis {
            return self.choose(wire);
        }
        if let Some(database) = mysql::selected_by(*protocol, wire) {
            self.set_context("database", &database);
        }
        self.carry_out(effects(*protocol, wire));
    }

    fn choose(&mut self, wire: &Wire) {
        let chosen = redis::selected_state(wire);
        if chosen.resets {
            *self = Self::default();
        }
        for (name, value) in chosen.context {
            self.set_context(name, &value);
        }
    }

    fn apply_postgres(&mut self, wire: &Wire) {
        if let Some(startup) = postgres::startup_of(wire) {
            self.open(&postgres::who(startup));
            return;
        }
        let effects = effects(Protocol::Postgres, wire);
        if wire
            .messages_by(Side::Server)
            .any(|message| message.first() == Some(&b'E'))
        {
            // A deferred check failed, which ended the transaction.
            let ends = effects.contains(&Effect::Control(Control::Commit));
            if std::mem::take(&mut self.is_implicit) || ends {
                self.carry_out(vec![Effect::Control(Control::Rollback)]);
            }
            return;
        }
        // Messages up to `ReadyForQuery` form one transaction.
        let ready = wire
            .messages_by(Side::Server)
            .rfind(|message| message.first() == Some(&b'Z'));
        if ready.is_none() && !effects.is_empty() && !self.is_inside() {
            self.frames.resize_with(2, Frame::default);
            self.is_implicit = true;
        }
        self.carry_out(effects);
        if ready.is_some() {
            self.synchronise();
        }
    }

    /// Ends the messages that were sent together.
    pub(crate) fn synchronise(&mut self) {
        if std::mem::take(&mut self.is_implicit) {
            self.carry_out(vec![Effect::Control(Control::Commit)]);
        }
    }

    fn apply_mysql(&mut self, wire: &Wire) {
        if let Some(login) = mysql::login_of(wire) {
            self.open(&login.who);
            return;
        }
        let Some(leaves_open) = mysql::leaves_open(wire) else {
            return;
        };
        if mysql::resets(wire) {
            self.frames = Vec::new();
            return self.update_effects();
        }
        if let Some(database) = mysql::selected_by(Protocol::MySql, wire) {
            self.set_context("database", &database);
        }
        // The server reports the transaction status, since statements may begin or end one
        // implicitly.
        if leaves_open && !self.is_inside() {
            self.frames.resize_with(2, Frame::default);
        }
        self.carry_out(effects(Protocol::MySql, wire));
        if !leaves_open && self.is_inside() {
            self.carry_out(vec![Effect::Control(Control::Commit)]);
        }
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        if effects.is_empty() {
            return;
        }
        for effect in effects {
            self.apply(effect);
        }
        self.update_effects();
    }

    fn apply(&mut self, effect: Effect) {
        if self.frames.is_empty() {
            self.frames.push(Frame::default());
        }
        let depth = self.frames.len();
        match effect {
            Effect::Control(Control::Begin) => {
                self.frames.resize_with(depth.max(2), Frame::default);
                self.is_implicit = false;
            }
            Effect::Control(Control::Commit) => self.join(1),
            Effect::Control(Control::Rollback) => self.frames.truncate(1),
            Effect::Control(Control::Save(savepoint)) if depth > 1 => {
                self.frames.push(Frame {
                    savepoint,
                    ..Frame::default()
                });
            }
            Effect::Control(Control::Release(savepoint)) => {
                if let Some(at) = self.savepoint(&savepoint) {
                    self.join(at);
                }
            }
            Effect::Control(Control::RollBackTo(savepoint)) => {
                if let Some(at) = self.savepoint(&savepoint) {
                    self.frames.truncate(at);
                    self.frames.push(Frame {
                        savepoint,
                        ..Frame::default()
                    });
                }
            }
            Effect::Clear { keeps_role } => {
                let shapes: Vec<String> = self.before.done.keys().cloned().collect();
                let kept = |shape: &String| keeps_role && statement::is_of_role(shape);
                for shape in shapes.into_iter().filter(|shape| !kept(shape)) {
                    self.put(shape, None, true);
                }
            }
            Effect::Done {
                shape,
                values,
                lasts,
            } => self.put(shape, values, lasts),
            Effect::Control(Control::Save(_) | Control::Deallocate(_)) => {}
        }
    }

    fn put(&mut self, shape: String, values: Option<u64>, lasts: bool) {
        let is_inside = self.is_inside();
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        if lasts {
            frame.local.remove(&shape);
            frame.lasting.insert(shape, values);
        } else if is_inside {
            frame.local.extend(values.map(|values| (shape, values)));
        }
    }

    fn savepoint(&self, name: &str) -> Option<usize> {
        self.frames
            .iter()
            .rposition(|frame| !name.is_empty() && frame.savepoint == name)
    }

    /// Merges this frame and those above it into the one below. At the end of the transaction only
    /// lasting effects are kept.
    fn join(&mut self, at: usize) {
        let above = self.frames.split_off(at.min(self.frames.len()));
        let Some(below) = self.frames.last_mut() else {
            return;
        };
        for frame in above {
            for shape in frame.lasting.keys() {
                below.local.remove(shape);
            }
            below.lasting.extend(frame.lasting);
            if at > 1 {
                below.local.extend(frame.local);
            }
        }
    }

    fn update_effects(&mut self) {
        let mut done = self.start.clone();
        for frame in &self.frames {
            for (shape, values) in &frame.lasting {
                match values.or_else(|| self.start.get(shape).copied()) {
                    Some(values) => drop(done.insert(shape.clone(), values)),
                    None => drop(done.remove(shape)),
                }
            }
            done.extend(
                frame
                    .local
                    .iter()
                    .map(|(shape, values)| (shape.clone(), *values)),
            );
        }
        if done != *self.before.done {
            self.before.done = Arc::new(done);
        }
    }
}

/// Returns the state before each of these calls, in order. It is empty for calls without a known
/// connection.
pub(crate) fn connection_states<'a>(
    calls: impl Iterator<Item = &'a Exchange>,
) -> Vec<ConnectionState> {
    let mut now: HashMap<(&Target, u64), (History, u64)> = HashMap::new();
    let mut transactions = 0;
    let before = calls.map(|call| {
        if call.connection == 0 {
            return ConnectionState::default();
        }
        let (history, transaction) = now.entry((&call.target, call.connection)).or_default();
        let before = ConnectionState {
            transaction: *transaction,
            ..history.before.clone()
        };
        history.apply_answered(call);
        if !history.is_inside() {
            *transaction = 0;
        } else if *transaction == 0 {
            transactions += 1;
            *transaction = transactions;
        }
        before
    });
    before.collect()
}
