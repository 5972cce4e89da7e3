"""Servers of HTTP/1.1, with TLS at port 443. Every request is noted with its body, so that one which was hidden in another is seen. They
end with their standard input. Arguments: the file of notes and that of the certificate, then ADDRESS:PORT each."""

import contextlib
import socket
import ssl
import sys
import threading

notes = open(sys.argv[1], "a", buffering=1)


def take(stream, data, end):
    """What has come up to there, and behind it."""
    while end not in data:
        more = stream.recv(65536)
        if not more:
            raise ConnectionError
        data += more
    before, data = data.split(end, 1)
    return before, data


def sized(stream, data, length):
    """So many bytes, and what comes behind them."""
    pieces = bytearray(data)
    while len(pieces) < length:
        more = stream.recv(65536)
        if not more:
            raise ConnectionError
        pieces += more
    return bytes(pieces[:length]), bytes(pieces[length:])


def careful(stream, name):
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
                    piece, data = sized(stream, data, int(size, 16))
                    body, (_, data) = body + piece, take(stream, data, b"\r\n")
                trailers, data = take(stream, b"\r\n" + data, b"\r\n\r\n")
                body += trailers
            else:
                body, data = sized(stream, data, int(fields.get("content-length", 0)))
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
    context.load_cert_chain(sys.argv[2])
    with contextlib.suppress(OSError):
        careful(context.wrap_socket(stream, server_side=True), name)


def accept(listener, name):
    serve = encrypted if name.endswith(":443") else careful
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0], name), daemon=True).start()


for place in sys.argv[3:]:
    address, _, port = place.rpartition(":")
    listener = socket.create_server((address, int(port)))
    threading.Thread(target=accept, args=(listener, place), daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
