//! The JSON echo: what a service in this language usually stands on. axum reads a request, its body becomes a
//! `serde_json::Value`, and that is written back. No token, no policy, no file, no limit.

use std::net::SocketAddr;

use anyhow::Result;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::Value;

/// Serves at a free port of 127.0.0.1, which it says on stderr, with as many threads as the server has for bytes.
pub fn serve() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        eprintln!("serving at http://{}/", listener.local_addr()?);
        let echo = |Json(value): Json<Value>| async { Json(value) };
        Ok(axum::serve(listener, Router::new().route("/mcp", post(echo))).await?)
    })
}
