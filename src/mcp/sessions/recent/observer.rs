//! Observer that adds the calls of the ledger to the recent calls.

use std::sync::Arc;

use serde_json::json;

use super::{CallDescription, Recent};
use crate::protocol::{Outcome, RpcError};
use crate::sessions::ledger::{Begun, Entry, Observer};

impl Observer for Recent {
    fn wants_excerpts(&self) -> bool {
        true
    }

    fn is_prompt(&self) -> bool {
        true
    }

    fn begun(&self, call: &Arc<Begun>) -> Result<(), RpcError> {
        self.begin(&call.client, call.id, CallDescription::begun(call));
        Ok(())
    }

    fn progressed(&self, call: &Begun, done: u64, total: Option<u64>, message: &str) {
        let progress = json!({"done": done, "total": total, "message": message});
        self.progress(&call.client, call.id, &progress.to_string());
    }

    fn ended(&self, entry: &Arc<Entry>, reply: Option<&Outcome>) -> Result<(), RpcError> {
        self.end(
            &entry.call.client,
            entry.call.id,
            CallDescription::ended(entry, reply),
        );
        Ok(())
    }
}
