//! Servers over HTTP, and their load generator: many persistent connections, each with one pending
//! request. A few threads drive them with plain sockets, so that the load is cheap and the same for
//! every server.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Timeout of every wait.
const LONG: Duration = Duration::from_secs(20);
/// Number of threads that drive connections.
const DRIVERS: usize = 2;

/// A running server; dropping it ends it.
pub struct WebServer {
    pub address: SocketAddr,
    child: Child,
}

impl WebServer {
    /// Starts the command, and waits until it prints its address.
    pub fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stderr.take().context("no stderr")?);
        let mut line = String::new();
        let address = loop {
            line.clear();
            ensure!(
                lines.read_line(&mut line)? > 0,
                "the server has ended without an address"
            );
            if let Some((_, rest)) = line.split_once("serving at http://") {
                break rest.split('/').next().unwrap_or_default().trim().parse()?;
            }
        };
        // Keep reading, or the server would block on its writes.
        thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Ok(Self { address, child })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn connect(&self) -> Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.address, LONG)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LONG))?;
        Ok(stream)
    }

    /// Returns a complete HTTP/1.1 request to `/mcp`.
    pub fn request(&self, method: &str, headers: &str, body: &str) -> Vec<u8> {
        let length = if body.is_empty() {
            String::new()
        } else {
            format!("Content-Length: {}\r\n", body.len())
        };
        let kind = "Content-Type: application/json\r\n";
        format!(
            "{method} /mcp HTTP/1.1\r\nHost: {}\r\n{kind}{headers}{length}\r\n{body}",
            self.address
        )
        .into_bytes()
    }
}

/// Sends a request, and reads until `enough` accepts the received text.
pub fn ask(stream: &mut TcpStream, request: &[u8], enough: fn(&str) -> bool) -> Result<String> {
    stream.write_all(request)?;
    let (mut bytes, mut piece) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let count = stream.read(&mut piece)?;
        ensure!(count > 0, "the server hangs up");
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes);
        if enough(&text) {
            return Ok(text.into_owned());
        }
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns true if a reply with a `Content-Length` is complete.
pub fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        line.to_ascii_lowercase()
            .strip_prefix("content-length:")?
            .trim()
            .parse()
            .ok()
    });
    length.is_some_and(|length: usize| body.len() >= length)
}

/// Result of a load run.
pub struct LoadResult {
    /// Sorted durations in seconds of all requests that began and ended in time.
    pub times: Vec<f64>,
    /// Duration of the run in seconds.
    pub took: f64,
    /// Size of one reply in bytes.
    pub reply: usize,
}

/// Sends the same request repeatedly over this many connections, for this long. Fails at the first
/// reply that is no success or differs in length from the previous one.
pub fn load(
    server: &WebServer,
    request: &[u8],
    connections: usize,
    length: Duration,
) -> Result<LoadResult> {
    let first = ask(&mut server.connect()?, request, is_whole)?;
    ensure!(
        first.starts_with("HTTP/1.1 200 "),
        "{}",
        first.lines().next().unwrap_or_default()
    );
    let reply = first.len();
    let begin = Instant::now();
    let drive = |count: usize| {
        let streams: Result<Vec<TcpStream>> = (0..count).map(|_| server.connect()).collect();
        drive(streams?, request, reply, begin + length)
    };
    let shares = (0..DRIVERS)
        .map(|index| connections / DRIVERS + usize::from(index < connections % DRIVERS));
    let mut times = Vec::new();
    thread::scope(|scope| {
        let drivers: Vec<_> = shares
            .map(|count| scope.spawn(move || drive(count)))
            .collect();
        for driver in drivers {
            times.extend(driver.join().map_err(|_| anyhow!("a driver failed"))??);
        }
        Ok::<_, anyhow::Error>(())
    })?;
    let took = begin.elapsed().as_secs_f64();
    times.sort_by(f64::total_cmp);
    Ok(LoadResult { times, took, reply })
}

/// Drives the connections of one thread. At the end of the time it sends no more requests and waits
/// for pending replies.
fn drive(
    mut streams: Vec<TcpStream>,
    request: &[u8],
    reply: usize,
    until: Instant,
) -> Result<Vec<f64>> {
    let mut times = Vec::with_capacity(1 << 18);
    let mut under_way = Vec::with_capacity(streams.len());
    for stream in &mut streams {
        stream.write_all(request)?;
        stream.set_nonblocking(true)?;
        under_way.push(Some((Instant::now(), 0)));
    }
    let mut piece = vec![0; 64 * 1024];
    while under_way.iter().any(Option::is_some) {
        let ready: Vec<bool> = {
            let mut polled: Vec<PollFd<'_>> = streams
                .iter()
                .map(|stream| PollFd::new(stream, PollFlags::IN))
                .collect();
            let limit = Timespec {
                tv_sec: LONG.as_secs().cast_signed(),
                tv_nsec: 0,
            };
            ensure!(
                poll(&mut polled, Some(&limit))? > 0,
                "nothing comes any more"
            );
            polled
                .iter()
                .map(|polled| !polled.revents().is_empty())
                .collect()
        };
        for (index, stream) in streams
            .iter_mut()
            .enumerate()
            .filter(|(index, _)| ready[*index])
        {
            let count = match stream.read(&mut piece) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error.into()),
            };
            let Some((since, got)) = &mut under_way[index] else {
                anyhow::bail!("bytes that nobody asked for")
            };
            ensure!(count > 0, "the server hangs up");
            if *got == 0 {
                ensure!(
                    piece.starts_with(b"HTTP/1.1 200 "),
                    "no success: {}",
                    String::from_utf8_lossy(&piece[..count.min(300)])
                );
            }
            *got += count;
            ensure!(
                *got <= reply,
                "a reply of {got} bytes among such of {reply}"
            );
            if *got == reply {
                let now = Instant::now();
                times.push((now - *since).as_secs_f64());
                under_way[index] = if now < until {
                    // Small enough to always fit into the socket buffer.
                    stream.write_all(request)?;
                    Some((Instant::now(), 0))
                } else {
                    None
                };
            }
        }
    }
    Ok(times)
}
