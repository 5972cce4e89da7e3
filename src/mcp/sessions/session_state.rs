//! State of a session: revision, log level, name and client.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use replay_base::limits::MAX_SPAN_TEXT_BYTES;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::level::Level;
use crate::protocol::{Body, Code, Outcome, Revision, RpcError};

/// Notes of a session that are remembered.
const MAX_TOLD_NOTES: usize = 1000;

#[derive(Debug)]
pub struct SessionState {
    /// Index into [`Revision::ALL`] of the negotiated revision.
    negotiated: AtomicU8,
    level: Mutex<Option<Level>>,
    name: OnceLock<Arc<str>>,
    client: OnceLock<ClientInfo>,
    /// Hashes of the notes that the client was told.
    told: Mutex<HashSet<u64>>,
}

/// Client name and version, cut if long; not verified.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct ClientInfo {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub version: String,
}

impl ClientInfo {
    /// Reads it from a request; `None` if it is malformed.
    pub(super) fn parse(raw: &RawValue) -> Option<Self> {
        let Self {
            mut name,
            mut version,
        } = serde_json::from_str(raw.get()).ok()?;
        name.truncate(name.floor_char_boundary(MAX_SPAN_TEXT_BYTES));
        version.truncate(version.floor_char_boundary(MAX_SPAN_TEXT_BYTES));
        Some(Self { name, version })
    }
}

impl SessionState {
    /// Returns true if the client was not told this note yet, and remembers it.
    pub fn tells_first(&self, note: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        note.hash(&mut hasher);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MAX_TOLD_NOTES {
            told.clear();
        }
        told.insert(hasher.finish())
    }

    /// Creates the state of a client that negotiated this revision.
    pub fn of(revision: Revision) -> Self {
        let state = Self {
            negotiated: AtomicU8::new(0),
            level: Mutex::new(None),
            name: OnceLock::new(),
            client: OnceLock::new(),
            told: Mutex::default(),
        };
        state.negotiate(revision);
        state
    }

    /// Revision of requests that name none.
    pub fn revision(&self) -> Revision {
        Revision::ALL[usize::from(self.negotiated.load(Ordering::Relaxed)) % Revision::ALL.len()]
    }

    /// Sets the public name of the session, which must not be a secret. Later calls have no effect.
    pub fn set_name(&self, name: &str) {
        self.name.get_or_init(|| name.into());
    }

    /// Public name of the session.
    pub fn name(&self) -> Option<Arc<str>> {
        self.name.get().cloned()
    }

    fn negotiate(&self, revision: Revision) {
        let index = Revision::ALL
            .iter()
            .position(|&known| known == revision)
            .unwrap_or_default();
        self.negotiated.store(index as u8, Ordering::Relaxed);
    }

    /// Name and version that the client sent when it opened the session.
    pub fn client(&self) -> Option<&ClientInfo> {
        self.client.get()
    }

    /// Negotiates a revision with a client that opens a session, and returns it.
    pub fn negotiate_with(&self, params: Option<&RawValue>) -> Revision {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(rename = "protocolVersion")]
            protocol_version: Value,
            #[serde(rename = "clientInfo", borrow, default)]
            client_info: Option<&'a RawValue>,
        }
        // Malformed parameters get the newest handshake revision instead of an error.
        let params = params.and_then(|raw| serde_json::from_str::<Params<'_>>(raw.get()).ok());
        let requested = params.and_then(|params| {
            if let Some(client) = params.client_info.and_then(ClientInfo::parse) {
                let _ = self.client.set(client);
            }
            Revision::parse(params.protocol_version.as_str()?)
        });
        let revision = requested
            .filter(|revision| !revision.is_stateless())
            .unwrap_or(Revision::NEWEST_HANDSHAKE);
        self.negotiate(revision);
        revision
    }

    pub fn set_level(&self, params: Option<&RawValue>) -> Outcome {
        #[derive(Deserialize)]
        struct Params {
            level: Level,
        }
        let Some(params) = params.and_then(|raw| serde_json::from_str::<Params>(raw.get()).ok())
        else {
            let message = format!("`level` must be one of {}", Level::NAMES);
            return Err(RpcError::new(Code::InvalidParams, message));
        };
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(params.level);
        Ok(Body::Raw("{}".into()))
    }

    /// Minimum severity of the log messages that the client wants.
    pub fn level(&self) -> Option<Level> {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub fn stateless_revisions() -> impl Iterator<Item = &'static str> {
    Revision::ALL
        .into_iter()
        .filter(|revision| revision.is_stateless())
        .map(Revision::as_str)
}
