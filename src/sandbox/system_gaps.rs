//! Gaps of the walls that only this system has.

use super::fault::Fault;
use super::namespaces;
use super::plan::{Plan, Tier};
use super::walls::Walls;

/// Lists the gaps, one line each. Gaps by the operator's choice are in [`super::explain`].
pub(crate) fn gaps(
    plan: &Plan,
    walls: Option<&Walls>,
    counts_processes: bool,
    not_public: Option<Fault>,
) -> Vec<String> {
    let pipes = walls.filter(|walls| walls.abi().is_none()).map(|_| {
        "without Landlock of Linux 5.19 or newer, commands can write into named pipes of \
         read-only directories, and commands of root see which files their supervisor has open \
         (/proc/1/fdinfo)"
            .to_owned()
    });
    let unbound = !counts_processes
        && plan.tier == Tier::Namespaces
        && plan.limits.processes.is_some()
        && rustix::process::geteuid().is_root()
        && !namespaces::can_bound_root();
    let unbound = unbound.then(|| {
        "the number of processes is not limited: this kernel holds root to no limit".to_owned()
    });
    // In namespaces these files are covered.
    let of_root = plan.tier == Tier::Landlock && rustix::process::geteuid().is_root();
    let of_root = of_root.then(|| {
        "commands can read kernel files about the machine's memory that only root may read \
         (/proc/kpagecount, /proc/slabinfo, /proc/vmallocinfo and others)"
            .to_owned()
    });
    let private = match (plan.tier, not_public) {
        (Tier::Landlock, _) => of_root
            .as_ref()
            .map(|_| "this tier cannot hide them".to_owned()),
        (_, fault) => fault.map(|fault| fault.to_string()),
    };
    let private = private.map(|reason| {
        format!("commands can read files below /usr and /opt that only root may read: {reason}")
    });
    let registers = walls.filter(|walls| walls.keeps_registers()).map(|_| {
        "debuggers cannot set registers (PTRACE_SETREGSET): on this kernel they could change a \
         system call that the filter has approved; Linux 6.12.115 or newer repairs it"
            .to_owned()
    });
    pipes
        .into_iter()
        .chain(unbound)
        .chain(of_root)
        .chain(private)
        .chain(registers)
        .collect()
}
