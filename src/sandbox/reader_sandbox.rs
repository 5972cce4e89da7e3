//! Sandbox for a process that only computes: it keeps its open descriptors, and limited memory and
//! time.

use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, getppid, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit,
};
use rustix::thread::set_no_new_privs;

use super::fault::{Fault, StepContext};
use super::landlock::{self, LEAST_ABI, Options, SCOPES_ABI, abi};
use super::{capabilities, seccomp};

/// Default stack limit of the kernel (`_STK_LIM`, linux/resource.h).
const STACK_BYTES: u64 = 8 * 1024 * 1024;

/// Confines this process for good. It has one thread and was started by `parent`; it is killed when
/// the parent thread exits.
///
/// The filter is the main barrier. The others are added if the kernel has them.
pub fn enclose(parent: Pid, memory_bytes: u64, cpu_secs: u64) -> Result<(), Fault> {
    set_parent_process_death_signal(Some(Signal::KILL)).step("PR_SET_PDEATHSIG")?;
    if getppid() != Some(parent) {
        return Err(Fault::because("look for the server", "it is gone"));
    }
    // A pipe without a reader: /dev/null may be unreachable.
    let (_, nowhere) = rustix::pipe::pipe().step("pipe")?;
    rustix::stdio::dup2_stderr(nowhere).step("stderr")?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).step("PR_SET_DUMPABLE")?;
    capabilities::drop_all().step("drop capabilities")?;
    set_no_new_privs(true).step("PR_SET_NO_NEW_PRIVS")?;
    if let Some(abi) = abi().filter(|abi| *abi >= LEAST_ABI) {
        let scopes = abi >= SCOPES_ABI;
        let options = Options {
            scope_signals: scopes,
            scope_abstract_sockets: scopes,
            reading: true,
            refuse_tcp: true,
            abi,
        };
        let nothing = landlock::ruleset(&[], options);
        let nothing = nothing.map_err(|error| Fault::because("Landlock", &error.to_string()))?;
        nothing.restrict().step("enter the Landlock domain")?;
    }
    // SIGXCPU, which tells the reason, comes first, and SIGKILL a second later.
    let limits = [
        (Resource::Data, memory_bytes, memory_bytes),
        (Resource::Stack, STACK_BYTES, STACK_BYTES),
        (Resource::Cpu, cpu_secs, cpu_secs + 1),
        (Resource::Core, 0, 0),
        (Resource::Fsize, 0, 0),
        (Resource::Nofile, 0, 0),
    ];
    for (resource, current, maximum) in limits {
        let limit = Rlimit {
            current: Some(current),
            maximum: Some(maximum),
        };
        setrlimit(resource, limit).step_with(|| format!("limit {resource:?}"))?;
    }
    replay_sys::seccomp::install(seccomp::computing().instructions()).step("install the filter")
}
