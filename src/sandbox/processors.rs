//! Number of processors of commands, where a cgroup gives less time than the machine has.
//!
//! nproc(1), Python, ninja and many test runners read only the affinity (`sched_setaffinity(2)`), and
//! would start a thread for each processor of the machine.
#![expect(clippy::disallowed_methods, reason = "files of the kernel")]

use std::path::Path;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::cgroup::directory;

/// Keeps this process, and thus all commands, to as many of its processors as `cpu.max` of its cgroup
/// and of those above gives time for. Without such a limit, or on failure, nothing changes.
pub(crate) fn keep_to_quota() {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let own = directory(
        &read(Path::new("/proc/self/cgroup")),
        &read(Path::new("/proc/self/mountinfo")),
    );
    let groups = own.iter().flat_map(|own| own.ancestors());
    let limits = groups.filter_map(|group| processors(&read(&group.join("cpu.max"))));
    let (Some(count), Ok(mask)) = (limits.min(), sched_getaffinity(None)) else {
        return;
    };
    let own = rustix::process::getpid().as_raw_nonzero().get();
    if let Some(chosen) = chosen(&mask, count, own.unsigned_abs() as usize) {
        let _ = sched_setaffinity(None, &chosen);
    }
}

/// Returns the number of processors that `cpu.max` gives time for (Documentation/admin-guide/cgroup-v2:
/// quota and period in microseconds, or `max`), at least 1.
fn processors(limit: &str) -> Option<usize> {
    let (quota, period) = limit.trim().split_once(' ')?;
    let (quota, period) = (quota.parse::<usize>().ok()?, period.parse::<usize>().ok()?);
    (period > 0).then(|| quota.div_ceil(period).max(1))
}

/// Returns `count` processors of a set, beginning at the `first` one, so that two servers do not take
/// the same; `None` if the set has no more.
fn chosen(mask: &CpuSet, count: usize, first: usize) -> Option<CpuSet> {
    let all: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|number| mask.is_set(*number))
        .collect();
    if count >= all.len() {
        return None;
    }
    let mut chosen = CpuSet::new();
    let rotated = all.iter().cycle().skip(first % all.len());
    rotated.take(count).for_each(|number| chosen.set(*number));
    Some(chosen)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn quota_is_rounded_up() {
        for (limit, count) in [
            ("150000 100000\n", Some(2)),
            ("100000 100000\n", Some(1)),
            ("1000 100000\n", Some(1)),
            ("800000 100000", Some(8)),
            ("max 100000\n", None),
            ("", None),
            ("1 0", None),
        ] {
            assert_eq!(processors(limit), count, "{limit:?}");
        }
    }

    #[test]
    fn processors_are_chosen_of_own_ones() {
        let set = |numbers: &[usize]| {
            let mut set = CpuSet::new();
            for number in numbers {
                set.set(*number);
            }
            set
        };
        let mask = set(&[1, 3, 5]);
        assert_eq!(chosen(&mask, 1, 0), Some(set(&[1])));
        assert_eq!(chosen(&mask, 2, 5), Some(set(&[1, 5])));
        assert_eq!(chosen(&mask, 3, 0), None);
    }
}
