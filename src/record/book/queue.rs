//! Recordings of one call in their order, and which of them are for a session that holds something else than others did.
//!
//! Of what functions of a program's own have set, or who reads a variable, no answer tells. A pool hands out connections in any
//! order, so most of what a session holds is of no meaning for most calls. But where a call had several answers, and sessions that
//! were in several states asked it, those that were recorded in the state of the asking session answer it first. Where it is plain
//! that the state made the difference (the old answer came back with the old state, or the name of a function says that it
//! changes who asks) nothing else does; otherwise the next recording does, which is told.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest, Sha256};

use super::closest::short;
use crate::record::exchange::{Content, Exchange, Protocol, Side};
use crate::record::functions;
use crate::record::state::{self, Hints, LAST_CALL, ORDER, WRITES};

/// Recordings in their order. Some may stand in another queue as well.
#[derive(Default)]
pub(super) struct Queue {
    /// Places in the book, in order.
    pub(super) entries: Vec<usize>,
    /// How many were used.
    pub(super) next: AtomicUsize,
    states: Option<States>,
    /// Calls of functions of a program's own that were the same before each of them, with a digest of what they were given; and
    /// variables, with one of what they were set to.
    constant: Hints,
    /// In which order they were made and variables set, if it was the same before each of them and does not choose.
    order: Option<String>,
}

/// What tells the sessions apart that were given different answers.
struct States {
    choices: Vec<Choice>,
    /// By the values of the choices.
    queues: BTreeMap<Vec<Option<String>>, Queue>,
    /// Whether they answer as often as they are asked.
    reusable: bool,
    /// Which of the queues refuse what others may be given.
    refusing: BTreeSet<Vec<Option<String>>>,
}

struct Choice {
    name: String,
    /// Whether another value is another call.
    is_firm: bool,
}

/// Recordings that may answer a call.
pub(super) struct Fitting<'a> {
    pub(super) queue: &'a Queue,
    /// What the session holds otherwise than those that were recorded.
    pub(super) other: Option<&'a str>,
}

impl Queue {
    /// Finds out whether what sessions held chooses between these recordings.
    pub(super) fn tell_apart<'a>(&mut self, recording: impl Fn(usize) -> (&'a Exchange, bool)) {
        let reusable = self.entries.iter().any(|index| recording(*index).1);
        let hints: Vec<Hints> = self.entries.iter().map(|index| state::hints(recording(*index).0)).collect();
        let names: BTreeSet<&String> = hints.iter().flat_map(Hints::keys).collect();
        let refuses: Vec<bool> = self.entries.iter().map(|index| reusable && is_refusal(recording(*index).0)).collect();
        let is_refused = refuses.contains(&true);
        let is_several = |name: &&String| is_refused || hints.iter().any(|one| one.get(*name) != hints[0].get(*name));
        if !reusable {
            self.constant = constant(&hints);
            let order = hints.first().and_then(|first| first.get(ORDER));
            self.order = order.filter(|order| hints.iter().all(|one| one.get(ORDER) == Some(*order))).cloned();
        }
        let names: Vec<&String> = names.into_iter().filter(is_several).collect();
        if names.is_empty() {
            return;
        }
        let answers: Vec<[u8; 32]> = self.entries.iter().map(|index| answer(recording(*index).0)).collect();
        if !is_refused && answers.iter().all(|one| *one == answers[0]) {
            return;
        }
        let names = if reusable { names } else { telling(names, &hints, &answers) };
        let choice = |name: &String| {
            let values = hints.iter().map(|one| one.get(name).map(String::as_str));
            let is_of_writes = name.as_str() == WRITES;
            // What else has written nothing says nothing of what was written.
            let told = values.zip(&answers).filter(|(value, _)| !is_of_writes || value.is_some());
            let is_evident = || (is_of_program(name) || is_of_writes) && comes_back(told);
            let mut last = hints.iter().map(|one| one.get(name).and_then(|value| value.split(' ').next()));
            let says_so = match name.as_str() {
                LAST_CALL => last.all(|name| name.is_some_and(functions::switches)),
                name => functions::switches(name),
            };
            Choice { name: name.clone(), is_firm: !reusable && (says_so || is_evident()) }
        };
        let choices: Vec<Choice> = names.into_iter().map(choice).collect();
        let is_in_order = reusable || choices.iter().any(|choice| [LAST_CALL, ORDER].contains(&choice.name.as_str()));
        let mut states = States { choices, queues: BTreeMap::new(), reusable, refusing: BTreeSet::new() };
        for ((index, hints), refuses) in self.entries.iter().zip(&hints).zip(refuses) {
            let values = states.values(hints);
            if refuses {
                states.refusing.insert(values.clone());
            }
            let queue = states.queues.entry(values).or_default();
            let order = hints
                .get(ORDER)
                .filter(|order| !is_in_order && (queue.entries.is_empty() || queue.order.as_ref() == Some(*order)));
            queue.order = order.cloned();
            queue.entries.push(*index);
        }
        self.states = Some(states);
    }

    /// The recordings for a session, those first that are for it alone.
    pub(super) fn fitting(&self, hints: &Hints) -> Vec<Fitting<'_>> {
        let is_other = |(name, known): &(&String, &String)| hints.get(*name).is_some_and(|asked| asked != *known);
        let others: Vec<&str> = self.constant.iter().filter(is_other).map(|(name, _)| name.as_str()).collect();
        if others.iter().any(|name| functions::switches(name)) {
            return Vec::new();
        }
        let Some(states) = &self.states else {
            let other = others.first().copied().or_else(|| self.is_in_another_order(hints).then_some(ORDER));
            return vec![Fitting { queue: self, other }];
        };
        let asked = states.values(hints);
        let mut found: Vec<_> = states
            .queues
            .iter()
            .filter_map(|(known, queue)| {
                let others =
                    || states.choices.iter().zip(known.iter().zip(&asked)).filter(|(_, (one, other))| one != other);
                let is_other_call = others().any(|(choice, _)| choice.is_firm || states.refusing.contains(known));
                let name = others().map(|(choice, _)| choice.name.as_str()).next();
                let other = name.or_else(|| queue.is_in_another_order(hints).then_some(ORDER));
                let other = other.filter(|_| !states.reusable);
                (!is_other_call).then(|| (others().count(), queue.upcoming(), Fitting { queue, other }))
            })
            .collect();
        found.sort_by_key(|(others, upcoming, _)| (*others, *upcoming));
        found.into_iter().map(|(.., fitting)| fitting).collect()
    }

    /// The names of what makes another call of it.
    pub(super) fn choosing(&self) -> impl Iterator<Item = &str> {
        let choices = self.states.iter().flat_map(|states| &states.choices);
        let is_firm = |choice: &&Choice| choice.is_firm || self.states.iter().any(|states| !states.refusing.is_empty());
        let constant = self.constant.keys().map(String::as_str).filter(|name| functions::switches(name));
        choices.filter(is_firm).map(|choice| choice.name.as_str()).chain(constant)
    }

    /// Whether what a session has called and set came in another order than before all of these: which of it counts was not
    /// recorded then.
    fn is_in_another_order(&self, hints: &Hints) -> bool {
        let (Some(known), Some(asked)) = (&self.order, hints.get(ORDER)) else { return false };
        let of_both = |names: &str, others: &str| {
            let others: BTreeSet<&str> = others.split(' ').collect();
            names.split(' ').filter(|name| others.contains(name)).map(str::to_owned).collect::<Vec<_>>()
        };
        of_both(known, asked) != of_both(asked, known)
    }

    /// The place of the recording whose turn it is.
    fn upcoming(&self) -> usize {
        self.entries.get(self.next.load(Ordering::Relaxed)).copied().unwrap_or(usize::MAX)
    }
}

impl States {
    fn values(&self, hints: &Hints) -> Vec<Option<String>> {
        self.choices.iter().map(|choice| hints.get(&choice.name).cloned()).collect()
    }
}

/// The calls and variables that were the same before all recordings.
fn constant(hints: &[Hints]) -> Hints {
    let Some((first, others)) = hints.split_first() else { return Hints::new() };
    // Without the last call, what is asked calls something itself.
    if !hints.iter().all(|one| one.contains_key(LAST_CALL)) {
        return Hints::new();
    }
    let is_same = |name: &String, value: &String| others.iter().all(|one| one.get(name) == Some(value));
    let is_set = |name: &str| is_call(name) || name.starts_with('@');
    let same = first.iter().filter(|(name, value)| is_set(name) && is_same(name, value));
    same.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Of the names of hints those that choose. In which order functions were called does so where nothing else explains the answers;
/// the last call alone, where that explains them and no other single one does.
fn telling<'a>(names: Vec<&'a String>, hints: &[Hints], answers: &[[u8; 32]]) -> Vec<&'a String> {
    let (writes, names): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name.as_str() == WRITES);
    [writes, telling_of_session(names, hints, answers)].concat()
}

/// The same of those that say what the session holds, and not what its transaction has written.
fn telling_of_session<'a>(names: Vec<&'a String>, hints: &[Hints], answers: &[[u8; 32]]) -> Vec<&'a String> {
    let explains = |names: &[&String]| {
        let mut known: HashMap<Vec<Option<&String>>, &[u8; 32]> = HashMap::new();
        let values = hints.iter().map(|one| names.iter().map(|name| one.get(*name)).collect());
        values.zip(answers).all(|(values, answer)| *known.entry(values).or_insert(answer) == answer)
    };
    let (order, others): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| [LAST_CALL, ORDER].contains(&name.as_str()));
    let (calls, settings): (Vec<_>, Vec<_>) = others.iter().copied().partition(|name| is_of_program(name));
    let has_call = hints.iter().any(|one| one.keys().any(|name| is_call(name)));
    if !has_call || order.is_empty() || others.iter().any(|name| explains(&[*name])) {
        return others;
    }
    let last: Vec<_> = order.iter().copied().filter(|name| *name == LAST_CALL).collect();
    if !last.is_empty() && explains(&last) {
        return [last, settings].concat();
    }
    if !calls.is_empty() && explains(&calls) {
        return others;
    }
    others.into_iter().chain(order.into_iter().filter(|name| *name == ORDER)).collect()
}

/// What sessions held otherwise of what chooses, a line each.
pub(super) fn differences(recorded: &Exchange, asked: &Exchange, choosing: &BTreeSet<String>) -> Vec<String> {
    let (known, asked) = (state::hints(recorded), state::hints(asked));
    let told = |name: &String| {
        let said = match (known.get(name), asked.get(name)) {
            (recorded, asked) if recorded == asked => return None,
            (None, _) => "asked after one, recorded without",
            (_, None) => "recorded after one, asked without",
            _ => "recorded after another one on the connection",
        };
        Some(format!("`{}`: {said}", short(name)))
    };
    choosing.iter().filter_map(told).collect()
}

/// Whether a hint is of one function.
fn is_call(name: &str) -> bool {
    functions::named(name).is_some() && ![LAST_CALL, ORDER].contains(&name)
}

/// Whether a hint is of what a program sets or calls, and of no setting of the server.
fn is_of_program(name: &str) -> bool {
    name.starts_with('@') || name.contains("()")
}

/// Whether each value had one answer, and one of them came again after another had come.
fn comes_back<'a>(recordings: impl Iterator<Item = (Option<&'a str>, &'a [u8; 32])>) -> bool {
    let mut known: HashMap<Option<&str>, &[u8; 32]> = HashMap::new();
    let (mut before, mut came_back) = (None, false);
    for (value, answer) in recordings {
        match known.insert(value, answer) {
            Some(first) if first != answer => return false,
            Some(_) => came_back |= before != Some(answer),
            None => {}
        }
        before = Some(answer);
    }
    came_back
}

/// Whether `PostgreSQL` answered with an error.
fn is_refusal(exchange: &Exchange) -> bool {
    let Content::Wire(Protocol::Postgres, wire) = &exchange.content else { return false };
    wire.messages.iter().any(|message| message.from == Side::Server && message.bytes.first() == Some(&b'E'))
}

/// What the server said, but for whether a transaction is open.
fn answer(exchange: &Exchange) -> [u8; 32] {
    let mut digest = Sha256::new();
    if let Content::Wire(protocol, wire) = &exchange.content {
        let is_ready = |bytes: &[u8]| *protocol == Protocol::Postgres && bytes.first() == Some(&b'Z');
        let said = wire.messages.iter().filter(|message| message.from == Side::Server && !is_ready(&message.bytes));
        said.for_each(|message| digest.update(&message.bytes));
    }
    digest.finalize().into()
}
