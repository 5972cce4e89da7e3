//! Health of a session's process, from kernel counters that the process cannot fake.

use std::time::Duration;

use replay_sandbox::exec::{Exit, ProgramStatus};

use super::kernel::Kernel;

/// Processor time is measured over at least so long, in milliseconds: the kernel counts in steps of
/// 10.
const MIN_CPU_SAMPLE_MS: u64 = 50;

/// State of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Healthy,
    /// The process has ended, or was never started.
    Dead,
    /// The interpreter has ended, but a process that it started has not.
    Zombie,
}

impl Condition {
    /// Returns the state as a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Dead => "dead",
            Self::Zombie => "zombie",
        }
    }
}

/// Health of a session's process.
#[derive(Clone, Debug, PartialEq)]
pub struct Health {
    /// State of the process.
    pub condition: Condition,
    /// Process ID, as cells see it.
    pub pid: Option<u32>,
    /// Kernel counters, while the process runs.
    pub status: Option<ProgramStatus>,
    /// Processor time since the last sample, or since the start, in percent of one processor.
    pub cpu_percent: Option<f64>,
    /// Run time of the current cell.
    pub busy_for: Option<Duration>,
    pub exit: Option<Exit>,
}

impl Health {
    /// Health of a session without a process.
    pub(super) fn dead(exit: Option<Exit>) -> Self {
        let (condition, pid, status, cpu_percent, busy_for) =
            (Condition::Dead, None, None, None, None);
        Self {
            condition,
            pid,
            status,
            cpu_percent,
            busy_for,
            exit,
        }
    }

    /// Health of a running process, from these counters.
    pub(super) fn of(kernel: &dyn Kernel, status: ProgramStatus, samples: &mut Samples) -> Self {
        let condition = if status.state == 'Z' {
            Condition::Zombie
        } else {
            Condition::Healthy
        };
        Self {
            condition,
            pid: Some(kernel.ready().pid),
            cpu_percent: Some(samples.percent(status.uptime, status.cpu)),
            busy_for: kernel.busy_for(),
            exit: None,
            status: Some(status),
        }
    }
}

/// Last sample of the processor time: a rate needs two samples.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Time since the start, and processor time.
    last: (Duration, Duration),
    percent: f64,
}

impl Samples {
    /// Returns the processor time since the last sample, in percent of the time that has passed.
    /// Repeats the last value right after a sample: the kernel counts in steps of 10 ms.
    fn percent(&mut self, at: Duration, cpu: Duration) -> f64 {
        let passed = at.saturating_sub(self.last.0);
        if passed >= Duration::from_millis(MIN_CPU_SAMPLE_MS) {
            let used = cpu.saturating_sub(self.last.1);
            self.percent = (used.as_secs_f64() / passed.as_secs_f64() * 1000.0).round() / 10.0;
            self.last = (at, cpu);
        }
        self.percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_percent_covers_time_since_last_sample() {
        let ms = Duration::from_millis;
        let mut samples = Samples::default();
        let percent = [
            samples.percent(ms(1000), ms(250)),
            samples.percent(ms(1001), ms(260)),
            samples.percent(ms(2000), ms(1250)),
            samples.percent(ms(3000), ms(1250)),
        ];
        assert_eq!(
            percent.map(|percent| format!("{percent:.1}")),
            ["25.0", "25.0", "100.0", "0.0"]
        );
    }
}
