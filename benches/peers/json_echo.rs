//! JSON echo: a typical HTTP service in Rust. axum reads a request, parses the body into a
//! `serde_json::Value` and writes it back. With a directory, the reply is the named file, opened
//! without following symlinks out of the directory.
//!
//! There are no tokens, policies or limits.

use std::fs::File;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, openat2};
use serde_json::{Value, json};

/// Serves on a free port of 127.0.0.1 and prints the port to stderr. Uses as many threads as the
/// server has for I/O.
pub fn serve(dir: Option<&Path>) -> Result<()> {
    let dir = dir
        .map(File::open)
        .transpose()?
        .map(OwnedFd::from)
        .map(Arc::new);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        eprintln!("serving at http://{}/", listener.local_addr()?);
        let router = match dir {
            None => Router::new().route(
                "/mcp",
                post(|Json(value): Json<Value>| async { Json(value) }),
            ),
            Some(dir) => {
                let answer = |Json(value): Json<Value>| async move {
                    read(&dir, &value)
                        .map(Json)
                        .map_err(|error| (StatusCode::NOT_FOUND, error.to_string()))
                };
                Router::new().route("/mcp", post(answer))
            }
        };
        Ok(axum::serve(listener, router).await?)
    })
}

fn read(dir: &OwnedFd, asked: &Value) -> Result<Value> {
    let path = asked["params"]["arguments"]["path"]
        .as_str()
        .unwrap_or_default();
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = openat2(
        dir,
        path,
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
        resolve,
    )?;
    let mut bytes = Vec::with_capacity(usize::try_from(fstat(&file)?.st_size)? + 1);
    rustix::io::pread(&file, spare_capacity(&mut bytes), 0)?;
    let content = json!([{"type": "text", "text": String::from_utf8(bytes)?}]);
    Ok(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": content}}))
}
