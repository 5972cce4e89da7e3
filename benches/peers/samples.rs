//! Rows, their contenders, and the interleaved rounds that fill them.

use anyhow::{Context as _, Result};

use crate::machine;

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Bytes,
    /// A plain number.
    Number,
}

impl Unit {
    /// Formats a figure for people, with about three digits.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Seconds if value < 1e-3 => format!("{:.1} us", value * 1e6),
            Self::Seconds if value < 1.0 => format!("{:.2} ms", value * 1e3),
            Self::Seconds => format!("{value:.2} s"),
            Self::Bytes if value < 1024.0 * 1024.0 => format!("{:.1} KiB", value / 1024.0),
            Self::Bytes => format!("{:.1} MiB", value / 1024.0 / 1024.0),
            Self::Number => format!("{value:.0}"),
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
            Self::Number => "number",
        }
    }
}

/// Performance goal of this project.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    /// The median of `replay` is at most `must` times that of the contender.
    Ratio {
        of: &'static str,
        must: f64,
        excellent: f64,
    },
    /// The median of this contender is at most `must` times that of the row's base.
    Multiple {
        who: &'static str,
        must: f64,
        excellent: f64,
    },
    /// The median of `replay` is at most `must`, in the unit of the row.
    Absolute { must: f64, excellent: f64 },
}

/// Specification of one table row. A measurement may fill several rows at once.
#[derive(Clone, Debug)]
pub struct Spec {
    pub name: &'static str,
    pub title: String,
    pub unit: Unit,
    /// Name of the items counted beside the figures.
    pub counted: &'static str,
    pub goals: Vec<Goal>,
    /// Contender that others are compared with, if not `replay`.
    pub base: Option<&'static str>,
    /// Caveat for the comparison; may be empty.
    pub note: &'static str,
}

/// Result of one round of one contender. `figures` has one entry per row, `None` if the contender
/// has no figure there. Count and bytes of the answers must be the same in every round.
#[derive(Clone, Debug)]
pub struct Trial {
    pub figures: Vec<Option<f64>>,
    pub count: u64,
    pub bytes: u64,
}

impl Trial {
    pub fn of(figure: f64, count: u64, bytes: u64) -> Self {
        Self {
            figures: vec![Some(figure)],
            count,
            bytes,
        }
    }
}

type Measure<'a> = Box<dyn FnMut() -> Result<Trial> + 'a>;

/// Participant in a measurement, or the reason why it is missing.
pub struct Contender<'a> {
    pub name: &'static str,
    how: String,
    rounds: usize,
    measure: Result<Measure<'a>, String>,
}

impl<'a> Contender<'a> {
    /// `how` describes the command, independent of the machine.
    pub fn new(
        name: &'static str,
        how: impl Into<String>,
        measure: impl FnMut() -> Result<Trial> + 'a,
    ) -> Self {
        Self {
            name,
            how: how.into(),
            rounds: usize::MAX,
            measure: Ok(Box::new(measure)),
        }
    }

    pub fn missing(name: &'static str, reason: impl Into<String>) -> Self {
        Self {
            name,
            how: String::new(),
            rounds: 0,
            measure: Err(reason.into()),
        }
    }

    /// Empties the page cache before each round, which needs root.
    #[must_use]
    pub fn cold(mut self) -> Self {
        self.measure = self.measure.map(|mut measure| -> Measure<'a> {
            Box::new(move || {
                machine::forget_files()?;
                measure()
            })
        });
        self
    }

    /// Limits a slow contender to the first rounds.
    #[must_use]
    pub fn at_most(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }
}

/// Figures of a contender in one row.
#[derive(Clone, Debug)]
pub struct Cell {
    pub peer: &'static str,
    pub how: String,
    /// Sorted; empty if the contender is missing.
    pub values: Vec<f64>,
    pub count: u64,
    pub bytes: u64,
    pub missing: Option<String>,
}

impl Cell {
    pub fn min(&self) -> f64 {
        self.values.first().copied().unwrap_or(f64::NAN)
    }

    pub fn max(&self) -> f64 {
        self.values.last().copied().unwrap_or(f64::NAN)
    }

    pub fn median(&self) -> f64 {
        let middle = self.values.len() / 2;
        match self.values.len() {
            0 => f64::NAN,
            odd if odd % 2 == 1 => self.values[middle],
            _ => f64::midpoint(self.values[middle - 1], self.values[middle]),
        }
    }

    /// Returns true if the rounds vary so much that the median is unreliable.
    pub fn is_noisy(&self) -> bool {
        self.values.len() > 1 && self.max() > 2.0 * self.min() && self.max() > 1.5 * self.median()
    }
}

/// Row with its figures.
#[derive(Clone, Debug)]
pub struct Row {
    pub spec: Spec,
    pub cells: Vec<Cell>,
}

impl Row {
    pub fn cell(&self, peer: &str) -> Option<&Cell> {
        self.cells
            .iter()
            .find(|cell| cell.peer == peer && !cell.values.is_empty())
    }

    /// Returns the ratio of `replay` to `peer`, by medians of this run.
    pub fn ratio(&self, peer: &str) -> Option<f64> {
        Some(self.cell(crate::peers::REPLAY)?.median() / self.cell(peer)?.median())
    }

    /// Returns the ratio of the best rounds, which are least disturbed by other load.
    pub fn best_ratio(&self, peer: &str) -> Option<f64> {
        Some(self.cell(crate::peers::REPLAY)?.min() / self.cell(peer)?.min())
    }

    /// Returns the ratio of `peer` to the row's base, by medians and by best rounds.
    pub fn multiples(&self, peer: &str) -> Option<(f64, f64)> {
        let (base, peer) = (self.cell(self.spec.base?)?, self.cell(peer)?);
        Some((peer.median() / base.median(), peer.min() / base.min()))
    }
}

/// Runs one warm-up per contender, then rounds in which each contender runs once, in rotating
/// order.
pub fn rounds(specs: Vec<Spec>, contenders: Vec<Contender<'_>>, rounds: usize) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = specs
        .into_iter()
        .map(|spec| Row {
            spec,
            cells: Vec::new(),
        })
        .collect();
    let mut running = Vec::new();
    for contender in contenders {
        let Contender {
            name: peer,
            how,
            rounds,
            measure,
        } = contender;
        let place = rows.first().map_or(0, |row| row.cells.len());
        let missing = measure.as_ref().err().cloned();
        for row in &mut rows {
            let (how, missing) = (how.clone(), missing.clone());
            row.cells.push(Cell {
                peer,
                how,
                values: Vec::new(),
                count: 0,
                bytes: 0,
                missing,
            });
        }
        if let Ok(mut measure) = measure {
            let first = measure().with_context(|| format!("{peer}, warm-up"))?;
            for row in &mut rows {
                row.cells[place].count = first.count;
                row.cells[place].bytes = first.bytes;
            }
            running.push((place, peer, rounds, measure));
        }
    }
    for round in 0..rounds {
        for turn in 0..running.len() {
            let turned = (turn + round) % running.len();
            let (place, peer, limit, measure) = &mut running[turned];
            if round >= *limit {
                continue;
            }
            let trial = measure().with_context(|| format!("{peer}, round {round}"))?;
            for (row, figure) in rows.iter_mut().zip(trial.figures) {
                let cell = &mut row.cells[*place];
                anyhow::ensure!(
                    cell.count == trial.count,
                    "{peer} in {}: {} {}, then {}",
                    row.spec.name,
                    cell.count,
                    row.spec.counted,
                    trial.count
                );
                cell.values.extend(figure);
                cell.bytes = trial.bytes;
            }
        }
    }
    for cell in rows.iter_mut().flat_map(|row| &mut row.cells) {
        cell.values.sort_by(f64::total_cmp);
    }
    for row in &mut rows {
        row.cells
            .retain(|cell| !cell.values.is_empty() || cell.missing.is_some());
    }
    Ok(rows)
}
