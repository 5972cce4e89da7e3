//! Time from process start to the first answer, and memory of an idle server.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::args::Args;
use crate::client::Client;
use crate::machine;
use crate::peers::{FLOOR, NPM, OFF, Server, TIERS};
use crate::samples::{Contender, Goal, Row, Spec, Trial, Unit, rounds};
use crate::trees;

/// Delay after the start for pending garbage collection and timers.
const SETTLE: Duration = Duration::from_millis(200);

pub fn rows(args: &Args) -> Result<Vec<Row>> {
    let dir = trees::fresh("start")?;
    let specs = vec![
        Spec {
            name: "start",
            title: "start to first tools/list answer".to_owned(),
            unit: Unit::Seconds,
            counted: "tools",
            base: None,
            goals: vec![Goal::Ratio {
                of: FLOOR,
                must: 3.0,
                excellent: 1.5,
            }],
            note: "",
        },
        Spec {
            name: "start",
            title: "idle memory after it (RSS, children included)".to_owned(),
            unit: Unit::Bytes,
            counted: "tools",
            base: None,
            goals: vec![Goal::Absolute {
                must: 8.0 * 1024.0 * 1024.0,
                excellent: 4.0 * 1024.0 * 1024.0,
            }],
            note: "",
        },
    ];
    let servers = [(FLOOR, Server::floor()), (NPM, Server::npm(&dir))];
    let mut contenders = vec![contender(Server::replay(&dir))];
    for (name, server) in servers {
        contenders.push(match server {
            Ok(server) if name == NPM => contender(server).at_most(args.rounds),
            Ok(server) => contender(server),
            Err(reason) => Contender::missing(name, reason),
        });
    }
    rounds(specs, contenders, args.rounds * 3)
}

/// Measures the start with each sandbox tier. The launcher builds the sandbox concurrently; memory
/// is that of both processes afterwards.
pub fn walled(args: &Args) -> Result<Vec<Row>> {
    let dir = trees::fresh("start")?;
    let spec = |title: &str, unit| Spec {
        name: "walled-start",
        title: title.to_owned(),
        unit,
        counted: "tools",
        base: Some(OFF),
        goals: Vec::new(),
        note: "A launcher is started with every tier; `off` has one too, which builds nothing.",
    };
    let specs = vec![
        spec(
            "start to first tools/list answer, with walls",
            Unit::Seconds,
        ),
        spec("idle memory of server and launcher (RSS)", Unit::Bytes),
    ];
    let mut contenders: Vec<_> = TIERS
        .map(|tier| contender(Server::walled(tier, &dir)))
        .into();
    contenders.push(match Server::floor() {
        Ok(server) => contender(server),
        Err(reason) => Contender::missing(FLOOR, reason),
    });
    rounds(specs, contenders, args.rounds * 3)
}

fn contender(server: Server) -> Contender<'static> {
    Contender::new(server.name, server.how.clone(), move || {
        let begin = Instant::now();
        let mut client = Client::spawn(&server)?;
        client.handshake()?;
        let line = client.request("tools/list", &json!({}));
        let answer = client.ask(&line)?.to_vec();
        let time = begin.elapsed().as_secs_f64();
        thread::sleep(SETTLE);
        let memory = machine::memory(client.pid(), "VmRSS")?;
        let list: Value = serde_json::from_slice(&answer)?;
        let tools = list["result"]["tools"].as_array().context("no list")?.len() as u64;
        Ok(Trial {
            figures: vec![Some(time), Some(memory)],
            count: tools,
            bytes: answer.len() as u64,
        })
    })
}
