//! From what was recorded to the file of a set, and back.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::SystemTime;

use super::{CallsError, sets};
use crate::fs::Writer;
use crate::limits::MAX_CALLS_BODIES_BYTES;
use crate::policy::Policy;
use crate::record::files::{self, Apart, CommandMark, Document, FileError, Problem, recording};
use crate::record::{Content, Exchange, Noise, Recording, names, redact};

/// A set that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The path of its file, as the caller spelt the directory.
    pub path: PathBuf,
    /// Its name.
    pub name: String,
    /// How many calls are not in it, because it would be larger than what is read again.
    pub left_out: usize,
    /// Why it is in another directory than was asked for, if it is.
    pub elsewhere: Option<String>,
    /// Where secrets were replaced in answers, or may be left in them, for a line each.
    pub altered: Vec<String>,
}

/// A set that could be written nowhere.
#[derive(Debug)]
pub struct NotKept {
    /// Why.
    pub reason: CallsError,
    /// Its name.
    pub name: String,
    /// Its files, by their paths in its directory, if they could be made; the one that names the others is the last one.
    pub files: Vec<(String, Vec<u8>)>,
}

/// Writes calls as a new set, behind the recordings of another one if there are any: then the new set can stand for both.
/// `command` and `folder`, the last part of where it ran, are what its name begins with.
///
/// A set of that name that is there already stays: the new one has a number behind its name. A program may have run for long,
/// and its directory gone or full meanwhile: then the set is written to the usual place below the first allowed directory that
/// takes it.
pub fn keep(
    policy: &Policy,
    writer: &Writer,
    directory: &str,
    named: (&str, &str),
    earlier: Vec<Recording>,
    mut exchanges: Vec<Exchange>,
    keep_secrets: bool,
) -> Result<(Kept, Vec<Exchange>), Box<NotKept>> {
    let altered = if keep_secrets { Vec::new() } else { redact::exchanges(&mut exchanges) };
    let recordings = joined(earlier, exchanges);
    let before = recordings.len();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (recordings, bytes, apart) = match written(recordings, &CommandMark::of(named.0)) {
        Ok(written) => written,
        Err(reason) => {
            let name = names::choose(named.0, named.1, &[], now, |_| false);
            return Err(Box::new(NotKept { reason, name, files: Vec::new() }));
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
        // The file that names the others is written last: a set that has it is whole.
        for (path, bytes) in apart.files() {
            sets::write(policy, writer, directory, &name, path, (bytes, keep_secrets))?;
        }
        Ok((sets::write(policy, writer, directory, &name, sets::MOCK_FILES[0], (&bytes, keep_secrets))?, name))
    };
    let (reason, (path, name)) = match put(directory) {
        Ok(done) => (None, done),
        Err(reason) => {
            let others = policy.roots().iter().filter(|root| root.writable());
            let others = others.map(|root| root.path().join(sets::DEFAULT_DIRECTORY).to_string_lossy().into_owned());
            let Some(done) = others.filter(|other| other != directory).find_map(|other| put(&other).ok()) else {
                let name = choose(&BTreeSet::new());
                let mut files = apart.into_files();
                files.push((sets::MOCK_FILES[0].to_owned(), bytes));
                return Err(Box::new(NotKept { reason, name, files }));
            };
            (Some(reason), done)
        }
    };
    let elsewhere = reason.map(|reason| format!("the set could not be written to `{directory}`: {reason}"));
    Ok((Kept { path, name, left_out: before - exchanges.len(), elsewhere, altered }, exchanges))
}

/// The file of calls, and those of large bodies. If they were larger than what is read again, the largest calls are left out.
fn written(
    mut recordings: Vec<Recording>,
    command: &CommandMark,
) -> Result<(Vec<Recording>, Vec<u8>, Apart), CallsError> {
    loop {
        for (recording, number) in recordings.iter_mut().zip(1..) {
            recording.name = format!("mock-{number}");
        }
        let mut apart = Apart::default();
        let documents: Vec<Document> = recordings.iter().map(|recording| Document::of(recording, &mut apart)).collect();
        match files::write_of(sets::MOCK_FILES[0], Some(command), &documents) {
            Ok(_) if apart.bytes() > MAX_CALLS_BODIES_BYTES => {}
            Ok(bytes) => return Ok((recordings, bytes, apart)),
            Err(FileError::TooLarge { .. }) if recordings.len() > 1 => {}
            Err(error) => return Err(error.into()),
        }
        if let Some((largest, _)) = recordings.iter().enumerate().max_by_key(|(_, one)| size(&one.exchange)) {
            recordings.remove(largest);
        }
    }
}

/// Calls behind earlier recordings, on connections with other numbers.
fn joined(mut earlier: Vec<Recording>, mut exchanges: Vec<Exchange>) -> Vec<Recording> {
    let last = earlier.iter().map(|recording| recording.exchange.connection).max().unwrap_or(0);
    for exchange in exchanges.iter_mut().filter(|exchange| exchange.connection > 0) {
        exchange.connection = exchange.connection.saturating_add(last);
    }
    earlier.extend(Recording::number(exchanges));
    earlier
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

/// Adds noise to the file of a set, at the calls that it was learned of; the path of the file. `recordings` are those of the
/// set. Whatever else the file holds stays, and the set is as old as it was. Fails when its last document is broken: it would be gone.
pub fn add_noise(
    policy: &Policy,
    writer: &Writer,
    directory: &str,
    name: &str,
    recordings: &[Recording],
    noise: &Noise,
) -> Result<PathBuf, CallsError> {
    let missing = || CallsError::NoSet { directory: directory.to_owned(), name: name.to_owned() };
    let (path, bytes) = sets::read(policy, directory, name)?.ok_or_else(missing)?;
    let file = path.display().to_string();
    let mut calls = files::read(&file, &bytes)?;
    if let Some(problem) = calls.torn {
        return Err(FileError::Broken { file, problem, whole: calls.documents.len() }.into());
    }
    for (document, recording) in calls.documents.iter_mut().zip(recordings) {
        let Some(learned) = noise.learned(&recording.exchange) else { continue };
        let declared = document.tail.noise.get_or_insert_default();
        declared.fields.extend(learned.fields);
        declared.fields.sort_unstable();
        declared.fields.dedup();
        let known = declared.values.clone();
        declared.values.extend(learned.values.into_iter().filter(|value| !known.contains(value)));
    }
    // In a file of ours the last key of the last document says that it is whole.
    if let Some(last) = calls.documents.last_mut() {
        last.tail.connection_id.get_or_insert_default();
    }
    let written = files::write_of(&file, CommandMark::read(&bytes).as_ref(), &calls.documents)?;
    let base = path.file_name().and_then(|name| name.to_str()).unwrap_or(sets::MOCK_FILES[0]);
    sets::amend(policy, writer, directory, name, base, &written)
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

/// Reads a set; `None` when there is none of this name. It takes as much memory as it has bytes: at most
/// [`MAX_CALLS_FILE_BYTES`](crate::limits::MAX_CALLS_FILE_BYTES) and [`MAX_CALLS_BODIES_BYTES`].
pub fn load(policy: &Policy, directory: &str, name: &str) -> Result<Option<Loaded>, CallsError> {
    let Some((path, bytes)) = sets::read(policy, directory, name)? else { return Ok(None) };
    let file = path.display().to_string();
    let calls = files::read(&file, &bytes)?;
    let mut noise = Noise::default();
    let mut recordings = Vec::new();
    let left = Cell::new(MAX_CALLS_BODIES_BYTES);
    let bodies = |body: &files::BodyRef| {
        let bytes = sets::body(policy, directory, name, &body.path, left.get())?;
        left.set(left.get() - bytes.len() as u64);
        Ok(bytes)
    };
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
