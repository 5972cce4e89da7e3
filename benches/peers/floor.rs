//! Floor server: the minimum work that answers a read over stdio. One thread runs one loop: it
//! parses a line, reads the file, checks UTF-8, escapes the text and writes the reply with one
//! call. Buffers are reused.
//!
//! There are no policies, limits, cancellation or concurrent requests.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;

use anyhow::Result;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Option<Arguments<'a>>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    path: Option<Cow<'a, str>>,
}

/// Serves stdin until end of file.
pub fn serve() -> Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, std::io::stdin().lock());
    // A separate file descriptor: the standard handle would search every reply for newlines.
    let mut output = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let (mut line, mut reply, mut contents) = (Vec::new(), Vec::new(), vec![0; 1 << 16]);
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let Ok(message) = serde_json::from_slice::<Message<'_>>(&line) else {
            continue;
        };
        let Some(id) = message.id else { continue };
        reply.clear();
        write!(reply, "{{\"jsonrpc\":\"2.0\",\"id\":{},", id.get())?;
        match &*message.method {
            "initialize" => reply.extend_from_slice(
                b"\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\
                  \"serverInfo\":{\"name\":\"floor\",\"version\":\"0\"}}}\n",
            ),
            "ping" => reply.extend_from_slice(b"\"result\":{}}\n"),
            "tools/list" => reply.extend_from_slice(
                b"\"result\":{\"tools\":[{\"name\":\"read_file\",\"inputSchema\":{\"type\":\"object\"}}]}}\n",
            ),
            _ => {
                let path = message.params.and_then(|params| params.arguments?.path).unwrap_or_default();
                match read(&path, &mut contents).and_then(|length| Ok(std::str::from_utf8(&contents[..length])?)) {
                    Ok(text) => {
                        reply.extend_from_slice(b"\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
                        crate::escape::escape_into(&mut reply, text);
                        reply.extend_from_slice(b"}]}}\n");
                    }
                    Err(_) => reply.extend_from_slice(b"\"error\":{\"code\":-32603,\"message\":\"cannot read\"}}\n"),
                }
            }
        }
        output.write_all(&reply)?;
    }
}

fn read(path: &str, buffer: &mut Vec<u8>) -> Result<usize> {
    let mut file = File::open(path)?;
    let mut length = 0;
    loop {
        match file.read(&mut buffer[length..])? {
            0 if length < buffer.len() => return Ok(length),
            read => length += read,
        }
        if length == buffer.len() {
            buffer.resize(length * 2, 0);
        }
    }
}
