//! From what was recorded to the file of a set, and back.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::SystemTime;

use super::{CallsError, sets};
use crate::fs::Writer;
use crate::policy::Policy;
use crate::record::files::{self, Document, FileError, Problem, recording};
use crate::record::{Content, Exchange, Noise, Recording, names, redact};

/// A set that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The path of its file, as the caller spelt the directory.
    pub path: PathBuf,
    /// Its name.
    pub name: String,
    /// How many calls are not in it, because the file would be larger than what is read again.
    pub left_out: usize,
    /// Why it is in another directory than was asked for, if it is.
    pub elsewhere: Option<String>,
}

/// A set that could be written nowhere.
#[derive(Debug)]
pub struct NotKept {
    /// Why.
    pub reason: CallsError,
    /// Its name.
    pub name: String,
    /// Its file, if that could be made.
    pub bytes: Vec<u8>,
}

/// Writes calls as a new set. `command` and `folder`, the last part of where it ran, are what its name begins with.
///
/// A set of that name that is there already stays: the new one has a number behind its name. A program may have run for long,
/// and its directory gone or full meanwhile: then the set is written to the usual place below the first allowed directory that
/// takes it.
pub fn keep(
    policy: &Policy,
    writer: &Writer,
    directory: &str,
    named: (&str, &str),
    mut exchanges: Vec<Exchange>,
    keep_secrets: bool,
) -> Result<(Kept, Vec<Exchange>), Box<NotKept>> {
    if !keep_secrets {
        exchanges.iter_mut().for_each(redact::exchange);
    }
    let before = exchanges.len();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (recordings, bytes) = match written(exchanges) {
        Ok(written) => written,
        Err(reason) => {
            let name = names::choose(named.0, named.1, &[], now, |_| false);
            return Err(Box::new(NotKept { reason, name, bytes: Vec::new() }));
        }
    };
    let exchanges: Vec<Exchange> = recordings.into_iter().map(|recording| recording.exchange).collect();
    let choose =
        |taken: &BTreeSet<String>| names::choose(named.0, named.1, &exchanges, now, |name| taken.contains(name));
    let put = |directory: &str| -> Result<(PathBuf, String), CallsError> {
        let mut taken = sets::names(policy, directory)?;
        let name = loop {
            let name = choose(&taken);
            if sets::claim(policy, directory, &name)? {
                break name;
            }
            // Somebody else has just taken it.
            taken.insert(name);
        };
        Ok((sets::write(policy, writer, directory, &name, &bytes)?, name))
    };
    let (reason, (path, name)) = match put(directory) {
        Ok(done) => (None, done),
        Err(reason) => {
            let others = policy.roots().iter().filter(|root| root.writable());
            let others = others.map(|root| root.path().join(sets::DEFAULT_DIRECTORY).to_string_lossy().into_owned());
            let Some(done) = others.filter(|other| other != directory).find_map(|other| put(&other).ok()) else {
                let name = choose(&BTreeSet::new());
                return Err(Box::new(NotKept { reason, name, bytes }));
            };
            (Some(reason), done)
        }
    };
    let elsewhere = reason.map(|reason| format!("the set could not be written to `{directory}`: {reason}"));
    Ok((Kept { path, name, left_out: before - exchanges.len(), elsewhere }, exchanges))
}

/// The file of calls. If it were larger than what is read again, the largest calls are left out.
fn written(mut exchanges: Vec<Exchange>) -> Result<(Vec<Recording>, Vec<u8>), CallsError> {
    loop {
        let recordings = Recording::number(exchanges);
        let documents: Vec<Document> = recordings.iter().map(Document::of).collect();
        match files::write(sets::MOCK_FILES[0], &documents) {
            Ok(bytes) => return Ok((recordings, bytes)),
            Err(FileError::TooLarge { .. }) if recordings.len() > 1 => {}
            Err(error) => return Err(error.into()),
        }
        exchanges = recordings.into_iter().map(|recording| recording.exchange).collect();
        if let Some((largest, _)) = exchanges.iter().enumerate().max_by_key(|(_, exchange)| size(exchange)) {
            exchanges.remove(largest);
        }
    }
}

/// Bytes of what a call carries.
fn size(exchange: &Exchange) -> usize {
    match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => {
            http.request.body.len() + http.response.as_ref().map_or(0, |response| response.body.len())
        }
        Content::Dns(_) => 0,
        Content::Wire(_, wire) => wire.messages.iter().map(|message| message.bytes.len()).sum(),
    }
}

fn at(line: u64, message: String) -> Problem {
    Problem { line, path: String::new(), message }
}

/// The calls of a set, with what its file declares as noise.
#[derive(Debug)]
pub struct Loaded {
    /// The calls in their order.
    pub recordings: Vec<Recording>,
    /// What of them does not count.
    pub noise: Noise,
    /// What was wrong with the last document, if that was left out.
    pub torn: Option<String>,
}

/// Reads a set; `None` when there is none of this name.
pub fn load(policy: &Policy, directory: &str, name: &str) -> Result<Option<Loaded>, CallsError> {
    let Some((path, bytes)) = sets::read(policy, directory, name)? else { return Ok(None) };
    let file = path.display().to_string();
    let calls = files::read(&file, &bytes)?;
    let mut noise = Noise::default();
    let mut recordings = Vec::new();
    let bodies = |body: &files::BodyRef| sets::body(policy, directory, name, &body.path);
    let broken = |problem, whole| FileError::Broken { file: file.clone(), problem, whole };
    for document in &calls.documents {
        let recording = recording(document, &bodies).map_err(|problem| broken(problem, recordings.len()))?;
        if let Some(declared) = &recording.noise {
            noise
                .declare(Some(&recording.exchange), declared)
                .map_err(|reason| broken(at(document.line, reason), recordings.len()))?;
        }
        recordings.push(recording);
    }
    Ok(Some(Loaded { recordings, noise, torn: calls.torn.map(|problem| format!("{file}:{problem}")) }))
}
