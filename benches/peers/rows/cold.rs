//! Searches of a source tree with a cold page cache.

use anyhow::Result;
use serde_json::json;

use super::grep::LITERAL;
use super::tree::{HitCounter, MISSING, first, program};
use crate::args::Args;
use crate::peers::REPLAY;
use crate::samples::{Contender, Goal, Row, Spec, Unit, rounds};

pub fn rows(args: &Args) -> Result<Vec<Row>> {
    let spec = |title: String, counted, of| Spec {
        name: "cold",
        title,
        unit: Unit::Seconds,
        counted,
        base: None,
        goals: vec![Goal::Ratio {
            of,
            must: 1.0,
            excellent: 0.85,
        }],
        note: "Everybody reads the disk: the ratio says how well its requests are kept waiting for each other.",
    };
    let grep = spec(
        format!("grep_files of `{LITERAL}`, cold"),
        "matching lines",
        "rg",
    );
    let Ok(tree) = args.tree.canonicalize() else {
        return rounds(vec![grep], vec![Contender::missing(REPLAY, MISSING)], 1);
    };
    if !rustix::process::geteuid().is_root() {
        return rounds(
            vec![grep],
            vec![Contender::missing(
                REPLAY,
                "only root can empty the cache of files",
            )],
            1,
        );
    }
    let lines =
        json!({"regex": LITERAL, "directory": tree, "outputMode": "count", "maxResults": 10_000});
    let greps = vec![
        first(&tree, "grep_files", lines, HitCounter::Structured("count")).cold(),
        program(
            "rg",
            &["rg"],
            format!("rg -uu -c --no-messages -e {LITERAL} TREE"),
            &["-uu", "-c", "--no-messages", "-e", LITERAL],
            &tree,
            HitCounter::Counts,
        )
        .cold(),
    ];
    let names = json!({"directory": tree, "globs": ["**/*.c"], "max": 0});
    let globs = vec![
        first(&tree, "glob_search", names, HitCounter::Listed("matches")).cold(),
        program(
            "fd",
            &["fdfind", "fd"],
            "fd -u -t f -t l --glob *.c TREE",
            &["-u", "-t", "f", "-t", "l", "--glob", "*.c"],
            &tree,
            HitCounter::Lines,
        )
        .cold(),
    ];
    let mut rows = rounds(vec![grep], greps, args.rounds)?;
    let glob = spec("glob_search `**/*.c`, cold".to_owned(), "paths", "fd");
    rows.extend(rounds(vec![glob], globs, args.rounds)?);
    Ok(rows)
}
