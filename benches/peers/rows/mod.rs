//! Benchmark rows, one file per group.

mod calls;
mod cold;
mod edits;
mod grep;
mod http;
mod memory;
mod mock;
mod python;
mod reads;
mod start;
mod tree;
mod walled;
mod walls;

use anyhow::Result;

use crate::args::Args;
use crate::samples::Row;

/// Runs the selected rows, in the order of the table.
pub fn all(args: &Args) -> Result<Vec<Row>> {
    type Part = (&'static str, fn(&Args) -> Result<Vec<Row>>);
    const PARTS: [Part; 19] = [
        ("start", start::rows),
        ("read", reads::small),
        ("read10", reads::large),
        ("edit50", edits::large),
        ("edit1000", edits::many),
        ("memory", memory::rows),
        ("tree", tree::rows),
        ("names", tree::names),
        ("grep", grep::rows),
        ("first500", grep::begin),
        ("sizes", grep::sizes),
        ("cold", cold::rows),
        ("calls", calls::rows),
        ("walls", walls::rows),
        ("walled-start", start::walled),
        ("walled-work", walled::rows),
        ("mock", mock::rows),
        ("python", python::rows),
        ("http", http::rows),
    ];
    let mut rows = Vec::new();
    for (name, part) in PARTS {
        if args.wants(name) {
            eprintln!("measuring {name}");
            rows.extend(part(args)?);
        }
    }
    Ok(rows)
}
