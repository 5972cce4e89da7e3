"""A network of its own with a loopback device alone: names in hosts(5), an authority that the system trusts, servers, and a count of
everything that is sent there. Also a client of the server of tools."""

import argparse
import collections.abc
import contextlib
import http.server
import io
import json
import os
import pathlib
import queue
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading

NOBODY = 65534
ALLOWED, DENIED, SECOND, PLAIN, PRIVATE, METADATA = "11.0.0.2", "11.0.0.3", "11.0.0.5", "11.0.0.6", "10.0.0.9", "169.254.169.254"
ALLOWED_6, CLOSED_6, SILENT_6 = "2a00::2", "2a00::3", "2a00::4"
RESOLVER = "11.0.0.4"
ADDRESSES = [ALLOWED, DENIED, SECOND, PLAIN, PRIVATE, METADATA, ALLOWED_6, CLOSED_6, SILENT_6, RESOLVER]
PATH = os.environ["PATH"]


def enter() -> None:
    """Starts this script again where nothing leads out, and where all that it started ends with it."""
    if os.environ.get("IN_A_WORLD") != "yes":
        options = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        os.environ["IN_A_WORLD"] = "yes"
        os.execvp("unshare", ["unshare", *options, sys.executable, *sys.argv])
    devices = [name for _, name in socket.if_nameindex()]
    assert devices == ["lo"], devices


class Wire:
    """What is sent over the loopback device (packet(7)): beginnings of TCP connections, datagrams, and all else that is no TCP."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE (socket(7)).
        self.socket.setblocking(False)

    def take(self) -> list[str]:
        """Since the last time, to the addresses of the world; what is between 127.0.0.0/8 is the world's own."""
        seen = []
        while True:
            try:
                packet, (_, protocol, kind, *_) = self.socket.recvfrom(256)
            except BlockingIOError:
                return seen
            if kind == socket.PACKET_OUTGOING:
                continue
            if protocol == 0x0800:
                head, number, to = (packet[0] & 15) * 4, packet[9], socket.inet_ntop(socket.AF_INET, packet[16:20])
            elif protocol == 0x86DD:
                head, number, to = 40, packet[6], socket.inet_ntop(socket.AF_INET6, packet[24:40])
            else:
                seen.append(f"protocol {protocol:#x}")
                continue
            if to not in ADDRESSES:
                continue
            if number == 6:
                if packet[head + 13] & 0x12 == 2:
                    seen.append(f"{to}:{struct.unpack('>H', packet[head + 2:head + 4])[0]}")
            elif number == 17:
                seen.append(f"{to}:{struct.unpack('>H', packet[head + 2:head + 4])[0]} udp")
            elif number not in (1, 58):
                seen.append(f"{to} protocol {number}")


class World:
    def __init__(self, hosts: dict[str, list[str]]) -> None:
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="world-"))
        self.place.chmod(0o755)
        self.asked: list[str] = []
        self.heads: list[str] = []
        run("ip", "link", "set", "lo", "up")
        for address in ADDRESSES:
            run("ip", "addr", "add", address, "dev", "lo")
        lines = [f"{address} {name}" for name, addresses in hosts.items() for address in addresses]
        self.bind("/etc/hosts", "127.0.0.1 localhost\n" + "\n".join(lines) + "\n")
        self.bind("/etc/resolv.conf", f"nameserver {RESOLVER}\noptions timeout:2 attempts:1\n")
        self.certify(list(hosts))
        self.wire = Wire()

    def bind(self, path: str, text: str) -> None:
        """Puts a text over a file of the system, for this world."""
        file = self.place / path.strip("/").replace("/", "-")
        file.write_text(text)
        file.chmod(0o644)
        run("mount", "--bind", str(file), path)

    def certify(self, names: list[str]) -> None:
        """An authority in the places where the system has its own, and a certificate for these names."""
        place = self.place
        (place / "names").write_text("subjectAltName=" + ",".join(f"DNS:{name}" for name in names))
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        run("openssl", "req", "-x509", *key, "-keyout", place / "ca.key", "-out", place / "ca.pem", "-subj", "/CN=authority of a test", "-days", "9")
        run("openssl", "req", *key, "-keyout", place / "server.key", "-out", place / "server.csr", "-subj", "/CN=server")
        run("openssl", "x509", "-req", "-in", place / "server.csr", "-CA", place / "ca.pem", "-CAkey", place / "ca.key", "-CAcreateserial",
            "-out", place / "server.pem", "-days", "9", "-extfile", place / "names")
        (place / "ca.pem").chmod(0o644)
        self.bind("/etc/ssl/certs/ca-certificates.crt", (place / "ca.pem").read_text())
        java = pathlib.Path("/etc/ssl/certs/java/cacerts")
        if java.exists() and shutil.which("keytool"):
            run("keytool", "-importcert", "-noprompt", "-alias", "test", "-file", place / "ca.pem", "-storetype", "JKS", "-keystore", place / "java", "-storepass", "changeit")
            (place / "java").chmod(0o644)
            run("mount", "--bind", place / "java", java)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(place / "server.pem", place / "server.key")

    def listen(self, address: str, port: int, serve) -> None:
        """Calls `serve` with each connection, on a thread of its own."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = socket.create_server((address, port), family=family, backlog=4096)

        def one(stream: socket.socket) -> None:
            with contextlib.suppress(OSError, ValueError, OverflowError), stream:
                serve(stream)

        def accept() -> None:
            while True:
                threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()

    def silence(self, address: str, port: int) -> None:
        """Nothing answers there: the queue of a listener is full (listen(2))."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.silent = [socket.create_server((address, port), family=family, backlog=0)]
        with contextlib.suppress(TimeoutError):
            while True:
                self.silent.append(socket.create_connection((address, port), 0.5))

    def files(self, address: str, port: int, folder: pathlib.Path) -> None:
        """HTTP/1.1, over TLS at port 443, with the files of a folder; POST gets what it sent."""
        world = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, form, *values):
                if hasattr(self, "headers"):
                    world.heads.append(str(self.headers))
                world.asked.append(f"{address}:{port} {self.headers.get('Host') if hasattr(self, 'headers') else '-'} {form % values}")

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.log_request(200)
                self.send_response_only(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def send_head(self):
                # A body of a request is none of the next one.
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                # What it was told.
                if self.path.endswith("/echo"):
                    body = str(self.headers).encode()
                    self.log_request(200)
                    self.send_response_only(200)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    return io.BytesIO(body)
                return super().send_head()

        def serve(stream: socket.socket) -> None:
            if port == 443:
                stream = self.tls.wrap_socket(stream, server_side=True)
            Handler(stream, (address, port), None, directory=str(folder))

        self.listen(address, port, serve)

    def close(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)


def run(*words, **more) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, stdin=subprocess.DEVNULL, **more)


class Server:
    """The server of tools, spoken to over its standard input and output."""

    def __init__(self, program: str, work: pathlib.Path, flags: list[str], nobody: bool = False, environment: dict[str, str] = {},
                 inherited: list[int] = []) -> None:
        who = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"] if nobody else []
        whole = [*who, program, "--mcp-server", "--allow", f"{work}:rw", *flags]
        environment = {"PATH": PATH, "LANG": "C.UTF-8", **environment}
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(whole, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env=environment, cwd=work, pass_fds=inherited)
        self.lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.id = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "world", "version": "1"}})
        self.send({"method": "notifications/initialized"})

    def read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(b"")

    def send(self, message: dict) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def said(self) -> str:
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def ask(self, method: str, params: dict, patience_secs: float = 300) -> dict:
        self.id += 1
        self.send({"id": self.id, "method": method, "params": params})
        while True:
            line = self.lines.get(timeout=patience_secs)
            if not line:
                raise EOFError(self.said())
            answer = json.loads(line)
            if answer.get("id") == self.id:
                return answer["result"] if "result" in answer else {"content": [{"text": json.dumps(answer["error"])}], "isError": True}

    def call(self, tool: str, **arguments) -> dict:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def text(self, tool: str, **arguments) -> str:
        return "\n".join(part.get("text", "") for part in self.call(tool, **arguments)["content"])

    def sh(self, line: str, secs: int = 120) -> str:
        return self.text("execute_command", command=line, timeout=secs)

    def close(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def program_for(world: World, program: str) -> str:
    """A copy that anybody may run."""
    copy = world.place / "replay"
    shutil.copy(program, copy)
    copy.chmod(0o755)
    return str(copy)


def begin(about: str, hosts: dict[str, list[str]], look: collections.abc.Callable[[World, argparse.Namespace], int]) -> int:
    """What a script does that prints a table, with its arguments: `look` in a world with these hosts."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--rows", default="")
    parser.add_argument("--settings", default="", help="of `root namespaces` and the like, the heads of columns")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    enter()
    one = World(hosts)
    try:
        return look(one, arguments)
    finally:
        one.close()


def told(table: list[str], faults: list[str], arguments: argparse.Namespace) -> int:
    """Prints what was found; the exit status."""
    print("\n".join(table))
    if arguments.out:
        pathlib.Path(arguments.out).write_text("\n".join(table) + "\n")
    for fault in faults:
        print(f"--- {fault}")
    return int(bool(faults))
