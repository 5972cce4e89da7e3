"""Proxies at 11.0.0.6 that alone know inner.test. Each notes what it is asked for. They end with their standard input. Arguments: the
file of notes and the file of a certificate for 11.0.0.6, which need not exist."""

import base64
import contextlib
import os
import socket
import ssl
import sys
import threading

notes = open(sys.argv[1], "a", buffering=1)
LOGIN = b"me:p@ss-SEKRET"
BASIC = b"Proxy-Authorization: Basic " + base64.b64encode(LOGIN)
KNOWN = {"inner.test": "11.0.0.2", "silent.inner.test": "11.0.0.2", "api.example.com": "11.0.0.2", "11.0.0.2": "11.0.0.2"}


def read(stream, count):
    data = b""
    while len(data) < count:
        more = stream.recv(count - len(data))
        if not more:
            raise ConnectionError
        data += more
    return data


def pump(source, sink):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def lead(stream, kind, host, port, yes, no):
    notes.write(f"{kind} {host}:{port}\n")
    if host not in KNOWN:
        return stream.sendall(no)
    inner = socket.create_connection((KNOWN[host], port))
    stream.sendall(yes)
    back = threading.Thread(target=pump, args=(inner, stream))
    back.start()
    pump(stream, inner)
    back.join()


def connect(stream, kind, login, answer):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += read(stream, 1)
    if login and BASIC not in head.split(b"\r\n"):
        answer = b"407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=x"
    host, _, port = head.split(b" ")[1].decode().rpartition(":")
    if answer:
        notes.write(f"{kind} {host}:{port} {answer[:3].decode()}\n")
        return stream.sendall(b"HTTP/1.1 " + answer + b"\r\nContent-Length: 0\r\n\r\n")
    lead(stream, kind, host, int(port), b"HTTP/1.1 200 Connection established\r\n\r\n", b"HTTP/1.1 502 No\r\n\r\n")


def socks(stream, kind, login, _):
    methods = read(stream, read(stream, 2)[1])
    if login:
        if 2 not in methods:
            return stream.sendall(b"\x05\xff")
        stream.sendall(b"\x05\x02")
        read(stream, 1)
        user = read(stream, read(stream, 1)[0])
        password = read(stream, read(stream, 1)[0])
        if user + b":" + password != LOGIN:
            return stream.sendall(b"\x01\x01")
        stream.sendall(b"\x01\x00")
    else:
        stream.sendall(b"\x05\x00")
    family = read(stream, 4)[3]
    host = read(stream, read(stream, 1)[0]).decode() if family == 3 else socket.inet_ntoa(read(stream, 4))
    port = int.from_bytes(read(stream, 2), "big")
    lead(stream, kind, host, port, b"\x05\0\0\x01\0\0\0\0\0\0", b"\x05\x04\0\x01\0\0\0\0\0\0")


def speak_garbage(stream, *_):
    stream.sendall(b"SSH-2.0-garbage\r\n")
    pump(stream, stream)


def keep_silent(stream, *_):
    while stream.recv(65536):
        pass


PROXIES = [
    (3128, "connect", connect, False, b""),
    (3129, "connect-login", connect, True, b""),
    (1080, "socks", socks, False, b""),
    (1081, "socks-login", socks, True, b""),
    (3130, "tls", connect, True, b""),
    (3403, "forbids", connect, False, b"403 Forbidden"),
    (3407, "ntlm", connect, False, b"407 No\r\nProxy-Authenticate: Negotiate\r\nProxy-Authenticate: NTLM"),
    (3500, "garbage", speak_garbage, False, b""),
    (3600, "silent", keep_silent, False, b""),
]


def serve(stream, port, kind, speaks, login, answer):
    with contextlib.suppress(ConnectionError, ssl.SSLError), stream:
        if port == 3130:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[2])
            stream = context.wrap_socket(stream, server_side=True)
        speaks(stream, kind, login, answer)
        stream.close()


def accept(listener, *proxy):
    while True:
        stream, _ = listener.accept()
        threading.Thread(target=serve, args=(stream, *proxy), daemon=True).start()


for proxy in PROXIES:
    if proxy[0] == 3130 and not os.path.exists(sys.argv[2]):
        continue
    listener = socket.socket()
    listener.bind(("11.0.0.6", proxy[0]))
    listener.listen(64)
    threading.Thread(target=accept, args=(listener, *proxy), daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
