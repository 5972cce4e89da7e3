//! Conversion between recorded calls and the files of a mock set.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::Read as _;
use std::iter;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use replay_base::budget::{Room, Share};
use replay_base::limits::MAX_CALLS_BODIES_BYTES;
use replay_files::fs::{self, CallWriter};
use replay_files::policy::Policy;

use super::{CallsError, sets};
use replay_record::matching::{Worker, Workers};
use replay_record::naming::set_name;
use replay_record::redact::Secrets;
use replay_record::store::{self, BodyFiles, CommandMark, FileError, Head, Mappings, Problem};
use replay_record::{Content, DeclaredNoise, Exchange, Noise, Recording};

/// Memory for reading a file of recorded calls, as a multiple of its size: its bytes, its calls and
/// their index.
const CALLS_FILE_COPIES: usize = 3;
/// Length of the head of a file that is read for settings of all its calls, in bytes.
const MAX_CALLS_HEAD_BYTES: u64 = 64 * 1024;

/// A mock set written to disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenSet {
    /// Path of its file, with the directory as the caller spelt it.
    pub path: PathBuf,
    pub name: String,
    /// Number of calls left out because the file would exceed the size limit for reading.
    pub left_out: usize,
    /// Reason for a different directory than requested, if any.
    pub elsewhere: Option<String>,
    /// Redacted secrets, and possible secrets left in answers; one line each.
    pub altered: Vec<String>,
}

/// A mock set that could not be written anywhere.
#[derive(Debug)]
pub(crate) struct NotKept {
    pub reason: CallsError,
    pub name: String,
    /// Files by their paths relative to the set, if they could be created. The file that refers to
    /// the others is last.
    pub files: Vec<(String, Vec<u8>)>,
}

/// Set to be written.
#[derive(Debug)]
pub(crate) struct NewSet<'a> {
    /// The command. It goes into the set's name.
    pub command: &'a str,
    /// Last component of the command's working directory. It goes into the set's name, too.
    pub folder: &'a str,
    pub head: Head,
    /// Recordings of the set that the new one replaces.
    pub earlier: Vec<Recording>,
    /// Workers that made the new calls.
    pub workers: &'a Workers,
}

/// Writes calls as a new set. Earlier recordings and their head, if any, are copied first, so that
/// the new set can replace the old one.
///
/// If the name exists, the new set gets a number as a suffix. A program may run for a long time,
/// and the directory can vanish or fill up. Then the set goes to the default directory below the
/// first allowed directory that accepts it. Without `secrets` nothing is redacted, and only the
/// owner can read the files.
pub(crate) fn keep(
    policy: &Policy,
    writer: CallWriter<'_>,
    directory: &str,
    set: NewSet<'_>,
    mut exchanges: Vec<Exchange>,
    secrets: Option<&Secrets>,
) -> Result<(WrittenSet, Vec<Exchange>), Box<NotKept>> {
    let altered = secrets
        .map(|secrets| secrets.calls(&mut exchanges))
        .unwrap_or_default();
    let keep_secrets = secrets.is_none();
    let mut recordings = append_recordings(set.earlier, exchanges, set.workers);
    for recording in &mut recordings {
        if let (Some(secrets), Some(test)) = (secrets, &mut recording.worker.test) {
            *test = secrets.name(test).into();
        }
    }
    let before = recordings.len();
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let head = Head {
        command: Some(CommandMark::of(set.command)),
        ..set.head
    };
    let (recordings, bytes, apart) = match serialize_set(recordings, &head) {
        Ok(written) => written,
        Err(reason) => {
            let name = set_name::choose(set.command, set.folder, &[], now, |_| false);
            return Err(Box::new(NotKept {
                reason,
                name,
                files: Vec::new(),
            }));
        }
    };
    let mappings = Mappings::of(&recordings);
    let exchanges: Vec<Exchange> = recordings
        .into_iter()
        .map(|recording| recording.exchange)
        .collect();
    let choose = |taken: &BTreeSet<String>| {
        set_name::choose(set.command, set.folder, &exchanges, now, |name| {
            taken.contains(name)
        })
    };
    let put = |directory: &str| -> Result<(PathBuf, String), CallsError> {
        let mut taken = sets::names(policy, directory)?;
        let name = loop {
            let name = choose(&taken);
            if sets::claim(policy, writer, directory, &name)? {
                break name;
            }
            // Another process has just taken the name.
            taken.insert(name);
        };
        // The file that refers to the others is written last, as a mark of a complete set.
        let write = |path: &str, bytes: &[u8]| {
            let file = sets::SetFile {
                path,
                bytes,
                has_secrets: keep_secrets,
            };
            sets::write(policy, writer, directory, &name, file)
        };
        for (path, bytes) in apart.files() {
            write(path, bytes)?;
        }
        if let Some(mappings) = &mappings {
            write(sets::MAPPINGS_FILE, mappings.write(&name).as_bytes())?;
        }
        let path = write(sets::MOCK_FILES[0], &bytes)?;
        Ok((path, name))
    };
    let (reason, (path, name)) = match put(directory) {
        Ok(done) => (None, done),
        Err(reason) => {
            let others = policy.roots().iter().filter(|root| root.writable());
            let others = others.map(|root| {
                root.path()
                    .join(sets::DEFAULT_DIRECTORY)
                    .to_string_lossy()
                    .into_owned()
            });
            let Some(done) = others
                .filter(|other| other != directory)
                .find_map(|other| put(&other).ok())
            else {
                let name = choose(&BTreeSet::new());
                let mut files = apart.into_files();
                let text = mappings.map(|mappings| mappings.write(&name).into_bytes());
                files.extend(text.map(|text| (sets::MAPPINGS_FILE.to_owned(), text)));
                files.push((sets::MOCK_FILES[0].to_owned(), bytes));
                return Err(Box::new(NotKept {
                    reason,
                    name,
                    files,
                }));
            };
            (Some(reason), done)
        }
    };
    let elsewhere =
        reason.map(|reason| format!("the set could not be written to `{directory}`: {reason}"));
    Ok((
        WrittenSet {
            path,
            name,
            left_out: before - exchanges.len(),
            elsewhere,
            altered,
        },
        exchanges,
    ))
}

/// Serializes calls and their large bodies. Drops the largest calls if the file would exceed the
/// size limit for reading.
fn serialize_set(
    mut recordings: Vec<Recording>,
    head: &Head,
) -> Result<(Vec<Recording>, Vec<u8>, BodyFiles), CallsError> {
    loop {
        for (recording, number) in recordings.iter_mut().zip(1..) {
            recording.name = format!("mock-{number}");
        }
        let mut apart = BodyFiles::default();
        match store::write(sets::MOCK_FILES[0], head, &recordings, &mut apart) {
            Ok(_) if apart.bytes() > MAX_CALLS_BODIES_BYTES => {}
            Ok(bytes) => return Ok((recordings, bytes, apart)),
            Err(FileError::TooLarge { .. }) if recordings.len() > 1 => {}
            Err(error) => return Err(error.into()),
        }
        if let Some((largest, _)) = recordings
            .iter()
            .enumerate()
            .max_by_key(|(_, one)| size(&one.exchange))
        {
            recordings.remove(largest);
        }
    }
}

/// Appends calls to earlier recordings, with new connection numbers.
fn append_recordings(
    mut earlier: Vec<Recording>,
    mut exchanges: Vec<Exchange>,
    workers: &Workers,
) -> Vec<Recording> {
    let made_by = exchanges
        .iter()
        .map(|call| workers.at(call.connection, call.sent_at));
    let made_by: Vec<Worker> = made_by.collect();
    let last = earlier
        .iter()
        .map(|recording| recording.exchange.connection)
        .max()
        .unwrap_or(0);
    for exchange in exchanges
        .iter_mut()
        .filter(|exchange| exchange.connection > 0)
    {
        exchange.connection = exchange.connection.saturating_add(last);
    }
    let new = Recording::number(exchanges).into_iter().zip(made_by);
    earlier.extend(new.map(|(recording, worker)| Recording {
        worker,
        ..recording
    }));
    earlier
}

/// Size of a call's content in bytes.
fn size(exchange: &Exchange) -> usize {
    match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => {
            http.request.body.len()
                + http
                    .response
                    .as_ref()
                    .map_or(0, |response| response.body.len())
        }
        Content::Dns(_) => 0,
        Content::Wire(_, wire) => wire
            .messages
            .iter()
            .map(|message| message.bytes.len())
            .sum(),
    }
}

/// Adds noise to the file of a set, at the calls where it was found, and returns the file's path.
/// `recordings` are those of the set. The rest of the file and its modification time stay the same.
pub(crate) fn add_noise(
    policy: &Policy,
    writer: CallWriter<'_>,
    directory: &str,
    name: &str,
    recordings: &[Recording],
    noise: &Noise,
) -> Result<PathBuf, CallsError> {
    let missing = || CallsError::NoSet {
        directory: directory.to_owned(),
        name: name.to_owned(),
    };
    let (path, file) = sets::open(policy, directory, name)?.ok_or_else(missing)?;
    let bytes = sets::bytes(&file)?;
    let added: Vec<Option<DeclaredNoise>> = recordings
        .iter()
        .map(|recording| {
            let learned = noise.learned(&recording.exchange)?;
            let mut declared = recording.noise.clone().unwrap_or_default();
            declared.fields.extend(learned.fields);
            declared.fields.sort_unstable();
            declared.fields.dedup();
            let known = declared.values.clone();
            declared.values.extend(
                learned
                    .values
                    .into_iter()
                    .filter(|value| !known.contains(value)),
            );
            Some(declared)
        })
        .collect();
    let written = store::with_noise(&path.display().to_string(), &bytes, &added)?;
    let base = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(sets::MOCK_FILES[0]);
    sets::amend(policy, writer, directory, name, base, &written)
}

/// Calls of a set, with the noise that its file declares.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// Calls in recorded order.
    pub recordings: Vec<Recording>,
    /// Values that comparisons ignore.
    pub noise: Noise,
    /// Declarations of the file about all calls.
    pub head: Head,
    /// Fault in the last document, if it was skipped.
    pub torn: Option<String>,
    /// Memory reservation for the calls; hold it as long as they are in use.
    pub share: Share,
}

/// Names of secrets that the latest set of this command declares. A new recording of the command
/// redacts the same secrets.
pub(crate) fn declared(
    policy: &Policy,
    directory: &str,
    command: &str,
) -> Result<Vec<String>, CallsError> {
    let known = sets::candidates(sets::list(policy, directory)?);
    let Some(set) = sets::of_command(policy, directory, &known, command) else {
        return Ok(Vec::new());
    };
    let Some((path, file)) = sets::open(policy, directory, &set.name)? else {
        return Ok(Vec::new());
    };
    let mut begin = Vec::new();
    let read = fs::Reader::new(&file, 0)
        .take(MAX_CALLS_HEAD_BYTES)
        .read_to_end(&mut begin);
    // The part before the first call is a separate document.
    let end = read
        .ok()
        .and_then(|_| memchr::memmem::find(&begin, b"\n---\n"));
    let Some(end) = end else {
        return Ok(Vec::new());
    };
    let head = store::read(&path.display().to_string(), &begin[..=end], &|_| {
        Ok(Vec::new())
    })?;
    Ok(head.head.redact)
}

/// Reads a set; `None` if there is no set with this name. Reserves the memory from `room` first,
/// for the copies of the file and for bodies in separate files. Limits:
/// [`MAX_CALLS_FILE_BYTES`](replay_base::limits::MAX_CALLS_FILE_BYTES) and [`MAX_CALLS_BODIES_BYTES`].
pub(crate) fn load(
    policy: &Policy,
    directory: &str,
    name: &str,
    room: &Room<'_>,
) -> Result<Option<Loaded>, CallsError> {
    let Some((path, opened)) = sets::open(policy, directory, name)? else {
        return Ok(None);
    };
    let file = path.display().to_string();
    let share =
        RefCell::new(room.take((opened.size() as usize).saturating_mul(CALLS_FILE_COPIES))?);
    let bytes = sets::bytes(&opened)?;
    let left = Cell::new(MAX_CALLS_BODIES_BYTES);
    let short = Cell::new(None);
    let bodies = |body: &store::BodyRef| {
        let opened = sets::open_body(policy, directory, name, &body.path, left.get())?;
        let size = opened.size();
        room.grow(&mut share.borrow_mut(), size as usize)
            .map_err(|exhausted| {
                short.set(Some(exhausted));
                exhausted.to_string()
            })?;
        left.set(left.get() - size);
        fs::read_all(&opened, size).map_err(|error| error.to_string())
    };
    let read = store::read(&file, &bytes, &bodies);
    if let Some(exhausted) = short.take() {
        return Err(exhausted.into());
    }
    let mut calls = read?;
    let unmapped = map_tests(policy, directory, name, &mut calls.recordings);
    let mut noise = Noise::default();
    let broken = |problem, whole| FileError::Broken {
        file: file.clone(),
        problem,
        whole,
    };
    Secrets::new(iter::empty(), &calls.head.redact)
        .map_err(|reason| broken(Problem::new(0, reason), calls.recordings.len()))?;
    let of_all = noise.declare(None, &calls.head.noise);
    of_all.map_err(|reason| {
        broken(
            Problem::new(0, reason).inside("noise", 0),
            calls.recordings.len(),
        )
    })?;
    for (index, (recording, line)) in calls.recordings.iter().zip(&calls.lines).enumerate() {
        if let Some(declared) = &recording.noise {
            noise
                .declare(Some(&recording.exchange), declared)
                .map_err(|reason| broken(Problem::new(*line, reason), index))?;
        }
    }
    let torn = calls.torn.map(|problem| format!("{file}:{problem}"));
    let torn = torn.or(unmapped);
    Ok(Some(Loaded {
        recordings: calls.recordings,
        noise,
        head: calls.head,
        torn,
        share: share.into_inner(),
    }))
}

/// Assigns the calls of a set to their tests, if it names them. Returns the fault of a file that
/// could not be read: without it the tests are only not told apart.
fn map_tests(
    policy: &Policy,
    directory: &str,
    name: &str,
    recordings: &mut [Recording],
) -> Option<String> {
    let path = Path::new(directory).join(name).join(sets::MAPPINGS_FILE);
    let opened = policy.read(&path).ok()?;
    let read = sets::bytes(&opened).map_err(|error| error.to_string());
    let read = read.and_then(|bytes| {
        store::read_mappings(&bytes, recordings).map_err(|problem| problem.to_string())
    });
    read.err()
        .map(|problem| format!("{}:{problem}", path.display()))
}
