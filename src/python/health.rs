//! How the process of a session is, from numbers of the kernel that it cannot hide.

use std::time::Duration;

use super::kernel::Kernel;
use crate::exec::{Exit, ProgramStatus};
use crate::limits::MIN_CPU_SAMPLE_MS;

/// Whether there is a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Healthy,
    /// It has ended, or was never started.
    Dead,
    /// The interpreter has ended, and something that it started has not.
    Zombie,
}

impl Condition {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Dead => "dead",
            Self::Zombie => "zombie",
        }
    }
}

/// How the process of a session is.
#[derive(Clone, Debug, PartialEq)]
pub struct Health {
    /// Whether there is one.
    pub condition: Condition,
    /// Its number, as cells see it.
    pub pid: Option<u32>,
    /// Its numbers, while it runs.
    pub status: Option<ProgramStatus>,
    /// Processor time since the last look, or since the start, in percent of one processor.
    pub cpu_percent: Option<f64>,
    /// How long the cell that runs has run.
    pub busy_for: Option<Duration>,
    pub exit: Option<Exit>,
}

impl Health {
    /// Of a session without a process.
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

    /// Of one with a process, of which these are the numbers.
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

/// When the processor time was looked at: one look says nothing.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Time since the start, and processor time.
    last: (Duration, Duration),
    percent: f64,
}

impl Samples {
    /// Processor time since the look before, in percent of the time that has passed. Right after a
    /// look it is what that look has found: the kernel counts in steps of 10 ms.
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
    fn the_processor_is_measured_between_looks() {
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
