//! Kafka (kafka.apache.org/protocol): requests and answers with their lengths. A broker answers the
//! requests of a connection in order.

mod fetch;
mod places;
mod record_batch;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::time::Duration;

use record_batch::Reader;

use super::{FrameFormat, FrameLength, OpenCall, pieces, word};
use crate::call::{Exchange, Protocol};
use crate::protocol::database::Database;
use crate::protocol::part_list::PartList;

pub(super) static DATABASE: Database =
    Database::in_frames(Protocol::Kafka, "Kafka", 9092, parts, &FORMAT);

static FORMAT: FrameFormat = FrameFormat {
    is_opening,
    length: |_, bytes, _| length(bytes),
    answered,
    renumber: |_, asked, answer| renumber(asked, answer),
    repeats: |request| key(request).is_some_and(|key| READS.contains(&key) || key == OFFSET_COMMIT),
    secret: password,
    // Clients commit offsets by their clocks, so news does not wait for that.
    writes: |request| key(request).is_some_and(|key| !READS.contains(&key) && key != OFFSET_COMMIT),
    is_in_order: true,
    without_news,
    ..FrameFormat::PLAIN
};

/// Keys of requests with the layouts that are read here.
const PRODUCE: u16 = 0;
const FETCH: u16 = 1;
const LIST_OFFSETS: u16 = 2;
const OFFSET_COMMIT: u16 = 8;
const OFFSET_FETCH: u16 = 9;
const API_VERSIONS: u16 = 18;
const SASL_AUTHENTICATE: u16 = 36;
/// First version of it with compact lengths and tagged fields (KIP-482).
const FLEXIBLE_SASL: u16 = 2;
/// Subscriptions of telemetry, and telemetry (KIP-714).
const TELEMETRY: std::ops::RangeInclusive<u16> = 71..=72;
/// First version of requests to produce with record batches. Servers since Kafka 4.0 have no older
/// ones.
const MIN_PRODUCE: u16 = 3;
/// First version of them with compact lengths and tagged fields (KIP-482).
const FLEXIBLE_PRODUCE: u16 = 9;
/// Most of any key and version in use.
const MAX_KEY: u16 = 127;
const MAX_VERSION: u16 = 31;
/// Names of requests by their keys, up to those that programs use.
const NAMES: &str = "Produce Fetch ListOffsets Metadata LeaderAndIsr StopReplica UpdateMetadata \
    ControlledShutdown OffsetCommit OffsetFetch FindCoordinator JoinGroup Heartbeat LeaveGroup \
    SyncGroup DescribeGroups ListGroups SaslHandshake ApiVersions CreateTopics DeleteTopics \
    DeleteRecords InitProducerId OffsetForLeaderEpoch AddPartitionsToTxn AddOffsetsToTxn EndTxn \
    WriteTxnMarkers TxnOffsetCommit DescribeAcls CreateAcls DeleteAcls DescribeConfigs \
    AlterConfigs AlterReplicaLogDirs DescribeLogDirs SaslAuthenticate CreatePartitions";
/// Keys of requests that change nothing: those that fetch, list, describe or find, heartbeats, logins
/// and telemetry.
const READS: [u16; 31] = [
    1, 2, 3, 9, 10, 12, 15, 16, 17, 18, 23, 29, 32, 35, 36, 41, 46, 48, 50, 55, 60, 61, 65, 66, 68,
    69, 71, 72, 74, 75, 77,
];
/// Places of the correlation number in a request, and in an answer.
const IN_REQUEST: std::ops::Range<usize> = 8..12;
const IN_ANSWER: std::ops::Range<usize> = 4..8;

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn key(request: &[u8]) -> Option<u16> {
    number(request, 4)
}

fn length(bytes: &[u8]) -> FrameLength {
    let Some(length) = bytes.first_chunk() else {
        return Ok(None);
    };
    let length = i32::from_be_bytes(*length);
    let length = usize::try_from(length).map_err(|_| "a negative length of Kafka")?;
    Ok(Some(4 + length))
}

/// Returns the request without its header: length, key, version, number and name of the client.
/// Tagged fields of the header stay.
fn body(request: &[u8]) -> Option<&[u8]> {
    let name = number(request, 12)?;
    let length = if name == u16::MAX { 0 } else { name };
    request.get(14 + usize::from(length)..)
}

/// Returns the place of the password in a login with PLAIN (RFC 4616): two names and the password,
/// divided by NUL.
fn password(request: &[u8]) -> Option<Range<usize>> {
    if key(request)? != SASL_AUTHENTICATE {
        return None;
    }
    // The length of the login, with the tagged fields before it; and those after it.
    let (head, tail) = if number(request, 6)? < FLEXIBLE_SASL {
        (4, 0)
    } else {
        (2, 1)
    };
    let start = request.len() - body(request)?.len() + head;
    let end = request.len() - tail;
    let mut marks = memchr::memchr_iter(0, request.get(start..end)?);
    let after = marks.nth(1)?;
    Some(start + after + 1..end)
}

fn is_opening(client: &[u8], server: &[u8]) -> bool {
    let (Some(key), Some(version)) = (key(client), number(client, 6)) else {
        return false;
    };
    let is_known = key <= MAX_KEY && version <= MAX_VERSION;
    // ZooKeeper begins like the first version.
    let is_old = key == PRODUCE && version < MIN_PRODUCE;
    let is_whole = length(client).is_ok_and(|length| length.is_some_and(|all| all <= client.len()));
    let is_answer = server.is_empty() || server.get(IN_ANSWER) == client.get(IN_REQUEST);
    is_known && !is_old && is_whole && is_answer && body(client).is_some()
}

fn answered(calls: &[OpenCall], said: &[u8]) -> Option<usize> {
    let number = said.get(IN_ANSWER)?;
    calls
        .iter()
        .rposition(|call| !call.is_answered && call.bytes.get(IN_REQUEST) == Some(number))
}

/// Copies the correlation number. Record batches may have values of this run, so their checksums
/// are renewed.
fn renumber(asked: &[u8], answer: &mut [u8]) {
    if let (Some(of_call), Some(number)) = (asked.get(IN_REQUEST), answer.get_mut(IN_ANSWER)) {
        number.copy_from_slice(of_call);
    }
    if key(asked) == Some(FETCH) {
        record_batch::renew_checksums(answer);
    }
}

/// Takes a request apart. Its number and the name of the client do not count, nor do the names of
/// libraries and their telemetry. Of most requests all else counts.
fn parts(request: &[u8], taken: &mut PartList) -> Option<()> {
    let (key, version) = (key(request)?, number(request, 6)?);
    match NAMES.split(' ').nth(usize::from(key)) {
        Some(name) => taken.text(name.as_bytes()),
        None => taken.text(format!("request {key}").as_bytes()),
    }
    taken.head(&request[4..8]);
    let body = body(request)?;
    let first = taken.parts.len();
    let known = match key {
        PRODUCE if version >= MIN_PRODUCE => produced(version, body, taken),
        FETCH => fetch::parts(version, body, taken),
        LIST_OFFSETS => places::listed(version, body, taken),
        OFFSET_COMMIT => places::committed(version, body, taken),
        OFFSET_FETCH => places::wanted(version, body, taken),
        key if key == API_VERSIONS || TELEMETRY.contains(&key) => Some(()),
        _ => None,
    };
    if known.is_none() {
        taken.parts.truncate(first);
        pieces(body, taken);
    }
    Some(())
}

/// Returns the version and the body of a fetch request.
fn fetched(request: &[u8]) -> Option<(u16, &[u8])> {
    let version = number(request, 6).filter(|_| key(request) == Some(FETCH))?;
    Some((version, body(request)?))
}

fn without_news(
    asked: &[u8],
    as_recorded: &[u8],
    recorded: &mut dyn Iterator<Item = &Exchange>,
) -> Option<(Vec<u8>, Duration)> {
    let ((version, body), (_, known)) = (fetched(asked)?, fetched(as_recorded)?);
    fetch::without_news(asked.get(IN_REQUEST)?, [known, body], version, recorded)
}

/// Adds the transaction, the wanted confirmations, topics, partitions and records of a request.
fn produced(version: u16, body: &[u8], taken: &mut PartList) -> Option<()> {
    let mut fields = Reader::new(body, version >= FLEXIBLE_PRODUCE);
    fields.tags()?;
    word("transaction", fields.text()?, taken);
    taken.head(fields.take(2)?);
    let _timeout = fields.take(4)?;
    for _ in 0..fields.count()? {
        let topic = places::topic(version, &mut fields)?;
        for _ in 0..fields.count()? {
            let partition = i32::from_be_bytes(fields.array()?);
            places::place(version, topic, partition, taken);
            record_batch::parts(fields.bytes()?, taken)?;
            fields.tags()?;
        }
        fields.tags()?;
    }
    Some(())
}
