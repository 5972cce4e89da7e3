"""Servers on the loopback device that note who reaches them. They end with their standard input. Arguments: the
file of notes, then ADDRESS:PORT each."""

import contextlib
import os
import socket
import ssl
import struct
import sys
import threading

notes = open(sys.argv[1], "a", buffering=1)


def serve(stream, name):
    data = b""
    with stream, contextlib.suppress(ConnectionError):
        while True:
            while b"\r\n\r\n" not in data:
                more = stream.recv(65536)
                if not more:
                    if data:
                        notes.write(f"{name} {data[:40]!r}\n")
                        stream.sendall(b"echo " + data)
                    return
                data += more
            head, data = data.split(b"\r\n\r\n", 1)
            notes.write(f"{name} {head.splitlines()[0].decode()}\n")
            if head.startswith(b"GET /switch "):
                stream.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
                stream.sendall(b"echo " + stream.recv(100))
                return
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")


def take(stream, data, end):
    """What has come up to there, and behind it."""
    while end not in data:
        more = stream.recv(65536)
        if not more:
            raise ConnectionError
        data += more
    before, data = data.split(end, 1)
    return before, data


def careful(stream, name):
    """HTTP/1.1 of which every request is noted with its length and its body, so that one which was hidden in another is seen."""
    data = b""
    with stream, contextlib.suppress(ConnectionError):
        while True:
            head, data = take(stream, data, b"\r\n\r\n")
            line, *fields = head.decode("latin-1").split("\r\n")
            fields = {key.lower(): value.strip() for key, value in (field.split(":", 1) for field in fields)}
            if "expect" in fields:
                stream.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            body = b""
            if fields.get("transfer-encoding") == "chunked":
                while True:
                    size, data = take(stream, data, b"\r\n")
                    if int(size, 16) == 0:
                        break
                    while len(data) < int(size, 16) + 2:
                        data += stream.recv(65536)
                    body, data = body + data[: int(size, 16)], data[int(size, 16) + 2 :]
                trailers, data = take(stream, b"\r\n" + data, b"\r\n\r\n")
                body += trailers
            else:
                while len(data) < int(fields.get("content-length", 0)):
                    data += stream.recv(65536)
                body, data = data[: int(fields.get("content-length", 0))], data[int(fields.get("content-length", 0)) :]
            shown = body.decode("latin-1") if len(body) < 40 else f"{len(body)} bytes"
            notes.write(f"{name} {line} {fields['host']} {shown!r}\n")
            method, path, _ = line.split(" ")
            if path.endswith("/204") or path.endswith("/304"):
                stream.sendall(f"HTTP/1.1 {path[-3:]} x\r\nETag: y\r\n\r\n".encode())
            elif path.endswith("/chunked"):
                stream.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n1\r\nh\r\n4\r\nello\r\n0\r\nX-Sum: 1\r\n\r\n")
            elif path.endswith("/end"):
                stream.sendall(b"HTTP/1.1 200 OK\r\n\r\nhello")
                return
            elif "upgrade" in fields:
                stream.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
                stream.sendall(b"echo " + stream.recv(100))
                return
            else:
                text = f"ok {len(body)}\n".encode()
                stream.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\n\r\n".encode())
                stream.sendall(b"" if method == "HEAD" else text)
            if fields.get("connection") == "close" or line.endswith("1.0"):
                return


def encrypted(stream, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(os.path.dirname(sys.argv[1]), "server.pem"))
    with contextlib.suppress(OSError):
        careful(context.wrap_socket(stream, server_side=True), name)


def accept(listener, name):
    while True:
        stream, _ = listener.accept()
        if name.endswith(":8081"):
            # Closed so, a connection is reset (socket(7), SO_LINGER).
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            stream.close()
            continue
        kind = serve if not name.startswith("11.0.0.4:") else encrypted if name.endswith(":443") else careful
        threading.Thread(target=kind, args=(stream, name), daemon=True).start()


for place in sys.argv[2:]:
    address, _, port = place.rpartition(":")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind((address, int(port)))
    listener.listen(4096)
    threading.Thread(target=accept, args=(listener, place), daemon=True).start()
    datagrams = socket.socket(family, socket.SOCK_DGRAM)
    datagrams.bind((address, int(port)))

    def hear(datagrams=datagrams, place=place):
        while True:
            notes.write(f"{place} datagram {datagrams.recv(100)!r}\n")

    threading.Thread(target=hear, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
