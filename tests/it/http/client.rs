//! A server over HTTP, and an HTTP/1.1 client that exposes every byte of a reply.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::{DEADLINE, ends_within};
use crate::tree::Tree;

/// A running server; dropping it ends it.
pub struct Server {
    /// Listen address.
    pub address: SocketAddr,
    child: Child,
    log: Arc<Mutex<String>>,
    ended: Receiver<()>,
}

/// Returns the command of a server with these arguments.
pub fn command(tree: &Tree, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
    command
        .arg("--mcp-server")
        .args(["--http", "127.0.0.1:0"])
        .args(args)
        .current_dir(tree.root());
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", tree.root())
        .env("XDG_STATE_HOME", tree.state())
        .env("LANG", "C.UTF-8");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

impl Server {
    /// Starts a server on a free port, and waits until it prints its address.
    pub fn start(tree: &Tree, args: &[&str]) -> Self {
        Self::spawn(command(tree, args))
    }

    /// Starts the server of a prepared command.
    pub fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the program starts");
        let errors = BufReader::new(child.stderr.take().expect("its stderr"));
        let log = Arc::new(Mutex::new(String::new()));
        let (found, address) = channel();
        let (end, ended) = channel();
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                if let Some((_, rest)) = line.split_once("serving at http") {
                    let rest = rest.trim_start_matches('s').trim_start_matches("://");
                    let _ = found.send(rest.split('/').next().unwrap_or_default().parse());
                }
                kept.lock().unwrap().extend([line.as_str(), "\n"]);
            }
            let _ = end.send(());
        });
        let address = address.recv_timeout(DEADLINE);
        let Ok(Ok(address)) = address else {
            let _ = child.kill();
            panic!("no address: {}", log.lock().unwrap());
        };
        Self {
            address,
            child,
            log,
            ended,
        }
    }

    /// Opens a connection.
    pub fn connect(&self) -> Client {
        self.client(TcpStream::connect_timeout(&self.address, DEADLINE).expect("a connection"))
    }

    /// Opens a connection from another address of this machine.
    pub fn connect_from(&self, address: IpAddr) -> Client {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        bind(&socket, &SocketAddr::new(address, 0)).expect("an address");
        connect(&socket, &self.address).expect("a connection");
        self.client(socket.into())
    }

    fn client(&self, stream: TcpStream) -> Client {
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client {
            stream,
            host: self.address.to_string(),
            ahead: Vec::new(),
        }
    }

    /// Sends one request on a new connection.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        self.connect().ask(method, path, headers, body)
    }

    /// Posts a message with the headers of a plain JSON-RPC client.
    pub fn post(&self, message: &Value) -> Response {
        self.post_with(message, &[])
    }

    /// Posts a message with additional headers.
    pub fn post_with(&self, message: &Value, headers: &[(&str, &str)]) -> Response {
        self.connect().post(message, headers)
    }

    /// Returns the PID of the server.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
    }

    /// Waits until the server has exited.
    pub fn wait(&mut self) -> ExitStatus {
        assert!(
            ends_within(Pid::from_child(&self.child), DEADLINE),
            "the server did not end: {}",
            self.log()
        );
        self.child.wait().unwrap()
    }

    /// Returns the log so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Returns the child process, for access to its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An unreaped process still has its PID.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.ended.recv_timeout(DEADLINE);
        if std::thread::panicking() {
            #[expect(clippy::print_stderr, reason = "the report of a failed test")]
            {
                eprintln!("--- stderr\n{}", self.log());
            }
        }
    }
}

/// A complete response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Parses the body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// Returns the data of all server-sent events.
    pub fn events(&self) -> Vec<Value> {
        let text = self.text();
        let data = text
            .split("\n\n")
            .filter_map(|event| event.split_once("data: "));
        data.map(|(_, data)| serde_json::from_str(data).unwrap())
            .collect()
    }

    /// Returns the status and the JSON-RPC code of an error.
    #[track_caller]
    pub fn failure(&self) -> (u16, i64) {
        (
            self.status,
            self.json()["error"]["code"].as_i64().unwrap_or_default(),
        )
    }
}

/// A client connection.
pub struct Client {
    /// TCP stream of the connection.
    pub stream: TcpStream,
    host: String,
    ahead: Vec<u8>,
}

impl Client {
    /// Extends the read timeout, for large responses.
    pub fn with_long_timeout(self) -> Self {
        self.stream.set_read_timeout(Some(6 * DEADLINE)).unwrap();
        self
    }

    /// Sends a request and reads its response.
    pub fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        self.send(method, path, headers, body);
        self.response()
    }

    /// Posts a message and reads the response.
    pub fn post(&mut self, message: &Value, headers: &[(&str, &str)]) -> Response {
        self.send_message(message, headers);
        self.response()
    }

    /// Posts a message.
    pub fn send_message(&mut self, message: &Value, headers: &[(&str, &str)]) {
        let headers = [&[("Content-Type", "application/json")], headers].concat();
        self.send("POST", "/mcp", &headers, message.to_string().as_bytes());
    }

    /// Sends a request; a given `Host` header replaces the default one.
    pub fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            head.extend(["Host: ", &self.host, "\r\n"]);
        }
        for (name, value) in headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        if !body.is_empty() {
            head.extend(["Content-Length: ", &body.len().to_string(), "\r\n"]);
        }
        head.push_str("\r\n");
        self.stream
            .write_all(&[head.as_bytes(), body].concat())
            .expect("the server reads");
    }

    /// Reads the next response to its last byte.
    pub fn response(&mut self) -> Response {
        let mut response = self.head();
        let length = response
            .header("content-length")
            .map(|length| length.parse().unwrap());
        response.body = match length {
            Some(length) => self.take(length),
            None if response.header("transfer-encoding") == Some("chunked") => {
                let mut body = Vec::new();
                while let Some(chunk) = self.chunk() {
                    body.extend(chunk);
                }
                body
            }
            None => Vec::new(),
        };
        response
    }

    /// Reads the head of the next response.
    pub fn head(&mut self) -> Response {
        let mut lines = Vec::new();
        loop {
            let line = self.line();
            if line.is_empty() {
                break;
            }
            lines.push(line);
        }
        let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines[1..].iter().map(|line| line.split_once(':').unwrap());
        let headers = headers
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Response {
            status,
            headers,
            body: Vec::new(),
        }
    }

    /// Returns the data of the next server-sent event, without comments. Returns `None` at the end
    /// of the stream.
    pub fn event(&mut self) -> Option<Value> {
        loop {
            let chunk = String::from_utf8(self.chunk()?).unwrap();
            if let Some((_, data)) = chunk.split_once("data: ") {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }

    /// Returns id, name and data of the next named event.
    pub fn named_event(&mut self) -> (String, String, Value) {
        // Comments arrive at any time.
        let until = Instant::now() + DEADLINE;
        loop {
            assert!(Instant::now() < until, "no event");
            let chunk = String::from_utf8(self.chunk().expect("an event")).unwrap();
            let field = |name: &str| {
                let found = chunk
                    .lines()
                    .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                found.unwrap_or_default().to_owned()
            };
            if let Ok(data) = serde_json::from_str(&field("data")) {
                return (field("id"), field("event"), data);
            }
        }
    }

    fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(&self.line(), 16).unwrap();
        let chunk = self.take(length);
        assert_eq!(self.line(), "");
        (length > 0).then_some(chunk)
    }

    fn line(&mut self) -> String {
        loop {
            if let Some(end) = self.ahead.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.take(end + 2);
                return String::from_utf8(line[..end].to_vec()).unwrap();
            }
            assert!(
                self.more(),
                "the connection has ended in the middle: {:?}",
                String::from_utf8_lossy(&self.ahead)
            );
        }
    }

    /// Reads this many bytes.
    pub fn take(&mut self, length: usize) -> Vec<u8> {
        while self.ahead.len() < length {
            assert!(self.more(), "the connection has ended in the middle");
        }
        self.ahead.drain(..length).collect()
    }

    fn more(&mut self) -> bool {
        let mut piece = [0; 16 * 1024];
        let count = self
            .stream
            .read(&mut piece)
            .expect("the server answers in time");
        self.ahead.extend_from_slice(&piece[..count]);
        count > 0
    }

    /// Waits until the server closes the connection; returns true if it did in time.
    pub fn is_hung_up(&mut self) -> bool {
        let until = Instant::now() + DEADLINE;
        let mut piece = [0; 4096];
        while Instant::now() < until {
            match self.stream.read(&mut piece) {
                Ok(1..) => {}
                Ok(0) => return true,
                Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
            }
        }
        false
    }
}
