//! Users between whom a set of recordings tells: what one may see, another may not.
//!
//! Files do not say of a call whose connection it was made on, but that of a login is the same as that of what follows. So where
//! several users have logged in at a target, the user is put into the calls when they are read, behind the state that they begin
//! with: a NUL, [`USER`] and the name. A replay puts it into what is asked.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::handshake::{self, Hello};
use super::packet::{self, command};
use super::statements;
use crate::record::exchange::{Content, Exchange, Message, Protocol, Side, Target};
use crate::record::state;

/// What stands before the name of the user: no variable and no table is called so.
const USER: &[u8] = b"\0user()=";

/// Puts the user into the calls of each target that several have logged in at, and says which targets these are. Calls come in
/// their order; of those whose connection has no login nothing is known.
pub(in crate::record) fn tell_apart<'a>(calls: impl Iterator<Item = &'a mut Exchange>) -> HashSet<Target> {
    let calls: Vec<&mut Exchange> =
        calls.filter(|call| matches!(call.content, Content::Wire(Protocol::MySql, _))).collect();
    let mut now: HashMap<(&Target, u64), Vec<u8>> = HashMap::new();
    let mut users: BTreeMap<Target, BTreeSet<Vec<u8>>> = BTreeMap::new();
    let mut of_calls = Vec::with_capacity(calls.len());
    for call in &calls {
        let connection = (&call.target, call.connection);
        if let Some(user) = let_in(call) {
            users.entry(call.target.clone()).or_default().insert(user.clone());
            now.insert(connection, user);
        }
        of_calls.push(now.get(&connection).filter(|_| !is_login(call)).cloned());
    }
    users.retain(|_, users| users.len() > 1);
    for (call, user) in calls.into_iter().zip(of_calls) {
        if let Some(user) = user.filter(|_| users.contains_key(&call.target)) {
            *call = asked_by(call, &user);
        }
    }
    users.into_keys().collect()
}

/// The same call with its user, if the answer depends on one.
pub(in crate::record) fn asked_by(call: &Exchange, user: &[u8]) -> Exchange {
    let mut call = call.clone();
    let has_state = state::leads(&call);
    let Content::Wire(_, wire) = &mut call.content else { return call };
    let mut client = wire.messages.iter_mut().filter(|message| message.from == Side::Client);
    if client.next_back().is_none_or(|last| statements::is_of_any_user(packet::payload(&last.bytes))) {
        return call;
    }
    let before = if let Some(state) = client.next().filter(|_| has_state) {
        std::mem::take(&mut state.bytes)
    } else {
        wire.messages.insert(0, Message { from: Side::Client, bytes: Vec::new() });
        packet::message(0, &[command::INIT_DB])
    };
    if let Some(state) = wire.messages.iter_mut().find(|message| message.from == Side::Client) {
        state.bytes = packet::message(0, &[packet::payload(&before), USER, user].concat());
    }
    call
}

/// Whether it begins with the greeting of a server.
fn is_login(call: &Exchange) -> bool {
    let Content::Wire(_, wire) = &call.content else { return false };
    let greeting = wire.messages.iter().find(|message| message.from == Side::Server);
    greeting.is_some_and(|first| first.bytes.get(3..5) == Some(&[0, 10]))
}

/// The user whom a call lets in: a login, or a change to another user.
fn let_in(call: &Exchange) -> Option<Vec<u8>> {
    let Content::Wire(_, wire) = &call.content else { return None };
    let of = |side| wire.messages.iter().filter(move |message| message.from == side).map(|message| &message.bytes);
    let verdict = of(Side::Server).next_back()?;
    if packet::payload(verdict).first() != Some(&0) {
        return None;
    }
    let asked = of(Side::Client).next()?;
    if is_login(call) {
        let Ok(Hello::Login(login)) = handshake::hello(asked) else { return None };
        return Some(login.user);
    }
    let (&command::CHANGE_USER, user) = packet::payload(asked).split_first()? else { return None };
    user.split(|byte| *byte == 0).next().map(<[u8]>::to_vec)
}
