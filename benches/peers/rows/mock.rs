//! Mock servers from manifests: cost of a call, alone and beside hanging calls, and of a long tool
//! list.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::args::Args;
use crate::client::{Client, text_of};
use crate::peers::{MCPTEST, REPLAY, Server};
use crate::samples::{Contender, Goal, Row, Spec, Trial, Unit, rounds};
use crate::trees;

/// Baseline row: `ping` to the same server.
const PING: &str = "ping";
const CALLS: usize = 10_000;
const HANGING: usize = 100;
const TOOLS: usize = 1000;
const LISTS: usize = 100;

pub fn rows(args: &Args) -> Result<Vec<Row>> {
    let dir = trees::fresh("mock")?;
    let few = manifest(&dir, "few.yaml", 1)?;
    let many = manifest(&dir, "many.yaml", TOOLS)?;
    let spec = |title: String, counted, goals| Spec {
        name: "mock",
        title,
        unit: Unit::Seconds,
        counted,
        base: None,
        goals,
        note: "`ping` is a method without parameters, answered by the same mock.",
    };
    let ratio = vec![Goal::Ratio {
        of: PING,
        must: 1.5,
        excellent: 1.2,
    }];
    let alone = spec(
        format!("a call through a mock, p50 of {CALLS}"),
        "replies",
        ratio.clone(),
    );
    let contenders = vec![
        contender(REPLAY, Ok(Server::mock(&few)), |client| {
            calls(client, 0, weather)
        }),
        contender(PING, Ok(Server::mock(&few)), |client| {
            calls(client, 0, ping)
        }),
        contender(MCPTEST, Server::mcptest(&few), |client| {
            calls(client, 0, weather)
        }),
    ];
    let mut rows = rounds(vec![alone], contenders, args.rounds)?;
    let beside = spec(
        format!("the same while {HANGING} calls hang"),
        "replies",
        ratio,
    );
    let contenders = vec![
        contender(REPLAY, Ok(Server::mock(&few)), |client| {
            calls(client, HANGING, weather)
        }),
        contender(PING, Ok(Server::mock(&few)), |client| {
            calls(client, HANGING, ping)
        }),
    ];
    rows.extend(rounds(vec![beside], contenders, args.rounds)?);
    let list = spec(
        format!("tools/list of {TOOLS} tools, p50 of {LISTS}"),
        "tools",
        vec![Goal::Absolute {
            must: 0.010,
            excellent: 0.001,
        }],
    );
    let contenders = vec![
        contender(REPLAY, Ok(Server::mock(&many)), lists),
        contender(MCPTEST, Server::mcptest(&many), lists),
    ];
    rows.extend(rounds(vec![list], contenders, args.rounds)?);
    Ok(rows)
}

/// Writes a manifest that both programs read; the first tool answers, another one hangs.
fn manifest(dir: &Path, name: &str, tools: usize) -> Result<PathBuf> {
    let schema =
        json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}});
    let response = json!({"content": [{"type": "text", "text": "It is sunny in ${args.city}."}]});
    let tool = |number: usize| {
        json!({"name": format!("get_weather_{number}"), "description": "Get the weather for a city.",
            "input_schema": schema, "response": response})
    };
    let mut tools: Vec<Value> = (0..tools).map(tool).collect();
    if tools.len() == 1 {
        tools.push(json!({"name": "hangs", "fault": "hang"}));
    }
    let path = dir.join(name);
    fs::write(
        &path,
        json!({"mock_server": {"name": "mock", "tools": tools}}).to_string(),
    )?;
    Ok(path)
}

fn contender(
    name: &'static str,
    server: Result<Server, String>,
    measure: impl Fn(&mut Client) -> Result<Trial> + 'static,
) -> Contender<'static> {
    match server {
        Err(reason) => Contender::missing(name, reason),
        Ok(server) => Contender::new(name, server.how.clone(), move || {
            measure(&mut Client::start(&server)?)
        }),
    }
}

fn weather(client: &mut Client) -> Vec<u8> {
    client.call("get_weather_0", &json!({"city": "Denver"}))
}

fn ping(client: &mut Client) -> Vec<u8> {
    client.request("ping", &json!({}))
}

/// Returns the median duration of sequential calls behind this many hanging calls.
fn calls(client: &mut Client, hanging: usize, line: fn(&mut Client) -> Vec<u8>) -> Result<Trial> {
    for _ in 0..hanging {
        let line = client.call("hangs", &json!({}));
        client.send(&line)?;
    }
    let line_of_call = weather(client);
    ensure!(
        text_of(client.ask(&line_of_call)?)? == "It is sunny in Denver.",
        "another answer"
    );
    let first = line(client);
    let length = client.ask(&first)?.len();
    let lines: Vec<_> = (0..CALLS).map(|_| line(client)).collect();
    let mut times = Vec::with_capacity(CALLS);
    for line in &lines {
        let begin = Instant::now();
        let got = client.ask(line)?.len();
        times.push(begin.elapsed().as_secs_f64());
        ensure!(
            got == length,
            "a reply of {got} bytes among such of {length}"
        );
    }
    times.sort_by(f64::total_cmp);
    Ok(Trial::of(
        times[CALLS / 2],
        CALLS as u64,
        (CALLS * length) as u64,
    ))
}

fn lists(client: &mut Client) -> Result<Trial> {
    client.expect_bytes(1 << 20);
    let lines: Vec<_> = (0..LISTS)
        .map(|_| client.request("tools/list", &json!({})))
        .collect();
    let mut times = Vec::with_capacity(LISTS);
    let mut bytes = 0;
    for line in &lines {
        let begin = Instant::now();
        let reply = client.ask(line)?;
        times.push(begin.elapsed().as_secs_f64());
        bytes = reply.len();
        let reply: Value = serde_json::from_slice(reply)?;
        let tools = reply["result"]["tools"].as_array().map_or(0, Vec::len);
        ensure!(tools == TOOLS, "{tools} tools are listed");
    }
    times.sort_by(f64::total_cmp);
    Ok(Trial::of(times[LISTS / 2], TOOLS as u64, bytes as u64))
}
