//! What the figures were taken on, and what a process holds, all from `/proc` (proc(5)).

use std::fs;

use anyhow::{Context as _, Result, bail};

/// The machine in words that name no host.
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

/// Writes everything out and lets the kernel forget all that it holds of files (proc(5),
/// `drop_caches`).
pub fn forget_files() -> Result<()> {
    rustix::fs::sync();
    fs::write("/proc/sys/vm/drop_caches", "3").context("only root can empty the cache of files")
}

/// A memory figure of a process and all below it, in bytes: `VmRSS` (now) or `VmHWM` (the most
/// ever).
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
            // One that has just ended holds nothing.
            sum += memory(child.parse()?, field).unwrap_or(0.0);
        }
    }
    Ok(sum)
}

/// How long a process has worked by now, in the program and in the kernel, in seconds
/// (`proc_pid_stat(5)`).
pub fn processor_time(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in parentheses may hold anything; what follows it are fields from the third on.
    let (_, fields) = stat.rsplit_once(") ").context("no such fields")?;
    let mut ticks = fields.split(' ').skip(11).take(2).map(str::parse::<u64>);
    let (Some(user), Some(system)) = (ticks.next(), ticks.next()) else {
        bail!("no such fields")
    };
    Ok((user? + system?) as f64 / rustix::param::clock_ticks_per_second() as f64)
}
