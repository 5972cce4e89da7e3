//! Recording and replay of network calls (`replay calls`), with the built program: as subcommands
//! and as tools.

mod choosing;
mod command_line;
mod cut_off;
mod go;
mod heads;
mod impatient;
mod isolation;
mod keeping;
mod names;
mod noise;
mod own_values;
mod pushes;
mod refused;
mod silent;
mod slow;
mod tools;
mod workers;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::JoinHandle;

use crate::harness::DEADLINE;
use crate::tree::Tree;

/// An HTTP server on the loopback device that counts its answers. After `stop` its port refuses
/// connections.
pub struct Upstream {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Upstream {
    /// Starts the server. It answers every request with `{"n":COUNT,"path":PATH}` and a cookie.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (stop, answered) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&answered));
        let address = listener.local_addr().unwrap();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let count = Arc::clone(&count);
                std::thread::spawn(move || drop(answer(stream.unwrap(), &count)));
            }
        });
        Self {
            address,
            stop,
            answered,
            thread: Some(thread),
        }
    }

    /// Returns the base URL of the server.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the number of answers so far.
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::SeqCst)
    }

    /// Stops the server and closes its port.
    pub fn stop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = TcpStream::connect(self.address);
            thread.join().unwrap();
        }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Answers requests until the client closes the connection.
fn answer(stream: TcpStream, count: &AtomicU64) -> std::io::Result<()> {
    let mut requests = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let (mut first, mut length) = (String::new(), 0);
        if requests.read_line(&mut first)? == 0 {
            return Ok(());
        }
        loop {
            let mut line = String::new();
            requests.read_line(&mut line)?;
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        requests.read_exact(&mut vec![0; length])?;
        let path = first.split(' ').nth(1).unwrap();
        let body = format!(
            "{{\"n\":{},\"path\":\"{path}\"}}",
            count.fetch_add(1, Ordering::SeqCst) + 1
        );
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nSet-Cookie: sid=s3cr3t\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
    }
}

/// Returns a Python program that prints the body of each URL, or the name of the error.
pub fn client(urls: &[String]) -> String {
    format!(
        "import urllib.request, urllib.error\nfor url in {urls:?}:\n    try:\n        print(urllib.request.urlopen(urllib.request.Request(url, \
         headers={{'Authorization': 'Bearer t0ps3cr3t'}})).read().decode())\n    except urllib.error.HTTPError as error:\n        \
         print(error.code)\n    except OSError as error:\n        print(type(error).__name__)\n"
    )
}

/// Result of a program run in the root of the tree.
#[derive(Debug)]
pub struct Ended {
    /// Exit status; above 128 for a signal.
    pub status: i32,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

/// Path of the built program.
pub const REPLAY: &str = env!("CARGO_BIN_EXE_replay");

/// Runs `replay ARGS` to its end, for at most a minute.
pub fn replay(tree: &Tree, args: &[&str]) -> Ended {
    run(tree, &[&[REPLAY], args].concat(), |_| {})
}

/// Runs any program to its end, for at most a minute. Calls `meanwhile` with its PID after the
/// start.
pub fn run(tree: &Tree, words: &[&str], meanwhile: impl FnOnce(rustix::process::Pid)) -> Ended {
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .current_dir(tree.root())
        .env_clear();
    command.env("TMPDIR", std::env::temp_dir());
    command
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", tree.state())
        .env("XDG_STATE_HOME", tree.state());
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let read = |mut from: Box<dyn std::io::Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            from.read_to_end(&mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        })
    };
    let out = read(Box::new(child.stdout.take().unwrap()));
    let err = read(Box::new(child.stderr.take().unwrap()));
    let process = rustix::process::Pid::from_child(&child);
    let (ended, end) = channel::<()>();
    let guard = std::thread::spawn(move || {
        if end.recv_timeout(DEADLINE * 3) == Err(RecvTimeoutError::Timeout) {
            let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
        }
    });
    meanwhile(process);
    let status = child.wait().unwrap();
    drop(ended);
    guard.join().unwrap();
    let status = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap());
    Ended {
        status,
        out: out.join().unwrap(),
        err: err.join().unwrap(),
    }
}
