//! Rows, their contenders, and the interleaved rounds that fill them.

use anyhow::{Context as _, Result};

use crate::machine;

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Bytes,
    /// Of anything, as it stands.
    Number,
}

impl Unit {
    /// A figure for people, three digits or so.
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

/// A bound that this project sets itself.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    /// The median of `replay` is at most this many times that of the contender.
    Ratio {
        of: &'static str,
        must: f64,
        excellent: f64,
    },
    /// The median of this contender is at most so many times that of the row's base.
    Multiple {
        who: &'static str,
        must: f64,
        excellent: f64,
    },
    /// The median of `replay` is at most this, in the row's unit.
    Absolute { must: f64, excellent: f64 },
}

/// One table row: what is measured. A measurement may fill several rows at once.
#[derive(Clone, Debug)]
pub struct Spec {
    pub name: &'static str,
    pub title: String,
    pub unit: Unit,
    /// What the counts beside the figures count.
    pub counted: &'static str,
    pub goals: Vec<Goal>,
    /// Whom all others are compared with, if that is not `replay`.
    pub base: Option<&'static str>,
    /// What a reader should know before comparing; may be empty.
    pub note: &'static str,
}

/// What one round of one contender gave: a figure for each row (`None`: this contender has none),
/// and what it answered, which must be the same in every round.
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

/// One that takes part in a measurement, or the reason why not.
pub struct Contender<'a> {
    pub name: &'static str,
    how: String,
    rounds: usize,
    measure: Result<Measure<'a>, String>,
}

impl<'a> Contender<'a> {
    /// `how` says what is run, in words that fit any machine.
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

    /// Starts each round with nothing of any file in memory, which only root can arrange.
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

    /// Takes part in the first rounds only, because it is slow.
    #[must_use]
    pub fn at_most(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }
}

/// The figures of a contender in one row.
#[derive(Clone, Debug)]
pub struct Cell {
    pub peer: &'static str,
    pub how: String,
    /// Sorted; empty when missing.
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

    /// Whether the rounds disagree so much that the median says little.
    pub fn is_noisy(&self) -> bool {
        self.values.len() > 1 && self.max() > 2.0 * self.min() && self.max() > 1.5 * self.median()
    }
}

/// A row with its figures.
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

    /// `replay` against `peer`, by medians of this run.
    pub fn ratio(&self, peer: &str) -> Option<f64> {
        Some(self.cell(crate::peers::REPLAY)?.median() / self.cell(peer)?.median())
    }

    /// The same by the best rounds, which a busy machine disturbs least.
    pub fn best_ratio(&self, peer: &str) -> Option<f64> {
        Some(self.cell(crate::peers::REPLAY)?.min() / self.cell(peer)?.min())
    }

    /// `peer` against the row's base, by medians and by the best rounds.
    pub fn multiples(&self, peer: &str) -> Option<(f64, f64)> {
        let (base, peer) = (self.cell(self.spec.base?)?, self.cell(peer)?);
        Some((peer.median() / base.median(), peer.min() / base.min()))
    }
}

/// One warm-up for each contender, then rounds in which each runs once, in turning order.
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
