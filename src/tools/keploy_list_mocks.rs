//! `keploy_list_mocks`: the mock sets in a directory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::calling::none_in;
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::calls::sets;
use crate::error::Error;

/// Lists mock sets.
pub struct KeployListMocks;

/// Arguments of `keploy_list_mocks`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Params {
    /// Path to search for mock files (default: ./keploy)
    path: Option<String>,
}

/// The sets, the newest first.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Output {
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
        let path = params.path.unwrap_or_else(|| sets::DEFAULT_DIRECTORY.to_owned());
        let found = sets::list(&context.services.policy, &path)?;
        let message = match found.first() {
            Some(latest) => format!("Found {} mock set(s). The latest is '{}'.", found.len(), latest.name),
            None => none_in(&path),
        };
        let mock_sets: Vec<String> = found.into_iter().map(|set| set.name).collect();
        let output = Output { success: true, count: mock_sets.len(), mock_sets, path, message };
        Reply::json(output)
    }
}
