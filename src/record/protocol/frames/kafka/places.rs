//! Topics and partitions in requests of Kafka. Many clients send them in another order in each run.

use std::borrow::Cow;

use super::record_batch::Reader;
use crate::protocol::frames::word;
use crate::protocol::part_list::{PartList, readable};

/// First version of requests to produce and to fetch that names topics by their ids (KIP-516).
pub(super) const TOPIC_IDS: u16 = 13;

/// Topic (name or id) and partition, with what a request says of them.
pub(super) type Place<'a, T> = (&'a [u8], i32, T);

/// Reads the name or the id of a topic.
pub(super) fn topic<'a>(version: u16, fields: &mut Reader<'a>) -> Option<&'a [u8]> {
    if version < TOPIC_IDS {
        fields.text()
    } else {
        fields.take(16)
    }
}

/// Reads places in their order. `rest` reads all that follows the number of a partition.
pub(super) fn read<'a, T: Ord>(
    version: u16,
    fields: &mut Reader<'a>,
    rest: impl Fn(&mut Reader<'a>) -> Option<T>,
) -> Option<Vec<Place<'a, T>>> {
    let mut places = Vec::new();
    for _ in 0..fields.count()? {
        let topic = topic(version, fields)?;
        for _ in 0..fields.count()? {
            let partition = i32::from_be_bytes(fields.array()?);
            places.push((topic, partition, rest(fields)?));
        }
        fields.tags()?;
    }
    places.sort_unstable();
    Some(places)
}

/// Adds a topic and a partition.
pub(super) fn place(version: u16, topic: &[u8], partition: i32, taken: &mut PartList) {
    let topic = if version < TOPIC_IDS {
        Cow::Borrowed(topic)
    } else {
        Cow::Owned(readable(topic, true).into_bytes())
    };
    word("topic", &topic, taken);
    word("partition", partition.to_string().as_bytes(), taken);
}

/// Adds the places of a request for offsets, with the wanted times.
pub(super) fn listed(version: u16, body: &[u8], taken: &mut PartList) -> Option<()> {
    let mut fields = Reader::new(body, version >= 6);
    fields.tags()?;
    // The replica, and isolation (since 2).
    fields.take(if version < 2 { 4 } else { 5 })?;
    let places = read(version, &mut fields, |fields| {
        // The epoch of the leader.
        fields.take(if version < 4 { 0 } else { 4 })?;
        let time = i64::from_be_bytes(fields.array()?);
        fields.take(if version < 1 { 4 } else { 0 })?;
        fields.tags().map(|()| time)
    })?;
    for (topic, partition, time) in places {
        place(version, topic, partition, taken);
        word("time", time.to_string().as_bytes(), taken);
    }
    Some(())
}

/// Adds the group, the member and the places of a request to commit offsets.
pub(super) fn committed(version: u16, body: &[u8], taken: &mut PartList) -> Option<()> {
    if !(2..=9).contains(&version) {
        return None;
    }
    let mut fields = Reader::new(body, version >= 8);
    fields.tags()?;
    word("group", fields.text()?, taken);
    taken.head(fields.take(4)?);
    word("member", fields.text()?, taken);
    if version >= 7 {
        word("instance", fields.text()?, taken);
    }
    // The retention.
    fields.take(if version < 5 { 8 } else { 0 })?;
    let places = read(version, &mut fields, |fields| {
        let offset = i64::from_be_bytes(fields.array()?);
        // The epoch of the leader.
        fields.take(if version < 6 { 0 } else { 4 })?;
        let metadata = fields.text()?;
        fields.tags().map(|()| (offset, metadata))
    })?;
    for (topic, partition, (offset, metadata)) in places {
        place(version, topic, partition, taken);
        word("offset", offset.to_string().as_bytes(), taken);
        word("metadata", metadata, taken);
    }
    Some(())
}

/// Adds the group and the places of a request for committed offsets.
pub(super) fn wanted(version: u16, body: &[u8], taken: &mut PartList) -> Option<()> {
    if version > 7 {
        return None;
    }
    let mut fields = Reader::new(body, version >= 6);
    fields.tags()?;
    word("group", fields.text()?, taken);
    for (topic, partition, ()) in read(version, &mut fields, |_| Some(()))? {
        place(version, topic, partition, taken);
    }
    Some(())
}
