//! Description of the machine and resource use of processes, from `/proc` (proc(5)).

use std::fs;

use anyhow::{Context as _, Result, bail};

/// Describes the machine without naming the host.
pub fn description() -> Vec<(&'static str, String)> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = field(&read("/proc/meminfo"), "MemTotal")
        .and_then(|kb| kb.split(' ').next()?.parse::<f64>().ok());
    let load = read("/proc/loadavg");
    vec![
        ("cores", cores.to_string()),
        (
            "processor",
            field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "unknown".to_owned()),
        ),
        (
            "memory",
            memory.map_or_else(
                || "unknown".to_owned(),
                |kb| format!("{:.0} GiB", kb / 1024.0 / 1024.0),
            ),
        ),
        (
            "kernel",
            format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
        ),
        (
            "filesystem",
            crate::trees::filesystem(&crate::trees::home()),
        ),
        ("cache", "warm, but for the rows that say cold".to_owned()),
        (
            "load average before",
            load.split(' ').take(3).collect::<Vec<_>>().join(" "),
        ),
    ]
}

/// Writes back dirty pages and drops the page cache (proc(5), `drop_caches`).
pub fn forget_files() -> Result<()> {
    rustix::fs::sync();
    fs::write("/proc/sys/vm/drop_caches", "3").context("only root can empty the cache of files")
}

/// Returns the memory of a process and its descendants in bytes: `VmRSS` (current) or `VmHWM`
/// (peak).
pub fn memory(pid: u32, field: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kib: f64 = line
        .and_then(|line| line.trim().split(' ').next())
        .context("no such field")?
        .parse()?;
    let mut sum = kib * 1024.0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace() {
            // A process that has just ended has no memory.
            sum += memory(child.parse()?, field).unwrap_or(0.0);
        }
    }
    Ok(sum)
}

/// Returns the CPU time of a process in seconds, user and system (`proc_pid_stat(5)`).
pub fn processor_time(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in parentheses may contain any character; fields from the third on follow it.
    let (_, fields) = stat.rsplit_once(") ").context("no such fields")?;
    let mut ticks = fields.split(' ').skip(11).take(2).map(str::parse::<u64>);
    let (Some(user), Some(system)) = (ticks.next(), ticks.next()) else {
        bail!("no such fields")
    };
    Ok((user? + system?) as f64 / rustix::param::clock_ticks_per_second() as f64)
}
