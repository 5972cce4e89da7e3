//! Runs that ended before all of their tests had begun. Which tests those were is as a rule told by nobody, and a later run
//! of what failed must not be taken for one of everything.

use super::model::{State, TestRunner, TestStatus};
use super::plan::Which;
use super::reports::Parsed;

/// What a run did not come to the end of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// How it ended, such as `timed out`.
    pub how: &'static str,
    /// What it was asked for: the tests, and what their names had to match. None if that was several things.
    pub asked: Option<(Which, Option<String>)>,
}

impl Cut {
    /// What of this did not run, for people.
    pub fn told(&self) -> String {
        format!("tests that an earlier run did not come to, since it {}", self.how)
    }
}

/// How a run was cut short; none if everything that it was asked for had its turn, or nothing had.
pub fn how(runner: TestRunner, parsed: &Parsed, status: TestStatus) -> Option<&'static str> {
    match status {
        TestStatus::TimedOut => return Some("timed out"),
        TestStatus::Crashed => return Some("crashed"),
        TestStatus::MissingTool | TestStatus::ConfigError | TestStatus::NoTests | TestStatus::BuildError => {
            return None;
        }
        TestStatus::Passed | TestStatus::Failed | TestStatus::Incomplete => {}
    }
    // One process runs many tests there, and those behind the one that it dies in are not even known.
    let is_shared = matches!(runner, TestRunner::CargoTest | TestRunner::Go);
    let ends_all = |state| matches!(state, State::Crashed | State::TimedOut);
    if is_shared && parsed.failures.iter().any(|case| ends_all(case.state)) {
        return Some("crashed");
    }
    let is_open = !parsed.unfinished.is_empty() || !parsed.silent.is_empty();
    (parsed.summary.not_run > 0 || !parsed.unreached.is_empty() || is_open).then_some("stopped early")
}

/// What is cut off after a run of these tests that was cut short as `how` says; `known` was before.
pub fn after(known: Option<Cut>, how: Option<&'static str>, which: &Which, filter: Option<&str>) -> Option<Cut> {
    let asked = (which.clone(), filter.map(str::to_owned));
    let is_all = asked == (Which::All, None);
    match (known, how) {
        // What failed stays on the list until it passes.
        (known, _) if matches!(which, Which::Failed(_)) => known,
        (Some(known), Some(how)) if known.asked.as_ref() != Some(&asked) && !is_all => Some(Cut { how, asked: None }),
        (_, Some(how)) => Some(Cut { how, asked: Some(asked) }),
        (known, None) => known.filter(|known| !is_all && known.asked.as_ref() != Some(&asked)),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::testrun::files::Target;
    use crate::testrun::model::{Case, Summary};

    fn part(path: &str) -> Which {
        Which::Targets(vec![Target::whole(path.into(), false)])
    }

    #[test]
    fn a_run_that_did_not_come_to_all_of_its_tests_is_cut() {
        let of = |runner, parsed: &Parsed| how(runner, parsed, TestStatus::Failed);
        let dead = Parsed { failures: vec![Case::new("a", "a", State::Crashed)], ..Parsed::default() };
        let [go, cargo, nextest] = [TestRunner::Go, TestRunner::CargoTest, TestRunner::Nextest].map(|by| of(by, &dead));
        assert_eq!((go, cargo, nextest), (Some("crashed"), Some("crashed"), None));
        let bail = Parsed { summary: Summary { not_run: 1, ..Summary::default() }, ..Parsed::default() };
        assert_eq!(of(TestRunner::Pytest, &bail), Some("stopped early"));
        let files = Parsed { unreached: vec!["b.test.ts".to_owned()], ..Parsed::default() };
        assert_eq!(of(TestRunner::Jest, &files), Some("stopped early"));
        assert_eq!(of(TestRunner::Jest, &Parsed::default()), None);
        assert_eq!(how(TestRunner::Jest, &Parsed::default(), TestStatus::TimedOut), Some("timed out"));
        assert_eq!(how(TestRunner::Jest, &bail, TestStatus::ConfigError), None);
    }

    #[test]
    fn only_a_run_of_the_same_or_of_all_makes_up_for_it() {
        let cut = after(None, Some("timed out"), &part("/a"), None);
        assert_eq!(cut, Some(Cut { how: "timed out", asked: Some((part("/a"), None)) }));
        assert_eq!(after(cut.clone(), None, &Which::Failed(vec![]), None), cut);
        assert_eq!(after(cut.clone(), None, &part("/b"), None), cut);
        assert_eq!(after(cut.clone(), None, &part("/a"), Some("x")), cut);
        assert_eq!(after(cut.clone(), None, &part("/a"), None), None);
        assert_eq!(after(cut.clone(), None, &Which::All, None), None);
        let both = after(cut, Some("crashed"), &part("/b"), None);
        assert_eq!(both, Some(Cut { how: "crashed", asked: None }));
        assert_eq!(after(both.clone(), None, &part("/b"), None), both);
        assert_eq!(after(both, None, &Which::All, None), None);
        // A run of what failed that is cut short keeps its list.
        assert_eq!(after(None, Some("timed out"), &Which::Failed(vec![]), None), None);
    }
}
