//! Player: answers commands from a recording, without any network traffic.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use replay_base::budget::{Account, Share};
use replay_base::limits::{MAX_DENIED, TURN_QUIET_MS};
use replay_sandbox::exec::{Blocked, Denied, Guarded};

use replay_record::matching::Why;
use replay_record::proxy::{Mode, OnMiss, Replay};
use replay_record::redact::Secrets;
use replay_record::{Noise, Outline, Recording, Recordings};

/// A mock set, and how calls are looked up in it.
#[derive(Debug)]
pub struct Script {
    /// The set, as the operator named it.
    pub name: String,
    pub recordings: Vec<Recording>,
    pub noise: Noise,
    /// Secrets that the set declares.
    pub redact: Vec<String>,
    /// Environment of commands, which may contain secrets.
    pub variables: Vec<(String, String)>,
    /// The memory that the recordings take.
    pub share: Share,
}

/// Player of one command. Each player starts at the beginning of the set.
pub(super) struct Player {
    name: String,
    replay: Arc<Replay>,
    /// Number of reports for each unanswered call.
    told: Mutex<HashMap<String, u64>>,
    _share: Share,
}

impl std::fmt::Debug for Player {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Player")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Script {
    /// Returns a player. Fails if there is no memory for one more.
    pub(super) fn play(&self, account: &Account) -> io::Result<Player> {
        let mut share = account.share();
        share
            .try_grow(self.share.bytes())
            .map_err(io::Error::other)?;
        let secrets =
            Secrets::new(self.variables.iter().cloned(), &self.redact).map_err(io::Error::other)?;
        let outline = Outline::of(self.recordings.iter().map(|recording| &recording.exchange));
        let book = Arc::new(Recordings::of(
            self.recordings.clone(),
            self.noise.clone(),
            secrets,
        ));
        let replay = Arc::new(Replay {
            book,
            outline,
            quiet: Duration::from_millis(TURN_QUIET_MS),
        });
        Ok(Player {
            name: self.name.clone(),
            replay,
            told: Mutex::default(),
            _share: share,
        })
    }
}

impl Player {
    pub(super) fn mode(&self) -> Mode {
        Mode::Replay {
            replay: Arc::clone(&self.replay),
            on_miss: OnMiss::Fail,
        }
    }
}

impl Guarded for Player {
    fn blocked(&self) -> Vec<Denied> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut blocked, mut more) = (Vec::new(), 0);
        for miss in self.replay.book.report().missed {
            let before = told.insert(miss.asked.clone(), miss.times).unwrap_or(0);
            if miss.times > before && blocked.len() >= MAX_DENIED {
                more += miss.times - before;
            } else if miss.times > before {
                let why = match miss.why {
                    Why::Used(_) => {
                        format!(
                            "all calls to it in the recording {} were used already",
                            self.name
                        )
                    }
                    _ => format!("not in the recording {}", self.name),
                };
                let (target, times) = (miss.asked, miss.times - before);
                let missed = Blocked {
                    target,
                    times,
                    by: BTreeSet::new(),
                    why: Some(why),
                    rule: None,
                    proxy: None,
                };
                blocked.push(Denied::Blocked(missed));
            }
        }
        blocked.extend((more > 0).then_some(Denied::MoreBlocked(more)));
        blocked
    }
}
