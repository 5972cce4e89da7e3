//! `keploy_list_mocks`: lists the mock sets of a directory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::recorded_calls::{no_sets_message, some_of};
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::calls::sets::{self, Set};
use crate::error::Error;

pub(super) struct KeployListMocks;

/// Arguments of `keploy_list_mocks`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Path to search for mock files (default: ./keploy)
    path: Option<String>,
}

/// The sets, the newest first.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    success: bool,
    mock_sets: Vec<String>,
    count: usize,
    path: String,
    message: String,
}

impl Tool for KeployListMocks {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "keploy_list_mocks";
    const TITLE: &'static str = "List mock sets";
    const DESCRIPTION: &'static str = "List available mock sets, latest first: what keploy_mock_record has recorded and \
        keploy_mock_test can replay.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Calls;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        let path = params
            .path
            .unwrap_or_else(|| sets::DEFAULT_DIRECTORY.to_owned());
        let found = sets::list(&context.services.policy, &path)?;
        let message = if found.is_empty() {
            no_sets_message(&path)
        } else {
            summarize(&found)
        };
        let mock_sets: Vec<String> = found.into_iter().map(|set| set.name).collect();
        let output = Output {
            success: true,
            count: mock_sets.len(),
            mock_sets,
            path,
            message,
        };
        Reply::json(&output, Vec::new())
    }
}

/// Summarizes the sets. A set without calls is never the latest: replay uses it only by name.
fn summarize(found: &[Set]) -> String {
    let empty: Vec<String> = found
        .iter()
        .filter(|set| set.is_empty())
        .map(|set| set.name.clone())
        .collect();
    let latest = found
        .iter()
        .find(|set| !set.is_empty())
        .map(|set| format!(" The latest is '{}'.", set.name));
    let empty = match empty.len() {
        0 => String::new(),
        count if count == found.len() => {
            " No calls were captured in any; record again with keploy_mock_record.".to_owned()
        }
        count => format!(
            " No calls were captured in {count} of them: {}.",
            some_of(&empty)
        ),
    };
    format!(
        "Found {} mock set(s).{}{empty}",
        found.len(),
        latest.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn empty_set_is_never_the_latest() {
        let summarize = |names: &[&str]| {
            let set = |name: &&str| Set {
                name: (*name).to_owned(),
                path: PathBuf::new(),
                modified: SystemTime::UNIX_EPOCH,
            };
            super::summarize(&names.iter().map(set).collect::<Vec<_>>())
        };
        assert_eq!(
            summarize(&["shop-http", "a"]),
            "Found 2 mock set(s). The latest is 'shop-http'."
        );
        assert_eq!(
            summarize(&["mock-1704153600-2", "shop-http", "mock-1704153600"]),
            "Found 3 mock set(s). The latest is 'shop-http'. No calls were captured in 2 of them: mock-1704153600-2, mock-1704153600."
        );
        assert_eq!(
            summarize(&["mock-1704153600"]),
            "Found 1 mock set(s). No calls were captured in any; record again with keploy_mock_record."
        );
    }
}
