//! What two recordings of the same run tell of commands of Redis.
//!
//! A command of one recording is learned from those of the other that are the same in all that is not left out, in whichever
//! order and however often each says it: a lock is tried for as often as it is held by another. So first each argument is left out
//! alone. What no other call is like then is compared with those that differ in the fewest arguments. A key, or a part of what is
//! under one, chooses what is answered: it is learned only as far as nobody chose it, by a pattern. A script and its hash are the
//! same.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::learning::{Calls, change, lesson};
use super::made;
use super::noise::{Change, Fields, Lesson, Noise, Shape};
use super::parts::{Chooses, Parts};
use crate::limits::{MAX_NOISE_ARGUMENTS, MAX_NOISE_COMPARED, MAX_NOISE_RULES};
use crate::record::protocol::parts::Part;

/// The pattern of a time that is an end of a range.
const TIME: &str = r"^\(?[0-9]{10,}[0-9.\-]*$";

/// Adds what commands of one shape have otherwise in each recording.
pub(super) fn learn(shape: &Shape, ours: &Calls<'_>, theirs: &Calls<'_>, noise: &mut Noise) -> Vec<Lesson> {
    let mut learning =
        Learning { calls: [ours, theirs], known: [unlike(ours, theirs), unlike(theirs, ours)], seen: Vec::new() };
    let mut lessons = Vec::new();
    for found in learning.alone().into_iter().chain(learning.nearest()) {
        for at in &found.calls {
            noise.put(ours[*at].0, &found.fields);
        }
        let place = ours[found.calls[0]].1.shown(&found.fields);
        add(&mut lessons, lesson(shape, &place, found.calls.len(), found.changes));
    }
    lessons
}

fn add(lessons: &mut Vec<Lesson>, learned: Lesson) {
    let fields = |lesson: &Lesson| lesson.changes.iter().map(|change| change.field.clone()).collect::<Vec<_>>();
    match lessons.iter_mut().find(|known| known.place == learned.place && fields(known) == fields(&learned)) {
        Some(known) => known.calls = (known.calls.0 + learned.calls.0, known.calls.1 + learned.calls.1),
        None => lessons.push(learned),
    }
}

/// For each call whether the other recording has it too, so that there is nothing to learn of it.
fn unlike(calls: &Calls<'_>, others: &Calls<'_>) -> Vec<bool> {
    let known: HashSet<Vec<u8>> = others.iter().map(|(_, parts)| parts.kept(&Fields::default())).collect();
    calls.iter().map(|(_, parts)| known.contains(&parts.kept(&Fields::default()))).collect()
}

/// What is left out of some calls.
struct Learned {
    fields: Fields,
    /// Places of the calls, at least one.
    calls: Vec<usize>,
    changes: Vec<Change>,
}

/// The calls of both recordings, and what is known of them.
struct Learning<'a> {
    calls: [&'a Calls<'a>; 2],
    /// Those of which nothing is to be learned any more.
    known: [Vec<bool>; 2],
    seen: Vec<Seen<'a>>,
}

/// All calls by what is the same in them but for what is left out.
struct Seen<'a> {
    fields: Fields,
    alike: HashMap<Vec<u8>, Alike<'a>>,
}

/// Calls that are the same in all that is not left out, in each recording.
#[derive(Default)]
struct Alike<'a> {
    calls: [Vec<usize>; 2],
    values: HashMap<&'a str, [BTreeSet<&'a [u8]>; 2]>,
}

impl Learning<'_> {
    /// What is learned where one argument is left out.
    fn alone(&mut self) -> Vec<Learned> {
        let mut learned = Vec::new();
        for at in 0..self.calls[0].len() {
            let parts = &self.calls[0][at].1;
            let said = parts.values().filter(|value| parts.chooses(value) == Chooses::Nothing);
            for value in said.take(MAX_NOISE_ARGUMENTS) {
                if self.known[0][at] {
                    break;
                }
                learned
                    .extend(Fields::new([value.name.clone()], &[]).ok().and_then(|fields| self.left_out(at, fields)));
            }
        }
        learned
    }

    /// What is learned of each call and the nearest of the other recording.
    fn nearest(&mut self) -> Vec<Learned> {
        let mut learned = Vec::new();
        for at in 0..self.calls[0].len() {
            let partner = if self.known[0][at] { None } else { self.partner(at) };
            let fields = partner.and_then(|partner| fields(&self.calls[0][at].1, &self.calls[1][partner].1));
            learned.extend(fields.and_then(|fields| self.left_out(at, fields)));
        }
        learned
    }

    /// The call of the other recording that differs least from this one, among those that stand about where it does.
    fn partner(&self, at: usize) -> Option<usize> {
        let [ours, theirs] = self.calls;
        let about = at * theirs.len() / ours.len();
        let behind = (about..theirs.len()).filter(|at| !self.known[1][*at]).take(MAX_NOISE_COMPARED / 2);
        let before = (0..about).rev().filter(|at| !self.known[1][*at]).take(MAX_NOISE_COMPARED / 2);
        behind.chain(before).min_by_key(|other| far(&ours[at].1, &theirs[*other].1))
    }

    /// What is learned of a call, and of all that are the same in all else, if this is left out: nothing, if the other recording
    /// has none of them, or one of the values.
    fn left_out(&mut self, at: usize, fields: Fields) -> Option<Learned> {
        let place = match self.seen.iter().position(|seen| seen.fields.is_same(&fields)) {
            Some(place) => place,
            None if self.seen.len() >= MAX_NOISE_RULES => return None,
            None => {
                self.seen.push(Seen::of(&fields, self.calls));
                self.seen.len() - 1
            }
        };
        let parts = &self.calls[0][at].1;
        let alike = self.seen[place].alike.get(&parts.kept(&fields))?;
        let is_new =
            |value: &Part| alike.values.get(&*value.name).is_some_and(|[ours, theirs]| ours.is_disjoint(theirs));
        let partner = &self.calls[1][*alike.calls[1].first()?].1;
        if !parts.left(&fields).all(is_new) {
            return None;
        }
        let changes = differing(parts, partner).map(|(one, other)| change(one, other)).collect();
        for (known, calls) in self.known.iter_mut().zip(&alike.calls) {
            for at in calls {
                known[*at] = true;
            }
        }
        Some(Learned { calls: alike.calls[0].clone(), changes, fields })
    }
}

impl<'a> Seen<'a> {
    fn of(fields: &Fields, calls: [&'a Calls<'a>; 2]) -> Self {
        let mut alike: HashMap<Vec<u8>, Alike<'a>> = HashMap::new();
        for (recording, calls) in calls.into_iter().enumerate() {
            for (at, (_, parts)) in calls.iter().enumerate() {
                let alike = alike.entry(parts.kept(fields)).or_default();
                alike.calls[recording].push(at);
                for value in parts.left(fields) {
                    alike.values.entry(&value.name).or_default()[recording].insert(&value.bytes);
                }
            }
        }
        Self { fields: fields.clone(), alike }
    }
}

/// The values that two calls of one shape have otherwise.
fn differing<'a>(one: &'a Parts, other: &'a Parts) -> impl Iterator<Item = (&'a Part, &'a Part)> {
    one.values().zip(other.values()).filter(|(one, other)| one.bytes != other.bytes)
}

/// How far two calls are from each other.
fn far(ours: &Parts, theirs: &Parts) -> usize {
    let of = |(one, other): (&Part, &Part)| match ours.chooses(one) {
        Chooses::Nothing => 1,
        _ => made::distance(&one.text, &other.text),
    };
    differing(ours, theirs).map(of).sum()
}

/// What is left out of two commands so that they are the same; `None` if they differ in what somebody may have chosen.
fn fields(ours: &Parts, theirs: &Parts) -> Option<Fields> {
    let (mut names, mut patterns) = (Vec::new(), BTreeSet::new());
    for (one, other) in differing(ours, theirs) {
        match ours.chooses(one) {
            Chooses::Key => drop(patterns.insert(made::pattern(&one.text, &other.text, true)?)),
            Chooses::Part => drop(patterns.insert(made::pattern(&one.text, &other.text, false)?)),
            // Nobody chooses a time, as anybody does a page.
            Chooses::Time => {
                (theirs.chooses(other) == Chooses::Time).then_some(())?;
                patterns.insert(TIME.to_owned());
            }
            Chooses::Nothing => names.push(one.name.clone()),
        }
    }
    Fields::new(names, &patterns.into_iter().collect::<Vec<_>>()).ok()
}
