//! What statements do to a session.

use super::State;
use crate::record::postgres::settings::{Kind, Settings, counts, digest, is_of_session};
use crate::record::postgres::statement::Statement;
use crate::record::redact::secret_parameters;

impl State {
    /// Takes over what one statement does.
    pub(super) fn run(&mut self, one: &Statement<'_>, astray: bool) {
        let lower: Vec<&str> = one.lower.iter().map(String::as_str).collect();
        let last = one.name(lower.len().saturating_sub(1));
        match lower.as_slice() {
            ["set", ..] => self.set(one, astray),
            ["reset", "all"] => {
                let start = self.start.clone();
                self.apply(false, astray, |settings| settings.reset_all(&start));
            }
            ["reset", ..] => {
                if let Some((name, _)) = one.setting(1) {
                    self.change(&name, None, false, astray);
                }
            }
            ["discard", "all"] => {
                let mut fresh = Settings::default();
                for (name, value) in &self.start {
                    fresh.set(name, value);
                }
                self.apply(false, astray, |settings| settings.clone_from(&fresh));
            }
            ["discard", "temp" | "temporary"] => {
                self.apply(false, astray, |settings| settings.drop_all(Kind::Temporary));
            }
            ["prepare", "transaction", ..] => {}
            ["prepare", ..] => {
                let sets = one.mentions(&["set_config"]) || !one.called().is_empty() || one.writes(&self.now).is_some();
                let kind = if sets { Kind::Setter } else { Kind::Prepared };
                self.add(kind, &one.name(1), one, false, astray);
                let secret: Vec<String> = secret_parameters(one.text.as_bytes()).iter().map(usize::to_string).collect();
                let name = one.name(1).to_ascii_lowercase();
                let body = one.lower.iter().position(|word| word == "as").map_or(&b""[..], |at| one.rest(at + 1));
                self.runners.insert(one.name(1), Statement::new(&String::from_utf8_lossy(body), b"").ran());
                match secret.as_slice() {
                    [] => drop(self.secrets.remove(&name)),
                    numbers => drop(self.secrets.insert(name, numbers.join(" "))),
                }
            }
            ["execute", ..] => {
                let name = one.name(1);
                for called in self.runners.get(&name).cloned().unwrap_or_default() {
                    self.ran(&called, &one.normal());
                }
                // A statement that was prepared in another way is not known here.
                if !self.now.has(Kind::Prepared, &name) {
                    self.add(Kind::Other, &format!("execute {name}"), one, false, astray);
                }
            }
            ["deallocate", "all"] | ["deallocate", "prepare", "all"] => {
                self.apply(false, astray, |settings| {
                    settings.drop_all(Kind::Prepared);
                    settings.drop_all(Kind::Setter);
                });
            }
            ["deallocate", ..] => self.apply(false, astray, |settings| {
                settings.drop_one(Kind::Prepared, &last);
                settings.drop_one(Kind::Setter, &last);
            }),
            ["declare", ..] => {
                let options = lower.split(|word| *word == "for").next().unwrap_or_default();
                let local = !options.windows(2).any(|pair| pair == ["with", "hold"]);
                self.add(Kind::Cursor, &one.name(1), one, local, astray);
            }
            ["fetch" | "move", ..] => {
                let local = !self.transaction.as_ref().is_none_or(|inside| inside.after.has(Kind::Cursor, &last));
                self.add(Kind::Cursor, &last, one, local, astray);
            }
            ["close", "all"] => self.apply(false, astray, |settings| settings.drop_all(Kind::Cursor)),
            ["close", ..] => self.apply(false, astray, |settings| settings.drop_one(Kind::Cursor, &last)),
            ["create", ..] if one.mentions(&["temp", "temporary", "pg_temp"]) => self.create(one, &lower, astray),
            ["drop", ..] => {
                let names: Vec<String> = (2..lower.len()).map(|at| one.name(at)).collect();
                if names.iter().any(|name| self.now.has(Kind::Temporary, name)) {
                    self.apply(false, astray, |settings| {
                        for name in &names {
                            settings.drop_one(Kind::Temporary, name);
                        }
                    });
                }
            }
            // What it does stands in a text.
            ["do", ..] => self.compute(one, astray),
            _ => self.query(one, astray),
        }
    }

    /// Takes over what a statement does that is there to do something else: write, or ask.
    fn query(&mut self, one: &Statement<'_>, astray: bool) {
        if let Some(name) = one.made_by_select() {
            self.add(Kind::Temporary, &name, one, false, astray);
        }
        if one.mentions(&["set_config"]) {
            self.set_config(one, astray);
        }
        for (name, is_last) in one.called() {
            if is_last {
                let text = one.normal();
                self.apply(false, astray, |settings| settings.put(Kind::Called, &name, &text));
            } else {
                // Large objects are open up to the end of the transaction.
                self.add(Kind::Called, "", one, name.starts_with("lo"), astray);
            }
        }
        for name in one.ran() {
            self.ran(&name, &one.normal());
        }
        if let Some(name) = one.writes(&self.now) {
            self.add(Kind::Temporary, &name, one, false, astray);
            let lower: Vec<&str> = one.lower.iter().map(String::as_str).collect();
            if let ["alter", .., "rename", "to", _] = lower.as_slice() {
                self.add(Kind::Temporary, &one.name(lower.len() - 1), one, false, astray);
            }
        }
    }

    fn add(&mut self, kind: Kind, name: &str, one: &Statement<'_>, local: bool, astray: bool) {
        let text = one.normal();
        self.apply(local, astray, |settings| settings.add(kind, name, &text));
    }

    /// `CREATE TEMPORARY`, of a table, a view or a sequence, or anything else in the schema of what is temporary.
    fn create(&mut self, one: &Statement<'_>, lower: &[&str], astray: bool) {
        let kind = lower.iter().take(5).position(|word| matches!(*word, "table" | "view" | "sequence"));
        let Some(kind) = kind else { return self.add(Kind::Temporary, "", one, false, astray) };
        let is_kept = lower[kind + 1..].starts_with(&["if", "not", "exists"]);
        let at = kind + if is_kept { 4 } else { 1 };
        // pg_temp.name
        let at = if lower.get(at + 1) == Some(&".") { at + 2 } else { at };
        let named = one.name(at);
        if is_kept && self.now.has(Kind::Temporary, &named) {
            return;
        }
        let local = lower.windows(3).any(|words| words == ["on", "commit", "drop"]);
        self.add(Kind::Temporary, &named, one, local, astray);
    }

    /// `SET`, with how long it holds before what is set.
    fn set(&mut self, one: &Statement<'_>, astray: bool) {
        let lower: Vec<&str> = one.lower.iter().map(String::as_str).collect();
        let prefix = match lower.as_slice() {
            ["set", "transaction", ..] => Some(""),
            ["set", "session", "characteristics", ..] => Some("default_"),
            _ => None,
        };
        if let Some(prefix) = prefix {
            // Those of one transaction end with it.
            let local = prefix.is_empty();
            for (name, value) in one.modes() {
                self.change(&format!("{prefix}{name}"), Some(value.as_bytes()), local, astray);
            }
            return;
        }
        let Some((name, local, at)) = one.assigned() else { return };
        let is_default = match lower.get(at..).unwrap_or_default() {
            ["default"] => true,
            ["local"] => name == "timezone",
            ["none"] => name == "role",
            [] => return,
            _ => false,
        };
        self.change(&name, (!is_default).then(|| one.rest(at)), local, astray);
    }

    /// Sets a setting, or takes it back.
    pub(super) fn change(&mut self, name: &str, value: Option<&[u8]>, local: bool, astray: bool) {
        if !is_of_session(name) {
            return;
        }
        let astray = astray && counts(name);
        let start = self.start.clone();
        self.apply(local, astray, |settings| {
            match value {
                Some(value) => settings.set(name, value),
                None => settings.reset(name, &start),
            }
            if name == "session_authorization" {
                settings.reset("role", &start);
            }
        });
    }

    /// `SELECT set_config('name', 'value', is_local)`, once or several times, or within something bigger.
    fn set_config(&mut self, one: &Statement<'_>, astray: bool) {
        let Some(calls) = one.configured() else {
            return self.compute(one, astray);
        };
        for (name, value, local) in calls {
            self.change(&name, Some(&value), local, astray);
        }
    }

    /// Settings that a statement sets to what it does not say are known by all that it says, and answers.
    fn compute(&mut self, one: &Statement<'_>, astray: bool) {
        let Some(set) = one.computed() else {
            return self.add(Kind::Other, "", one, false, astray);
        };
        let value = digest("", &one.normal());
        for (name, local) in set {
            self.change(&name, Some(value.as_bytes()), local, astray);
        }
    }
}
