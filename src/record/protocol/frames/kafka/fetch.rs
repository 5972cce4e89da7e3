//! Fetch requests of Kafka, from version 4 on. Their answers wait until there are records.

use std::time::Duration;

use super::places::{self, Place, TOPIC_IDS, place};
use super::record_batch::{self, Reader};
use crate::call::{Exchange, Side};
use crate::protocol::frames::{request, word};
use crate::protocol::part_list::PartList;
use crate::protocol::responder::messages_from;

/// First version with record batches; servers since Kafka 4.0 have no older ones.
const MIN_VERSION: u16 = 4;
/// Last version whose answers are known.
const MAX_VERSION: u16 = 17;
/// First version with compact lengths and tagged fields (KIP-482).
const FLEXIBLE: u16 = 12;

/// Returns the longest wait for records in milliseconds, and the places with the next offsets.
fn read(version: u16, body: &[u8]) -> Option<(u32, Vec<Place<'_, i64>>)> {
    if version < MIN_VERSION {
        return None;
    }
    let mut fields = Reader::new(body, version >= FLEXIBLE);
    fields.tags()?;
    // The replica (until 14).
    fields.take(if version < 15 { 4 } else { 0 })?;
    let wait = u32::from_be_bytes(fields.array()?);
    // Two sizes, isolation, and the session (since 7).
    fields.take(if version < 7 { 9 } else { 17 })?;
    let places = places::read(version, &mut fields, |fields| {
        fields.take(if version < 9 { 0 } else { 4 })?;
        let offset = i64::from_be_bytes(fields.array()?);
        // Epochs, the start of the log, and a size.
        fields.take(if version < 12 { 0 } else { 4 })?;
        fields.take(if version < 5 { 4 } else { 12 })?;
        fields.tags().map(|()| offset)
    })?;
    Some((wait, places))
}

/// Adds topics, partitions and offsets. Sessions and limits do not count.
pub(super) fn parts(version: u16, body: &[u8], taken: &mut PartList) -> Option<()> {
    for (topic, partition, offset) in read(version, body)?.1 {
        place(version, topic, partition, taken);
        word("offset", offset.to_string().as_bytes(), taken);
    }
    Some(())
}

/// Returns an answer without records, and the time that it waits. Clients group partitions by time,
/// so each place may be of another recording. `as_recorded` is the body with recorded values.
pub(super) fn without_news(
    number: &[u8],
    [as_recorded, body]: [&[u8]; 2],
    version: u16,
    recorded: &mut dyn Iterator<Item = &Exchange>,
) -> Option<(Vec<u8>, Duration)> {
    let (wait, places) = read(version, body)?;
    let mut unknown = read(version, as_recorded)?.1;
    for exchange in recorded {
        unknown.retain(|place| !is_of(exchange, version, place));
    }
    let is_known = unknown.is_empty() && version <= MAX_VERSION;
    let wait = Duration::from_millis(wait.into());
    is_known.then(|| (empty_answer(number, version, &places), wait))
}

/// Returns true if a recorded request had this place, or if its records end there.
fn is_of(recorded: &Exchange, version: u16, place: &Place<'_, i64>) -> bool {
    let known = request(recorded).and_then(|(_, asked)| {
        let (of, body) = super::fetched(asked)?;
        read(of, body).filter(|_| of == version)
    });
    let (topic, partition, offset) = *place;
    let is_near = |other: Place<'_, i64>| {
        (other.0, other.1) == (topic, partition) && (other.2 == offset || has_end(recorded, offset))
    };
    known.is_some_and(|(_, places)| places.into_iter().any(is_near))
}

/// Returns true if the records of an answer end before this offset.
fn has_end(recorded: &Exchange, offset: i64) -> bool {
    let mut answers = messages_from(recorded, Side::Server);
    answers.any(|answer| record_batch::ends(answer).contains(&offset))
}

fn empty_answer(number: &[u8], version: u16, places: &[Place<'_, i64>]) -> Vec<u8> {
    let is_flexible = version >= FLEXIBLE;
    let tags: &[u8] = if is_flexible { &[0] } else { &[] };
    let count = |count: usize| {
        if is_flexible {
            record_batch::compact(count)
        } else {
            (count as u32).to_be_bytes().to_vec()
        }
    };
    // The time to wait, an error and the session (since 7).
    let mut body = [tags, &[0; 10][..if version < 7 { 4 } else { 10 }]].concat();
    body.extend(count(places.len()));
    for (topic, partition, offset) in places {
        if is_flexible && version < TOPIC_IDS {
            body.extend(record_batch::compact(topic.len()));
        } else if version < TOPIC_IDS {
            body.extend((topic.len() as u16).to_be_bytes());
        }
        body.extend(*topic);
        body.extend(count(1));
        body.extend(partition.to_be_bytes());
        body.extend([0; 2]);
        // The end of the log, and of what is committed; its start (since 5).
        body.extend(offset.to_be_bytes());
        body.extend(offset.to_be_bytes());
        body.extend(&[0; 8][..if version < 5 { 0 } else { 8 }]);
        // No aborted transactions, no other replica (since 11).
        body.extend(count(0));
        body.extend(&[0xff; 4][..if version < 11 { 0 } else { 4 }]);
        body.extend(count(0));
        body.extend([tags, tags].concat());
    }
    body.extend(tags);
    let length = (number.len() + body.len()) as u32;
    [&length.to_be_bytes()[..], number, &body].concat()
}
