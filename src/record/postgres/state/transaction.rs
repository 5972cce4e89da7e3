//! Transactions and savepoints of a session: what holds after each of their ends.

use super::State;
use super::question::words;
use crate::record::postgres::settings::{Kind, Settings};
use crate::record::postgres::statement::Statement;

/// A transaction that is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Transaction {
    /// Whether nothing but what is sent together makes it one: up to `Sync`, or to the end of a `Query`.
    pub(super) implicit: bool,
    /// Whether nothing is carried out in it any more, after an error.
    pub(super) failed: bool,
    /// What holds after a rollback.
    pub(super) before: Settings,
    /// What holds after a commit: without what is local.
    pub(super) after: Settings,
    /// By name, each with what held then, and what held after a commit.
    pub(super) savepoints: Vec<(String, Settings, Settings)>,
}

impl State {
    /// A statement has failed, and with it what was sent together, or its transaction.
    pub(super) fn failed_at(&mut self, text: &str) {
        if matches!(words(text).first().map(String::as_str), Some("commit" | "end")) {
            // What was put off failed, and the transaction is over.
            return self.end("", false);
        }
        self.fail();
    }

    /// Nothing is carried out any more up to the end of the transaction, if there is one.
    pub(in crate::record::postgres) fn fail(&mut self) {
        if let Some(transaction) = &mut self.transaction {
            transaction.failed = true;
        }
    }

    /// What was sent together is at its end.
    pub(in crate::record::postgres) fn synchronise(&mut self) {
        if let Some(Transaction { implicit: true, failed, .. }) = self.transaction {
            self.end("", !failed);
        }
    }

    /// A transaction has been rolled back.
    pub(in crate::record::postgres) fn rolled_back(&mut self) {
        self.end("", false);
    }

    /// `BEGIN`. What was sent together with it before is in the same transaction.
    pub(super) fn begin(&mut self, one: &Statement<'_>) {
        self.open(false);
        for (name, value) in one.modes() {
            self.change(name, Some(value.as_bytes()), true, false);
        }
    }

    fn open(&mut self, implicit: bool) {
        let now = &self.now;
        let fresh =
            || Transaction { implicit, failed: false, before: now.clone(), after: now.clone(), savepoints: Vec::new() };
        self.transaction.get_or_insert_with(fresh).implicit &= implicit;
    }

    pub(super) fn end(&mut self, text: &str, committed: bool) {
        let mut modes = self.now.values.clone();
        if let Some(transaction) = self.transaction.take() {
            self.now = if committed { transaction.after } else { transaction.before.restored(&self.now) };
        }
        if words(text).ends_with(&["and".to_owned(), "chain".to_owned()]) {
            self.open(false);
            modes.retain(|name, _| name.starts_with("transaction_"));
            self.now.values.extend(modes);
        }
    }

    /// `ROLLBACK`, `ROLLBACK TO name`, and a `COMMIT` of what has failed.
    pub(super) fn roll_back(&mut self, text: &str) {
        if !words(text).iter().any(|word| word == "to") {
            return self.end(text, false);
        }
        if let Some((name, now, after)) = self.savepoint(text)
            && let Some(transaction) = &mut self.transaction
        {
            transaction.failed = false;
            transaction.after = after.clone().restored(&transaction.after);
            self.now = now.clone().restored(&self.now);
            transaction.savepoints.push((name, now, after));
        }
    }

    pub(super) fn save(&mut self, text: &str) {
        if let (Some(transaction), Some(name)) = (&mut self.transaction, words(text).pop()) {
            transaction.savepoints.push((name, self.now.clone(), transaction.after.clone()));
        }
    }

    /// Takes the savepoint out that a statement names last, and those after it.
    pub(super) fn savepoint(&mut self, text: &str) -> Option<(String, Settings, Settings)> {
        let savepoints = &mut self.transaction.as_mut()?.savepoints;
        let named = words(text).pop()?;
        let at = savepoints.iter().rposition(|(name, ..)| *name == named)?;
        savepoints.drain(at..).next()
    }

    /// Whether a transaction was begun: what is written in it others do not see yet.
    pub(super) fn is_inside(&self) -> bool {
        self.transaction.as_ref().is_some_and(|transaction| !transaction.implicit)
    }

    /// A function was called that may have set something.
    pub(super) fn ran(&mut self, name: &str, text: &[u8]) {
        let is_inside = self.is_inside();
        let astray = self.now.astray;
        let [kind, other] = if is_inside { [Kind::RanInside, Kind::Ran] } else { [Kind::Ran, Kind::RanInside] };
        self.apply(false, astray, |settings| {
            settings.drop_one(other, name);
            settings.put(kind, name, text);
        });
        if is_inside {
            self.now.put(Kind::RanHere, name, text);
            self.now.write(text);
        }
    }

    /// Changes what holds now, and what holds after a commit if that is not local.
    pub(super) fn apply(&mut self, local: bool, astray: bool, change: impl Fn(&mut Settings)) {
        if self.transaction.is_none() && !astray {
            self.open(true);
        }
        if local && self.transaction.is_none() {
            return;
        }
        let after = self.transaction.as_mut().filter(|_| !local).map(|transaction| &mut transaction.after);
        for settings in [Some(&mut self.now), after].into_iter().flatten() {
            change(settings);
            settings.astray = astray;
        }
    }
}
