//! Runs that ended before all of their tests had begun. Runners rarely report which tests these
//! were. A later run of the failed tests must not count as a complete one.

use super::model::{State, TestStatus};
use super::reports::results::TestResults;
use super::selection::TestSelection;

/// An interrupted run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// Kind of interruption, such as `timed out`.
    pub kind: &'static str,
    /// Requested tests and name filter; `None` for a mix of several requests.
    pub request: Option<(TestSelection, Option<String>)>,
}

impl Interruption {
    /// Describes the unreached tests for people.
    pub fn describe(&self) -> String {
        format!(
            "tests that an earlier run did not reach, since it {}",
            self.kind
        )
    }
}

/// Returns the kind of interruption; `None` if all requested tests had their turn, or none had. If
/// a shared process dies in a test, the later tests are not even known.
pub(crate) fn kind(
    is_shared: bool,
    results: &TestResults,
    status: TestStatus,
) -> Option<&'static str> {
    match status {
        TestStatus::TimedOut if !results.ended => return Some("timed out"),
        TestStatus::Crashed => return Some("crashed"),
        TestStatus::MissingTool
        | TestStatus::ConfigError
        | TestStatus::NoTests
        | TestStatus::BuildError => {
            return None;
        }
        TestStatus::Passed | TestStatus::Failed | TestStatus::Incomplete | TestStatus::TimedOut => {
        }
    }
    let ends_all = |state| matches!(state, State::Crashed | State::TimedOut);
    if is_shared && results.failures.iter().any(|case| ends_all(case.state)) {
        return Some("crashed");
    }
    let is_open = !results.unfinished.is_empty() || !results.silent.is_empty();
    (results.summary.not_run > 0 || !results.unreached.is_empty() || is_open)
        .then_some("stopped early")
}

/// Returns the interruption after a run of these tests. `kind` says how the run was interrupted,
/// `known` is the earlier interruption.
pub(crate) fn after(
    known: Option<Interruption>,
    kind: Option<&'static str>,
    selection: &TestSelection,
    filter: Option<&str>,
) -> Option<Interruption> {
    let request = (selection.clone(), filter.map(str::to_owned));
    let is_all = request == (TestSelection::All, None);
    match (known, kind) {
        // Failed tests stay on the list until they pass.
        (known, _) if matches!(selection, TestSelection::Failed(_)) => known,
        (Some(known), Some(kind)) if known.request.as_ref() != Some(&request) && !is_all => {
            Some(Interruption {
                kind,
                request: None,
            })
        }
        (_, Some(kind)) => Some(Interruption {
            kind,
            request: Some(request),
        }),
        (known, None) => known.filter(|known| !is_all && known.request.as_ref() != Some(&request)),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::model::{Case, Summary};
    use crate::project::files::NamedPath;

    fn part(path: &str) -> TestSelection {
        TestSelection::Targets(vec![NamedPath::whole(path.into(), false)])
    }

    #[test]
    fn run_with_unreached_tests_is_interrupted() {
        let of = |is_shared, results: &TestResults| kind(is_shared, results, TestStatus::Failed);
        let dead = TestResults {
            failures: vec![Case::new("a", "a", State::Crashed)],
            ..TestResults::default()
        };
        assert_eq!([of(true, &dead), of(false, &dead)], [Some("crashed"), None]);
        let bail = TestResults {
            summary: Summary {
                not_run: 1,
                ..Summary::default()
            },
            ..TestResults::default()
        };
        assert_eq!(of(false, &bail), Some("stopped early"));
        let files = TestResults {
            unreached: vec!["b.test.ts".to_owned()],
            ..TestResults::default()
        };
        assert_eq!(of(false, &files), Some("stopped early"));
        assert_eq!(of(false, &TestResults::default()), None);
        assert_eq!(
            kind(false, &TestResults::default(), TestStatus::TimedOut),
            Some("timed out")
        );
        assert_eq!(kind(false, &bail, TestStatus::ConfigError), None);
    }

    #[test]
    fn interruption_ends_after_same_or_full_run() {
        let cut = after(None, Some("timed out"), &part("/a"), None);
        assert_eq!(
            cut,
            Some(Interruption {
                kind: "timed out",
                request: Some((part("/a"), None))
            })
        );
        assert_eq!(
            after(cut.clone(), None, &TestSelection::Failed(vec![]), None),
            cut
        );
        assert_eq!(after(cut.clone(), None, &part("/b"), None), cut);
        assert_eq!(after(cut.clone(), None, &part("/a"), Some("x")), cut);
        assert_eq!(after(cut.clone(), None, &part("/a"), None), None);
        assert_eq!(after(cut.clone(), None, &TestSelection::All, None), None);
        let both = after(cut, Some("crashed"), &part("/b"), None);
        assert_eq!(
            both,
            Some(Interruption {
                kind: "crashed",
                request: None
            })
        );
        assert_eq!(after(both.clone(), None, &part("/b"), None), both);
        assert_eq!(after(both, None, &TestSelection::All, None), None);
        // An interrupted run of failed tests keeps their list.
        assert_eq!(
            after(
                None,
                Some("timed out"),
                &TestSelection::Failed(vec![]),
                None
            ),
            None
        );
    }
}
