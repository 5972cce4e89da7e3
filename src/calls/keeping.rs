//! From what was recorded to the file of a set, and back.

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
}

/// Writes calls as a new set. `command` and `folder`, the last part of where it ran, are what its name begins with.
///
/// A set of that name that is there already stays: the new one has a number behind its name.
pub fn keep(
    policy: &Policy,
    writer: &Writer,
    directory: &str,
    named: (&str, &str),
    mut exchanges: Vec<Exchange>,
    keep_secrets: bool,
) -> Result<(Kept, Vec<Exchange>), CallsError> {
    let mut taken = sets::names(policy, directory)?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let name = loop {
        let name = names::choose(named.0, named.1, &exchanges, now, |name| taken.contains(name));
        if sets::claim(policy, directory, &name)? {
            break name;
        }
        // Somebody else has just taken it.
        taken.insert(name);
    };
    if !keep_secrets {
        redact::exchanges(&mut exchanges);
    }
    let before = exchanges.len();
    let (recordings, bytes) = written(exchanges)?;
    let path = sets::write(policy, writer, directory, &name, &bytes)?;
    let exchanges: Vec<Exchange> = recordings.into_iter().map(|recording| recording.exchange).collect();
    Ok((Kept { path, name, left_out: before - exchanges.len() }, exchanges))
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
