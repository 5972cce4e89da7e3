//! Runs that ended before all of their tests had begun. Runners rarely report which tests these
//! were. A later run of the failed tests must not count as a complete one.

use super::model::{State, TestStatus};
use super::reports::results::TestResults;
use super::selection::TestSelection;

/// Most interrupted requests that are kept apart. More count as a request for all tests.
const MAX_INTERRUPTED_REQUESTS: usize = 16;

/// Requested tests, and filter for their names.
pub(crate) type Requested = (TestSelection, Option<String>);

/// Interrupted runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// Kind of the last interruption, such as `timed out`.
    pub kind: &'static str,
    /// Interrupted requests that no complete run has covered since.
    pub requests: Vec<Requested>,
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
/// `known` is the earlier interruption. With `by_substring` a filter selects the tests whose path
/// contains it.
pub(crate) fn after(
    known: Option<Interruption>,
    kind: Option<&'static str>,
    requested: Requested,
    by_substring: bool,
) -> Option<Interruption> {
    // Failed tests stay on the list until they pass.
    if matches!(requested.0, TestSelection::Failed(_)) {
        return known;
    }
    let (known_kind, requests) = known.map(|known| (known.kind, known.requests)).unzip();
    let mut requests = requests.unwrap_or_default();
    requests.retain(|earlier| !covers(&requested, earlier, by_substring));
    if kind.is_some() {
        requests.push(requested);
        if requests.len() > MAX_INTERRUPTED_REQUESTS {
            requests = vec![(TestSelection::All, None)];
        }
    }
    let kind = kind.or(known_kind).filter(|_| !requests.is_empty())?;
    Some(Interruption { kind, requests })
}

/// Returns true if a request includes all tests of another one.
fn covers(wide: &Requested, narrow: &Requested, by_substring: bool) -> bool {
    let is_wider_filter = match (&wide.1, &narrow.1) {
        (None, _) => true,
        (Some(wide), Some(narrow)) => wide == narrow || by_substring && narrow.contains(wide),
        (Some(_), None) => false,
    };
    is_wider_filter
        && match (&wide.0, &narrow.0) {
            (TestSelection::All, _) => true,
            (TestSelection::Targets(wide), TestSelection::Targets(narrow)) => narrow
                .iter()
                .all(|target| wide.iter().any(|above| above.includes(target))),
            (wide, narrow) => wide == narrow,
        }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::model::{Case, Summary};
    use crate::project::files::NamedPath;

    fn part(path: &str, is_dir: bool) -> TestSelection {
        TestSelection::Targets(vec![NamedPath::whole(path.into(), is_dir)])
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
    fn interruption_ends_after_run_that_covers_it() {
        // Filters of Cargo are substrings.
        const CARGO: bool = true;
        let timed_out = |requests: &[Requested]| {
            Some(Interruption {
                kind: "timed out",
                requests: requests.to_vec(),
            })
        };
        let all = |filter: Option<&str>| (TestSelection::All, filter.map(str::to_owned));
        let file = (part("/d/a", false), None);
        let cut = after(None, Some("timed out"), file.clone(), CARGO);
        assert_eq!(cut, timed_out(slice::from_ref(&file)));
        let left_after = |requested: Requested| after(cut.clone(), None, requested, CARGO);
        for narrower in [
            (TestSelection::Failed(vec![]), None),
            (TestSelection::Changed, None),
            (part("/d/b", false), None),
            (part("/d/a", false), Some("x".to_owned())),
            all(Some("x")),
        ] {
            assert_eq!(left_after(narrower.clone()), cut, "{narrower:?}");
        }
        for wider in [file.clone(), (part("/d", true), None), all(None)] {
            assert_eq!(left_after(wider.clone()), None, "{wider:?}");
        }

        let both = after(cut, Some("timed out"), all(Some("fmt::x")), CARGO);
        assert_eq!(both, timed_out(&[file.clone(), all(Some("fmt::x"))]));
        assert_eq!(
            after(both.clone(), None, all(Some("fmt")), CARGO),
            timed_out(&[file])
        );
        // A filter of pytest is an expression.
        assert_eq!(after(both.clone(), None, all(Some("fmt")), false), both);
        assert_eq!(after(both, None, all(None), CARGO), None);
    }

    #[test]
    fn many_interruptions_end_with_run_of_all() {
        let request = |number: usize| (part(&format!("/{number}"), false), None);
        let cut = (0..=MAX_INTERRUPTED_REQUESTS).fold(None, |known, number| {
            after(known, Some("crashed"), request(number), false)
        });
        let all = (TestSelection::All, None);
        assert_eq!(
            cut,
            Some(Interruption {
                kind: "crashed",
                requests: vec![all.clone()]
            })
        );
        assert_eq!(after(cut, None, all, false), None);
    }
}
