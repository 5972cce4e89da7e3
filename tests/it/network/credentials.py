"""Servers on the loopback device that want a secret, and say what they were told. They end with their standard input. Argument:
the directory of the test, which has the secret, a certificate and its key, and a repository of git."""

import base64
import contextlib
import gzip
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

place = pathlib.Path(sys.argv[1])
secret = (place / "secret").read_text().strip()
notes = (place / "notes").open("a", buffering=1)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(place / "server.pem", place / "server.key")
stored = ["nothing"]


def below(parent: int) -> list[int]:
    """The processes that another one has started, and theirs."""
    children = pathlib.Path(f"/proc/{parent}/task").glob("*/children")
    found = [int(pid) for file in children for pid in file.read_text().split()]
    return found + [pid for child in found for pid in below(child)]


def holds(pid: int) -> bool:
    """Whether it has the secret in its environment, arguments or memory."""
    texts = [pathlib.Path(f"/proc/{pid}/{what}").read_bytes() for what in ("environ", "cmdline")]
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            area = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line)
            if area and "[v" not in line:
                start, end = (int(number, 16) for number in area.groups())
                with contextlib.suppress(OSError, OverflowError, ValueError):
                    memory.seek(start)
                    texts.append(memory.read(end - start))
    return any(secret.encode() in text for text in texts)


def holders() -> dict[str, int]:
    """How many of the processes have the secret: the server, and what it has started."""
    server = os.getppid()
    counts = {"the server": int(holds(server)), "looked at more than three": 0, "others": 0}
    others = [pid for pid in below(server) if pid != os.getpid()]
    for pid in others:
        with contextlib.suppress(OSError):
            counts["others"] += holds(pid)
            counts["looked at more than three"] += 1
    counts["looked at more than three"] = int(counts["looked at more than three"] > 3)
    return counts


def answer(stream, line: str, fields: dict[str, str]) -> None:
    path = line.split()[1]
    kind = "Content-Type: application/json\r\n"

    def say(more: str, content: bytes) -> None:
        stream.sendall(f"HTTP/1.1 200 {fields.get('x-words', 'OK')}\r\n{kind}{more}".encode() + b"\r\n" + content)

    echo = json.dumps(fields, sort_keys=True).encode()
    if path == "/drip":
        say("Transfer-Encoding: chunked\r\nTrailer: X-Said\r\n", b"")
        for byte in echo:
            stream.sendall(b"1\r\n%c\r\n" % byte)
        stream.sendall(f"0\r\nX-Said: {fields.get('authorization')}\r\n\r\n".encode())
    elif path == "/coded":
        echo = gzip.compress(echo)
        say(f"Content-Encoding: gzip\r\nContent-Length: {len(echo)}\r\n", echo)
    elif path == "/fields":
        said = fields.get("authorization")
        say(f"X-Said: {said}\r\nX-{said}: 1\r\nSet-Cookie: it={said}\r\nContent-Length: 3\r\n", b"ok\n")
    elif path == "/folded":
        said = fields.get("authorization")
        say(f"X-Said: {said[:20]}\r\n {said[20:]}\r\nContent-Length: 3\r\n", b"ok\n")
    elif path == "/part":
        stream.sendall(b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-2/9\r\nContent-Length: 3\r\n\r\nghp")
    elif path == "/stored":
        stored.append(fields.get("authorization", stored[-1]))
        say(f"Content-Length: {len(stored[-1])}\r\n", stored[-1].encode())
    elif path == "/holders":
        said = json.dumps(holders()).encode()
        say(f"Content-Length: {len(said)}\r\n", said)
    elif path.startswith("/repository.git/"):
        expected = base64.b64encode(f"x-access-token:{secret}".encode()).decode()
        if fields.get("authorization") != f"Basic {expected}":
            stream.sendall(b'HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm="git"\r\nContent-Length: 0\r\n\r\n')
            return
        file = place / path.lstrip("/").split("?")[0]
        if not file.is_file():
            stream.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
            return
        kind = ""
        say(f"Content-Length: {file.stat().st_size}\r\n", file.read_bytes())
    else:
        say(f"Content-Length: {len(echo)}\r\n", echo)


def serve(stream, name: str) -> None:
    data = b""
    with contextlib.suppress(OSError), stream:
        if name.endswith(":443"):
            stream = context.wrap_socket(stream, server_side=True)
        while True:
            while b"\r\n\r\n" not in data:
                more = stream.recv(65536)
                if not more:
                    return
                data += more
            head, data = data.split(b"\r\n\r\n", 1)
            line, *rest = head.decode().splitlines()
            fields = {key.lower(): value for key, value in (field.split(": ", 1) for field in rest)}
            shown = fields.get("authorization", "-").replace(secret, "SECRET")
            if shown.startswith("Basic "):
                shown = "Basic " + base64.b64decode(shown[6:]).decode().replace(secret, "SECRET")
            shown = re.sub("replay-cr[a-z0-9-]*", "STAND-IN", shown)
            notes.write(f"{name} {line} {shown} {fields.get('accept-encoding')}\n")
            answer(stream, line, fields)


def accept(listener, name: str) -> None:
    while True:
        stream, _ = listener.accept()
        threading.Thread(target=serve, args=(stream, name), daemon=True).start()


WHO = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
DATABASES = {
    "postgres": (5432, ["-h", "11.0.0.2", "-k", "", "-c", "ssl=on", "-c", "fsync=off"]),
    "mariadbd": (
        3306,
        ["--bind-address=11.0.0.2", "--ssl-cert=server.crt", "--ssl-key=server.key", "--init-file=users", "--socket=socket"]
        + ["--skip-name-resolve", "--innodb-flush-method=nosync"],
    ),
}


def database(name: str) -> subprocess.Popen:
    """A database that was laid out, once it listens."""
    port, flags = DATABASES[name]
    where = ["-D", place / name] if name == "postgres" else ["--no-defaults", f"--datadir={place / name}"]
    log, cwd = (place / f"{name}.log").open("w"), place / name
    process = subprocess.Popen([*WHO, name, *where, *flags], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=cwd)
    while process.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("11.0.0.2", port)).close()
            break
        time.sleep(0.05)
    return process


def without_tls(listener) -> None:
    """As a PostgreSQL server that speaks no TLS, at its start; notes what it is told."""
    while True:
        stream, _ = listener.accept()
        with stream:
            notes.write(f"11.0.0.3:5432 {stream.recv(100)!r}\n")
            stream.sendall(b"N")
            notes.write(f"11.0.0.3:5432 {stream.recv(100)!r}\n")


def greets_without_tls(listener) -> None:
    """The same as a MySQL server."""
    head = b"\n5.7.0\0" + bytes(4) + b"abcdefgh\0" + b"\xff\xf7\x21\2\0\x08\0\x15" + bytes(10)
    greeting = head + b"ijklmnopqrst\0mysql_native_password\0"
    while True:
        stream, _ = listener.accept()
        with stream:
            stream.sendall(len(greeting).to_bytes(3, "little") + b"\0" + greeting)
            notes.write(f"11.0.0.3:3306 {stream.recv(100)!r}\n")


listener = socket.create_server(("11.0.0.3", 3306))
threading.Thread(target=greets_without_tls, args=(listener,), daemon=True).start()
listener = socket.create_server(("11.0.0.3", 5432))
threading.Thread(target=without_tls, args=(listener,), daemon=True).start()
for name in ["11.0.0.2:443", "11.0.0.2:80", "11.0.0.3:80"]:
    address, _, port = name.rpartition(":")
    listener = socket.socket()
    listener.bind((address, int(port)))
    listener.listen(64)
    threading.Thread(target=accept, args=(listener, name), daemon=True).start()
started = [database(name) for name in DATABASES if (place / name).is_dir()]
print("ready", flush=True)
sys.stdin.read()
for process in started:
    process.send_signal(signal.SIGTERM)
    process.wait()
