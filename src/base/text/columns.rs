//! Tables for a terminal.

use std::ops::Range;

/// Formats rows in columns, two blanks apart. Columns in `right` are aligned to the right, like
/// numbers.
pub fn columns<const N: usize>(rows: &[[String; N]], right: &Range<usize>) -> String {
    let widths: [usize; N] = std::array::from_fn(|column| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    });
    let cell = |(column, cell): (usize, &String)| match widths[column] {
        width if right.contains(&column) => format!("{cell:>width$}"),
        width => format!("{cell:width$}"),
    };
    let line = |row: &[String; N]| {
        row.iter()
            .enumerate()
            .map(cell)
            .collect::<Vec<_>>()
            .join("  ")
            .trim_end()
            .to_owned()
    };
    rows.iter().map(|row| line(row) + "\n").collect()
}
