//! Report of a run as a table, as JSON and as a page.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::args::Args;
use crate::machine;
use crate::peers::{REPLAY, versions};
use crate::samples::{Cell, Goal, Row, Unit};

/// Rates a ratio against its bounds.
fn verdict(ratio: f64, must: f64, excellent: f64) -> &'static str {
    if ratio <= excellent {
        "excellent"
    } else if ratio <= must {
        "met"
    } else {
        "MISSED"
    }
}

/// Returns the bounds of a row that have figures: name, measured value, required value and verdict.
fn judge_goals(row: &Row) -> Vec<(String, f64, f64, &'static str)> {
    let judge = |goal: &Goal| match *goal {
        Goal::Ratio {
            of,
            must,
            excellent,
        } => {
            let ratio = row.ratio(of)?;
            Some((
                format!("x {of}"),
                ratio,
                must,
                verdict(ratio, must, excellent),
            ))
        }
        Goal::Multiple {
            who,
            must,
            excellent,
        } => {
            let (base, (ratio, best)) = (row.spec.base?, row.multiples(who)?);
            Some((
                format!("x {base} ({who}; by minima {best:.2})"),
                ratio,
                must,
                verdict(ratio, must, excellent),
            ))
        }
        Goal::Absolute { must, excellent } => {
            let median = row.cell(REPLAY)?.median();
            Some((
                row.spec.unit.name().to_owned(),
                median,
                must,
                verdict(median, must, excellent),
            ))
        }
    };
    row.spec.goals.iter().filter_map(judge).collect()
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats the rows as an aligned Markdown table.
pub fn table(rows: &[Row]) -> String {
    let mut out = String::new();
    for row in rows {
        let _ = writeln!(out, "### {}\n", row.spec.title);
        let _ = writeln!(
            out,
            "| | min | median | max | rounds | {} | reply bytes | {} | by minima |",
            row.spec.counted,
            row.spec
                .base
                .map_or("replay / it".to_owned(), |base| format!("it / {base}"))
        );
        let _ = writeln!(out, "|---|--:|--:|--:|--:|--:|--:|--:|--:|");
        for cell in &row.cells {
            let _ = writeln!(out, "{}", line(row, cell));
        }
        out.push('\n');
        if !row.spec.note.is_empty() {
            let _ = writeln!(out, "{}\n", row.spec.note);
        }
        for (what, got, must, verdict) in judge_goals(row) {
            let show = |value: f64| {
                if what.starts_with('x') {
                    format!("{value:.2}")
                } else {
                    row.spec.unit.show(value)
                }
            };
            let what = if what.starts_with('x') {
                format!(" {what}")
            } else {
                String::new()
            };
            let _ = writeln!(
                out,
                "Bound: at most {}{what}; got {}: {verdict}.\n",
                show(must),
                show(got)
            );
        }
    }
    out
}

fn line(row: &Row, cell: &Cell) -> String {
    if let Some(reason) = &cell.missing {
        return format!("| {} | missing: {reason} | | | | | | | |", cell.peer);
    }
    let show = |value| row.spec.unit.show(value);
    let own = row.spec.base.unwrap_or(REPLAY);
    let times = |ratio: Option<f64>| match ratio.filter(|_| cell.peer != own) {
        Some(ratio) if ratio < 0.1 => format!("{ratio:.4}"),
        Some(ratio) => format!("{ratio:.2}"),
        None => String::new(),
    };
    let (ratio, best) = match row.spec.base {
        Some(_) => row.multiples(cell.peer).unzip(),
        None => (row.ratio(cell.peer), row.best_ratio(cell.peer)),
    };
    let (ratio, best) = (times(ratio), times(best));
    let noisy = if cell.is_noisy() { " (noisy)" } else { "" };
    format!(
        "| {}{noisy} | {} | {} | {} | {} | {} | {} | {ratio} | {best} |",
        cell.peer,
        show(cell.min()),
        show(cell.median()),
        show(cell.max()),
        cell.values.len(),
        grouped(cell.count),
        grouped(cell.bytes),
    )
}

/// Returns all results as JSON.
pub fn json(rows: &[Row], machine: &[(&str, String)]) -> Value {
    let cell = |row: &Row, cell: &Cell| match &cell.missing {
        Some(reason) => json!({"peer": cell.peer, "missing": reason}),
        None => json!({
            "peer": cell.peer, "run": cell.how, "min": cell.min(), "median": cell.median(), "max": cell.max(),
            "values": cell.values, "count": cell.count, "replyBytes": cell.bytes, "noisy": cell.is_noisy(),
            "replayRatio": row.ratio(cell.peer), "replayRatioOfMinima": row.best_ratio(cell.peer),
            "baseRatio": row.multiples(cell.peer).map(|(median, _)| median),
            "baseRatioOfMinima": row.multiples(cell.peer).map(|(_, minima)| minima),
        }),
    };
    let row = |row: &Row| {
        let bound = |(what, got, must, verdict): (String, f64, f64, &str)| json!({"of": what, "got": got, "must": must, "verdict": verdict});
        json!({
            "name": row.spec.name, "title": row.spec.title, "unit": row.spec.unit.name(), "counted": row.spec.counted, "base": row.spec.base, "note": row.spec.note,
            "peers": row.cells.iter().map(|it| cell(row, it)).collect::<Vec<_>>(),
            "bounds": judge_goals(row).into_iter().map(bound).collect::<Vec<_>>(),
        })
    };
    let object = |pairs: &[(&str, String)]| {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), json!(value)))
            .collect()
    };
    json!({
        "machine": Value::Object(object(machine)),
        "versions": Value::Object(object(&versions())),
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
    })
}

/// Returns the page of a run.
pub fn page(args: &Args, rows: &[Row], machine: &[(&str, String)]) -> String {
    let mut out = String::from(
        "# Figures of one run\n\n\
         Written by `benches/peers`. Each figure is end to end: for servers from the request to its whole reply over stdio, \
         for programs from their start to their last byte. One warm-up, then interleaved rounds; compare ratios, not \
         milliseconds, and on a machine that has other work the ratios by minima. Answers are checked in every round, outside the clock.\n\n\
         ![How many times longer the others take](plot.svg)\n\n## Commands\n\n```sh\n",
    );
    let typed = args.typed.join(" ");
    let _ = writeln!(
        out,
        "sh benches/peers/install.sh\ncargo bench --bench peers -- {typed}\n```\n"
    );
    out.push_str("## Machine\n\n| | |\n|---|---|\n");
    for (name, value) in machine {
        let _ = writeln!(out, "| {name} | {value} |");
    }
    for (name, value) in versions() {
        let _ = writeln!(out, "| {name} | {value} |");
    }
    let _ = writeln!(out, "\n## What is run\n");
    let mut seen = Vec::new();
    for cell in rows
        .iter()
        .flat_map(|row| &row.cells)
        .filter(|cell| cell.missing.is_none())
    {
        let entry = format!("- {}: {}", cell.peer, cell.how);
        if !seen.contains(&entry) {
            let _ = writeln!(out, "{entry}");
            seen.push(entry);
        }
    }
    let missing = rows
        .iter()
        .flat_map(|row| row.cells.iter().map(move |cell| (row, cell)));
    for (row, cell) in missing {
        if let Some(reason) = &cell.missing {
            let _ = writeln!(
                out,
                "- {} is missing in \"{}\": {reason}",
                cell.peer, row.spec.title
            );
        }
    }
    let _ = writeln!(
        out,
        "\n## Figures\n\n\"noisy\" marks rounds that differ by more than a factor of two.\n\n{}",
        table(rows).trim_end()
    );
    out
}

/// Returns the ratios to plot: title of the row, contender and multiple of the row's base (mostly
/// `replay`). Noisy rows and plain numbers are omitted; a row is noisy if a median is far from its
/// best round.
pub fn bars(rows: &[Row]) -> Vec<(String, Vec<(String, f64)>)> {
    let says_much = |cell: &Cell| cell.median() < 3.0 * cell.min();
    let group = |row: &Row| {
        let base = row
            .cell(row.spec.base.unwrap_or(REPLAY))
            .filter(|base| says_much(base))?;
        let others = row
            .cells
            .iter()
            .filter(|cell| cell.peer != base.peer && !cell.values.is_empty());
        let bars = others.filter(|cell| says_much(cell));
        let bars: Vec<_> = bars
            .map(|cell| (cell.peer.to_owned(), cell.median() / base.median()))
            .collect();
        let title = format!(
            "{} ({}: {})",
            row.spec.title,
            base.peer,
            row.spec.unit.show(base.median())
        );
        (!bars.is_empty()).then_some((title, bars))
    };
    rows.iter()
        .filter(|row| row.spec.unit != Unit::Number)
        .filter_map(group)
        .collect()
}

/// Returns the caption of the chart, which names the base of the multiples.
pub fn heading(rows: &[Row]) -> &'static str {
    if rows.iter().any(|row| row.spec.base.is_none()) {
        "What others take, as a multiple of what replay takes (logarithmic)"
    } else {
        "What each takes, as a multiple of what the first one takes (logarithmic)"
    }
}

/// Returns the description of the machine. Called once, so that the load average precedes the run.
pub fn machine() -> Vec<(&'static str, String)> {
    machine::description()
}
